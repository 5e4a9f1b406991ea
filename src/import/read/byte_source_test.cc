// SPDX-License-Identifier: Apache-2.0
#include "import/read/byte_source.h"

#include <sys/stat.h>

#include <random>
#include <thread>

#include "base/sha256_tree.h"
#include "testing/import_fixture.h"

namespace nl {
namespace {

using testing_import::Gzip;
using testing_import::TraceFile;
using testing_import::Zstd;

struct Read {
  std::string text, error, hash;
  int64_t bytes = -1, total = -1;
};

Read ReadWhole(const std::string& path, size_t step) {
  Read out;
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path);
  if (!source.ok()) {
    out.error = source.error().ToString();
    return out;
  }
  std::string buffer(step, '\0');
  for (;;) {
    const Result<size_t> n = (*source)->Read(buffer.data(), step);
    if (!n.ok()) {
      EXPECT_EQ(n.error().code, ErrorCode::kInvalidInput);
      EXPECT_GE(n.error().byte_offset, 0);
      out.error = n.error().ToString();
      return out;
    }
    out.text.append(buffer, 0, *n);
    if (*n < step) break;
  }
  out.hash = (*source)->HashHex();
  out.bytes = (*source)->bytes_read();
  out.total = (*source)->bytes_total();
  return out;
}

Read ReadBytes(std::string_view stored, size_t step = 1 << 16) {
  const TraceFile file(stored);
  return ReadWhole(file.path(), step);
}

std::string Text(size_t size) {
  std::mt19937 random(7);
  std::string out;
  while (out.size() < size) out += fmt::format("{{\"name\":\"op {}\"}},", random() % 1000);
  out.resize(size);
  return out;
}

TEST(ByteSource, GivesBackWhatWasPacked) {
  for (const size_t size : {size_t{1}, size_t{3}, size_t{4}, size_t{1000}, size_t{65536}, size_t{300000}}) {
    const std::string text = Text(size);
    const std::string packed[] = {text, Gzip(text), Zstd(text), Zstd(text, true)};
    for (const std::string& stored : packed) {
      for (const size_t step : {size_t{1}, size_t{7}, size_t{4096}, size_t{1} << 20}) {
        if (size / step > 50000) continue;
        const Read read = ReadBytes(stored, step);
        ASSERT_EQ(read.error, "") << size << " in steps of " << step;
        ASSERT_TRUE(read.text == text) << size << " in steps of " << step;
        EXPECT_EQ(read.hash, Sha256TreeHex(stored));
        EXPECT_EQ(read.bytes, static_cast<int64_t>(stored.size()));
        EXPECT_EQ(read.total, static_cast<int64_t>(stored.size()));
      }
    }
  }
}

TEST(ByteSource, MembersAndFramesAreOneText) {
  const std::string a = Text(5000), b = "second", c = "";
  EXPECT_EQ(ReadBytes(Gzip(a) + Gzip(b)).text, a + b);
  EXPECT_EQ(ReadBytes(Gzip(c) + Gzip(a) + Gzip(c) + Gzip(b)).text, a + b);
  EXPECT_EQ(ReadBytes(Zstd(a) + Zstd(b, true) + Zstd(c)).text, a + b);
  for (const size_t step : {size_t{1}, size_t{6}}) {
    EXPECT_EQ(ReadBytes(Gzip(b) + Gzip(b), step).text, b + b);
    EXPECT_EQ(ReadBytes(Zstd(b) + Zstd(b), step).text, b + b);
  }
}

TEST(ByteSource, ZerosBehindAGzipMemberArePadding) {
  EXPECT_EQ(ReadBytes(Gzip("text") + std::string(1000, '\0')).text, "text");
  EXPECT_EQ(ReadBytes(Gzip("a") + std::string(3, '\0') + Gzip("b")).text, "ab");
}

TEST(ByteSource, OtherBytesAfterAGzipMemberAreAnError) {
  const Read read = ReadBytes(Gzip("text") + "garbage");
  EXPECT_NE(read.error.find("not a gzip member"), std::string::npos) << read.error;
}

TEST(ByteSource, EveryCutOfACompressedFileIsAnError) {
  const std::string text = Text(900);
  for (const std::string& stored : {Gzip(text), Zstd(text), Zstd(text, true)}) {
    for (size_t cut = 4; cut < stored.size(); ++cut) {
      for (const size_t step : {size_t{1}, size_t{1} << 16}) {
        const Read read = ReadBytes(stored.substr(0, cut), step);
        ASSERT_NE(read.error, "") << "cut at " << cut << " of " << stored.size() << ", steps of " << step;
      }
    }
  }
}

TEST(ByteSource, DamageIsAnErrorOrHarmless) {
  const std::string text = Text(900);
  const std::string stored = Gzip(text);
  size_t noticed = 0;
  for (size_t at = 10; at < stored.size(); ++at) {
    std::string damaged = stored;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const Read read = ReadBytes(damaged);
    const bool told = !read.error.empty();
    EXPECT_TRUE(told || read.text == text) << "byte " << at;
    noticed += told;
  }
  EXPECT_GT(noticed, stored.size() / 2);
}

TEST(ByteSource, ReadsAPipeOfUnknownLength) {
  const TempDir folder = *TempDir::Make("nl-pipe-");
  const std::string path = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string text = Text(200000), stored = Gzip(text);
  std::thread writer([&] { testing_import::WriteText(path, stored); });
  const Read read = ReadWhole(path, 1000);
  writer.join();
  EXPECT_EQ(read.error, "");
  EXPECT_TRUE(read.text == text);
  EXPECT_EQ(read.total, -1);
  EXPECT_EQ(read.hash, Sha256TreeHex(stored));
}

TEST(ByteSource, AnEmptyFileHasNoBytes) {
  const Read read = ReadBytes("");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.text, "");
}

TEST(ByteSource, AbsentFilesAndFoldersAreErrorsOfTheirOwn) {
  const TempDir folder = *TempDir::Make("nl-none-");
  EXPECT_EQ(OpenByteSource(folder.path() + "/absent").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(OpenByteSource(folder.path()).error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace nl
