// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be wrong with single parts of a speedscope file, and what it means.

#include "base/counter.h"

namespace nl::adapters::speedscope {

inline constexpr CounterInfo kBadSample{"bad_sample", Severity::kDataLoss,
                                        "Sample, weight or event that does not follow the format",
                                        "It was left out; its text is in import_log"};
inline constexpr CounterInfo kBadDuration{"bad_duration", Severity::kDataLoss,
                                          "Frame that closes before it opens", "Kept with a null duration"};
inline constexpr CounterInfo kMissingFrame{"missing_frame", Severity::kDataLoss,
                                           "Number of a frame that is not in the table of frames",
                                           "Named by its number; the file is cut or was trimmed"};
inline constexpr CounterInfo kWeightsDiffer{
    "weights_differ", Severity::kDataLoss, "Profile with more samples than weights, or fewer",
    "Samples without a weight are kept without one; both numbers are in import_log"};
inline constexpr CounterInfo kUnknownProfile{
    "unknown_profile", Severity::kDataLoss,
    "Profile of a type this version does not know, or without its events", "Only its name is kept"};
inline constexpr CounterInfo kEndWithoutBegin{"end_without_begin", Severity::kNotice,
                                              "Frame that closes without having been opened",
                                              "It was left out"};
inline constexpr CounterInfo kBeginWithoutEnd{"begin_without_end", Severity::kNotice,
                                              "Frame that is opened and never closed",
                                              "Kept with a null duration"};
inline constexpr CounterInfo kBadUtf8{"bad_utf8", Severity::kNotice, "Text that is not UTF-8",
                                      "Each bad byte was replaced by U+FFFD"};
inline constexpr CounterInfo kNoTimeline{"no_timeline", Severity::kInfo,
                                         "Samples of a profile that counts something else than time",
                                         "They have weights and no start; use `neurolens flame`"};
inline constexpr CounterInfo kTruncated{
    "truncated", Severity::kDataLoss, "The file is truncated",
    "Profiles before the cut are here; the one it is in may lack samples"};

}  // namespace nl::adapters::speedscope
