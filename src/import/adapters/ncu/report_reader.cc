// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/ncu/report_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "import/adapters/ncu/counters.h"
#include "import/adapters/ncu/metric_value.h"

namespace nl::adapters::ncu {

namespace {

constexpr std::string_view kDevicePrefix = "device__attribute_";

// Records begin with their ID, the row of units with an empty one.
bool BeginsRecord(std::string_view line) {
  return (line.size() > 1 && line[0] == '"' && (IsDigit(line[1]) || line[1] == '"')) ||
         line.starts_with("==") || LooksLikeHeader(line);
}

std::string_view KindOf(std::string_view type) {
  if (type == "OPT") return "suggestion";
  if (type == "INF") return "note";
  if (type == "WRN") return "warning";
  if (type == "ERR") return "error";
  return type;
}

std::string Owned(const CsvField& field) {
  return field.escaped ? Unescaped(field) : std::string(field.text);
}

}  // namespace

Status ReportReader::Read(ByteSource& source, bool findings_only) {
  findings_only_ = findings_only;
  has_page_ = false;
  CsvRecords records(source, file_.options, BeginsRecord);
  CsvRecord record;
  for (;;) {
    NL_ASSIGN(const bool more, records.Next(record));
    if (!more) break;
    NL_TRY(TakeLine(record));
  }
  launches_.Finish();
  CompareLastKernels();
  if (saw_page_) return {};
  return InvalidInput("no header line of an Nsight Compute page (\"ID\",\"Process ID\",...) found")
      .At(file_.path)
      .Hint("print one with: ncu --import FILE.ncu-rep --csv --page raw");
}

Status ReportReader::Finish() {
  launches_.PutLanes();
  return writer_.Finish();
}

Status ReportReader::TakeLine(const CsvRecord& record) {
  const std::string_view text = record.text;
  if (text.empty()) return {};
  if (text.starts_with("==")) {
    const bool warning = text.starts_with("==WARNING==") || text.starts_with("==ERROR==");
    file_.counters.Add(warning ? kToolWarning : kOtherLine, record.offset, text);
    return {};
  }
  if (LooksLikeHeader(text) && BeginPage(record)) return {};
  const bool begins = has_page_ && !text.empty() &&
                      (page_.quoted ? text[0] == '"' : IsDigit(text[0]) || text[0] == ',' || text[0] == '"');
  if (!begins) {
    file_.counters.Add(kOtherLine, record.offset, text);
    return {};
  }
  if (units_due_) {
    units_due_ = false;
    const bool units = TakeUnits(record);
    DefineColumns();
    if (units) return {};
  }
  Status status;
  if (record.open_quote || !(TakeRecord(record, status) || TakeUnescaped(record, status))) {
    if (!record.ended) return Cut(record);
    file_.counters.Add(kBadRecord, record.offset, text);
    return {};
  }
  if (!record.ended) file_.counters.Add(kMissingLineEnd, record.offset);
  return status;
}

// ncu prints the quotes of an NVTX label as they are: LLM@prefill {"batch": 8}. Fields still end where `","`
// is.
bool ReportReader::TakeUnescaped(const CsvRecord& record, Status& status) {
  std::string_view rest = record.text;
  if (!page_.quoted || rest.size() < 2 || rest.front() != '"' || rest.back() != '"') return false;
  rest = rest.substr(1, rest.size() - 2);
  std::string text;
  size_t fields = 0;
  for (bool more = true; more; ++fields) {
    const size_t end = rest.find("\",\"");
    more = end != std::string_view::npos;
    const std::string_view field = rest.substr(0, end);
    rest.remove_prefix(more ? end + 3 : rest.size());
    text += fields == 0 ? "\"" : ",\"";
    for (size_t i = 0; i < field.size(); ++i) {
      text += field[i];
      if (field[i] != '"') continue;
      text += '"';
      if (i + 1 < field.size() && field[i + 1] == '"') ++i;  // it was doubled
    }
    text += '"';
  }
  if (fields != page_.columns.size()) return false;
  CsvRecord repaired = record;
  repaired.text = text;
  return TakeRecord(repaired, status);
}

// The file ends inside a record.
Status ReportReader::Cut(const CsvRecord& record) {
  if (file_.options.allow_truncated && launches_.kernels() + launches_.open() > 0) {
    file_.counters.Add(kTruncated, record.offset, record.text);
    return {};
  }
  return InvalidInput("the file is truncated: it ends inside a record")
      .At(file_.path, record.offset)
      .Hint(launches_.kernels() > 0 ? "import --allow-truncated keeps the records before the cut"
                                    : "print the page again: ncu --import FILE.ncu-rep --csv --page raw");
}

bool ReportReader::BeginPage(const CsvRecord& record) {
  Page page;
  // A header that is the last of a file and has no line end may be cut.
  if (record.open_quote || !record.ended || !ParseHeader(record.text, page)) return false;
  launches_.NextPage(findings_only_);
  page_ = std::move(page);
  has_page_ = saw_page_ = true;
  units_due_ = !page_.details;
  units_.assign(page_.columns.size(), "");
  launch_text_.clear();
  metrics_now_ = metrics_before_ = 0;
  return true;
}

bool ReportReader::TakeUnits(const CsvRecord& record) {
  std::vector<std::string> units;
  CsvField field;
  const char* end = record.text.data() + record.text.size();
  for (const char* at = record.text.data(); at <= end;) {
    if (!NextCsvField(at, end, field)) return false;
    if (units.empty() && !field.text.empty()) return false;
    units.push_back(Owned(field));
  }
  if (units.size() != page_.columns.size()) return false;
  units_ = std::move(units);
  return true;
}

void ReportReader::DefineColumns() {
  columns_.clear();
  cells_.clear();
  for (size_t i = page_.launch_columns; i < page_.columns.size(); ++i) {
    const Metric& metric = columns_.emplace_back(MakeMetric("", page_.columns[i], units_[i], -1));
    Cell& cell = cells_.emplace_back();
    cell.name = metric.name;
    cell.unit = metric.unit;
    cell.exponent = static_cast<int8_t>(metric.exponent);
    cell.of_device = metric.of_device;
    cell.is_input = metric.input.input != Input::kNone;
  }
  row_.name.resize(cells_.size());
  row_.unit.resize(cells_.size());
  row_.value.resize(cells_.size());
}

ReportReader::Metric ReportReader::MakeMetric(std::string_view section, std::string_view name,
                                              std::string_view unit, int64_t offset) {
  const Unit base = ParseUnit(unit);
  Metric metric;
  metric.section = launches_.Text(section, offset);
  metric.name = launches_.Text(name, offset);
  metric.unit = launches_.Text(base.name, offset);
  metric.exponent = base.exponent;
  metric.input = FindInput(name, base.name);
  metric.of_device = name.starts_with(kDevicePrefix);
  if (metric.of_device) metric.attribute = name.substr(kDevicePrefix.size());
  return metric;
}

const ReportReader::Metric& ReportReader::MetricOf(std::string_view section, std::string_view name,
                                                   std::string_view unit, int64_t offset) {
  key_.assign(section).append(1, '\0').append(name).append(1, '\0').append(unit);
  const auto it = metrics_.find(key_);
  if (it != metrics_.end()) return it->second;
  return metrics_.emplace(key_, MakeMetric(section, name, unit, offset)).first->second;
}

void ReportReader::PutMetric(const Metric& metric, std::optional<double> number, const CsvField& field,
                             int64_t offset) {
  KernelMetricRow row;
  row.kernel_id = launches_.kernel_id();
  row.section = metric.section;
  row.name = metric.name;
  row.unit = metric.unit;
  if (number) {
    row.value = *number;
  } else {
    row.text = TextOf(field, offset);
  }
  writer_.batch.kernel_metric.Add(row);
  if (number && metric.input.input != Input::kNone) PutInput(metric, *number);
}

void ReportReader::PutInput(const Metric& metric, double number) {
  if (metric.input.sum) {
    // Listed in two sections, it is still one value.
    if (std::find(summed_.begin(), summed_.end(), metric.name) != summed_.end()) return;
    summed_.push_back(metric.name);
  }
  launches_.inputs().Put(metric.input, number);
}

bool ReportReader::BeginLaunch(const CsvRecord& record, const char*& at) {
  const char *start = record.text.data(), *end = start + record.text.size();
  launch_.resize(page_.launch_columns);
  CsvField field;
  for (std::string& to : launch_) {
    if (at > end || !NextCsvField(at, end, field)) return false;
    to = Owned(field);
  }
  if (!page_.details && at > end && page_.columns.size() > page_.launch_columns) return false;
  const bool first = launches_.kernels() + launches_.open() == 0;
  const int64_t before = metrics_now_;
  if (!launches_.Begin(page_, launch_, record.offset)) return false;
  if (!first) metrics_before_ = before;
  metrics_now_ = 0;
  summed_.clear();
  launch_text_.assign(start, static_cast<size_t>(std::min(at, end) - start));
  return true;
}

bool ReportReader::TakeRecord(const CsvRecord& record, Status& status) {
  const char* at = record.text.data();
  // Rows of one kernel have the same text in front.
  const bool same =
      page_.details && !launch_text_.empty() && launches_.open() && record.text.starts_with(launch_text_);
  if (same) {
    at += launch_text_.size();
  } else {
    launch_text_.clear();
    if (!BeginLaunch(record, at)) return false;
  }
  return page_.details ? TakeDetails(record, at, status) : TakeRaw(record, at, status);
}

std::string_view ReportReader::FieldOf(Role role) const {
  const int at = page_.At(role) - static_cast<int>(page_.launch_columns);
  return at >= 0 && static_cast<size_t>(at) < fields_.size() ? fields_[static_cast<size_t>(at)].text
                                                             : std::string_view();
}

bool ReportReader::TakeDetails(const CsvRecord& record, const char* at, Status& status) {
  const char* end = record.text.data() + record.text.size();
  fields_.clear();
  CsvField field;
  while (at <= end) {
    if (!NextCsvField(at, end, field)) return false;
    fields_.push_back(field);
  }
  const size_t value_at = static_cast<size_t>(page_.At(Role::kMetricValue)) - page_.launch_columns;
  // Rows of metrics end in a comma after the value; rows of rules have every column.
  const bool whole = fields_.size() + page_.launch_columns == page_.columns.size() ||
                     (fields_.size() == value_at + 2 && fields_.back().text.empty());
  if (!whole) return false;
  const std::string_view name = FieldOf(Role::kMetricName);
  if (!name.empty() && !findings_only_) {
    const Metric& metric = MetricOf(FieldOf(Role::kSection), name, FieldOf(Role::kMetricUnit), record.offset);
    const CsvField& value = fields_[value_at];
    PutMetric(metric, ParseNumber(value.text, metric.exponent), value, record.offset);
    ++metrics_now_;
  }
  if (!FieldOf(Role::kRuleName).empty()) TakeFinding(record.offset);
  status = writer_.Flow();
  return true;
}

void ReportReader::TakeFinding(int64_t offset) {
  const auto text = [&](Role role) {
    const int at = page_.At(role) - static_cast<int>(page_.launch_columns);
    if (at < 0 || static_cast<size_t>(at) >= fields_.size()) return StringId::kNull;
    const CsvField& field = fields_[static_cast<size_t>(at)];
    return field.escaped ? launches_.Text(Unescaped(field), offset) : launches_.Text(field.text, offset);
  };
  ToolFindingRow row;
  row.kernel_id = launches_.kernel_id();
  row.tool = writer_.strings().Add("Nsight Compute");
  row.section = text(Role::kSection);
  row.rule = text(Role::kRuleName);
  row.kind = launches_.Text(KindOf(FieldOf(Role::kRuleType)), offset);
  row.message = text(Role::kRuleText);
  row.speedup_scope = text(Role::kSpeedupType);
  std::string_view speedup = FieldOf(Role::kSpeedup);
  if (speedup.ends_with('%')) speedup.remove_suffix(1);
  if (const auto number = ParseNumber(speedup)) row.estimated_speedup_pct = *number;
  writer_.batch.tool_finding.Add(row);
}

bool ReportReader::Cell::Repeats(const char* at, const char* end) const {
  if (bytes == 0 || end - at < static_cast<ptrdiff_t>(sizeof written)) return false;
  uint64_t words[2];
  std::memcpy(words, at, sizeof words);
  return (((words[0] ^ written[0]) & mask[0]) | ((words[1] ^ written[1]) & mask[1])) == 0;
}

void ReportReader::Cell::Keep(const char* from, const char* to) {
  const auto size = static_cast<size_t>(to - from);
  bytes = 0;
  if (size > sizeof written) return;
  bytes = static_cast<uint8_t>(size);
  std::memset(mask, 0, sizeof mask);
  std::memset(mask, 0xff, size);
  std::memcpy(written, from, size);
}

void ReportReader::PutCell(size_t column, double value) {
  const Cell& cell = cells_[column];
  row_.name[row_.size] = cell.name;
  row_.unit[row_.size] = cell.unit;
  row_.value[row_.size] = value;
  ++row_.size;
  if (cell.is_input && !std::isnan(value)) PutInput(columns_[column], value);
}

void ReportReader::TakeCell(size_t column, const CsvField& field, int64_t offset) {
  Cell& cell = cells_[column];
  const std::optional<double> number = ParseNumber(field.text, cell.exponent);
  cell.value = number.value_or(NullOf<double>::value);
  if (!number) row_.texts.emplace_back(row_.size, TextOf(field, offset));
  PutCell(column, cell.value);
}

void ReportReader::PutCells() {
  const auto append = [this](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.begin() + static_cast<ptrdiff_t>(row_.size));
  };
  KernelMetricColumns& rows = writer_.batch.kernel_metric;
  const size_t first = rows.size(), size = first + row_.size;
  rows.kernel_id.resize(size, launches_.kernel_id());
  rows.section.resize(size, StringId::kNull);
  append(rows.name, row_.name);
  append(rows.unit, row_.unit);
  append(rows.value, row_.value);
  rows.text.resize(size, StringId::kNull);
  for (const auto& [at, text] : row_.texts) rows.text[first + at] = text;
  metrics_now_ += static_cast<int64_t>(row_.size);
  row_.size = 0;
  row_.texts.clear();
}

