// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/format/chunk_reader.h"
#include "capture/format/chunk_writer.h"

namespace nl::capture {
namespace {

class ChunkTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "nlcap_test_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string Bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  static KernelRecord Kernel(int64_t number) {
    KernelRecord kernel{};
    kernel.start_ns = 1000 * number;
    kernel.end_ns = 1000 * number + 500;
    kernel.correlation = static_cast<uint32_t>(number);
    return kernel;
  }
  // A whole file of `kernels` kernels.
  std::string WriteFile(const std::string& name, int64_t kernels) const {
    ChunkWriter writer;
    EXPECT_TRUE(writer.Open(Path(name).c_str(), WriterKind::kLibrary));
    for (int64_t i = 0; i < kernels; ++i) writer.Add(Kernel(i));
    writer.Close();
    return Bytes(Path(name));
  }
  std::filesystem::path folder_;
};

struct Seen {
  std::vector<ChunkKind> kinds;
  std::vector<int64_t> kernels;
  int damaged = 0, skipped = 0, torn = 0;
  bool ended = false;
};

Seen ReadAll(std::string_view bytes) {
  Seen seen;
  ChunkReader reader(bytes);
  Chunk chunk;
  for (;;) {
    switch (reader.Next(chunk)) {
      case ChunkReader::Step::kEnd: return seen;
      case ChunkReader::Step::kDamaged: ++seen.damaged; break;
      case ChunkReader::Step::kSkipped: ++seen.skipped; break;
      case ChunkReader::Step::kTorn: ++seen.torn; break;
      case ChunkReader::Step::kChunk:
        seen.kinds.push_back(chunk.header.kind);
        if (chunk.header.kind == ChunkKind::kEnd) seen.ended = true;
        if (chunk.header.kind == ChunkKind::kKernel) {
          EXPECT_TRUE(ForEachRecord<KernelRecord>(
              chunk, [&](const KernelRecord& k) { seen.kernels.push_back(k.correlation); }));
        }
    }
  }
}

TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(Crc32c("123456789", 9), 0xe3069283u);
  const std::string zeros(32, '\0'), ones(32, '\xff');
  EXPECT_EQ(Crc32c(zeros.data(), zeros.size()), 0x8a9136aau);
  EXPECT_EQ(Crc32c(ones.data(), ones.size()), 0x62a8ab43u);
}

TEST_F(ChunkTest, GivesBackWhatWasWritten) {
  ChunkWriter writer;
  ASSERT_TRUE(writer.Open(Path("a.nlc").c_str(), WriterKind::kLauncher));
  const uint32_t name = writer.String("main");
  EXPECT_EQ(writer.String("main"), name);
  EXPECT_NE(writer.String(""), name);
  writer.AddFact("argv", "[\"a\",\"b c\"]");
  const uint32_t frames[] = {3, 2, 1};
  writer.AddStack(7, frames, 3);
  writer.Close();
  const std::string bytes = Bytes(Path("a.nlc"));
  ChunkReader reader(bytes);
  Chunk chunk;
  std::string strings, facts, stacks;
  uint32_t sequence = 0;
  while (reader.Next(chunk) == ChunkReader::Step::kChunk) {
    EXPECT_EQ(chunk.header.sequence, sequence++);
    EXPECT_EQ(chunk.header.stream, writer.stream());
    bool whole = true;
    if (chunk.header.kind == ChunkKind::kString)
      whole = ForEachString(chunk, [&](uint32_t id, std::string_view t) {
        strings += std::to_string(id) + "=" + std::string(t) + ";";
      });
    if (chunk.header.kind == ChunkKind::kFact)
      whole = ForEachFact(chunk, [&](std::string_view k, std::string_view v) {
        facts += std::string(k) + "=" + std::string(v);
      });
    if (chunk.header.kind == ChunkKind::kStack)
      whole = ForEachStack(chunk, [&](uint32_t id, const uint32_t* f, uint32_t n) {
        stacks += std::to_string(id) + ":" + std::to_string(n) + ":" + std::to_string(f[0]);
      });
    EXPECT_TRUE(whole);
  }
  EXPECT_EQ(strings, "1=main;2=;");
  EXPECT_EQ(facts, "argv=[\"a\",\"b c\"]");
  EXPECT_EQ(stacks, "7:3:3");
  EXPECT_TRUE(ReadAll(bytes).ended);
}

