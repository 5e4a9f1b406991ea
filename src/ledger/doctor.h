// SPDX-License-Identifier: Apache-2.0
#pragma once
// Doctor: is this store whole, and can this machine work with it? Reads every file of every run and
// compares it with its checksum, without changing anything. With `repair` it does what cannot lose a run:
// removes unfinished imports, enters complete run folders in the catalog, drops entries whose folder is
// gone, rebuilds a damaged catalog from the run folders. A folder that holds a whole run is never removed:
// one that is in the way moves to lost/.
// Thread rule: one call at a time per store; other processes may import meanwhile.

#include <atomic>
#include <cstdint>
#include <functional>
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
  std::string name;  // topic, stable: store, disk, staging, catalog, run, lost, derived, duckdb, machine
  CheckStatus status = CheckStatus::kOk;
  std::string detail;     // what was found and, when it was repaired, what was done
  bool repaired = false;  // it was a problem and is none any more
};
void Describe(Record<DoctorCheck>& r);

struct DoctorOptions {
  std::string store_path;
  std::string duckdb_path;  // as for LoadDuckDb
  bool repair = false;
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress;  // while checksums are verified
  const std::atomic<bool>* cancelled = nullptr;
};

struct DoctorReport {
  std::vector<DoctorCheck> checks;
  bool Healthy() const;  // no problem remains
};

// The only error is Cancelled.
Result<DoctorReport> RunDoctor(const DoctorOptions& options);

// The catalog row of a run folder: from catalog_entry.json, or, when that is
// missing, as much of it as run.json holds.
Result<CatalogRun> ReadRunFolder(const std::string& folder);

// Parquet's marks at both ends and a footer that fits the file; empty: fine.
std::string ParquetDefect(const std::string& path);

}  // namespace nl
