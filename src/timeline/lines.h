// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lines of a timeline: counters and allocated memory. A line keeps its values in buckets of one level,
// the lowest that leaves few enough; at level 0 that is every value. A tile of that level or above folds
// them; closer than that, the values are read from the row groups of the run that lie in the window.
// BuildLines makes them from the run, WriteLines and ReadLines store them beside its overview.
// Thread rule: Line is constant once made; LineRows may be used by any number of threads.
// Ownership: LineRows borrows the spans and keeps the files open.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "timeline/run_spans.h"

namespace nl {

// The values of one bucket. Buckets of level n are those of timeline/span.h.
struct LineBucket {
  int64_t at_ns = 0;  // of the last value
  int64_t count = 0;
  double min = 0, max = 0, last = 0;
};

enum class LineTable : uint8_t { kCounterSample, kMemoryEvent };
inline constexpr std::array<const char*, 2> kLineTableNames = {"counter_sample", "memory_event"};

// Which rows are the values of a line, in the order of the lanes. Null, or empty, where it does not apply.
struct LineKey {
  LineTable table{};
  int64_t thread = NullOf<int64_t>::value;   // of a counter
  int64_t process = NullOf<int64_t>::value;  // that the line is drawn in
  int64_t device = NullOf<int64_t>::value;   // of memory
  std::string name, part;                    // of a counter: its name, and the series within it

  auto Fields() const { return std::tie(table, thread, process, device, name, part); }
  friend bool operator<(const LineKey& a, const LineKey& b) { return a.Fields() < b.Fields(); }
};

struct Line {
  static constexpr int kVersion = 1;  // of the stored form and of what it means

  LineKey key;
  int64_t count = 0, first_ns = 0;
  unsigned level = 0;
  std::vector<LineBucket> buckets;  // by time, none empty

  int64_t last_ns() const { return buckets.back().at_ns; }
  std::string Name() const;
};

// The values of a row group that belong to one line, by time; of equal times the earlier row first.
struct LinePart {
  LineKey key;
  std::vector<int64_t> at_ns;
  std::vector<double> value;
};

// The rows that have the values of lines.
class LineRows {
 public:
  struct Group {
    LineTable table{};
    uint32_t group = 0;
    int64_t from_ns = 0, to_ns = 0;  // first and last time, from the file's statistics
  };

  explicit LineRows(const RunSpans& spans) : spans_(spans) {}
  // Opens and verifies the tables when they are needed first.
  Result<const std::vector<Group>*> Groups(const std::atomic<bool>* cancelled) const;
  Result<std::vector<LinePart>> Read(size_t group) const;  // after Groups
  int64_t rows() const { return rows_; }                   // after Groups

 private:
  Status Open(const std::atomic<bool>* cancelled) const;
  Result<std::vector<LinePart>> ReadCounters(size_t group) const;
  Result<std::vector<LinePart>> ReadMemory(size_t group) const;
  int64_t ProcessOf(int64_t thread) const;

  const RunSpans& spans_;
  mutable std::mutex mutex_;  // of what follows, while it is opened
  mutable bool is_open_ = false;
  mutable std::array<std::shared_ptr<const ParquetReader>, 2> files_;
  mutable std::vector<int64_t> process_of_;  // by thread
  mutable std::vector<Group> groups_;
  mutable int64_t rows_ = 0;
};

struct LineOptions {
  int64_t most_buckets = 0;  // of all lines together; 0: as many as MostLineBytes holds
  const std::atomic<bool>* cancelled = nullptr;
};
Result<std::vector<Line>> BuildLines(const LineRows& rows, const RunSpans& spans, const LineOptions& options);

// The largest stored form for this run.
int64_t MostLineBytes(int64_t stored_bytes);

// Buckets that are sorted by time as those of a level above theirs.
std::vector<LineBucket> FoldBuckets(const LineBucket* from, const LineBucket* to, unsigned level);
// Gives up the level of the line.
void RaiseLevel(Line& line);

// Writes the Parquet file and gives its checksum (ledger/run_files.h).
Result<uint64_t> WriteLines(const std::vector<Line>& lines, const RunSpans& spans, const std::string& path);
// InvalidInput when the file does not fit the run.
Result<std::vector<Line>> ReadLines(const std::string& path, const RunSpans& spans);

}  // namespace nl
