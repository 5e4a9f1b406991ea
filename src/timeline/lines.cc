// SPDX-License-Identifier: Apache-2.0
#include "timeline/lines.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "timeline/sorted_runs.h"

namespace nl {

namespace {

constexpr double kLineShare = 0.004;  // of the run's tables
constexpr int64_t kLeastLineBytes = 256 * 1024;
constexpr int64_t kBytesPerLineBucket = 16;  // stored; what is too large after all is raised then
constexpr size_t kLeastLineBuckets = 64, kMostLineBuckets = 65'536;  // of one line

// Several threads write their events in turns, so the rows of a line are nearly in order of time.
void SortByTime(LinePart& part) {
  if (std::is_sorted(part.at_ns.begin(), part.at_ns.end())) return;
  struct Value {
    int64_t at_ns;
    size_t row;
    double value;
  };
  std::vector<Value> sorted(part.at_ns.size());
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = {part.at_ns[i], i, part.value[i]};
  SortRuns(sorted, [](const Value& a, const Value& b) {
    return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.row < b.row;
  });
  for (size_t i = 0; i < sorted.size(); ++i) {
    part.at_ns[i] = sorted[i].at_ns;
    part.value[i] = sorted[i].value;
  }
}

// `later` is of later rows.
void Combine(LineBucket& bucket, const LineBucket& later) {
  bucket.count += later.count;
  bucket.min = std::min(bucket.min, later.min);
  bucket.max = std::max(bucket.max, later.max);
  if (later.at_ns < bucket.at_ns) return;
  bucket.at_ns = later.at_ns;
  bucket.last = later.last;
}

// Adds a bucket to a list that is sorted by time.
void Append(std::vector<LineBucket>& list, const LineBucket& bucket, unsigned level) {
  if (!list.empty() && BucketOf(list.back().at_ns, level) == BucketOf(bucket.at_ns, level)) {
    Combine(list.back(), bucket);
  } else {
    list.push_back(bucket);
  }
}

// Adds the values of later rows to a line.
void Add(Line& line, const LinePart& part) {
  std::vector<LineBucket> added;
  for (size_t i = 0; i < part.at_ns.size(); ++i)
    Append(added, {part.at_ns[i], 1, part.value[i], part.value[i], part.value[i]}, line.level);
  line.first_ns = line.count == 0 ? part.at_ns.front() : std::min(line.first_ns, part.at_ns.front());
  line.count += static_cast<int64_t>(part.at_ns.size());
  // What the line has from the first added bucket on is merged with them.
  const int64_t first = BucketOf(added.front().at_ns, line.level);
  const auto from = std::lower_bound(
      line.buckets.begin(), line.buckets.end(), first,
      [&line](const LineBucket& b, int64_t index) { return BucketOf(b.at_ns, line.level) < index; });
  const std::vector<LineBucket> tail(from, line.buckets.end());
  line.buckets.erase(from, line.buckets.end());
  auto old = tail.begin();
  for (const LineBucket& bucket : added) {
    const int64_t index = BucketOf(bucket.at_ns, line.level);
    while (old != tail.end() && BucketOf(old->at_ns, line.level) <= index)
      Append(line.buckets, *old++, line.level);
    Append(line.buckets, bucket, line.level);
  }
  for (; old != tail.end(); ++old) Append(line.buckets, *old, line.level);
}

}  // namespace

std::string Line::Name() const {
  if (key.table == LineTable::kCounterSample)
    return key.part.empty() ? key.name : fmt::format("{} {}", key.name, key.part);
  const bool host = IsNull(key.device) || key.device < 0;
  return host ? "host memory allocated (bytes)" : fmt::format("GPU {} memory allocated (bytes)", key.device);
}

std::vector<LineBucket> FoldBuckets(const LineBucket* from, const LineBucket* to, unsigned level) {
  std::vector<LineBucket> out;
  for (const LineBucket* bucket = from; bucket != to; ++bucket) Append(out, *bucket, level);
  return out;
}

void RaiseLevel(Line& line) {
  const LineBucket* from = line.buckets.data();
  line.buckets = FoldBuckets(from, from + line.buckets.size(), ++line.level);
}

int64_t MostLineBytes(int64_t stored_bytes) {
  return std::max(kLeastLineBytes, static_cast<int64_t>(kLineShare * static_cast<double>(stored_bytes)));
}

Status LineRows::Open(const std::atomic<bool>* cancelled) const {
  NL_ASSIGN(const std::shared_ptr<const ParquetReader> threads, spans_.OpenTable("thread", cancelled));
  std::vector<int64_t> part;
  for (size_t g = 0; threads != nullptr && g < threads->groups(); ++g) {
    const int column = threads->Column("process_id");
    if (column < 0) return InvalidInput(fmt::format("{} lacks the column process_id", threads->path()));
    NL_TRY(threads->ReadInts(g, column, part));
    process_of_.insert(process_of_.end(), part.begin(), part.end());
  }
  for (size_t t = 0; t < kLineTableNames.size(); ++t) {
    NL_ASSIGN(files_[t], spans_.OpenTable(kLineTableNames[t], cancelled));
    if (files_[t] == nullptr) continue;
    const ParquetReader& file = *files_[t];
    const auto table = static_cast<LineTable>(t);
    const bool counters = table == LineTable::kCounterSample;
    for (const char* column :
         counters ? std::array{"thread_id", "start_ns", "name", "series", "value"}
                  : std::array{"thread_id", "start_ns", "total_allocated_bytes", "device", "device"}) {
      if (file.Column(column) < 0)
        return InvalidInput(fmt::format("{} lacks the column {}", file.path(), column));
    }
    rows_ += file.rows();
    for (size_t g = 0; g < file.groups(); ++g) {
      const ParquetReader::Chunk& times = file.chunk(g, file.Column("start_ns"));
      if (!times.has_range) continue;
      groups_.push_back(
          {table, static_cast<uint32_t>(g), times.min - spans_.zero_ns(), times.max - spans_.zero_ns()});
    }
  }
  return {};
}

Result<const std::vector<LineRows::Group>*> LineRows::Groups(const std::atomic<bool>* cancelled) const {
  const std::lock_guard lock(mutex_);
  if (!is_open_) {
    process_of_.clear();
    groups_.clear();
    rows_ = 0;
    NL_TRY(Open(cancelled));
    is_open_ = true;
  }
  return &groups_;
}

int64_t LineRows::ProcessOf(int64_t thread) const {
  return IsNull(thread) || thread < 0 || thread >= static_cast<int64_t>(process_of_.size())
             ? NullOf<int64_t>::value
             : process_of_[static_cast<size_t>(thread)];
}

Result<std::vector<LinePart>> LineRows::Read(size_t group) const {
  const Group& of = groups_[group];
  NL_ASSIGN(std::vector<LinePart> parts,
            of.table == LineTable::kCounterSample ? ReadCounters(of.group) : ReadMemory(of.group));
  for (LinePart& part : parts) {
    SortByTime(part);
    part.at_ns.shrink_to_fit();  // timelines keep them
    part.value.shrink_to_fit();
  }
  return parts;
}

namespace {

// A value of a row group, for the part of its key. Most runs have few lines, whose rows take turns.
template <class Short>
class PartFinder {
 public:
  explicit PartFinder(std::vector<LinePart>& parts) : parts_(parts) {}
  // `make` gives the key of a part that is not there yet.
  template <class Make>
  LinePart& Find(const Short& key, const Make& make) {
    for (size_t i = 0; i < first_.size(); ++i) {
      if (first_[i] == key) return parts_[i];
    }
    if (first_.size() < kScanned) {
      first_.push_back(key);
      return parts_.emplace_back(LinePart{make(), {}, {}});
    }
    const auto [it, fresh] = place_.try_emplace(key, parts_.size());
    return fresh ? parts_.emplace_back(LinePart{make(), {}, {}}) : parts_[it->second];
  }

