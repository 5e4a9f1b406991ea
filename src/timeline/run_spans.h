// SPDX-License-Identifier: Apache-2.0
#pragma once
// RunSpans: every span of a stored run, read by row groups of its Parquet files, sorted into lanes. Holds no
// spans itself: what is read belongs to the caller.
// Thread rule: Read may be called by any number of threads; the string pool only grows, under a lock.
// Ownership: keeps the files open.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ledger/parquet_reader.h"
#include "model/string_pool.h"
#include "timeline/span.h"

namespace nl {

// Spans of one lane, in the order of DrawnBefore.
struct LaneSpans {
  LaneSlot slot = 0;
  std::vector<Span> spans;
};

class RunSpans {
 public:
  struct Group {  // a row group of a table with spans
    SpanTable table{};
    uint32_t group = 0;
    int64_t first_row = 0, rows = 0;
    int64_t first_start_ns = 0;  // a lower bound, from the file's statistics
  };

  // Verifies the files it reads (ledger/run_files.h). `label` names the run in errors.
  static Result<std::unique_ptr<RunSpans>> Open(const std::string& run_folder, const std::string& label,
                                                const std::atomic<bool>* cancelled);

  int64_t zero_ns() const { return zero_ns_; }  // run clock of time 0: first_start_ns of TimelineFacts
  int64_t events() const { return events_; }    // rows of all span tables
  int64_t stored_bytes() const { return stored_bytes_; }  // of all tables of the run
  int64_t threads() const { return threads_; }
  const std::vector<Group>& groups() const { return groups_; }
  const StringPool& strings() const { return strings_; }

  // The spans of one row group, lane by lane; rows without a start are left out, and so are rows without a
  // duration where that is not an instant.
  Result<std::vector<LaneSpans>> Read(size_t group) const;
  // Names are numbered together with their table, so that a number is enough to show them.
  StringId Intern(SpanTable table, std::string_view name) const;
  std::string_view NameOf(StringId id) const { return strings_.Text(id).substr(1); }
  SpanTable TableOf(StringId id) const { return static_cast<SpanTable>(strings_.Text(id)[0] - 'a'); }

  // A table of the run for other columns; null: the run does not have it. Verified.
  Result<std::shared_ptr<const ParquetReader>> OpenTable(const std::string& name,
                                                         const std::atomic<bool>* cancelled = nullptr) const;
  // The file of a table with spans; null: the run does not have it.
  const ParquetReader* file(SpanTable table) const { return tables_[static_cast<size_t>(table)].file.get(); }

  // Whether every row of a row group is a span, so that names can be counted without times.
  bool AllTimed(size_t group) const;
  // No span of the row group starts later; from the file's statistics.
  int64_t LastStart(size_t group) const;

  // The names of one row group as ids of the pool; an empty name where there is none. A CPU sample has the
  // name of its innermost frame: whole stacks would fill the memory.
  Result<std::vector<StringId>> ReadNames(SpanTable table, size_t group) const;
  // The column that names come from: of CPU samples their stacks.
  Status ReadTexts(SpanTable table, size_t group, CodedTexts& out) const;

 private:
  struct TableFile {
    std::shared_ptr<const ParquetReader> file;
    int start = -1, dur = -1, thread = -1, name = -1, kind = -1;
  };
  Status OpenSpanTables();
  Status FindZero();
  Result<int64_t> FirstStart(const TableFile& table, size_t group) const;
  Result<std::vector<LaneSlot>> SlotsOf(SpanTable table, size_t group) const;

  std::string folder_, label_;
  const std::atomic<bool>* cancelled_ = nullptr;
  std::array<TableFile, kSpanTables> tables_;
  std::vector<Group> groups_;
  int64_t zero_ns_ = 0, events_ = 0, stored_bytes_ = 0, threads_ = 0;
  mutable std::mutex mutex_;  // of strings_
  mutable StringPool strings_;
};

}  // namespace nl
