// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be wrong with single rows of an export, and what it means.

#include "base/counter.h"

namespace nl::adapters::nsys {

inline constexpr CounterInfo kBadTimestamp{
    "bad_timestamp", Severity::kDataLoss,
    "Row without a usable start (missing, zero with a zero end, or out of range)",
    "The profiler could not time it; the row is kept in import_log only"};
inline constexpr CounterInfo kBadDuration{"bad_duration", Severity::kDataLoss,
                                          "Row that ends before it starts or lasts over a year",
                                          "Kept with a null duration, the end as written is in args"};
inline constexpr CounterInfo kBeginWithoutEnd{"begin_without_end", Severity::kNotice,
                                              "Range that was still open when recording stopped",
                                              "Kept with a null duration"};
inline constexpr CounterInfo kMissingString{
    "missing_string", Severity::kDataLoss, "Name whose number is not in table StringIds",
    "The export was interrupted or trimmed: export again. The number as written is in args"};
inline constexpr CounterInfo kBadUtf8{"bad_utf8", Severity::kNotice, "Text that is not UTF-8",
                                      "Each bad byte was replaced by U+FFFD"};
inline constexpr CounterInfo kUnknownNvtx{"unknown_nvtx_event", Severity::kNotice,
                                          "NVTX event of a type this version does not know",
                                          "Kept as an instant in table range, with its eventType in args"};
inline constexpr CounterInfo kWholeGraph{
    "graph_recorded_as_a_whole", Severity::kNotice,
    "CUDA graph launch recorded as one piece: it is one row of table kernel, busy from its first node to "
    "its last",
    "Record with --cuda-graph-trace=node to see the kernels inside"};
inline constexpr CounterInfo kDeviceOfContext{
    "device_taken_from_context", Severity::kInfo,
    "Synchronisation whose device is not the one its context belongs to; the context's was taken",
    "Exports write device 0 for all of them; nothing is lost"};
inline constexpr CounterInfo kOverheadOutside{
    "overhead_outside_the_events", Severity::kInfo,
    "Time the profiler took before the first or after the last event of the program",
    "Not stored: it would count as time of the run"};
inline constexpr CounterInfo kProfilerWarning{"profiler_warning", Severity::kNotice,
                                              "Warning or error the profiler itself wrote into the recording",
                                              ""};
inline constexpr CounterInfo kTableNotImported{"table_not_imported", Severity::kInfo,
                                               "Table with rows that this version does not read",
                                               "Its name is in import_log; query the export itself for it"};
inline constexpr CounterInfo kColumnNotImported{
    "column_not_imported", Severity::kInfo, "Column of a table that was read, which has no place in a run",
    "Its name is in import_log; query the export itself for it"};
inline constexpr CounterInfo kLaneWithoutEvents{"lane_without_events", Severity::kInfo,
                                                "Process or thread the recording names, without any event",
                                                "Not stored; nothing happened there"};
inline constexpr CounterInfo kMissingColumn{
    "missing_column", Severity::kDataLoss, "Table without a column that its rows cannot do without",
    "Not an export of Nsight Systems as we know it, or a trimmed one; the table was left out"};
inline constexpr CounterInfo kDamagedTable{
    "damaged_table", Severity::kDataLoss, "Table that could be read in part only: the file is cut or damaged",
    "The rows before the damage are here, those after it are not; export again"};
inline constexpr CounterInfo kBadStatsRow{
    "bad_stats_row", Severity::kDataLoss,
    "Row of a table of sums without every column, or whose calls or total time are not numbers",
    "Left out; its text is in import_log: print the table again"};
inline constexpr CounterInfo kStatsTruncated{"truncated", Severity::kDataLoss, "The file is truncated",
                                             "Everything before the cut is here; what came after is not"};
inline constexpr CounterInfo kStatsLineEnd{"missing_line_end", Severity::kNotice,
                                           "Last line without its end: the file may be cut",
                                           "Compare with the size of the original; the row itself was read"};

}  // namespace nl::adapters::nsys
