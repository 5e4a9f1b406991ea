// SPDX-License-Identifier: Apache-2.0
#include "import/read/whole_file.h"

#include "base/sha256_tree.h"
#include "testing/import_fixture.h"

namespace nl {
namespace {

using testing_import::Gzip;
using testing_import::ReadText;
using testing_import::TextSink;
using testing_import::TraceFile;

// Everything an adapter is given for one file.
struct Input {
  explicit Input(const std::string& file_path) : path(file_path), source(*OpenByteSource(file_path)) {}
  std::string path;
  std::unique_ptr<ByteSource> source;
  ImportOptions options;
  TextSink sink;
  RunFacts facts;
  SourceFacts about;
  CounterSet counters;
  ImportFile file{*source, path, options, sink, facts, about, counters};
};

std::string Bytes() {
  std::string bytes;
  for (int i = 0; i < 3'000'000; ++i) bytes += static_cast<char>(i * 31 >> 3);
  return bytes;
}

TEST(WholeFile, UsesAPlainFileWhereItStands) {
  const std::string bytes = Bytes();
  const TraceFile stored(bytes, "plain.db");
  Input input(stored.path());
  Result<std::unique_ptr<WholeFile>> whole = WholeFile::Open(input.file);
  ASSERT_TRUE(whole.ok()) << whole.error().ToString();
  EXPECT_TRUE((*whole)->in_place());
  EXPECT_EQ((*whole)->path(), std::filesystem::canonical(stored.path()).string());
  EXPECT_EQ((*whole)->size_bytes(), static_cast<int64_t>(bytes.size()));
  ASSERT_TRUE((*whole)->Finish().ok());
  EXPECT_EQ(input.source->HashHex(), Sha256TreeHex(bytes));
}

TEST(WholeFile, UnpacksWhatIsCompressedAndRemovesItsCopy) {
  const std::string bytes = Bytes(), packed = Gzip(bytes);
  const TraceFile stored(packed, "packed.db");
  Input input(stored.path());
  std::string copy;
  {
    Result<std::unique_ptr<WholeFile>> whole = WholeFile::Open(input.file);
    ASSERT_TRUE(whole.ok()) << whole.error().ToString();
    copy = (*whole)->path();
    EXPECT_FALSE((*whole)->in_place());
    EXPECT_EQ((*whole)->size_bytes(), static_cast<int64_t>(bytes.size()));
    EXPECT_EQ(ReadText(copy), bytes);
    ASSERT_TRUE((*whole)->Finish().ok());
  }
  EXPECT_FALSE(PathExists(copy));
  EXPECT_EQ(input.source->HashHex(), Sha256TreeHex(packed));
}

TEST(WholeFile, ABrokenStreamIsItsError) {
  const std::string packed = Gzip(Bytes());
  const TraceFile stored(packed.substr(0, packed.size() / 2), "cut.db");
  Input input(stored.path());
  const Result<std::unique_ptr<WholeFile>> whole = WholeFile::Open(input.file);
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.error().code, ErrorCode::kInvalidInput);
}

TEST(WholeFile, CanBeGivenUpBeforeTheEnd) {
  const TraceFile stored(Bytes(), "plain.db");
  Input input(stored.path());
  ASSERT_TRUE(WholeFile::Open(input.file).ok());
}

}  // namespace
}  // namespace nl
