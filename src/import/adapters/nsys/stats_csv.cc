// SPDX-License-Identifier: Apache-2.0
// One real row (an RTX 5090, version not given):
//   Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
//   12.9,81824088,7164,11421.6,5344.0,4896,208667,32795.4,"void gemvx::kernel<...>(...)"

#include "import/adapters/nsys/stats_csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/utf8.h"
#include "import/adapters/nsys/counters.h"
#include "import/names/copy_name.h"
#include "import/read/csv_records.h"
#include "import/read/file_name.h"
#include "import/rows/synthesized_spans.h"

namespace nl::adapters::nsys {

namespace {

// By the columns that only this report has. The first is a real file's; the others are those of
// the reports' documentation (nsys 2024.6 and 2026.2).
struct Report {
  std::string_view begins, has;
  const char *name, *part;  // part: empty where it has no sums of times
};
constexpr Report kReports[] = {
    {"Time (%),Total Time (", ",Num Calls,", "cuda_api_sum or osrt_sum", "calls"},
    {"Time (%),Total Time (", ",Range", "nvtx_sum", "ranges"},
    {"Time (%),Total Time (", ",GridXYZ,", "cuda_gpu_kern_gb_sum", "kernels"},
    {"Time (%),Total Time (", ",Operation", "cuda_gpu_mem_time_sum", "copies"},
    {"Time (%),Total Time (", ",Instances,", "cuda_gpu_kern_sum", "kernels"},
    {"Time (%),Total Time (", "", "a summary", ""},
    {"Total (MB),Count,", ",Operation", "cuda_gpu_mem_size_sum", ""},
    {"Start (ns),Duration (ns),", ",CorrId", "a trace", ""},
};

std::string_view FirstLine(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  return head.substr(0, head.find_first_of("\r\n"));
}

const Report* Find(std::string_view head) {
  const std::string_view line = FirstLine(head);
  for (const Report& report : kReports) {
    if (line.starts_with(report.begins) && line.find(report.has) != std::string_view::npos) return &report;
  }
  return nullptr;
}

Error Refuse(const Report* report, std::string_view path) {
  return Unsupported(
             fmt::format(
                 "a table that nsys stats printed ({}), which has no sums of times of kernels, copies, "
                 "calls or ranges",
                 report != nullptr ? report->name : "a summary"))
      .At(path)
      .Hint(
          "import the recording itself: nsys export --type sqlite FILE.nsys-rep, then neurolens import "
          "FILE.sqlite");
}

std::optional<double> NumberOf(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

// "Total Time (us)": nsys stats --timeunit chooses the unit of every time.
int64_t UnitNs(std::string_view column) {
  if (column.ends_with("(us)") || column.ends_with("(\xce\xbcs)")) return 1000;
  if (column.ends_with("(ms)")) return 1'000'000;
  if (column.ends_with("(s)") || column.ends_with("(sec)")) return 1'000'000'000;
  return 1;
}

// One table: what its columns are, and its rows.
class StatsTable {
 public:
  explicit StatsTable(ImportFile& file) : file_(file) {}

  Status Read() {
    CsvRecords records(file_.source, file_.options, [](std::string_view) { return false; });
    CsvRecord record;
    for (;;) {
      NL_ASSIGN(const bool more, records.Next(record));
      if (!more) return {};
      if (record.text.empty()) continue;
      if (columns_.empty())
        NL_TRY(TakeHeader(record));
      else
        NL_TRY(TakeRow(record));
    }
  }

  std::string_view part() const { return report_->part; }
  const std::vector<NamedTotal>& rows() const { return rows_; }

 private:
  static constexpr size_t kNoColumn = SIZE_MAX;

  bool Split(const CsvRecord& record) {
    fields_.clear();
    CsvField field;
    const char* end = record.text.data() + record.text.size();
    for (const char* at = record.text.data(); at <= end;) {
      if (!NextCsvField(at, end, field)) return false;
      fields_.push_back(ValidUtf8(field.escaped ? Unescaped(field) : std::string(field.text)));
    }
    return true;
  }

  Status TakeHeader(CsvRecord record) {
    if (record.text.starts_with("\xef\xbb\xbf")) record.text.remove_prefix(3);
    report_ = Find(record.text);
    if (report_ == nullptr || *report_->part == '\0' || !Split(record)) return Refuse(report_, file_.path);
    columns_ = fields_;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& column = columns_[i];
      if (column.starts_with("Total Time (")) total_ = i;
      if (column == "Instances" || column == "Count" || column == "Num Calls") calls_ = i;
      if (column == "Name" || column == "Operation" || column == "Range") name_ = i;
    }
    if (total_ == kNoColumn || calls_ == kNoColumn || name_ == kNoColumn) return Refuse(report_, file_.path);
    unit_ns_ = UnitNs(columns_[total_]);
    return {};
  }

  Status TakeRow(const CsvRecord& record) {
    const bool whole = !record.open_quote && Split(record) && fields_.size() == columns_.size();
    if (!whole && !record.ended && !file_.options.allow_truncated) {
      return InvalidInput("the file is truncated: it ends inside a row")
          .At(file_.path, record.offset)
          .Hint("import --allow-truncated keeps the rows before the cut");
    }
    NamedTotal row;
    if (!whole || !TakeSums(row)) {
      file_.counters.Add(whole || record.ended ? kBadStatsRow : kStatsTruncated, record.offset, record.text);
      return {};
    }
    if (!record.ended) file_.counters.Add(kStatsLineEnd, record.offset);
    row.name = fields_[name_];
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i == total_ || i == calls_ || i == name_ || fields_[i].empty()) continue;
      row.Keep(columns_[i], fields_[i]);
    }
    rows_.push_back(std::move(row));
    return {};
  }

