// SPDX-License-Identifier: Apache-2.0
// Holds for every catalog engine; today against SQLite itself.
#include "ledger/catalog.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <fstream>

#include "base/file_ops.h"
#include "ledger/catalog_sqlite.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::Must;

CatalogRun MakeRun(const std::string& id, const std::string& content) {
  return testing_runs::Entry(id, content);
}

class CatalogTest : public ::testing::Test {
 protected:
  void SetUp() override { catalog_ = Must(OpenSqliteCatalog(path(), CatalogMode::kReadWrite)); }
  std::string path() const { return dir_.path() + "/catalog.sqlite"; }
  void Insert(CatalogRun run) { ASSERT_TRUE(Must(catalog_->Insert(run)).inserted); }
  std::vector<std::string> Ids(const RunFilter& filter) {
    std::vector<std::string> ids;
    for (const CatalogRun& run : Must(catalog_->List(filter))) ids.push_back(run.run_id);
    return ids;
  }
  void SqliteExec(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }

  TempDir dir_ = Must(TempDir::Make("nl-catalog-"));
  std::unique_ptr<Catalog> catalog_;
};

TEST_F(CatalogTest, RunReadsBackEqualFieldByField) {
  CatalogRun run = MakeRun("01930000-aaaa", "x");
  run.tool = "it's \"quoted\"; DROP TABLE run";
  run.model = std::string("m\xc3\xa4\xf0\x9f\x94\xa5");
  run.source_bytes = (int64_t{1} << 62) + 1;
  run.lost_records = 7;
  run.event_count = 8;
  run.op_count = 9;
  run.stored_bytes = 10;
  run.tags = {{"name", "baseline"}, {"empty", ""}};
  Insert(run);
  const auto found = Must(catalog_->Find("01930000-aaaa"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(CatalogRunToJson(*found), CatalogRunToJson(run));
  EXPECT_EQ(CatalogRunToJson(Must(CatalogRunFromJson(CatalogRunToJson(run)))), CatalogRunToJson(run));
}

TEST_F(CatalogTest, SameContentIsOneRunAndEmptyContentIsNeverADuplicate) {
  Insert(MakeRun("01930000-aaaa", "x"));
  const InsertOutcome again = Must(catalog_->Insert(MakeRun("01930000-bbbb", "x")));
  EXPECT_FALSE(again.inserted);
  EXPECT_EQ(again.run_id, "01930000-aaaa");
  for (const char* id : {"01930000-cccc", "01930000-dddd"}) {
    CatalogRun run = MakeRun(id, "");
    run.content_sha256.clear();
    Insert(run);
  }
  EXPECT_EQ(Must(catalog_->Count()), 3);
  EXPECT_FALSE(Must(catalog_->FindByContent("")).has_value());
}

TEST_F(CatalogTest, PrefixResolvesWhenUniqueAndListsTheCandidatesWhenNot) {
  Insert(MakeRun("01930000-aaaa-1", "1"));
  Insert(MakeRun("01930000-aaaa-2", "2"));
  Insert(MakeRun("01940000-bbbb-3", "3"));
  EXPECT_EQ(Must(catalog_->Resolve("0194")).run_id, "01940000-bbbb-3");
  EXPECT_EQ(Must(catalog_->Resolve("01930000-aaaa-2")).run_id, "01930000-aaaa-2");
  const auto ambiguous = catalog_->Resolve("0193");
  ASSERT_FALSE(ambiguous.ok());
  EXPECT_EQ(ambiguous.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(ambiguous.error().message.find("01930000-aaaa-1"), std::string::npos);
  EXPECT_NE(ambiguous.error().message.find("01930000-aaaa-2"), std::string::npos);
  EXPECT_EQ(catalog_->Resolve("019").error().code, ErrorCode::kNotFound) << "three characters are too few";
  EXPECT_EQ(catalog_->Resolve("beef").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(catalog_->Resolve("").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(catalog_->Resolve("0193%").error().code, ErrorCode::kNotFound);
}

TEST_F(CatalogTest, ShortIdIsTheShortestPrefixThatResolves) {
  Insert(MakeRun("01930000-aaaa-1", "1"));
  Insert(MakeRun("01930000-aaaa-2", "2"));
  Insert(MakeRun("01940000-bbbb-3", "3"));
  EXPECT_EQ(Must(catalog_->ShortId("01940000-bbbb-3")), "01940000");
  EXPECT_EQ(Must(catalog_->ShortId("01930000-aaaa-2")), "01930000-aaaa-2");
}

TEST_F(CatalogTest, PagesHaveEveryRunOnce) {
  for (int i = 0; i < 7; ++i) {
    CatalogRun run = MakeRun("01930000-000" + std::to_string(i), "x" + std::to_string(i));
    run.source_name = std::string(1, static_cast<char>(i % 2 == 0 ? 'B' + i : 'b' + i)) + "_100%.json";
    run.adapter = i < 3 ? "kineto" : "nsys";
    run.created_at_ns = i;
    run.tags = {{"n", std::to_string(i)}};
    Insert(run);
  }
  RunFilter filter;
  filter.sort = RunSort::kName;
  filter.descending = false;
  const std::vector<std::string> all = Ids(filter);
  ASSERT_EQ(all.size(), 7u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end())) << "without regard to case";
  std::vector<std::string> paged;
  filter.limit = 3;
  for (; filter.offset < 9; filter.offset += 3) {
    for (const std::string& id : Ids(filter)) paged.push_back(id);
    EXPECT_EQ(Must(catalog_->CountMatching(filter)), 7);
  }
  EXPECT_EQ(paged, all);
  const auto count = [&](RunFilter f) { return Must(catalog_->CountMatching(f)); };
  RunFilter text;
  for (const auto& [part, matches] : {std::pair("100%", 7),
                                      {"100_", 0},
                                      {"N=4", 1},
                                      {"01930000", 7},
                                      {"01930000-0003", 1},
                                      {"0193~", 0},
                                      {"0000", 0},
                                      {"d_1", 1},
                                      {"KINETO", 3},
                                      {"kineto%", 0}}) {
    text.text = part;
    EXPECT_EQ(count(text), matches) << part;
  }
  RunFilter some;
  some.adapter = "NSYS";
  some.until_ns = 5;
  EXPECT_EQ(count(some), 2);
}

TEST_F(CatalogTest, EveryWordOfATextMustMatchAndAnExactModelIsNotAPart) {
  CatalogRun a = MakeRun("01930001-a", "1"), b = MakeRun("01930002-b", "2");
  a.model = "llama";
  a.precision = "bf16";
  a.tags = {{"team", "x"}};
  b.model = "llama 2";
  b.precision = "fp32";
  Insert(a);
  Insert(b);
  const auto found = [&](const std::string& text, const std::string& model, bool exact) {
    RunFilter filter;
    filter.text = text;
    filter.model = model;
    filter.exact = exact;
    return Ids(filter).size();
  };
  EXPECT_EQ(found("LLAMA team=x", "", false), 1u);
  EXPECT_EQ(found(" \t llama  fp32 ", "", false), 1u);
  EXPECT_EQ(found("llama team=x fp32", "", false), 0u);
  EXPECT_EQ(found("  ", "", false), 2u);
  EXPECT_EQ(found("", "llama", false), 2u);
  EXPECT_EQ(found("", "llama", true), 1u);
}

TEST_F(CatalogTest, PagesOfATextFollowTheCatalog) {
  for (int i = 0; i < 5; ++i) {
    CatalogRun run = MakeRun("01930000-000" + std::to_string(i), "x" + std::to_string(i));
    run.model = "llama";
    Insert(run);
  }
  RunFilter page;
  page.text = "llama";
  page.limit = 2;
  page.descending = false;
  std::vector<std::string> all;
  for (; page.offset < 7; page.offset += 2) {
    for (const std::string& id : Ids(page)) all.push_back(id);
    EXPECT_EQ(Must(catalog_->CountMatching(page)), 5);
  }
  page.offset = 0;
  page.limit = -1;
  EXPECT_EQ(all, Ids(page));
  EXPECT_EQ(all.size(), 5u);
  Must(catalog_->SetTag(all[0], "note", "gemma"));
  page.text = "gemma";
  EXPECT_EQ(Ids(page), (std::vector<std::string>{all[0]}));
  const auto other = Must(OpenSqliteCatalog(path(), CatalogMode::kReadWrite));
  Must(other->SetTag(all[1], "note", "gemma 2"));
  EXPECT_EQ(Must(catalog_->CountMatching(page)), 2) << "another process changed it";
  Must(catalog_->Remove(all[0]));
  EXPECT_EQ(Ids(page), (std::vector<std::string>{all[1]})) << "this one did";
}

TEST_F(CatalogTest, ChoicesAreCountedAndTheFrequentOnesAreKept) {
  for (int i = 0; i < 6; ++i) {
    CatalogRun run = MakeRun("01930000-000" + std::to_string(i), "x" + std::to_string(i));
    run.model = i < 3 ? "b" : i < 5 ? "a" : "";
    run.tags = {{"n", std::to_string(i % 2)}};
    run.backend = i < 4 ? "torch" : "";
    Insert(run);
  }
  const RunChoices all = Must(catalog_->Choices(10));
  ASSERT_EQ(all.backends.size(), 1u);
  EXPECT_EQ(all.backends[0].value, "torch");
  EXPECT_EQ(all.backends[0].runs, 4);
  ASSERT_EQ(all.models.size(), 2u) << "a run without a model is not a choice";
  EXPECT_EQ(all.models[0].value, "a");
  EXPECT_EQ(all.models[0].runs, 2);
  EXPECT_EQ(all.models[1].runs, 3);
  ASSERT_EQ(all.tags.size(), 2u);
  EXPECT_EQ(all.tags[1].value, "n=1");
  EXPECT_EQ(all.tags[1].runs, 3);
  const RunChoices one = Must(catalog_->Choices(1));
  ASSERT_EQ(one.models.size(), 1u);
  EXPECT_EQ(one.models[0].value, "b");
}

TEST_F(CatalogTest, HistoriesAreOfOneWorkloadOldestFirst) {
  const auto add = [&](int i, const char* model, const char* precision, int64_t created, int64_t wall) {
    CatalogRun run = MakeRun("01930000-000" + std::to_string(i), "x" + std::to_string(i));
    run.model = model;
    run.precision = precision;
    run.created_at_ns = created;
    run.wall_ns = wall;
    Insert(run);
    return run;
  };
  const CatalogRun newest = add(0, "m", "bf16", 30, 300);
  add(1, "m", "bf16", 10, 100);
  add(2, "m", "bf16", 20, 200);
  add(3, "m", "fp32", 15, 1);
  const CatalogRun alone = add(4, "n", "bf16", 15, 1);
  const CatalogRun unnamed = add(5, "", "bf16", 15, 1);
  const std::vector<WorkloadHistory> all = Must(catalog_->Histories({newest, newest, alone, unnamed}, 2));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].model + all[0].precision, "mbf16");
  EXPECT_EQ(all[0].wall_ns, (std::vector<int64_t>{200, 300}));
  EXPECT_TRUE(Must(catalog_->Histories({}, 2)).empty());
}

TEST_F(CatalogTest, LatestCountsBackInTheOrderOfAdding) {
  EXPECT_EQ(catalog_->Resolve("@latest").error().code, ErrorCode::kNotFound);
  for (int i = 0; i < 3; ++i) {
    CatalogRun run = MakeRun(fmt::format("0193000{}-a", 9 - i), std::to_string(i));
    run.created_at_ns = 1000 - i;  // an old trace imported late is still the latest
    Insert(run);
  }
  EXPECT_EQ(Must(catalog_->Resolve("@latest")).run_id, "01930007-a");
  EXPECT_EQ(Must(catalog_->Resolve("@latest~2")).run_id, "01930009-a");
  EXPECT_EQ(catalog_->Resolve("@latest~3").error().code, ErrorCode::kNotFound);
  for (const char* bad : {"@latest~", "@latest~-1", "@latest~x", "@latest2", "@latest~1x"}) {
    EXPECT_EQ(catalog_->Resolve(bad).error().code, ErrorCode::kInvalidInput) << bad;
  }
}

TEST_F(CatalogTest, TagNamesARunByPairByValueAndByKey) {
  Insert(MakeRun("01930001-a", "1"));
  Insert(MakeRun("01930002-b", "2"));
  Must(catalog_->SetTag("01930001-a", "name", "baseline"));
  Must(catalog_->SetTag("01930002-b", "name", "candidate"));
  Must(catalog_->SetTag("01930002-b", "golden", "yes"));
  EXPECT_EQ(Must(catalog_->Resolve("name=baseline")).run_id, "01930001-a");
  EXPECT_EQ(Must(catalog_->Resolve("candidate")).run_id, "01930002-b");
  EXPECT_EQ(Must(catalog_->Resolve("golden")).run_id, "01930002-b");
  EXPECT_EQ(catalog_->Resolve("name").error().code, ErrorCode::kInvalidInput) << "both runs have it";
  EXPECT_EQ(catalog_->Resolve("name=none").error().code, ErrorCode::kNotFound);
  Must(catalog_->SetTag("01930001-a", "name", "old"));
  EXPECT_EQ(catalog_->Resolve("baseline").error().code, ErrorCode::kNotFound);
  Must(catalog_->RemoveTag("01930001-a", "name"));
  EXPECT_EQ(catalog_->RemoveTag("01930001-a", "name").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(catalog_->SetTag("nope", "a", "b").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Must(catalog_->Resolve("name")).run_id, "01930002-b");
}

TEST_F(CatalogTest, AModelNamesItsOnlyRun) {
  CatalogRun a = MakeRun("01930001-a", "1"), b = MakeRun("01930002-b", "2");
  a.model = "llama 8B";
  b.model = "resnet";
  Insert(a);
  Insert(b);
  EXPECT_EQ(Must(catalog_->Resolve("llama 8B")).run_id, "01930001-a");
  const Error part = catalog_->Resolve("llama").error();
  EXPECT_EQ(part.code, ErrorCode::kNotFound) << "a part of a name could be another run tomorrow";
  EXPECT_NE(part.hint.find("llama 8B"), std::string::npos) << part.hint;
  CatalogRun c = MakeRun("01930003-c", "3");
  c.model = "resnet";
  Insert(c);
  const Error both = catalog_->Resolve("resnet").error();
  EXPECT_EQ(both.code, ErrorCode::kInvalidInput);
  EXPECT_NE(both.message.find("01930002-b"), std::string::npos) << both.message;
  EXPECT_NE(both.message.find("01930003-c"), std::string::npos) << both.message;
}

TEST_F(CatalogTest, FiltersAndSortsCombine) {
  CatalogRun a = MakeRun("a", "1");
  a.model = "ResNet50";
  a.wall_ns = 30;
  a.created_at_ns = 100;
  CatalogRun b = MakeRun("b", "2");
  b.backend = "jax";
  b.device = "AMD MI300X";
  b.precision = "fp32";
  b.wall_ns = 10;
  b.created_at_ns = 200;
  b.tags = {{"k", "v"}, {"x", "y"}};
  CatalogRun c = MakeRun("c", "3");
  c.wall_ns = 20;
  c.created_at_ns = 300;
  c.tags = {{"k", "w"}};
  for (const CatalogRun& run : {a, b, c}) Insert(run);
  EXPECT_EQ(Ids({}), (std::vector<std::string>{"c", "b", "a"}));
  RunFilter f;
  f.model = "resnet";
  EXPECT_EQ(Ids(f), (std::vector<std::string>{"a"}));
  f = {};
  f.backend = "JAX";
  f.device = "mi300";
  f.precision = "FP32";
  EXPECT_EQ(Ids(f), (std::vector<std::string>{"b"}));
  f = {};
  f.tags = {{"k", "v"}, {"x", "y"}};
  EXPECT_EQ(Ids(f), (std::vector<std::string>{"b"}));
  f.tags = {{"k", ""}};
  EXPECT_EQ(Ids(f), (std::vector<std::string>{"c", "b"}));
  f = {};
  f.sort = RunSort::kWall;
  f.descending = false;
  f.limit = 2;
  EXPECT_EQ(Ids(f), (std::vector<std::string>{"b", "c"}));
  f = {};
  f.since_ns = 200;
  EXPECT_EQ(Ids(f), (std::vector<std::string>{"c", "b"}));
  ASSERT_EQ(RunSortNames().size(), static_cast<size_t>(RunSort::kId) + 1);
}

TEST_F(CatalogTest, RemovingARunTakesItsTagsWithIt) {
  CatalogRun run = MakeRun("01930001-a", "1");
  run.tags = {{"name", "x"}};
  Insert(run);
  Must(catalog_->Remove("01930001-a"));
  EXPECT_EQ(catalog_->Remove("01930001-a").error().code, ErrorCode::kNotFound);
  run.tags.clear();
  Insert(run);
  EXPECT_TRUE(Must(catalog_->Find("01930001-a"))->tags.empty());
}

TEST_F(CatalogTest, BaselineKeepsItsRunsInOrderAndIsReplacedAsAWhole) {
  for (const char* id : {"01930001-a", "01930002-b", "01930003-c"}) Insert(MakeRun(id, id));
  Must(catalog_->SetBaseline({"main", 17, "before the rewrite", {"01930003-c", "01930001-a"}}));
  Must(catalog_->SetBaseline({"a/b'c\xc3\xa4", 18, "", {"01930001-a"}}));
  auto found = Must(catalog_->FindBaseline("main"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->run_ids, (std::vector<std::string>{"01930003-c", "01930001-a"}));
  EXPECT_EQ(found->created_at_ns, 17);
  EXPECT_EQ(found->note, "before the rewrite");
  EXPECT_FALSE(Must(catalog_->FindBaseline("Main")).has_value());
  const std::vector<Baseline> all = Must(catalog_->ListBaselines());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "a/b'c\xc3\xa4");
  EXPECT_EQ(all[1].name, "main");
  EXPECT_EQ(Must(catalog_->BaselinesOf("01930001-a")), (std::vector<std::string>{"a/b'c\xc3\xa4", "main"}));
  EXPECT_TRUE(Must(catalog_->BaselinesOf("01930002-b")).empty());
  Must(catalog_->SetBaseline({"main", 19, "", {"01930002-b"}}));
  found = Must(catalog_->FindBaseline("main"));
  EXPECT_EQ(found->run_ids, (std::vector<std::string>{"01930002-b"}));
  Must(catalog_->RemoveBaseline("main"));
  EXPECT_EQ(catalog_->RemoveBaseline("main").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Must(catalog_->Count()), 3) << "its runs stay";
}

TEST_F(CatalogTest, BaselineOfAMissingRunIsRefusedAndChangesNothing) {
  Insert(MakeRun("01930001-a", "1"));
  Must(catalog_->SetBaseline({"main", 1, "", {"01930001-a"}}));
  EXPECT_EQ(catalog_->SetBaseline({"main", 2, "", {"01930001-a", "nope"}}).error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(Must(catalog_->FindBaseline("main"))->created_at_ns, 1);
  for (const char* bad : {"", "@latest", "-x", "=", "two words", "tab\t", "line\n", "\x7f"}) {
    EXPECT_EQ(catalog_->SetBaseline({bad, 1, "", {}}).error().code, ErrorCode::kInvalidInput) << bad;
  }
  EXPECT_EQ(catalog_->SetBaseline({std::string(101, 'a'), 1, "", {}}).error().code, ErrorCode::kInvalidInput);
}

TEST_F(CatalogTest, RemovingARunTakesItOutOfItsBaselines) {
  Insert(MakeRun("01930001-a", "1"));
  Insert(MakeRun("01930002-b", "2"));
  Must(catalog_->SetBaseline({"main", 1, "", {"01930001-a", "01930002-b"}}));
  Must(catalog_->Remove("01930001-a"));
  EXPECT_EQ(Must(catalog_->FindBaseline("main"))->run_ids, (std::vector<std::string>{"01930002-b"}));
  EXPECT_TRUE(Must(catalog_->CheckIntegrity()).empty());
}

// A store of the first version: as it was written before there were baselines.
TEST_F(CatalogTest, OlderFileIsReadAsItIsAndBroughtUpToDateByAWriter) {
  CatalogRun run = MakeRun("01930001-a", "1");
  run.tags = {{"name", "x"}};
  Insert(run);
  catalog_.reset();
  SqliteExec("DROP TABLE note; DROP TABLE baseline_run; DROP TABLE baseline; PRAGMA user_version = 1");
  {
    auto reader = Must(OpenSqliteCatalog(path(), CatalogMode::kReadOnly));
    EXPECT_EQ(Must(reader->Find("01930001-a"))->tags, run.tags);
    EXPECT_TRUE(Must(reader->ListBaselines()).empty());
    EXPECT_FALSE(Must(reader->FindBaseline("main")).has_value());
    EXPECT_TRUE(Must(reader->BaselinesOf("01930001-a")).empty());
    EXPECT_TRUE(Must(reader->ListNotes("01930001-a")).empty());
  }
  catalog_ = Must(OpenSqliteCatalog(path(), CatalogMode::kReadWrite));
  EXPECT_EQ(Must(catalog_->Find("01930001-a"))->tags, run.tags);
  Must(catalog_->SetBaseline({"main", 1, "", {"01930001-a"}}));
  auto reader = Must(OpenSqliteCatalog(path(), CatalogMode::kReadOnly));
  EXPECT_EQ(Must(reader->ListBaselines()).size(), 1u);
}

TEST_F(CatalogTest, NotesBelongToARunAndGoWithIt) {
  Insert(MakeRun("01930001-a", "1"));
  Insert(MakeRun("01930002-b", "2"));
  const int64_t first = Must(catalog_->AddNote({0, "01930001-a", 7, "ada", "slow", 5, 9, "", std::nullopt}));
  const int64_t second =
      Must(catalog_->AddNote({0, "01930002-b", 8, "", "why?", std::nullopt, std::nullopt, "kernel", 12}));
  const std::vector<RunNote> notes = Must(catalog_->ListNotes("01930001-a"));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].id, first);
  EXPECT_EQ(notes[0].author + notes[0].text + notes[0].table, "adaslow");
  EXPECT_EQ(notes[0].from_ns, std::optional<int64_t>(5));
  EXPECT_EQ(notes[0].to_ns, std::optional<int64_t>(9));
  EXPECT_FALSE(notes[0].row_id.has_value());
  EXPECT_EQ(Must(catalog_->ListNotes("")).size(), 2u);
  EXPECT_FALSE(catalog_->RemoveNote("01930001-a", second).ok());  // of another run
  EXPECT_FALSE(catalog_->AddNote({0, "01930009-x", 7, "", "no run", {}, {}, "", {}}).ok());
  Must(catalog_->Remove("01930001-a"));
  EXPECT_TRUE(Must(catalog_->ListNotes("01930001-a")).empty());
  Must(catalog_->RemoveNote("01930002-b", second));
  EXPECT_TRUE(Must(catalog_->ListNotes("")).empty());
  // Numbers are not used again: a link to a note never leads to another one.
  const int64_t third = Must(catalog_->AddNote({0, "01930002-b", 9, "", "new", {}, {}, "", {}}));
  EXPECT_GT(third, second);
  EXPECT_TRUE(Must(catalog_->CheckIntegrity()).empty());
}

TEST_F(CatalogTest, NewerFileIsRefusedWithItsVersion) {
  catalog_.reset();
  SqliteExec("PRAGMA user_version = 999");
  for (const CatalogMode mode : {CatalogMode::kReadOnly, CatalogMode::kReadWrite}) {
    const auto opened = OpenSqliteCatalog(path(), mode);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(opened.error().message.find("999"), std::string::npos);
  }
}

TEST_F(CatalogTest, DamagedFileIsIoWithTheWayOut) {
  Insert(MakeRun("01930001-a", "1"));
  catalog_.reset();
  std::ofstream(path(), std::ios::trunc) << std::string(8192, 'j');
  for (const CatalogMode mode : {CatalogMode::kReadOnly, CatalogMode::kReadWrite}) {
    const auto opened = OpenSqliteCatalog(path(), mode);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kIo);
    EXPECT_NE(opened.error().hint.find("doctor --repair"), std::string::npos);
  }
}

TEST_F(CatalogTest, ReaderSeesWhatAnotherConnectionCommitsAndCannotWrite) {
  auto reader = Must(OpenSqliteCatalog(path(), CatalogMode::kReadOnly));
  Insert(MakeRun("01930001-a", "1"));
  EXPECT_EQ(Must(reader->Count()), 1);
  EXPECT_EQ(reader->Insert(MakeRun("01930002-b", "2")).error().code, ErrorCode::kIo);
  EXPECT_EQ(OpenSqliteCatalog(dir_.path() + "/none.sqlite", CatalogMode::kReadOnly).error().code,
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace nl
