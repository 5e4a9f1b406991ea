// SPDX-License-Identifier: Apache-2.0
#pragma once
// Doctor: is this store whole, and can this machine work with it? Looks without
// changing anything; with `repair` it does what cannot lose a run: removes what dead
// imports left, enters complete run folders in the catalog, drops entries whose
// folder is gone, rebuilds a damaged catalog from the run folders.
// Thread rule: one call at a time per store; other processes may import meanwhile.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "ledger/catalog.h"

namespace nl {

enum class CheckStatus : uint8_t { kOk, kWarning, kProblem };
std::span<const std::string_view> NamesOf(CheckStatus status);  // "ok", "warning", "problem"

struct DoctorCheck {
  std::string name;  // topic, stable: store, disk, staging, catalog, run, duckdb, machine
  CheckStatus status = CheckStatus::kOk;
  std::string detail;     // what was found and, when it was repaired, what was done
  bool repaired = false;  // it was a problem and is none any more
};
void Describe(Record<DoctorCheck>& r);

struct DoctorOptions {
  std::string store_path;
  std::string duckdb_path;  // as for LoadDuckDb
  bool repair = false;
};

struct DoctorReport {
  std::vector<DoctorCheck> checks;
  bool Healthy() const;  // no problem remains
};

DoctorReport RunDoctor(const DoctorOptions& options);

// The catalog row of a run folder: from catalog_entry.json, or, when that is
// missing, as much of it as run.json holds.
Result<CatalogRun> ReadRunFolder(const std::string& folder);

// Which file of a run is missing or not of the size noted at commit ("kernel.parquet is missing"); empty:
// none, or the folder has no such note.
std::string MissingRunFile(const std::string& folder);

// Parquet's marks at both ends and a footer that fits the file; empty: fine.
std::string ParquetDefect(const std::string& path);

}  // namespace nl
