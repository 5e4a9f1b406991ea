// SPDX-License-Identifier: Apache-2.0
#pragma once
// ExportFile: one SQLite export while it is read: its tables, where its rows go, and what
// the readers of single tables share. A reader is a function of this; they run one after
// the other, in the order ImportExport gives them (what is referred to comes first).
// Thread rule: one thread. Ownership: lives as long as one import.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "import/adapters/nsys/counters.h"
#include "import/adapters/nsys/lanes.h"
#include "import/adapters/nsys/string_table.h"
#include "import/read/sqlite_reader.h"
#include "import/rows/launches.h"
#include "import/rows/row_writer.h"

namespace nl::adapters::nsys {

// CUPTI's word for "none" in 32-bit ids.
inline int64_t IdOf(int64_t value) { return value == 0xffffffff ? NullOf<int64_t>::value : value; }

// Values of an ENUM_ table, or those known when the export has none.
using EnumNames = std::map<int64_t, std::string>;

class ExportFile {
 public:
  ExportFile(ImportFile& import_file, SqliteReader& sqlite, int64_t size_bytes)
      : file(import_file),
        reader(sqlite),
        writer(import_file),
        strings(import_file.sink.strings(), import_file.counters),
        lanes(writer),
        size_bytes_(size_bytes) {}

  ImportFile& file;
  SqliteReader& reader;
  RowWriter writer;
  StringTable strings;
  Lanes lanes;
  OpNesting ops;
  LaunchIndex launches;
  bool saw_torch_op = false;
  Json api_names = Json::object();  // short name -> as the export spells it

  // Calls `row` for every row of a table, with the columns in the order they are named.
  // No table: nothing. `needed` columns must be there, else the table is counted and left
  // out. Damage ends the table, as an error or (allow_truncated) counted.
  Status ForEach(const char* table, std::span<const char* const> columns, int needed,
                 const std::function<Status(const SqliteRows&)>& row);
  // The same for a table of a few rows, without progress.
  Status ForFew(const char* table, std::span<const char* const> columns,
                const std::function<void(const SqliteRows&)>& row);
  // Columns of a table that are stored elsewhere or carry no information; not counted as left out.
  void Expect(const char* table, std::span<const char* const> columns);

  // Start and duration of a row; false: it has no usable time and was counted. A bad
  // duration is null, its `end` kept for the row.
  struct Time {
    int64_t start_ns, dur_ns;
  };
  bool TimeOf(const SqliteRows& rows, int start_column, int end_column, Table table, RowId row, Time& to);

  // The time of a row without duration; false: it has no usable one and was counted.
  bool InstantOf(const SqliteRows& rows, int column, int64_t& to);

  // A name given by its number. When the export lacks it, the number goes to args.
  StringId NameOf(int64_t id, Table table, RowId row, std::string_view column);

  // Counts tables and columns that were not read.
  Status CountLeftOut();
  EnumNames Enum(const char* table, EnumNames known);
  void PlanProgress(std::span<const char* const> tables);

 private:
  void Report(int64_t more_rows);

  int64_t size_bytes_, done_rows_ = 0, total_rows_ = 0;
  std::map<std::string, std::vector<std::string>, std::less<>> known_;  // table -> columns read or expected
};

// The readers, by table. Each does nothing when its table is missing.
Status ReadTargetInfo(ExportFile& e);       // target_info.cc: before everything else
Status ReadNvtx(ExportFile& e);             // nvtx_events.cc: labels and framework ops
Status ReadApiCalls(ExportFile& e);         // api_calls.cc: CUDA, library and system calls
Status ReadDeviceWork(ExportFile& e);       // device_work.cc: kernels, copies, fills, graphs
Status ReadSynchronization(ExportFile& e);  // synchronization.cc: after the device work
Status ReadOtherSpans(ExportFile& e);       // other_events.cc: MPI, UCX, the profiler's own time
Status ReadMemoryEvents(ExportFile& e);     // other_events.cc: device memory taken and given back
Status ReadMessages(ExportFile& e);         // other_events.cc: what the profiler warned of
Status ReadGpuMetrics(ExportFile& e);       // samples.cc
Status ReadCpuSamples(ExportFile& e);       // samples.cc
Status PutHeader(ExportFile& e);            // target_info.cc: what the file says of itself

}  // namespace nl::adapters::nsys
