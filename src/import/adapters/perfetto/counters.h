// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be wrong with single packets of a Perfetto trace, and what it means.

#include "base/counter.h"

namespace nl::adapters::perfetto {

inline constexpr CounterInfo kBadPacket{"bad_packet", Severity::kDataLoss,
                                        "Packet whose bytes are not a message",
                                        "It was left out as far as it cannot be read"};
inline constexpr CounterInfo kPacketNotRead{
    "packet_not_read", Severity::kInfo, "Packet of a kind this version does not read (all but track events)",
    "The number of its field is in import_log; open the trace in ui.perfetto.dev for it"};
inline constexpr CounterInfo kBadDuration{
    "bad_duration", Severity::kDataLoss, "Slice that ends before it begins",
    "Kept with a null duration; packets of one track were not in order of time"};
inline constexpr CounterInfo kBadTimestamp{"bad_timestamp", Severity::kDataLoss,
                                           "Event without a usable time",
                                           "It cannot be placed and was left out"};
inline constexpr CounterInfo kEndWithoutBegin{
    "end_without_begin", Severity::kNotice, "Slice end without its begin",
    "Normal for an event that was open when recording started; it was left out"};
inline constexpr CounterInfo kBeginWithoutEnd{
    "begin_without_end", Severity::kNotice, "Slice begin without its end",
    "Normal for an event that was open when recording stopped; kept with a null duration"};
inline constexpr CounterInfo kMissingInterned{
    "missing_interned_text", Severity::kDataLoss,
    "Name or value whose number was not given before on its sequence",
    "Packets were lost, or recording began later; the number as written is in args"};
inline constexpr CounterInfo kUnknownClock{
    "unknown_clock", Severity::kNotice, "Event on a clock that no snapshot relates to the trace's",
    "Its time was taken as it is; spans on different clocks may not line up"};
inline constexpr CounterInfo kEventNotRead{"event_not_read", Severity::kDataLoss,
                                           "Track event of a type this version does not know",
                                           "It was left out; open the trace in ui.perfetto.dev for it"};
inline constexpr CounterInfo kAnnotationNotRead{"annotation_not_read", Severity::kInfo,
                                                "Nested annotation of an event", "Its name is in import_log"};
inline constexpr CounterInfo kBadUtf8{"bad_utf8", Severity::kNotice, "Text that is not UTF-8",
                                      "Each bad byte was replaced by U+FFFD"};
inline constexpr CounterInfo kTruncated{"truncated", Severity::kDataLoss, "The file is truncated",
                                        "Everything before the cut is here; what came after is not"};

}  // namespace nl::adapters::perfetto
