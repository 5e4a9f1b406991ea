// SPDX-License-Identifier: Apache-2.0
#include "testing/run_fixture.h"

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/sha256.h"
#include "base/time_text.h"
#include "base/uuid.h"
#include "ledger/duckdb_library.h"
#include "ledger/sql_guard.h"
#include "model/schema.h"

namespace nl::testing_runs {

void Must(const Status& status) {
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().ToString());
}

void WriteParquet(const std::string& path, const std::string& select) {
  const DuckDbApi& api = *Must(LoadDuckDb());
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  ASSERT_EQ(api.open_ext(nullptr, &database, nullptr, nullptr), DuckDBSuccess);
  ASSERT_EQ(api.connect(database, &connection), DuckDBSuccess);
  duckdb_result result{};
  const std::string sql = fmt::format("COPY ({}) TO {} (FORMAT parquet)", select, SqlQuote(path));
  EXPECT_EQ(api.query(connection, sql.c_str(), &result), DuckDBSuccess) << api.result_error(&result);
  api.destroy_result(&result);
  api.disconnect(&connection);
  api.close(&database);
}

RunDocument Document(const std::string& run_id, const std::string& content) {
  RunDocument document;
  document.run_id = run_id;
  document.created_at = Rfc3339Utc(UnixNowNs());
  document.software.backend = "torch";
  document.model.name = "tiny";
  document.source.adapter = "kineto";
  document.source.adapter_version = "1";
  document.source.files.push_back({"trace.json", 10, Sha256Hex(content)});
  TimelineOp op;
  op.op_name = op.op_type = "aten::mm";
  op.start_ms = 0;
  op.end_ms = 1;
  op.duration_ms = 1;
  document.timeline.push_back(op);
  document.summary.total_duration_ms = 1;
  document.summary.total_ops = 1;
  return document;
}

CatalogRun Entry(const std::string& run_id, const std::string& content) {
  CatalogRun run;
  run.run_id = run_id;
  run.created_at_ns = UnixNowNs();
  run.backend = "torch";
  run.model = "tiny";
  run.device = "NVIDIA H200";
  run.device_count = 1;
  run.precision = "bf16";
  run.adapter = "kineto";
  run.source_name = "trace.json";
  run.source_bytes = 10;
  run.content_sha256 = Sha256Hex(content);
  run.wall_ns = 1'000'000;
  run.kernel_count = 3;
  run.schema_version = kRunSchemaVersion;
  return run;
}

void WriteRunFiles(const std::string& folder, const std::string& run_id, const std::string& content) {
  Must(WriteFileAtomically(folder + "/run.json", Must(SerializeValid(Document(run_id, content)))));
  WriteParquet(folder + "/kernel.parquet",
               "SELECT range AS id, 'gemm_' || range AS name, 9007199254740993 + range AS start_ns, "
               "100 * (range + 1) AS dur_ns FROM range(3)");
}

std::string AddRun(Store& store, const std::string& content, std::map<std::string, std::string> tags) {
  const std::string run_id = NewUuidV7();
  StagedRun staged = Must(store.Stage());
  WriteRunFiles(staged.path(), run_id, content);
  CatalogRun entry = Entry(run_id, content);
  entry.tags = std::move(tags);
  return Must(store.Commit(std::move(staged), entry)).run_id;
}

}  // namespace nl::testing_runs
