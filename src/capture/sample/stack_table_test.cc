// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/stack_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

#include "capture/format/chunk_reader.h"

namespace nl::capture {
namespace {

TEST(StackTable, NamesAreReadable) {
  EXPECT_EQ(Demangled("_Z4spini"), "spin(int)");
  EXPECT_EQ(Demangled("_Z4spini.cold"), "spin(int)");
  EXPECT_EQ(Demangled("memcpy@@GLIBC_2.14"), "memcpy");
  EXPECT_EQ(Demangled("main"), "main");
  EXPECT_EQ(Demangled("_Zbroken"), "_Zbroken");
  EXPECT_EQ(Demangled(""), "");
}

TEST(StackTable, EqualFramesAndStacksHaveOneNumber) {
  char path[] = "/tmp/nl-stack-XXXXXX";
  close(mkstemp(path));
  unlink(path);
  ChunkWriter writer;
  ASSERT_TRUE(writer.Open(path, WriterKind::kLauncher));
  StackTable table(writer);
  const uint32_t module = table.Module("/no/such/library.so");
  EXPECT_EQ(table.Module("/no/such/library.so"), module);
  const uint32_t a = table.PythonFrame("f", "x.py", 3);
  const uint32_t b = table.NativeFrame(module, 0x100);
  EXPECT_EQ(table.PythonFrame("f", "x.py", 3), a);
  EXPECT_NE(table.PythonFrame("f", "x.py", 4), a);
  EXPECT_EQ(table.NativeFrame(module, 0x100), b);
  EXPECT_NE(table.KernelFrame("futex"), 0u);
  const uint32_t stack = table.Stack({a, b});
  EXPECT_EQ(table.Stack({a, b}), stack);
  EXPECT_NE(table.Stack({b, a}), stack);
  EXPECT_EQ(table.Stack({}), 0u);
  table.NameFrames();
  EXPECT_EQ(table.unnamed(), 1u);
  writer.Close();

  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const std::string text = bytes.str();
  std::map<uint32_t, std::string> strings;
  std::map<uint32_t, FrameRecord> frames;
  ChunkReader reader(text);
  Chunk chunk{};
  for (auto step = reader.Next(chunk); step == ChunkReader::Step::kChunk; step = reader.Next(chunk)) {
    if (chunk.header.kind == ChunkKind::kString)
      ForEachString(chunk, [&](uint32_t id, std::string_view s) { strings[id] = s; });
    if (chunk.header.kind == ChunkKind::kFrame)
      ForEachRecord<FrameRecord>(chunk, [&](const FrameRecord& f) { frames[f.id] = f; });
  }
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(strings[frames[b].name], "[library.so]") << "the last record of a frame names it";
  EXPECT_EQ(strings[frames[a].file], "x.py");
  EXPECT_EQ(frames[a].line, 3u);
  unlink(path);
}

}  // namespace
}  // namespace nl::capture