 private:
  static constexpr size_t kScanned = 8;
  std::vector<LinePart>& parts_;
  std::vector<Short> first_;  // keys of the first parts
  std::map<Short, size_t> place_;
};

}  // namespace

Result<std::vector<LinePart>> LineRows::ReadCounters(size_t group) const {
  const ParquetReader& file = *files_[static_cast<size_t>(LineTable::kCounterSample)];
  std::vector<int64_t> thread, start;
  std::vector<double> value;
  CodedTexts name, series;
  NL_TRY(file.ReadInts(group, file.Column("thread_id"), thread));
  NL_TRY(file.ReadInts(group, file.Column("start_ns"), start));
  NL_TRY(file.ReadTexts(group, file.Column("name"), name));
  NL_TRY(file.ReadTexts(group, file.Column("series"), series));
  NL_TRY(file.ReadDoubles(group, file.Column("value"), value));
  const auto text = [](const CodedTexts& of, size_t i) {
    return of.codes[i] == CodedTexts::kNull ? std::string() : std::string(of.distinct[of.codes[i]]);
  };
  std::vector<LinePart> parts;
  PartFinder<std::tuple<int64_t, uint32_t, uint32_t>> finder(parts);
  for (size_t i = 0; i < start.size(); ++i) {
    if (IsNull(start[i]) || IsNull(value[i])) continue;
    LinePart& part = finder.Find({thread[i], name.codes[i], series.codes[i]}, [&] {
      LineKey key;
      key.table = LineTable::kCounterSample;
      key.thread = thread[i];
      key.process = ProcessOf(thread[i]);
      key.name = text(name, i);
      key.part = text(series, i);
      return key;
    });
    part.at_ns.push_back(start[i] - spans_.zero_ns());
    part.value.push_back(value[i]);
  }
  return parts;
}

Result<std::vector<LinePart>> LineRows::ReadMemory(size_t group) const {
  const ParquetReader& file = *files_[static_cast<size_t>(LineTable::kMemoryEvent)];
  std::vector<int64_t> thread, start, total, device;
  NL_TRY(file.ReadInts(group, file.Column("thread_id"), thread));
  NL_TRY(file.ReadInts(group, file.Column("start_ns"), start));
  NL_TRY(file.ReadInts(group, file.Column("total_allocated_bytes"), total));
  NL_TRY(file.ReadInts(group, file.Column("device"), device));
  std::vector<LinePart> parts;
  PartFinder<std::pair<int64_t, int64_t>> finder(parts);
  for (size_t i = 0; i < start.size(); ++i) {
    if (IsNull(start[i]) || IsNull(total[i])) continue;
    const int64_t process = ProcessOf(thread[i]);
    LinePart& part = finder.Find({process, device[i]}, [&] {
      LineKey key;
      key.table = LineTable::kMemoryEvent;
      key.process = process;
      key.device = device[i];
      return key;
    });
    part.at_ns.push_back(start[i] - spans_.zero_ns());
    part.value.push_back(static_cast<double>(total[i]));
  }
  return parts;
}

Result<std::vector<Line>> BuildLines(const LineRows& rows, const RunSpans& spans,
                                     const LineOptions& options) {
  NL_ASSIGN(const std::vector<LineRows::Group>* groups, rows.Groups(options.cancelled));
  const auto most = static_cast<size_t>(options.most_buckets > 0
                                            ? options.most_buckets
                                            : MostLineBytes(spans.stored_bytes()) / kBytesPerLineBucket);
  std::map<LineKey, Line> lines;
  // The more lines there are, the fewer buckets each has: what is raised now would be raised in the end too.
  const auto shrink = [&](Line& line) {
    while (line.buckets.size() > std::clamp(most / lines.size(), kLeastLineBuckets, kMostLineBuckets))
      RaiseLevel(line);
  };
  for (size_t g = 0; g < groups->size(); ++g) {
    if (options.cancelled != nullptr && options.cancelled->load()) return Cancelled();
    NL_ASSIGN(const std::vector<LinePart> parts, rows.Read(g));
    for (const LinePart& part : parts) {
      Line& line = lines[part.key];
      line.key = part.key;
      Add(line, part);
      shrink(line);
    }
  }
  std::vector<Line> out;
  for (auto& [key, line] : lines) {
    shrink(line);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace nl
