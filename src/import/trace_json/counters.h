// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be wrong with single records of a Chrome-style trace, and what it means.

#include "base/counter.h"

namespace nl::trace_json {

inline constexpr CounterInfo kBadEvent{"bad_event", Severity::kDataLoss,
                                       "Text in the event array that is not a readable event",
                                       "The writer broke its own JSON here; the text is kept in import_log"};
inline constexpr CounterInfo kMendedEvent{
    "mended_event", Severity::kNotice,
    "Event with unescaped quotes or a stray comma, read as its writer meant it",
    "Nothing is lost; report it to the writer of the trace"};
inline constexpr CounterInfo kBadTimestamp{
    "bad_timestamp", Severity::kDataLoss, "Event without a usable ts (missing, NaN, or out of range)",
    "The event cannot be placed in time; its text is kept in import_log"};
inline constexpr CounterInfo kBadDuration{"bad_duration", Severity::kDataLoss,
                                          "Event with a negative, absurd (over a year) or unreadable dur",
                                          "Kept with a null duration, the value as written is in args"};
inline constexpr CounterInfo kMissingDuration{"missing_duration", Severity::kNotice,
                                              "Complete event without dur", "Kept with a null duration"};
inline constexpr CounterInfo kBadUtf8{"bad_utf8", Severity::kNotice, "Text that is not UTF-8",
                                      "Each bad byte was replaced by U+FFFD; counted once per distinct text"};
inline constexpr CounterInfo kEmptyEvent{"empty_event", Severity::kInfo, "Empty object in the event array",
                                         "Some writers end the array with one; nothing is lost"};
inline constexpr CounterInfo kUnknownPhase{"unknown_phase", Severity::kNotice,
                                           "Event of a phase this version does not know",
                                           "Kept as an instant in table range, with its phase in args"};
inline constexpr CounterInfo kEndWithoutBegin{
    "end_without_begin", Severity::kNotice, "End event without its begin",
    "Normal for an event that was open when recording started; kept with a null duration"};
inline constexpr CounterInfo kBeginWithoutEnd{
    "begin_without_end", Severity::kNotice, "Begin event without its end",
    "Normal for an event that was open when recording stopped; kept with a null duration"};
inline constexpr CounterInfo kTrailingComma{"trailing_comma", Severity::kInfo,
                                            "Comma before the end of the event array", "Nothing is lost"};
inline constexpr CounterInfo kMissingArrayEnd{
    "missing_array_end", Severity::kInfo, "Event array without its closing bracket, which the format allows",
    "Nothing is known to be lost"};
inline constexpr CounterInfo kTruncated{"truncated", Severity::kDataLoss, "The file is truncated",
                                        "Everything before the cut is here; what came after is not"};
inline constexpr CounterInfo kBadTrailer{"bad_trailer", Severity::kNotice,
                                         "Text after the event array that is not JSON",
                                         "Header facts written after the events are missing"};
inline constexpr CounterInfo kSecondArray{
    "second_event_array", Severity::kDataLoss, "More than one traceEvents array; only the first was read",
    "Split the file, or report it to the writer: duplicate keys are not valid JSON"};

}  // namespace nl::trace_json
