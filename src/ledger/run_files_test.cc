// SPDX-License-Identifier: Apache-2.0
#include "ledger/run_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "ledger/attachments.h"
#include "ledger/doctor.h"
#include "ledger/run_tables.h"
#include "ledger/sql_session.h"
#include "ledger/store.h"
#include "model/event_batch.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::AddRun;
using testing_runs::Must;

void FlipBit(const std::string& path, uint64_t bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  char byte = 0;
  file.seekg(static_cast<std::streamoff>(bit / 8));
  file.read(&byte, 1);
  byte = static_cast<char>(byte ^ (1 << (bit % 8)));
  file.seekp(static_cast<std::streamoff>(bit / 8));
  file.write(&byte, 1);
}

std::vector<std::string> FilesBelow(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) names.push_back(entry.path().lexically_relative(folder).string());
  std::sort(names.begin(), names.end());
  return names;
}

class RunFilesTest : public ::testing::Test {
 protected:
  RunFilesTest() {
    store_ = Must(Store::Open(dir_.path() + "/store", Store::Mode::kReadWrite));
    id_ = AddRun(*store_, "content");
    folder_ = store_->RunPath(id_);
    StagedRun staged = Must(store_->Stage());
    testing_runs::WriteParquet(staged.path() + "/kernel_metric.parquet",
                               "SELECT range AS id, range + 100 AS kernel_id FROM range(9)");
    Must(AttachTables(*store_, id_, std::move(staged), Json{{"content_sha256", "a"}}));
  }

  TempDir dir_ = Must(TempDir::Make("nl-run-files-"));
  std::unique_ptr<Store> store_;
  std::string id_, folder_;
};

TEST(Checksum, IsCrc64XzAndCanBeTakenInParts) {
  EXPECT_EQ(Checksum(0, "123456789"), 0x995dc9bbdf1939faull);
  EXPECT_EQ(Checksum(Checksum(0, "1234"), "56789"), 0x995dc9bbdf1939faull);
}

TEST_F(RunFilesTest, EveryFlippedBitIsFoundAndItsFileNamed) {
  std::mt19937_64 random(7);
  const std::vector<std::string> names = FilesBelow(folder_);
  ASSERT_EQ(names.size(), 5u) << "run.json, catalog_entry.json, a table, an attached table, attachment.json";
  for (int i = 0; i < 120; ++i) {
    const std::string& name = names[static_cast<size_t>(i) % names.size()];
    const std::string path = folder_ + "/" + name;
    const uint64_t bit = random() % (std::filesystem::file_size(path) * 8);
    FlipBit(path, bit);
    VerifyOptions fresh;
    fresh.trust_memory = false;
    const RunFilesReport report = Must(VerifyRunFolder(folder_, fresh));
    FlipBit(path, bit);
    ASSERT_EQ(report.defects.size(), 1u) << name << " bit " << bit;
    EXPECT_EQ(report.defects[0].rfind(name, 0), 0u) << report.defects[0];
  }
  EXPECT_TRUE(Must(VerifyRunFolder(folder_)).defects.empty());
}

TEST_F(RunFilesTest, EveryBitOfTheListIsGuarded) {
  const std::string path = folder_ + "/" + kCatalogEntryFile;
  const uint64_t bits = std::filesystem::file_size(path) * 8;
  for (uint64_t bit = 0; bit < bits; ++bit) {
    FlipBit(path, bit);
    EXPECT_FALSE(ReadRunFiles(folder_, kCatalogEntryFile).ok()) << "bit " << bit;
    FlipBit(path, bit);
  }
  EXPECT_TRUE(ReadRunFiles(folder_, kCatalogEntryFile).ok());
}

