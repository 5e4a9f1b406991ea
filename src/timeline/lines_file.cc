// SPDX-License-Identifier: Apache-2.0
// The stored form of lines: the run, then each line before its buckets.
#include <algorithm>

#include <fmt/format.h>

#include "timeline/lines.h"
#include "timeline/lines_table.h"
#include "timeline/row_group_file.h"

namespace nl {

NL_TABLE_DEFINE(LinesTable, "lines", kind, "Lines of a run's timeline", NL_LINES_COLUMNS)

Result<uint64_t> WriteLines(const std::vector<Line>& lines, const RunSpans& spans, const std::string& path) {
  StringPool strings;
  RowGroupFile<LinesTableColumns, LinesTableRow> file(strings);
  NL_TRY(file.Create(path));
  LinesTableRow run;
  run.kind = strings.Add("run");
  run.at_ns = spans.zero_ns();
  run.count = static_cast<int64_t>(lines.size());
  NL_TRY(file.Add(run));
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    LinesTableRow head;
    head.kind = strings.Add("line");
    head.line = static_cast<int32_t>(i);
    head.level = static_cast<int32_t>(line.level);
    head.at_ns = line.first_ns;
    head.count = line.count;
    head.owner = strings.Add(kLineTableNames[static_cast<size_t>(line.key.table)]);
    head.thread_id = line.key.thread;
    head.process_id = line.key.process;
    head.device = line.key.device;
    head.name = strings.Add(line.key.name);
    head.series = strings.Add(line.key.part);
    NL_TRY(file.Add(head));
    LinesTableRow row;
    row.kind = strings.Add("bucket");
    row.line = head.line;
    for (const LineBucket& bucket : line.buckets) {
      row.at_ns = bucket.at_ns;
      row.count = bucket.count;
      row.least = bucket.min;
      row.greatest = bucket.max;
      row.last = bucket.last;
      NL_TRY(file.Add(row));
    }
  }
  return file.Finish();
}

namespace {

class LinesLoader {
 public:
  LinesLoader(const ParquetReader& file, const RunSpans& spans) : file_(file), spans_(spans) {}

  Result<std::vector<Line>> Load() {
    for (size_t g = 0; g < file_.groups(); ++g) {
      NL_TRY(LoadGroup(g));
      for (size_t i = 0; i < kind_.codes.size(); ++i) {
        if (!Take(i)) return Misfit();
      }
    }
    if (static_cast<int64_t>(out_.size()) != lines_) return Misfit();
    for (const Line& line : out_) {
      int64_t count = 0;
      for (const LineBucket& bucket : line.buckets) count += bucket.count;
      if (line.buckets.empty() || count != line.count) return Misfit();
    }
    return std::move(out_);
  }

 private:
  Error Misfit() const { return InvalidInput(fmt::format("{} does not fit the run", file_.path())); }

  Status LoadGroup(size_t group) {
    Status failed;
    const auto column = [&](const char* name) {
      const int at = file_.Column(name);
      if (at < 0) failed = InvalidInput(fmt::format("{} lacks the column {}", file_.path(), name));
      return at;
    };
    const auto texts = [&](const char* name, CodedTexts& to) {
      if (const int at = column(name); at >= 0 && failed.ok()) failed = file_.ReadTexts(group, at, to);
    };
    const auto ints = [&](const char* name, std::vector<int64_t>& to) {
      if (const int at = column(name); at >= 0 && failed.ok()) failed = file_.ReadInts(group, at, to);
    };
    const auto numbers = [&](const char* name, std::vector<double>& to) {
      if (const int at = column(name); at >= 0 && failed.ok()) failed = file_.ReadDoubles(group, at, to);
    };
    texts("kind", kind_);
    ints("line", line_);
    ints("level", level_);
    ints("at_ns", at_ns_);
    ints("count", count_);
    numbers("least", least_);
    numbers("greatest", greatest_);
    numbers("last", last_);
    texts("owner", owner_);
    ints("thread_id", thread_);
    ints("process_id", process_);
    ints("device", device_);
    texts("name", name_);
    texts("series", series_);
    return failed;
  }

  static std::string_view Text(const CodedTexts& of, size_t i) {
    return of.codes[i] == CodedTexts::kNull ? std::string_view() : of.distinct[of.codes[i]];
  }

  bool Take(size_t i) {
    const std::string_view kind = Text(kind_, i);
    if (kind == "bucket") return TakeBucket(i);
    if (kind == "line") return TakeLine(i);
    if (kind != "run" || lines_ >= 0 || at_ns_[i] != spans_.zero_ns()) return false;
    lines_ = count_[i];
    return true;
  }
  bool TakeLine(size_t i) {
    const auto table = std::find(kLineTableNames.begin(), kLineTableNames.end(), Text(owner_, i));
    if (lines_ < 0 || table == kLineTableNames.end() || line_[i] != static_cast<int64_t>(out_.size()) ||
        level_[i] < 0 || level_[i] >= kMostLevels || IsNull(at_ns_[i]) || count_[i] < 1)
      return false;
    Line& line = out_.emplace_back();
    line.key.table = static_cast<LineTable>(table - kLineTableNames.begin());
    line.key.thread = thread_[i];
    line.key.process = process_[i];
    line.key.device = device_[i];
    line.key.name = Text(name_, i);
    line.key.part = Text(series_, i);
    line.level = static_cast<unsigned>(level_[i]);
    line.first_ns = at_ns_[i];
    line.count = count_[i];
    return true;
  }
  bool TakeBucket(size_t i) {
    if (out_.empty() || line_[i] != static_cast<int64_t>(out_.size()) - 1 || IsNull(at_ns_[i]) ||
        count_[i] < 1 || IsNull(least_[i]) || IsNull(greatest_[i]) || IsNull(last_[i]))
      return false;
    Line& line = out_.back();
    if (!line.buckets.empty() &&
        BucketOf(at_ns_[i], line.level) <= BucketOf(line.buckets.back().at_ns, line.level))
      return false;
    line.buckets.push_back({at_ns_[i], count_[i], least_[i], greatest_[i], last_[i]});
    return true;
  }

  const ParquetReader& file_;
  const RunSpans& spans_;
  std::vector<Line> out_;
  int64_t lines_ = -1;  // as the file says; -1: not read yet
  CodedTexts kind_, owner_, name_, series_;
  std::vector<int64_t> line_, level_, at_ns_, count_, thread_, process_, device_;
  std::vector<double> least_, greatest_, last_;
};

}  // namespace

Result<std::vector<Line>> ReadLines(const std::string& path, const RunSpans& spans) {
  NL_ASSIGN(const std::unique_ptr<ParquetReader> file, ParquetReader::Open(path));
  return LinesLoader(*file, spans).Load();
}

}  // namespace nl