  // Calls and total time; false: they are not numbers in range.
  bool TakeSums(NamedTotal& row) const {
    const std::optional<double> calls = NumberOf(fields_[calls_]), total = NumberOf(fields_[total_]);
    constexpr double kMost = 9e15;  // whole numbers of a double
    if (!calls || !total || *calls < 1 || *calls > kMost || *total < 0) return false;
    const double total_ns = *total * static_cast<double>(unit_ns_);
    if (total_ns > kMost) return false;
    row.calls = std::llround(*calls);
    row.total_ns = std::llround(total_ns);
    return true;
  }

  ImportFile& file_;
  const Report* report_ = nullptr;
  std::vector<std::string> columns_, fields_;
  size_t total_ = kNoColumn, calls_ = kNoColumn, name_ = kNoColumn;
  int64_t unit_ns_ = 1;
  std::vector<NamedTotal> rows_;
};

bool IsUpper(std::string_view text, size_t at) {
  return at < text.size() && text[at] >= 'A' && text[at] <= 'Z';
}

std::string_view DomainOf(std::string_view call) {
  if (call.starts_with("cuda") && IsUpper(call, 4)) return "cuda_runtime";
  return call.starts_with("cu") && IsUpper(call, 2) ? "cuda_driver" : "osrt";
}

Status Put(SynthesizedSpans& out, std::string_view part, const NamedTotal& row) {
  if (part == "kernels") return out.Kernels(row);
  if (part == "calls") return out.Calls(row, DomainOf(row.name));
  if (part == "ranges") return out.Ranges(row, "nvtx");
  if (row.name.find("memset") != std::string::npos) return out.Fills(row);
  return out.Copies(row, ParseCopyName(row.name).kind);
}

}  // namespace

bool LooksLikeStats(std::string_view head) { return Find(head) != nullptr; }

FileRole StatsRole(std::string_view head, std::string_view name) {
  FileRole role;
  if (const Report* report = Find(head)) role.part = report->part;
  name = UnpackedName(name);
  // Calls of CUDA and of the operating system have the same columns; both are the recording's.
  if (role.part == "calls" && name.find("osrt") != std::string_view::npos) role.part = "osrt calls";
  for (const std::string_view end :
       {"cuda_gpu_kern_sum.csv", "cuda_gpu_kern_gb_sum.csv", "cuda_gpu_mem_time_sum.csv", "cuda_api_sum.csv",
        "osrt_sum.csv", "nvtx_sum.csv", "nvtx_pushpop_sum.csv"}) {
    if (!name.ends_with(end)) continue;
    name.remove_suffix(end.size());
    if (name.ends_with('_')) name.remove_suffix(1);
    role.set = name.empty() ? FileRole::kFolder : std::string(name);
    break;
  }
  return role;
}

Error RefuseStats(std::string_view head, std::string_view path) { return Refuse(Find(head), path); }

Status ImportStats(std::vector<ImportFile>& files) {
  std::vector<StatsTable> tables;
  double executions = 0;
  for (ImportFile& file : files) {
    StatsTable& table = tables.emplace_back(file);
    NL_TRY(table.Read());
    for (const NamedTotal& row : table.rows()) executions += static_cast<double>(row.calls);
  }
  ImportFile& first = files.front();
  SynthesizedSpans out(first, "nsys stats", static_cast<int64_t>(std::min(executions, 9e17)));
  for (const StatsTable& table : tables) {
    for (const NamedTotal& row : table.rows()) NL_TRY(Put(out, table.part(), row));
  }
  first.about.tool = "nsys";
  first.about.vendor = "nvidia";
  first.about.notes.push_back("sums that nsys stats printed: no timeline, no order, no percentiles");
  return out.Finish();
}

}  // namespace nl::adapters::nsys