TEST_F(RunFilesTest, SqlReadsNoDamagedOrMissingFile) {
  const auto query = [&](const char* sql) -> Result<SqlTable> {
    auto session = SqlSession::Open({{"r", folder_, {}}}, {});
    if (!session.ok()) return std::move(session).error();
    return (*session)->QueryTable(sql, {});
  };
  const std::string file = folder_ + "/kernel.parquet";
  ASSERT_TRUE(query("SELECT sum(dur_ns) FROM kernel").ok());
  const std::string by_path = "SELECT count(*) FROM kernel_metric, read_parquet('" + file + "')";
  ASSERT_TRUE(query(by_path.c_str()).ok());
  FlipBit(file, 8 * 20);
  for (const char* sql : {"SELECT sum(dur_ns) FROM kernel", "SHOW TABLES", by_path.c_str()}) {
    const auto table = query(sql);
    ASSERT_FALSE(table.ok()) << sql;
    EXPECT_EQ(table.error().code, ErrorCode::kIo);
    EXPECT_EQ(table.error().message, "run r is damaged: kernel.parquet does not match its checksum");
  }
  EXPECT_TRUE(query("SELECT count(*) FROM kernel_metric").ok()) << "another table can still be read";
  std::filesystem::remove(file);
  EXPECT_EQ(query("SELECT count(*) FROM kernel").error().message,
            "run r is damaged: kernel.parquet is missing");
  const std::string attached = AttachmentFolders(folder_).at(0);
  FlipBit(attached + "/kernel_metric.parquet", 8 * 30);
  EXPECT_NE(query("SELECT count(*) FROM kernel_metric")
                .error()
                .message.find("/kernel_metric.parquet does not match"),
            std::string::npos);
  std::filesystem::remove(attached + "/attachment.json");
  EXPECT_NE(query("SELECT 1 AS one").error().message.find("attachment.json is missing"), std::string::npos);
}

TEST_F(RunFilesTest, ARunOfAnOlderVersionStillOpens) {
  Json entry = Must(ParseJson(Must(ReadWholeFile(folder_ + "/" + kCatalogEntryFile))));
  entry.erase("checksum");
  for (Json& file : entry["files"]) file.erase("crc64");
  Must(WriteFileAtomically(folder_ + "/" + kCatalogEntryFile, DumpJson(entry, 2) + "\n"));
  auto session = Must(SqlSession::Open({{"r", folder_, {}}}, {}));
  EXPECT_TRUE(session->QueryTable("SELECT count(*) FROM kernel", {}).ok());
  DoctorOptions options;
  options.store_path = store_->path();
  const DoctorReport report = Must(RunDoctor(options));
  EXPECT_TRUE(report.Healthy());
  std::string details;
  for (const DoctorCheck& check : report.checks) details += check.detail + "\n";
  EXPECT_NE(details.find("1 run without checksums, imported by an older version"), std::string::npos)
      << details;
}

TEST_F(RunFilesTest, ParallelReadersOfOneFileReadItOnceAndAllLearnOfDamage) {
  const RunFiles noted = Must(ReadRunFiles(folder_, kCatalogEntryFile));
  const std::string name = "kernel.parquet";
  for (const bool damaged : {false, true}) {
    if (damaged) FlipBit(folder_ + "/" + name, 100);
    std::atomic<int64_t> read_bytes{0};
    std::atomic<int> good{0};
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
          VerifyOptions options;
          options.on_read = [&](int64_t bytes) { read_bytes += bytes; };
          good += VerifyRunFile(folder_, name, noted.at(name), options).ok() ? 1 : 0;
        });
      }
    }
    EXPECT_EQ(good, damaged ? 0 : 8);
    EXPECT_EQ(read_bytes, (damaged ? 8 : 1) * noted.at(name).bytes);
  }
}

TEST_F(RunFilesTest, TheWriterTakesTheChecksumOfWhatItWrites) {
  Must(MakeDirectories(dir_.path() + "/tables"));
  RunTables tables(dir_.path() + "/tables", 8);
  EventBatch batch;
  for (int i = 0; i < 50; ++i) {
    KernelRow row;
    row.name = tables.strings().Add("k" + std::to_string(i % 5));
    row.start_ns = i * 10;
    row.dur_ns = 3;
    batch.kernel.Add(row);
  }
  tables.Append(batch);
  Must(tables.Flush());
  while (Must(tables.EncodeOne())) {
  }
  Must(tables.Finish());
  const RunFiles read = Must(MeasureRunFiles(dir_.path() + "/tables", kCatalogEntryFile));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(tables.checksums(),
            (std::map<std::string, uint64_t>{{"kernel.parquet", *read.at("kernel.parquet").checksum}}));
}

}  // namespace
}  // namespace nl
