// SPDX-License-Identifier: Apache-2.0
// ls, show, tag, rm, query and doctor over a real store, through RunOp as every face does.
#include <gtest/gtest.h>

#include <algorithm>

#include "ledger/doctor.h"
#include "ledger/run_files.h"
#include "ops/open_store.h"
#include "ops/settings.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::AddRun;
using testing_runs::Must;

class StoreOpsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_ =
        Must(Settings::Load({{{"store", store_path()}}, [](const char*) { return nullptr; }, dir_.path()}));
    context_.settings = &settings_;
  }
  std::string store_path() const { return dir_.path() + "/store"; }
  void AddRuns() {
    auto store = Must(Store::Open(store_path(), Store::Mode::kReadWrite));
    first_ = AddRun(*store, "one", {{"name", "baseline"}});
    second_ = AddRun(*store, "two");
  }
  Result<Reply> Call(const char* name, const char* args) {
    op_ = MakeOp(name);
    return RunOp(*op_, Must(ParseJson(args)), context_);
  }
  // The text form; also checks that no line is much wider than the terminal.
  std::string Text(const Reply& reply) {
    std::string text = op_->Text(reply, {80, false});
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      EXPECT_LE(end - begin, 100u) << text.substr(begin, end - begin);
      begin = end + 1;
    }
    return text;
  }
  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  TempDir dir_ = Must(TempDir::Make("nl-ops-"));
  Settings settings_;
  OpContext context_;
  std::unique_ptr<Op> op_;
  std::string first_, second_;
};

TEST_F(StoreOpsTest, EveryOpHasAnExampleAndADescribedReply) {
  for (const char* name : {"ls", "show", "tag", "rm", "query", "doctor"}) {
    const OpInfo info = MakeOp(name)->Info();
    EXPECT_TRUE(Has(info.example, std::string("neurolens ") + name)) << name;
    ASSERT_NE(info.reply, nullptr) << name;
    EXPECT_FALSE(info.reply().fields.empty()) << name;
  }
}

