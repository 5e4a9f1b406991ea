// SPDX-License-Identifier: Apache-2.0
// What every adapter must do, for every sample in tests/cases/samples/<adapter>/.
// A new adapter folder with samples is tested without a line here.

#include <algorithm>
#include <set>

#include "base/sha256.h"
#include "testing/import_fixture.h"

namespace nl {
namespace {

using testing_import::FirstDifference;
using testing_import::Gzip;
using testing_import::ImportPath;
using testing_import::ImportText;
using testing_import::Outcome;
using testing_import::ReadText;
using testing_import::Sample;
using testing_import::Samples;
using testing_import::TraceFile;
using testing_import::Zstd;

#if defined(__SANITIZE_THREAD__)
constexpr bool kUnderThreadSanitizer = true;
#else
constexpr bool kUnderThreadSanitizer = false;
#endif

class Conformance : public ::testing::TestWithParam<Sample> {
 protected:
  void SetUp() override {
    text_ = ReadText(GetParam().path);
    ASSERT_FALSE(text_.empty());
  }
  static ImportOptions Options(size_t chunk_bytes, int threads) {
    ImportOptions options;
    options.chunk_bytes = chunk_bytes;
    options.threads = threads;
    return options;
  }
  std::string text_;
};

TEST_P(Conformance, AdapterWinsItsSampleWithAndWithoutItsName) {
  const std::string_view head = std::string_view(text_).substr(0, kSniffBytes);
  for (const std::string& name :
       {GetParam().name, std::string(), std::string("stdin"), std::string("a.pt.trace.json")}) {
    const Result<const Adapter*> found = DetectAdapter(head, name);
    ASSERT_TRUE(found.ok()) << found.error().ToString();
    EXPECT_EQ((*found)->Info().name, GetParam().adapter) << "named " << name;
  }
}

TEST_P(Conformance, SameRunForEveryChunkSizeAndThreadCountInParallel) {
  const TraceFile file(text_, GetParam().name);
  const Outcome whole = ImportPath(file.path(), Options(64 << 20, 1));
  ASSERT_EQ(whole.error, "");
  ASSERT_FALSE(whole.rows.empty());
  for (const size_t chunk : {size_t{1}, size_t{7}, size_t{100}, size_t{4096}, size_t{64} << 20}) {
    if (chunk < 100 && text_.size() > (16 << 10))
      continue;  // a thread switch for each piece; the small samples do
    if (kUnderThreadSanitizer && chunk != 100) continue;  // what threads can do wrong shows at any size
    for (const int threads : kUnderThreadSanitizer ? std::vector{2} : std::vector{1, 2}) {
      const Outcome other = ImportPath(file.path(), Options(chunk, threads));
      ASSERT_EQ(other.error, "") << "chunk " << chunk << ", " << threads << " threads";
      EXPECT_EQ(FirstDifference(whole.rows, other.rows), "")
          << "chunk " << chunk << ", " << threads << " threads";
      EXPECT_EQ(whole.counters, other.counters) << "chunk " << chunk << ", " << threads << " threads";
    }
  }
}

TEST_P(Conformance, CompressionDoesNotChangeTheRun) {
  const Outcome plain = ImportPath(TraceFile(text_, GetParam().name).path());
  ASSERT_EQ(plain.error, "");
  const size_t half = text_.size() / 2;
  const std::pair<const char*, std::string> packings[] = {
      {"gzip", Gzip(text_)},
      {"gzip of two members", Gzip(text_.substr(0, half)) + Gzip(text_.substr(half))},
      {"zstd", Zstd(text_)},
      {"zstd of two frames", Zstd(text_.substr(0, half), true) + Zstd(text_.substr(half))}};
  for (const auto& [what, bytes] : packings) {
    const TraceFile file(bytes, GetParam().name);
    for (const size_t chunk : {size_t{61}, size_t{4} << 20}) {
      const Outcome packed = ImportPath(file.path(), Options(chunk, 2));
      ASSERT_EQ(packed.error, "") << what << ", chunk " << chunk;
      EXPECT_EQ(FirstDifference(plain.rows, packed.rows), "") << what << ", chunk " << chunk;
    }
  }
}

// Rows of a run but for those that tell of ills, which a cut file may have more of.
ptrdiff_t Events(const Outcome& outcome) {
  return std::count_if(outcome.rows.begin(), outcome.rows.end(),
                       [](const std::string& row) { return !row.starts_with("import_log["); });
}

// A cut file is an error that says so, or (a bare array may end anywhere after an
// event, lines after any line) a run with a counter; with --allow-truncated the complete part is kept and
// counted.
TEST_P(Conformance, CutFileIsAnErrorOrCountedNeverSilent) {
  const Outcome whole = ImportPath(TraceFile(text_).path());
  const size_t step = std::max<size_t>(1, text_.size() / 30);
  const size_t end = text_.find_last_not_of(" \n\r\t") + 1;
  const TempDir folder = *TempDir::Make("nl-cut-");
  const std::string path = folder.path() + "/trace.json";
  for (size_t cut = 1; cut < end; cut += step) {
    testing_import::WriteText(path, text_.substr(0, cut));
    const Outcome strict = ImportPath(path, Options(4096, 1));
    if (strict.error.empty()) {
      const bool told = std::any_of(strict.counters.begin(), strict.counters.end(), [&](const auto& counter) {
        const auto before = whole.counters.find(counter.first);
        return before == whole.counters.end() || counter.second > before->second;
      });
      EXPECT_TRUE(told) << "cut at " << cut << " went unnoticed";
    } else {
      EXPECT_EQ(strict.code, ErrorCode::kInvalidInput) << strict.error;
    }
    ImportOptions options = Options(4096, 1);
    options.allow_truncated = true;
    const Outcome lenient = ImportPath(path, options);
    if (!lenient.error.empty()) {
      EXPECT_EQ(lenient.code, ErrorCode::kInvalidInput) << lenient.error;
    } else {
      EXPECT_LE(Events(lenient), Events(whole) + 10);
    }
  }
}

TEST_P(Conformance, AnyByteMayBeWrong) {
  const TempDir folder = *TempDir::Make("nl-damage-");
  const std::string path = folder.path() + "/trace.json";
  std::string damaged = text_;
  const size_t step = std::max<size_t>(1, text_.size() / 8);
  for (size_t at = 0; at < text_.size(); at += step) {
    for (const char c : {'"', '{', '\0', '\xff'}) {
      damaged[at] = c;
      testing_import::WriteText(path, damaged);
      const Outcome one = ImportPath(path, Options(1 << 20, 1), GetParam().adapter);
      const Outcome two = ImportPath(path, Options(333, 2), GetParam().adapter);
      EXPECT_EQ(one.error.empty(), two.error.empty())
          << "byte " << at << ": " << one.error << " | " << two.error;
      EXPECT_EQ(FirstDifference(one.rows, two.rows), "") << "byte " << at << " made " << static_cast<int>(c);
    }
    damaged[at] = text_[at];
  }
}

std::string TestName(const ::testing::TestParamInfo<Sample>& info) {
  std::string name = info.param.adapter + "_" + info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Samples, Conformance, ::testing::ValuesIn(Samples()), TestName);

TEST(Adapters, EveryAdapterHasASampleAndItsNameIsItsFolder) {
  std::set<std::string> sampled, known;
  for (const Sample& sample : Samples()) sampled.insert(sample.adapter);
  for (const AdapterFn describe : AllAdapters()) {
    const AdapterInfo info = describe().Info();
    known.insert(info.name);
    EXPECT_EQ(sampled.count(info.name), 1u) << info.name << " has no tests/cases/samples/" << info.name;
    EXPECT_EQ(FindAdapter(info.name), &describe());
    EXPECT_FALSE(info.summary.empty());
    EXPECT_GE(info.version, 1);
  }
  EXPECT_EQ(known, sampled) << "a sample folder without its adapter is never imported";
}

TEST(Adapters, NoAdapterClaimsWhatIsNoProfile) {
  for (const std::string_view head :
       {"", " ",
        "\x7f"
        "ELF\x02\x01",
        "PK\x03\x04", "{\"a\": 1}", "hello", "SQLite format 3", "{", "<xml/>"}) {
    const Result<const Adapter*> found = DetectAdapter(head, "trace.json");
    EXPECT_FALSE(found.ok()) << (found.ok() ? (*found)->Info().name : "") << " claims '" << head << "'";
  }
}

}  // namespace
}  // namespace nl
