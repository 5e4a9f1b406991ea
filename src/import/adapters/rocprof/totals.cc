// SPDX-License-Identifier: Apache-2.0
// One real row (hip_api_stats.csv of rocprofv3, ROCm 7):
//   "Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"
//   "hipMalloc",4,262497406,65624351.500000,85.15,3991286,249121840,122332531.343496

#include "import/adapters/rocprof/totals.h"

#include <algorithm>

#include "base/utf8.h"
#include "import/adapters/rocprof/counters.h"
#include "import/adapters/rocprof/csv_table.h"
#include "import/names/copy_name.h"
#include "import/read/file_name.h"
#include "import/rows/synthesized_spans.h"

namespace nl::adapters::rocprof {

namespace {

struct Table {
  Summed summed;
  std::vector<NamedTotal> rows;
};

Status ReadTotals(ImportFile& file, std::vector<NamedTotal>& to) {
  CsvTable table(file);
  NL_TRY(table.Open());
  const int name = table.Find({"Name"}), calls = table.Find({"Calls"}),
            total = table.Find({"TotalDurationNs"});
  for (;;) {
    NL_ASSIGN(const bool more, table.Next());
    if (!more) return {};
    NamedTotal row;
    row.name = ValidUtf8(PlainText(table.Text(name)));
    row.calls = table.Int(calls);
    row.total_ns = table.Int(total);
    if (IsNull(row.calls) || IsNull(row.total_ns) || row.calls < 1 || row.total_ns < 0) {
      file.counters.Add(kBadRecord, table.offset(), table.line());
      continue;
    }
    for (size_t i = 0; i < table.columns().size(); ++i) {
      const auto column = static_cast<int>(i);
      if (column == name || column == calls || column == total || table.Text(column).empty()) continue;
      row.Keep(table.columns()[i], ValidUtf8(PlainText(table.Text(column))));
    }
    to.push_back(std::move(row));
  }
}

Status Put(SynthesizedSpans& out, Summed summed, const NamedTotal& row) {
  switch (summed) {
    case Summed::kKernels: return out.Kernels(row);
    case Summed::kCopies: return out.Copies(row, ParseCopyName(row.name).kind);
    case Summed::kHipCalls: return out.Calls(row, "hip_runtime");
    case Summed::kHsaCalls: return out.Calls(row, "hsa");
    case Summed::kUnknown:
    case Summed::kOther: break;
  }
  return {};
}

Error Refused(const std::string& path) {
  return Unsupported("a summary table of rocprofv3 whose file name does not show what it sums up")
      .At(path)
      .Hint(
          "import the recording itself: its results.json, or its kernel_trace.csv with the files next to "
          "it; or name "
          "it as rocprofv3 does, like 908_kernel_stats.csv");
}

}  // namespace

Summed SummedBy(std::string_view name) {
  name = UnpackedName(name);
  if (name.ends_with("kernel_stats.csv")) return Summed::kKernels;
  if (name.ends_with("memory_copy_stats.csv")) return Summed::kCopies;
  if (name.ends_with("hip_api_stats.csv") || name.ends_with("hip_stats.csv")) return Summed::kHipCalls;
  if (name.ends_with("hsa_api_stats.csv") || name.ends_with("hsa_stats.csv")) return Summed::kHsaCalls;
  return name.ends_with("_stats.csv") ? Summed::kOther : Summed::kUnknown;
}

Status ImportTotals(std::vector<ImportFile>& files) {
  std::vector<Table> tables;
  double executions = 0;
  for (ImportFile& file : files) {
    const Summed summed = SummedBy(file.source.name());
    Table& table = tables.emplace_back(Table{summed, {}});
    NL_TRY(ReadTotals(file, table.rows));
    if (summed == Summed::kUnknown || summed == Summed::kOther) {
      file.counters.Add(kSectionNotImported, -1, file.source.name());
      table.rows.clear();
    }
    for (const NamedTotal& row : table.rows) executions += static_cast<double>(row.calls);
  }
  if (executions == 0) return Refused(files.front().path);
  ImportFile& first = files.front();
  SynthesizedSpans out(first, "rocprofv3 --stats", static_cast<int64_t>(std::min(executions, 9e17)));
  for (const Table& table : tables) {
    for (const NamedTotal& row : table.rows) NL_TRY(Put(out, table.summed, row));
  }
  first.about.tool = "rocprofv3";
  first.about.vendor = "amd";
  first.about.notes.push_back("sums that rocprofv3 --stats wrote: no timeline, no order, no percentiles");
  return out.Finish();
}

}  // namespace nl::adapters::rocprof
