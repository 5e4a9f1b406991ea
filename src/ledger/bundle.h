// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bundle: one run as one zip, to send, to keep, and to take back bit by bit.
//   manifest.json           first: {format, version, run_id, files: [{name, bytes, sha256}]}
//   run.json                the run document
//   catalog_entry.json      the catalog row, tags included
//   notes.json              what people wrote about the run, where there is anything
//   <table>.parquet, files/...
// The same run gives the same bytes on every machine. A bundle is untrusted input: it
// is staged and becomes a run only when every name, size, hash and document is right.
// docs/formats/bundle.md is the description for others.
// Thread rule: one call, one thread; any number of processes on one store.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ledger/store.h"
#include "ledger/zip_archive.h"

namespace nl {

inline constexpr char kBundleFormat[] = "neurolens-bundle";
inline constexpr int64_t kBundleVersion = 2;  // the newest that is read

struct BundleOptions {
  const std::atomic<bool>* cancelled = nullptr;  // may be null
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress;
  std::vector<RunNote> notes{};  // to write: those of the run, oldest first
};

// Writes the run of the catalog row `run`, with the tags it has there, and the notes of the options.
Status WriteBundle(const Store& store, const CatalogRun& run, const ByteSink& sink,
                   const BundleOptions& options = {});

// Does the file at `path` start as a bundle does? False when it cannot be read.
bool LooksLikeBundle(const std::string& path);

// Makes the bundle at `path` a run of the store. When the store has the run, or one of
// the same content, it is named as a duplicate. Anything amiss leaves the store as it was.
Result<CommitOutcome> RestoreBundle(Store& store, const std::string& path, const BundleOptions& options = {});

}  // namespace nl
