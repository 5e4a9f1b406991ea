// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be wrong with single records of a recording, and what it means.

#include "base/counter.h"

namespace nl::adapters::rocprof {

inline constexpr CounterInfo kBadRecord{"bad_record", Severity::kDataLoss,
                                        "Text in a table of records that is not a readable record",
                                        "The file is damaged here; the text is kept in import_log"};
inline constexpr CounterInfo kBadTimestamp{
    "bad_timestamp", Severity::kDataLoss,
    "Record without a usable start (missing, zero with a zero end, or out of range)",
    "The profiler could not time it; the record is kept in import_log only"};
inline constexpr CounterInfo kBadDuration{"bad_duration", Severity::kDataLoss,
                                          "Record that ends before it starts or lasts over a year",
                                          "Kept with a null duration, the end as written is in args"};
inline constexpr CounterInfo kMissingName{
    "missing_name", Severity::kDataLoss,
    "Kernel or function whose number is not in the file's tables of names",
    "The file is cut or was trimmed; the number as written is in args"};
inline constexpr CounterInfo kUnknownAgent{
    "unknown_agent", Severity::kNotice, "Record of an agent that the recording does not describe",
    "Its number was taken as the device's; give the agent_info.csv of the recording with it"};
inline constexpr CounterInfo kBadUtf8{"bad_utf8", Severity::kNotice, "Text that is not UTF-8",
                                      "Each bad byte was replaced by U+FFFD"};
inline constexpr CounterInfo kSectionNotImported{"section_not_imported", Severity::kInfo,
                                                 "Part of the recording that this version does not read",
                                                 "Its name is in import_log; the recording itself has it"};
inline constexpr CounterInfo kFieldNotImported{"field_not_imported", Severity::kInfo,
                                               "Field of records that were read, which has no place in a run",
                                               "Its name is in import_log; the recording itself has it"};
inline constexpr CounterInfo kTruncated{"truncated", Severity::kDataLoss, "The file is truncated",
                                        "Everything before the cut is here; what came after is not"};
inline constexpr CounterInfo kMissingLineEnd{
    "missing_line_end", Severity::kNotice, "Last line without its end: the file may be cut",
    "Compare with the size of the original; the line itself was read when it had all columns"};

}  // namespace nl::adapters::rocprof
