// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small runs for the ledger's tests: a valid document, Parquet tables written by
// DuckDB itself, and a store in a temporary folder. Not part of the program.

#include <cstdlib>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "ledger/store.h"
#include "model/run_document.h"

namespace nl::testing_runs {

template <class T>
T Must(Result<T> result) {
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
  if (!result.ok()) std::abort();
  return *std::move(result);
}
void Must(const Status& status);

// COPY (`select`) TO `path` as Parquet.
void WriteParquet(const std::string& path, const std::string& select);

RunDocument Document(const std::string& run_id, const std::string& content);

CatalogRun Entry(const std::string& run_id, const std::string& content);

// run.json and a kernel table of three rows.
void WriteRunFiles(const std::string& folder, const std::string& run_id, const std::string& content);

// Stages, fills and commits one run; gives its id.
std::string AddRun(Store& store, const std::string& content, std::map<std::string, std::string> tags = {});

}  // namespace nl::testing_runs
