// SPDX-License-Identifier: Apache-2.0
#include "ledger/doctor.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "base/sha256.h"
#include "ledger/store.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::AddRun;
using testing_runs::Must;

class DoctorTest : public ::testing::Test {
 protected:
  std::string path() const { return dir_.path() + "/store"; }
  std::unique_ptr<Store> OpenStore() { return Must(Store::Open(path(), Store::Mode::kReadWrite)); }
  DoctorReport Examine(bool repair = false) { return Must(RunDoctor({path(), "", repair, {}, nullptr})); }
  // Details of everything that is wrong or was repaired, one per line.
  static std::string Findings(const DoctorReport& report) {
    std::string out;
    for (const DoctorCheck& check : report.checks) {
      if (check.status != CheckStatus::kOk || check.repaired) out += check.name + ": " + check.detail + "\n";
    }
    return out;
  }
  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  TempDir dir_ = Must(TempDir::Make("nl-doctor-"));
};

TEST_F(DoctorTest, WholeStoreAndMissingStoreAreHealthyAndUntouched) {
  EXPECT_TRUE(Examine(true).Healthy());
  EXPECT_FALSE(PathExists(path()));
  AddRun(*OpenStore(), "one");
  const DoctorReport report = Examine();
  EXPECT_TRUE(report.Healthy()) << Findings(report);
  EXPECT_EQ(Findings(report), "");
}

TEST_F(DoctorTest, TruncatedParquetIsFoundAndNotRepairable) {
  auto store = OpenStore();
  const std::string id = AddRun(*store, "one");
  const std::string file = store->RunPath(id) + "/kernel.parquet";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 5);
  for (const bool repair : {false, true}) {
    const DoctorReport report = Examine(repair);
    EXPECT_FALSE(report.Healthy());
    EXPECT_TRUE(Has(Findings(report), "kernel.parquet has")) << Findings(report);
  }
  EXPECT_TRUE(Has(ParquetDefect(file), "cut short"));
  std::filesystem::resize_file(file, 3);
  EXPECT_TRUE(Has(ParquetDefect(file), "too short"));
}

TEST_F(DoctorTest, MissingFileAndBrokenDocumentAreFound) {
  auto store = OpenStore();
  const std::string first = AddRun(*store, "one");
  const std::string second = AddRun(*store, "two");
  Must(RemoveTree(store->RunPath(first) + "/kernel.parquet"));
  // Same size as before, so only reading it tells.
  const std::string document = store->RunPath(second) + "/run.json";
  const std::string text = Must(ReadWholeFile(document));
  std::string broken = text;
  broken.replace(broken.find("\"torch\""), 7, "\"torhc\"");
  Must(WriteFileAtomically(document, broken));
  const std::string findings = Findings(Examine());
  EXPECT_TRUE(Has(findings, first + ": kernel.parquet is missing")) << findings;
  EXPECT_TRUE(Has(findings, second + ": run.json does not match its checksum")) << findings;
}

TEST_F(DoctorTest, EntryWithoutFolderIsDroppedByRepairOnly) {
  auto store = OpenStore();
  const std::string id = AddRun(*store, "one");
  Must(RemoveTree(store->RunPath(id)));
  EXPECT_FALSE(Examine().Healthy());
  EXPECT_EQ(Must(store->catalog().Count()), 1) << "looking changes nothing";
  const DoctorReport repaired = Examine(true);
  EXPECT_TRUE(repaired.Healthy());
  EXPECT_TRUE(Has(Findings(repaired), "repaired: remove the entry"));
  EXPECT_EQ(Must(store->catalog().Count()), 0);
}

TEST_F(DoctorTest, DamagedCatalogIsRebuiltExactlyFromTheRunFolders) {
  std::vector<CatalogRun> before;
  {
    auto store = OpenStore();
    for (int i = 0; i < 3; ++i) AddRun(*store, std::to_string(i), {{"n", std::to_string(i)}});
    before = Must(store->catalog().List({}));
  }
  for (const char* part : {"-wal", "-shm"}) std::filesystem::remove(CatalogPath(path()) + part);
  std::ofstream(CatalogPath(path()), std::ios::trunc) << std::string(20000, '\x55');
  EXPECT_FALSE(Examine().Healthy());
  const DoctorReport report = Examine(true);
  EXPECT_TRUE(report.Healthy()) << Findings(report);
  const auto after = Must(OpenStore()->catalog().List({}));
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i)
    EXPECT_EQ(CatalogRunToJson(after[i]), CatalogRunToJson(before[i]));
}

// A damage that the header does not show: the baselines can still be read and go on with the runs there are.
TEST_F(DoctorTest, RebuildKeepsTheBaselinesItCanRead) {
  std::vector<std::string> ids;
  {
    auto store = OpenStore();
    for (int i = 0; i < 2; ++i) ids.push_back(AddRun(*store, std::to_string(i)));
    Must(store->catalog().SetBaseline({"main", 5, "n", {ids[1], ids[0]}}));
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(CatalogPath(path()).c_str(), &db), SQLITE_OK);
  // foreign_key_check then reports a row, which doctor takes as damage.
  ASSERT_EQ(
      sqlite3_exec(db, "INSERT INTO baseline_run VALUES ('main', 7, 'gone')", nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(db);
  EXPECT_FALSE(Examine().Healthy());
  EXPECT_TRUE(Examine(true).Healthy());
  const auto baseline = Must(OpenStore()->catalog().FindBaseline("main"));
  ASSERT_TRUE(baseline.has_value());
  EXPECT_EQ(baseline->run_ids, (std::vector<std::string>{ids[1], ids[0]}));
  EXPECT_EQ(baseline->note, "n");
}

TEST_F(DoctorTest, LostCatalogIsRebuiltAlsoFromDocumentsAlone) {
  std::string id;
  {
    auto store = OpenStore();
    id = AddRun(*store, "one");
    Must(RemoveTree(store->RunPath(id) + "/" + kCatalogEntryFile));
  }
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(CatalogPath(path()) + part);
  EXPECT_EQ(Store::Open(path(), Store::Mode::kReadOnly).error().code, ErrorCode::kIo);
  EXPECT_FALSE(Examine().Healthy());
  EXPECT_TRUE(Examine(true).Healthy());
  const auto run = Must(OpenStore()->catalog().Find(id));
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->model, "tiny");
  EXPECT_EQ(run->content_sha256, Sha256Hex("one"));
  EXPECT_EQ(run->wall_ns, 1'000'000);
}

TEST_F(DoctorTest, FolderThatIsNoRunIsReportedAndKept) {
  OpenStore();
  Must(MakeDirectories(path() + "/runs/mine"));
  Must(WriteFileAtomically(path() + "/runs/mine/thesis.txt", "years of work"));
  EXPECT_FALSE(Examine(true).Healthy());
  EXPECT_TRUE(PathExists(path() + "/runs/mine/thesis.txt"));
}

}  // namespace
}  // namespace nl