TEST_F(ChunkTest, KeepsEveryRecordOverManyChunks) {
  const Seen seen = ReadAll(WriteFile("a.nlc", 10'000));
  ASSERT_EQ(seen.kernels.size(), 10'000u);
  for (int64_t i = 0; i < 10'000; ++i) ASSERT_EQ(seen.kernels[static_cast<size_t>(i)], i);
  EXPECT_EQ(seen.kinds.front(), ChunkKind::kFile);
  EXPECT_TRUE(seen.ended);
}

TEST_F(ChunkTest, IsReadableUpToTheLastWholeChunkWhereverItIsCut) {
  const std::string whole = WriteFile("a.nlc", 5);
  size_t most = 0;
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    const Seen seen = ReadAll(std::string_view(whole).substr(0, cut));
    EXPECT_FALSE(seen.ended);
    EXPECT_GE(seen.kernels.size(), most) << cut;
    most = seen.kernels.size();
    EXPECT_EQ(seen.damaged + seen.skipped, 0) << cut;
  }
  EXPECT_EQ(most, 5u);
}

TEST_F(ChunkTest, FilesBehindOneAnotherAreOneCapture) {
  const std::string a = WriteFile("a.nlc", 3), b = WriteFile("b.nlc", 4);
  EXPECT_EQ(ReadAll(a + b).kernels.size(), 7u);
  // The first was cut by a kill: the second is still read.
  const Seen seen = ReadAll(a.substr(0, a.size() - 70) + b);
  EXPECT_EQ(seen.kernels.size(), 4u);
  EXPECT_EQ(seen.damaged + seen.skipped, 1);
}

TEST_F(ChunkTest, ADamagedByteCostsItsChunkOnly) {
  const std::string whole = WriteFile("a.nlc", 5'000);  // three chunks of kernels
  const size_t all = ReadAll(whole).kernels.size();
  ASSERT_EQ(all, 5'000u);
  for (size_t at = 0; at < whole.size(); at += 39'989) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 0x40);
    const Seen seen = ReadAll(broken);
    EXPECT_LE(seen.damaged + seen.skipped, 1) << at;
    EXPECT_GE(seen.kernels.size(), all - 2048) << at;
  }
}

TEST_F(ChunkTest, RecordsOfAnotherSizeAreTakenAsFarAsKnown) {
  KernelRecord kernel = Kernel(9);
  std::string longer(reinterpret_cast<const char*>(&kernel), sizeof kernel);
  longer += std::string(8, 'x');
  Chunk chunk{};
  chunk.header.records = 1;
  chunk.header.record_bytes = static_cast<uint16_t>(longer.size());
  chunk.payload = longer;
  int64_t seen = -1;
  EXPECT_TRUE(ForEachRecord<KernelRecord>(chunk, [&](const KernelRecord& k) { seen = k.correlation; }));
  EXPECT_EQ(seen, 9);
  chunk.header.record_bytes = 40;
  chunk.payload = chunk.payload.substr(0, 40);
  EXPECT_TRUE(ForEachRecord<KernelRecord>(chunk, [&](const KernelRecord& k) { seen = k.correlation; }));
  EXPECT_EQ(seen, 0);
  chunk.header.records = 2;
  EXPECT_FALSE(ForEachRecord<KernelRecord>(chunk, [](const KernelRecord&) {}));
}

TEST_F(ChunkTest, LongTextsAreCutAndCounted) {
  ChunkWriter writer;
  ASSERT_TRUE(writer.Open(Path("a.nlc").c_str(), WriterKind::kLibrary));
  writer.String(std::string(kMaxStringBytes + 1, 'a'));
  writer.strings().SetLimit(0);  // what is left of the present block still counts
  int fitted = 0;
  while (fitted < 100 && writer.String(std::string(8000, 'b') + std::to_string(fitted)) != 0) ++fitted;
  EXPECT_LT(fitted, 100);
  writer.Close();
  const std::string bytes = Bytes(Path("a.nlc"));
  ChunkReader reader(bytes);
  Chunk chunk;
  uint64_t cut = 0, refused = 0;
  while (reader.Next(chunk) == ChunkReader::Step::kChunk) {
    if (chunk.header.kind != ChunkKind::kLoss) continue;
    ForEachRecord<LossRecord>(chunk, [&](const LossRecord& loss) {
      if (loss.what == LossWhat::kStringCut) cut += loss.count;
      if (loss.what == LossWhat::kStringLimit) refused += loss.count;
    });
  }
  EXPECT_EQ(cut, 1u);
  EXPECT_EQ(refused, 1u);
}

// In a process of its own: the limit cannot be taken back.
TEST_F(ChunkTest, AFullDiskCostsRecordsAndLeavesWholeChunks) {
  const std::string path = Path("a.nlc");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{300'000, 300'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    ChunkWriter writer;
    if (!writer.Open(path.c_str(), WriterKind::kLibrary)) _exit(2);
    for (int64_t i = 0; i < 10'000; ++i) writer.Add(Kernel(i));
    writer.Flush();
    const bool counted =
        writer.records_lost() > 0 && writer.records_lost() + writer.records_written() >= 10'001;
    writer.Close();
    _exit(counted ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const Seen seen = ReadAll(Bytes(path));
  EXPECT_EQ(seen.damaged + seen.skipped + seen.torn, 0);
  EXPECT_EQ(seen.kernels.size(), 2048u);
}

TEST(StringTable, RefusesBeyondItsLimit) {
  StringTable table;
  table.SetLimit(1u << 20);
  bool added = false;
  uint32_t last = 0;
  for (int i = 0; i < 200'000; ++i) {
    const uint32_t id = table.Add("text number " + std::to_string(i), added);
    if (id == 0) break;
    last = id;
  }
  EXPECT_LE(table.memory_bytes(), 1u << 20);
  EXPECT_GT(last, 1000u);
  EXPECT_EQ(table.Add("text number 0", added), 1u);
  EXPECT_FALSE(added);
}

TEST_F(ChunkTest, CounterReadingsComeBackAsWritten) {
  ChunkWriter writer;
  ASSERT_TRUE(writer.Open(Path("c.nlc").c_str(), WriterKind::kLibrary));
  const uint32_t names[3] = {writer.String("a"), writer.String("b"), writer.String("c")};
  writer.AddCounterSet({7, 0, CounterClock::kGpu, CounterSource::kPmSampling, 20'000, 3}, names);
  const float values[3] = {1.5f, -2, 3e30f};
  for (int64_t i = 0; i < 5000; ++i) writer.AddCounterValues({i * 20, i * 20 + 20, 7, 1, 3}, values);
  writer.Close();
  const std::string bytes = Bytes(Path("c.nlc"));
  ChunkReader reader(bytes);
  size_t sets = 0, readings = 0;
  for (Chunk chunk; reader.Next(chunk) == ChunkReader::Step::kChunk;) {
    if (chunk.header.kind == ChunkKind::kCounterSet) {
      EXPECT_TRUE((ForEachCounterEntry<CounterSetEntry, uint32_t>(
          chunk, [&](const CounterSetEntry& set, const uint32_t* words) {
            ++sets;
            EXPECT_EQ(set.id, 7u);
            EXPECT_EQ(words[2], names[2]);
          })));
    }
    if (chunk.header.kind != ChunkKind::kCounterValues) continue;
    EXPECT_TRUE((ForEachCounterEntry<CounterValuesEntry, float>(
        chunk, [&](const CounterValuesEntry& reading, const float* words) {
          EXPECT_EQ(reading.start_ns, static_cast<int64_t>(readings++) * 20);
          EXPECT_EQ(words[2], 3e30f);
        })));
    chunk.payload.remove_suffix(8);  // ends inside the last one
    EXPECT_FALSE((ForEachCounterEntry<CounterValuesEntry, float>(chunk, [](const auto&, const float*) {})));
  }
  EXPECT_EQ(sets, 1u);
  EXPECT_EQ(readings, 5000u);
}

}  // namespace
}  // namespace nl::capture
