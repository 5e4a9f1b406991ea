// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be wrong with single records of an XSpace, and what it means.

#include "base/counter.h"

namespace nl::adapters::xplane {

inline constexpr CounterInfo kBadEvent{"bad_event", Severity::kDataLoss,
                                       "Event whose bytes are not a readable message",
                                       "Left out: the file is damaged here; record again"};
inline constexpr CounterInfo kBadMetadata{
    "bad_metadata", Severity::kDataLoss, "Name or stat of a plane whose bytes are not a readable message",
    "Left out: the file is damaged here; events that use the name count as missing_metadata"};
inline constexpr CounterInfo kBadTimestamp{"bad_timestamp", Severity::kDataLoss,
                                           "Event whose time is out of range",
                                           "The event cannot be placed in time and is left out"};
inline constexpr CounterInfo kBadDuration{"bad_duration", Severity::kDataLoss,
                                          "Event with a negative or absurd duration (over a year)",
                                          "Kept with a null duration, the value as written is in args"};
inline constexpr CounterInfo kUntimedEvent{"untimed_event", Severity::kNotice,
                                           "Event that stands for a number of occurrences without a time",
                                           "A total, not an event: left out, its name is in import_log"};
inline constexpr CounterInfo kMissingMetadata{"missing_metadata", Severity::kDataLoss,
                                              "Event or stat whose metadata is not in its plane",
                                              "Kept without a name, the number as written in args (not where "
                                              "the file is cut: there nothing has a name)"};
inline constexpr CounterInfo kCutTimes{
    "times_cut_to_nanoseconds", Severity::kInfo,
    "Event that does not begin and end on whole nanoseconds (the format counts picoseconds)",
    "Start and end are cut to the nanosecond before: each is off by less than 1 ns, touching events still "
    "touch"};
inline constexpr CounterInfo kUnknownField{"unknown_field", Severity::kNotice,
                                           "Field this version does not know",
                                           "Left out; written by a newer profiler than the versions seen"};
inline constexpr CounterInfo kBytesNotStored{
    "bytes_not_stored", Severity::kInfo, "Binary value (compiled programs, options of the profiler)",
    "Not stored: keep the file itself if you need the HLO of a program"};
inline constexpr CounterInfo kProfilerWarning{"profiler_warning", Severity::kNotice,
                                              "Warning or error the profiler itself wrote into the file", ""};
inline constexpr CounterInfo kBadUtf8{"bad_utf8", Severity::kNotice, "Text that is not UTF-8",
                                      "Each bad byte was replaced by U+FFFD"};
inline constexpr CounterInfo kTruncated{"truncated", Severity::kDataLoss, "The file is truncated",
                                        "Everything before the cut is here; what came after is not"};

}  // namespace nl::adapters::xplane
