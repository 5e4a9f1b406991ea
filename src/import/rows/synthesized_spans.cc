// SPDX-License-Identifier: Apache-2.0
#include "import/rows/synthesized_spans.h"

#include <algorithm>

namespace nl {

void NamedTotal::Keep(std::string key, const std::string& written) {
  const Result<Json> json = ParseJson(written);
  fields.emplace_back(std::move(key), json.ok() && json->is_number() ? written : DumpJson(Json(written)));
}

SynthesizedSpans::SynthesizedSpans(ImportFile& file, std::string_view process, int64_t executions)
    : file_(file),
      writer_(file),
      group_(std::max<int64_t>(1, (executions + kMaxDrawn - 1) / kMaxDrawn)),
      process_(static_cast<ProcessId>(file.sink.rows(Table::kProcess))),
      first_lane_(file.sink.rows(Table::kThread)) {
  ProcessRow row;
  row.name = writer_.strings().Add(process);
  writer_.batch.process.Add(row);
  file.about.order_only = true;
}

void SynthesizedSpans::Open(Lane& lane) {
  if (!IsNull(lane.thread)) return;
  lane.thread = static_cast<ThreadId>(first_lane_ + lanes_++);
  ThreadRow row;
  row.process_id = process_;
  row.name = writer_.strings().Add(lane.name);
  writer_.batch.thread.Add(row);
}

template <class Columns, class Row>
Status SynthesizedSpans::Draw(const NamedTotal& total, Lane& lane, Table table, Columns& columns, Row row) {
  Open(lane);
  const int64_t calls = std::max<int64_t>(1, total.calls);
  const int64_t rows = std::max<int64_t>(1, calls / group_);
  if (rows < calls) {
    file_.counters.Add(kExecutionsMerged, -1, total.name, calls - rows);
    writer_.KeepArg(table, writer_.NextRow(table, columns), "calls", total.calls);
  }
  file_.counters.Add(kTotalsOnly, -1, {}, rows);
  for (const auto& [key, json] : total.fields)
    writer_.KeepArg(table, writer_.NextRow(table, columns), key, std::string_view(json));
  row.thread_id = lane.thread;
  row.name = writer_.strings().Add(total.name);
  const int64_t each_ns = total.total_ns / rows, longer = total.total_ns % rows;
  for (int64_t i = 0; i < rows; ++i) {
    row.start_ns = lane.now_ns;
    row.dur_ns = each_ns + (i < longer);
    if (lane.now_ns < INT64_MAX / 2) lane.now_ns += row.dur_ns;
    columns.Add(row);
    NL_TRY(writer_.Flow());
  }
  return {};
}

Status SynthesizedSpans::Kernels(const NamedTotal& total) {
  return Draw(total, device_, Table::kKernel, writer_.batch.kernel, KernelRow());
}

Status SynthesizedSpans::Copies(const NamedTotal& total, std::string_view kind) {
  MemcpyRow row;
  if (!kind.empty()) row.kind = writer_.strings().Add(kind);
  return Draw(total, device_, Table::kMemcpy, writer_.batch.memcpy, row);
}

Status SynthesizedSpans::Fills(const NamedTotal& total) {
  return Draw(total, device_, Table::kMemset, writer_.batch.memset, MemsetRow());
}

Status SynthesizedSpans::Calls(const NamedTotal& total, std::string_view domain) {
  ApiCallRow row;
  row.domain = writer_.strings().Add(domain);
  return Draw(total, calls_, Table::kApiCall, writer_.batch.api_call, row);
}

Status SynthesizedSpans::Ranges(const NamedTotal& total, std::string_view category) {
  RangeRow row;
  row.category = writer_.strings().Add(category);
  row.kind = writer_.strings().Add("span");
  return Draw(total, ranges_, Table::kRange, writer_.batch.range, row);
}

}  // namespace nl
