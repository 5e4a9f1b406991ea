// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: a trace given as its bytes becomes a stored run with a snapshot.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/file_ops.h"
#include "import/importer.h"
#include "ledger/run_tables.h"
#include "ledger/snapshot.h"

namespace nl {

class TestRun {
 public:
  explicit TestRun(const std::string& trace, const std::string& file_name = "trace.json",
                   size_t rows_per_group = RunTables::kRowsPerGroup)
      : folder_(*TempDir::Make("nl-test-run")) {
    const std::string file = folder_.path() + "/" + file_name;
    EXPECT_TRUE(WriteFileAtomically(file, trace).ok());
    EXPECT_TRUE(MakeDirectories(folder_.path() + "/run").ok());
    RunTables tables(run_folder(), rows_per_group);
    ImportRequest request;
    request.paths = {file};
    Result<ImportResult> imported = ImportFiles(request, tables);
    EXPECT_TRUE(imported.ok()) << imported.error().ToString();
    if (imported.ok()) result = *std::move(imported);
    Result<std::unique_ptr<Snapshot>> opened = Snapshot::Open({"test", run_folder(), {}});
    EXPECT_TRUE(opened.ok()) << opened.error().ToString();
    if (opened.ok()) snapshot = *std::move(opened);
  }

  std::string run_folder() const { return folder_.path() + "/run"; }

  ImportResult result;
  std::unique_ptr<Snapshot> snapshot;

 private:
  TempDir folder_;
};

}  // namespace nl
