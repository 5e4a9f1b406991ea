// SPDX-License-Identifier: Apache-2.0
// Spans that are neither CUDA calls nor labels, device memory, and the profiler's messages.

#include <algorithm>

#include <fmt/format.h>

#include "base/intervals.h"
#include "import/adapters/nsys/export_file.h"

namespace nl::adapters::nsys {

namespace {

// Tables of named spans on host threads. Overhead is the profiler's own time: a reader of
// the run must be able to tell it from the program's.
struct SpanTable {
  const char* table;
  const char* category;
};
constexpr SpanTable kSpanTables[] = {
    {"MPI_P2P_EVENTS", "mpi"},
    {"MPI_COLLECTIVES_EVENTS", "mpi"},
    {"MPI_START_WAIT_EVENTS", "mpi"},
    {"MPI_OTHER_EVENTS", "mpi"},
    {"UCP_EVENTS", "ucx"},
    {"UCP_SUBMIT_EVENTS", "ucx"},
    {"UCP_PROGRESS_EVENTS", "ucx"},
    {"PROFILER_OVERHEAD", "overhead"},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", "overhead"},
};

Status ReadSpans(ExportFile& e, const SpanTable& from, const Interval& bounds, EnumNames& overheads) {
  static constexpr const char* kColumns[] = {"start",      "end",           "globalTid",     "nameId",
                                             "textId",     "overheadType",  "commHandle",    "tag",
                                             "remoteRank", "size",          "recvSize",      "rootRank",
                                             "packedSize", "requestHandle", "correlationId", "returnValue"};
  enum SpanColumn { kStart, kEnd, kTid, kName, kText, kFirstArg };
  RangeColumns& ranges = e.writer.batch.range;
  const StringId category = e.writer.strings().Add(from.category), span = e.writer.strings().Add("span"),
                 unfinished = e.writer.strings().Add("unfinished");
  static constexpr const char* kToldElsewhere[] = {"eventClass"};
  e.Expect(from.table, kToldElsewhere);
  return e.ForEach(from.table, kColumns, 1, [&](const SqliteRows& rows) -> Status {
    const RowId row = e.writer.NextRow(Table::kRange, ranges);
    ExportFile::Time time;
    if (!e.TimeOf(rows, kStart, kEnd, Table::kRange, row, time)) return {};
    const int64_t end_ns = time.start_ns + (IsNull(time.dur_ns) ? int64_t{0} : time.dur_ns);
    if (time.start_ns >= bounds.end_ns || end_ns <= bounds.start_ns) {
      e.file.counters.Add(kOverheadOutside);
      return {};
    }
    RangeRow r;
    r.thread_id = e.lanes.Host(rows.Int(kTid));
    r.start_ns = time.start_ns;
    r.dur_ns = time.dur_ns;
    r.category = category;
    r.kind = rows.IsNull(kEnd) ? unfinished : span;
    if (rows.IsNull(kEnd)) e.file.counters.Add(kBeginWithoutEnd);
    const bool by_text = rows.IsNull(kName);
    r.name = e.NameOf(rows.Int(by_text ? kText : kName), Table::kRange, row, by_text ? "textId" : "nameId");
    for (size_t i = kFirstArg; i < std::size(kColumns); ++i) {
      const int64_t value = rows.Int(static_cast<int>(i));
      const std::string_view key = kColumns[i];
      if (IsNull(value) || (value == 0 && (key == "returnValue" || key == "correlationId"))) continue;
      const auto named = key == "overheadType" ? overheads.find(value) : overheads.end();
      if (named == overheads.end())
        e.writer.KeepArg(Table::kRange, row, key, value);
      else
        e.writer.KeepArg(Table::kRange, row, key, DumpJson(Json(named->second)));
    }
    ranges.Add(r);
    return {};
  });
}

constexpr int64_t kReleased = 1;               // ENUM_CUDA_DEV_MEM_EVENT_OPER
constexpr int64_t kPageable = 0, kPinned = 1;  // ENUM_CUDA_MEM_KIND

}  // namespace

Status ReadOtherSpans(ExportFile& e) {
  EnumNames overheads = e.Enum("ENUM_CUPTI_OVERHEAD_TYPE", {});
  // The profiler's own time is taken where it fell into the program's, which is read by now.
  constexpr Interval kAnyTime{INT64_MIN, INT64_MAX};
  for (const SpanTable& table : kSpanTables) {
    const bool overhead = std::string_view(table.category) == "overhead";
    if (overhead) NL_TRY(e.writer.Flush());
    const RunFacts& facts = e.file.facts;
    const Interval program{facts.first_start_ns(), facts.last_end_ns()};
    NL_TRY(ReadSpans(e, table, overhead && !facts.empty() ? program : kAnyTime, overheads));
  }
  return {};
}

// Recorded with --cuda-memory-usage=true.
Status ReadMemoryEvents(ExportFile& e) {
  static constexpr const char* kColumns[] = {"start",   "globalPid",     "deviceId", "contextId",
                                             "address", "bytes",         "memKind",  "memoryOperationType",
                                             "name",    "correlationId", "pc"};
  enum MemoryColumn {
    kAt,
    kPid,
    kDevice,
    kContext,
    kAddress,
    kBytes,
    kMemKind,
    kOperation,
    kVariable,
    kCorrelation
  };
  MemoryEventColumns& events = e.writer.batch.memory_event;
  StringPool& strings = e.writer.strings();
  const StringId taken = strings.Add("Allocation"), released = strings.Add("Deallocation");
  return e.ForEach("CUDA_GPU_MEMORY_USAGE_EVENTS", kColumns, 1, [&](const SqliteRows& rows) -> Status {
    const RowId row = e.writer.NextRow(Table::kMemoryEvent, events);
    MemoryEventRow r;
    if (!e.InstantOf(rows, kAt, r.start_ns)) return {};
    const int64_t kind = rows.Int(kMemKind), bytes = rows.Int(kBytes);
    const bool given_back = rows.Int(kOperation) == kReleased, on_host = kind == kPageable || kind == kPinned;
    r.name = given_back ? released : taken;
    r.address = rows.Int(kAddress);
    r.bytes = IsNull(bytes) || !given_back ? bytes : -bytes;
    const StreamLane place = e.lanes.DevicePart(rows.Int(kPid), rows.Int32(kDevice), "device memory");
    r.thread_id = place.lane;
    r.device_type = on_host ? 0 : 1;
    r.device = on_host ? -1 : place.device;
    for (const auto& [column, key] :
         {std::pair{kMemKind, "memKind"}, std::pair{kCorrelation, "correlationId"}}) {
      if (!rows.IsNull(column) && rows.Int(column) != 0)
        e.writer.KeepArg(Table::kMemoryEvent, row, key, rows.Int(column));
    }
    if (!rows.Text(kVariable).empty())
      e.writer.KeepArg(Table::kMemoryEvent, row, "name", DumpJson(Json(std::string(rows.Text(kVariable)))));
    events.Add(r);
    return {};
  });
}

Status ReadMessages(ExportFile& e) {
  static constexpr const char* kColumns[] = {"severity",      "text",   "timestamp",
                                             "timestampType", "source", "globalPid"};
  const EnumNames severities =
      e.Enum("ENUM_DIAGNOSTIC_SEVERITY_LEVEL", {{2, "WARNING"}, {3, "ERROR"}, {4, "FATAL"}});
  return e.ForFew("DIAGNOSTIC_EVENT", kColumns, [&](const SqliteRows& rows) {
    const auto severity = severities.find(rows.Int(0));
    if (severity == severities.end()) return;
    std::string name = severity->second;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    for (const std::string_view bad : {"WARN", "ERR", "FATAL"}) {
      if (name.find(bad) == std::string::npos) continue;
      e.file.counters.Add(kProfilerWarning, -1, rows.Text(1));
      return;
    }
  });
}

}  // namespace nl::adapters::nsys
