// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adapter: reads one foreign format into event rows. One folder per format under
// import/adapters/, each with `const Adapter& Describe()`; CMake generates the list.
// Thread rule: adapters are constant and shared; Import may use its own threads.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/result.h"
#include "import/read/byte_source.h"
#include "import/rows/run_facts.h"
#include "import/rows/source_facts.h"
#include "ledger/event_sink.h"

namespace nl {

struct ImportOptions {
  int threads = 0;                // 0: one per core
  size_t chunk_bytes = 1u << 20;  // of text handed to a parsing thread
  bool allow_truncated = false;   // keep the complete part of a truncated file
  InputStream input;              // what the path "-" reads
  const std::atomic<bool>* cancelled = nullptr;
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress;

  bool Cancelled() const { return cancelled != nullptr && cancelled->load(std::memory_order_relaxed); }
};

// Everything an adapter reads from and writes to for one file.
struct ImportFile {
  ByteSource& source;
  const std::string& path;
  const ImportOptions& options;
  EventSink& sink;
  RunFacts& facts;
  SourceFacts& about;  // what the file says of machine, software, model
  CounterSet& counters;
};

struct AdapterInfo {
  std::string name;     // stable, as in --format and in run documents
  int version = 1;      // raised when the rows it makes change
  std::string summary;  // one line for `neurolens formats`
  std::string produced_by;
  std::vector<std::string> name_hints;  // usual file name endings, for people
};

// Which part of a distributed run a file says it is.
struct RankHint {
  std::optional<int64_t> rank, world_size;
  std::string adapter;  // that reads the file; filled by PeekRank of importer.h
};

// Some tools spread one run over several files. Which part of it a file is ("profile"; empty:
// it is a run of its own), by its first bytes, and the name that the parts share, by its name:
// "bert" of bert.profile.json, kFolder of profile.json, empty where the name gives no information.
struct FileRole {
  static constexpr const char* kFolder = ".";
  std::string part, set;
  std::string adapter;  // that reads the file; filled by PeekRole of importer.h
};

// Which processes and which time the records of a file are of: parts of one recording share them.
struct RecordingSpan {
  std::set<int64_t> processes;                        // empty: the file names none
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;  // on the clock of the recorded machine
  bool has_times() const { return first_ns <= last_ns; }
};

class Adapter {
 public:
  virtual ~Adapter() = default;
  virtual AdapterInfo Info() const = 0;
  // How sure it is that `head` (the first decompressed bytes) is its format: 0 no,
  // 1..100. The file name may only break ties.
  virtual int Score(std::string_view head, std::string_view file_name) const = 0;
  // The rank that the first bytes name; empty when they do not.
  virtual RankHint PeekRank(std::string_view) const { return {}; }
  virtual FileRole Role(std::string_view, std::string_view) const { return {}; }  // head, file name
  // For adapters whose files have roles. `exact`: of all records; otherwise of those at the beginning of the
  // file and, where it is not compressed, at its end.
  virtual Result<RecordingSpan> Span(const std::string& path, bool exact) const;
  virtual Status Import(ImportFile& file) const = 0;
  // The parts of one run, each once, in any order; for adapters whose files have roles. What
  // the first file's `about` says in the end is the run's.
  virtual Status ImportParts(std::vector<ImportFile>& files) const;
};

using AdapterFn = const Adapter& (*)();
const std::vector<AdapterFn>& AllAdapters();

inline constexpr size_t kSniffBytes = 64 << 10;

// The adapter that fits best. A tie or no fit is InvalidInput that says what was seen.
Result<const Adapter*> DetectAdapter(std::string_view head, std::string_view file_name);
const Adapter* FindAdapter(std::string_view name);

}  // namespace nl