bool ReportReader::TakeRaw(const CsvRecord& record, const char* at, Status& status) {
  const char* end = record.text.data() + record.text.size();
  CsvField field;
  size_t column = 0;
  bool good = true;
  for (; at <= end; ++column) {
    good = column < cells_.size();
    if (!good) break;
    Cell& cell = cells_[column];
    if (cell.Repeats(at, end) && (!cell.of_device || cell.last_device == launches_.device())) {
      at += cell.bytes;
      if (!cell.of_device && !findings_only_) PutCell(column, cell.value);
      continue;
    }
    const char* from = at;
    good = NextCsvField(at, end, field);
    if (!good) break;
    cell.bytes = 0;
    if (cell.of_device) {
      if (launches_.DescribeDevice(columns_[column].attribute, field.text, record.offset)) {
        cell.last_device = launches_.device();
        if (at <= end) cell.Keep(from, at);  // not the last, which has no comma
        continue;
      }
    }
    if (field.text.empty() || findings_only_) continue;
    TakeCell(column, field, record.offset);
    if (!cell.of_device && !std::isnan(cell.value) && at <= end) cell.Keep(from, at);
  }
  const size_t rows = row_.size + 1;
  PutCells();
  status = writer_.Flow(rows);
  return good && column == cells_.size();
}

// Every kernel of a page has the same metrics: fewer at the end are a sign of a cut.
void ReportReader::CompareLastKernels() {
  if (page_.details && metrics_now_ < metrics_before_ && !findings_only_)
    file_.counters.Add(kFewerMetrics, -1, fmt::format("{} of {}", metrics_now_, metrics_before_));
}

}  // namespace nl::adapters::ncu