TEST_F(StoreOpsTest, MissingStoreListsEmptyAndIsNotFoundElsewhere) {
  const Reply reply = Must(Call("ls", "{}"));
  EXPECT_TRUE(reply.Document()["runs"].empty());
  EXPECT_TRUE(Has(Text(reply), "no runs in"));
  EXPECT_EQ(Call("show", R"j({"run": "@latest"})j").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Call("tag", R"j({"run": "@latest", "tags": ["a=b"]})j").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Call("rm", R"j({"runs": ["@latest"]})j").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Call("query", R"j({"args": ["SELECT 1"]})j").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(Must(Call("doctor", "{}")).Document()["healthy"].get<bool>());
  EXPECT_FALSE(PathExists(store_path()));
}

TEST_F(StoreOpsTest, LsShowsNewestFirstFiltersAndCounts) {
  AddRuns();
  const Reply all = Must(Call("ls", "{}"));
  ASSERT_EQ(all.Document()["runs"].size(), 2u);
  EXPECT_EQ(all.Document()["runs"][0]["run_id"], second_);
  EXPECT_TRUE(Has(Text(all), "H200"));
  const Reply tagged = Must(Call("ls", R"j({"tag": ["name=baseline"]})j"));
  ASSERT_EQ(tagged.Document()["runs"].size(), 1u);
  EXPECT_EQ(tagged.Document()["runs"][0]["run_id"], first_);
  EXPECT_TRUE(Has(Text(tagged), "1 of 2 runs"));
  EXPECT_TRUE(Must(Call("ls", R"j({"since": "2200-01-01"})j")).Document()["runs"].empty());
  EXPECT_EQ(
      Must(Call("ls", R"j({"since": "1h", "reverse": true, "limit": 1})j")).Document()["runs"][0]["run_id"],
      first_);
  EXPECT_EQ(Call("ls", R"j({"since": "yesterdayish"})j").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(Call("ls", R"j({"sort": "nonsense"})j").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(Call("ls", R"j({"tag": ["=x"]})j").error().code, ErrorCode::kInvalidInput);
}

TEST_F(StoreOpsTest, ShowListsTablesAndLostRecords) {
  AddRuns();
  testing_runs::WriteParquet(
      store_path() + "/runs/" + second_ + "/import_log.parquet",
      "SELECT 0 AS id, 'bad_ts' AS reason, 'data_loss' AS severity, 4 AS count, 'f' AS file, 9 AS "
      "byte_offset, 't' AS text, 'record again' AS advice");
  const std::string folder = store_path() + "/runs/" + second_;
  Must(WriteFileAtomically(folder + "/" + kCatalogEntryFile,
                           SealedText(CatalogRunToJson(Must(ReadRunFolder(folder))),
                                      Must(MeasureRunFiles(folder, kCatalogEntryFile)))));
  const Reply reply = Must(Call("show", R"j({"run": "@latest"})j"));
  EXPECT_EQ(reply.Document()["warnings"], Json::array());
  ASSERT_EQ(reply.Document()["tables"].size(), 2u);
  EXPECT_EQ(reply.Document()["tables"][1]["name"], "kernel");
  EXPECT_EQ(reply.Document()["tables"][1]["rows"], 3);
  EXPECT_EQ(reply.Document()["import_log"][0]["count"], 4);
  EXPECT_EQ(reply.Document()["document"]["software"]["backend"], "torch");
  EXPECT_FALSE(reply.Document()["document"].contains("timeline"));
  const std::string text = Text(reply);
  for (const char* part : {"kineto", "4 x bad_ts", "record again", "kernel", "1.0 ms"}) {
    EXPECT_TRUE(Has(text, part)) << part << "\n" << text;
  }
}

TEST_F(StoreOpsTest, ShowOfADamagedRunStillAnswersWithAWarning) {
  AddRuns();
  Must(WriteFileAtomically(store_path() + "/runs/" + second_ + "/run.json", "{"));
  Must(WriteFileAtomically(store_path() + "/runs/" + second_ + "/kernel.parquet", "PAR1"));
  const Reply reply = Must(Call("show", R"j({"run": "@latest"})j"));
  EXPECT_EQ(reply.Document()["tables"][0]["rows"], nullptr);
  EXPECT_GE(reply.Document()["warnings"].size(), 2u);
  EXPECT_EQ(Must(Call("doctor", "{}")).answer_is_no, true);
}

TEST_F(StoreOpsTest, TagSetsAndRemovesAndItsValueNamesTheRun) {
  AddRuns();
  EXPECT_EQ(Must(Call("tag", R"j({"run": "@latest", "tags": ["name=fast", "n=1=2"]})j")).Document()["tags"],
            Json::parse(R"j({"n": "1=2", "name": "fast"})j"));
  EXPECT_EQ(Must(Call("tag", R"j({"run": "fast", "tags": ["n="]})j")).Document()["run_id"], second_);
  EXPECT_EQ(Must(Call("tag", R"j({"run": "fast"})j")).Document()["tags"],
            Json::parse(R"j({"name": "fast"})j"));
  for (const char* bad :
       {R"j({"run": "fast", "tags": ["novalue"]})j", R"j({"run": "fast", "tags": ["=x"]})j",
        R"j({"run": "fast", "tags": ["@latest=x"]})j", R"j({"run": "fast", "tags": ["a=\u001b[31m"]})j"}) {
    EXPECT_EQ(Call("tag", bad).error().code, ErrorCode::kInvalidInput) << bad;
  }
}

TEST_F(StoreOpsTest, RmDeletesAllNamedOrNone) {
  AddRuns();
  EXPECT_FALSE(Call("rm", R"j({"runs": ["baseline", "nope"]})j").ok());
  EXPECT_EQ(Must(Call("ls", "{}")).Document()["total"], 2);
  EXPECT_EQ(Call("rm", R"j({"runs": ["@all"]})j").error().code, ErrorCode::kInvalidInput);
  const Reply reply = Must(Call("rm", R"j({"runs": ["baseline", "@latest~1"]})j"));
  EXPECT_EQ(reply.Document()["removed"].size(), 1u) << "two names of one run";
  EXPECT_GT(reply.Document()["freed_bytes"].get<int64_t>(), 0);
  EXPECT_TRUE(Has(Text(reply), first_));
  EXPECT_FALSE(PathExists(store_path() + "/runs/" + first_));
  Must(Call("rm", R"j({"runs": ["@all"], "yes": true})j"));
  EXPECT_EQ(Must(Call("ls", "{}")).Document()["total"], 0);
}

TEST_F(StoreOpsTest, RmRefusesRunsOfABaselineUnlessForced) {
  AddRuns();
  {
    auto store = Must(Store::Open(store_path(), Store::Mode::kReadWrite));
    Must(store->catalog().SetBaseline({"main", 1, "", {first_}}));
  }
  const Result<Reply> refused = Call("rm", R"j({"runs": ["@latest", "baseline"]})j");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_TRUE(Has(refused.error().message, "is part of baseline main")) << refused.error().message;
  EXPECT_EQ(Must(Call("ls", "{}")).Document()["total"], 2) << "also the run that is in no baseline stays";
  EXPECT_FALSE(Call("rm", R"j({"runs": ["@all"], "yes": true})j").ok());
  Must(Call("rm", R"j({"runs": ["baseline"], "force": true})j"));
  auto store = Must(Store::Open(store_path(), Store::Mode::kReadOnly));
  EXPECT_TRUE(Must(store->catalog().FindBaseline("main"))->run_ids.empty());
}

TEST_F(StoreOpsTest, QueryReadsOneSeveralOrAllRuns) {
  AddRuns();
  EXPECT_EQ(Must(Call("query", R"j({"args": ["SELECT sum(dur_ns) FROM kernel"]})j")).Document()["rows"],
            Json::parse("[[600]]"));
  const Reply both =
      Must(Call("query", R"j({"args": ["@all", "SELECT run, count(*) FROM kernel GROUP BY run"]})j"));
  EXPECT_EQ(both.Document()["row_count"], 2);
  EXPECT_TRUE(Has(Text(both), "2 rows in"));
  const Reply joined = Must(Call(
      "query",
      R"j({"args": ["baseline", "@latest", "SELECT r.run_id, r.tags, sum(dur_ns) FROM kernel JOIN runs r USING (run) GROUP BY ALL ORDER BY 1"]})j"));
  ASSERT_EQ(joined.Document()["rows"].size(), 2u);
  EXPECT_EQ(joined.Document()["rows"][0], Json({first_, "name=baseline", 600}));
  EXPECT_EQ(Must(Call("query", R"j({"args": ["SELECT count(*) FROM memcpy"]})j")).Document()["rows"],
            Json::parse("[[0]]"));
  EXPECT_EQ(Call("query", R"j({"args": ["@latest"]})j").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(Call("query", R"j({"args": ["nope", "SELECT 1"]})j").error().code, ErrorCode::kNotFound);
}

TEST_F(StoreOpsTest, QueryGivesValuesThatJsonHasNoScalarForAsText) {
  AddRuns();
  const Reply reply = Must(Call("query", R"j({"args": [
      "SELECT NULL AS n, true AS b, 1.5::DOUBLE AS d, [1, 2] AS l, {'a': 1} AS s, 18446744073709551615::UBIGINT AS u"
      ]})j"));
  EXPECT_EQ(reply.Document()["rows"],
            Json::parse(R"j([[null, true, 1.5, "[1,2]", "{\"a\":1}", "18446744073709551615"]])j"));
  const Reply json =
      Must(Call("query", R"j({"args": ["SELECT [1, 2] AS l, {'a': 1} AS s"], "format": "json"})j"));
  EXPECT_EQ(json.raw, "[\n{\"l\":[1,2],\"s\":{\"a\":1}}\n]\n") << "its own form keeps lists and structs";
}

TEST_F(StoreOpsTest, QueryFormatsAreExactBytes) {
  AddRuns();
  EXPECT_EQ(
      Must(Call("query", R"j({"args": ["SELECT id, name FROM kernel WHERE id < 2"], "format": "csv"})j")).raw,
      "id,name\n0,gemm_0\n1,gemm_1\n");
  EXPECT_EQ(
      Must(Call("query", R"j({"args": ["SELECT id, start_ns FROM kernel LIMIT 1"], "format": "json"})j")).raw,
      "[\n{\"id\":0,\"start_ns\":9007199254740993}\n]\n");
  EXPECT_EQ(Call("query", R"j({"args": ["SELECT 1"], "format": "parquet"})j").error().code,
            ErrorCode::kInvalidInput);
  const std::string out = dir_.path() + "/o.parquet";
  const Json args = {{"args", {"SELECT * FROM kernel"}}, {"format", "parquet"}, {"out", out}};
  const Reply reply = Must(Call("query", DumpJson(args).c_str()));
  EXPECT_EQ(reply.Document()["row_count"], 3);
  EXPECT_TRUE(Has(Text(reply), "wrote 3 rows"));
  EXPECT_EQ(Must(ReadWholeFile(out)).substr(0, 4), "PAR1");
}

TEST_F(StoreOpsTest, QueryMarksATruncatedTableAndRefusesToTruncateAFile) {
  AddRuns();
  const Reply cut = Must(Call("query", R"j({"args": ["SELECT * FROM range(20000)"]})j"));
  EXPECT_TRUE(cut.Document()["truncated"].get<bool>());
  EXPECT_EQ(cut.Document()["row_count"], 10000);
  EXPECT_TRUE(Has(Text(cut), "; truncated by --max-rows 10000"));
  EXPECT_EQ(Call("query", R"j({"args": ["SELECT * FROM range(20000)"], "format": "csv"})j").error().code,
            ErrorCode::kLimit);
  EXPECT_EQ(
      Must(Call("query", R"j({"args": ["SELECT * FROM range(20000)"], "format": "csv", "max_rows": 2})j"))
          .raw,
      "range\n0\n1\n");
  EXPECT_EQ(
      Call(
          "query",
          R"j({"args": ["SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range=3*b.range+1"], "timeout": 0.2})j")
          .error()
          .code,
      ErrorCode::kLimit);
}

}  // namespace
}  // namespace nl
