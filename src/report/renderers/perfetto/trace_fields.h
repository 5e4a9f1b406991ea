// SPDX-License-Identifier: Apache-2.0
#pragma once
// Field numbers and enum values of the Perfetto trace format that we write, by message.
// They are fixed by the format for ever; a trace without clock packets counts in ns.

#include <cstdint>

namespace nl::renderers::perfetto {

namespace trace {
inline constexpr uint32_t kPacket = 1;
}

namespace packet {
inline constexpr uint32_t kTimestamp = 8;
inline constexpr uint32_t kSequenceId = 10;
inline constexpr uint32_t kTrackEvent = 11;
inline constexpr uint32_t kInternedData = 12;
inline constexpr uint32_t kSequenceFlags = 13;
inline constexpr uint32_t kDefaults = 59;
inline constexpr uint32_t kTrackDescriptor = 60;
inline constexpr uint64_t kFlagStateCleared = 1, kFlagNeedsState = 2;
}  // namespace packet

namespace defaults {
inline constexpr uint32_t kTrackEvent = 11;
}

namespace event {
inline constexpr uint32_t kCategoryIds = 3;
inline constexpr uint32_t kAnnotations = 4;
inline constexpr uint32_t kType = 9;
inline constexpr uint32_t kNameId = 10;
inline constexpr uint32_t kTrackUuid = 11;
inline constexpr uint32_t kCounterValue = 30;
inline constexpr uint32_t kDoubleCounterValue = 44;
inline constexpr uint32_t kFlowIds = 47;
inline constexpr uint32_t kTerminatingFlowIds = 48;
inline constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;
}  // namespace event

namespace annotation {
inline constexpr uint32_t kNameId = 1;
inline constexpr uint32_t kInt = 4;
inline constexpr uint32_t kDouble = 5;
inline constexpr uint32_t kString = 6;
inline constexpr uint32_t kStringId = 17;
}  // namespace annotation

namespace interned {
inline constexpr uint32_t kCategories = 1;
inline constexpr uint32_t kEventNames = 2;
inline constexpr uint32_t kAnnotationNames = 3;
inline constexpr uint32_t kAnnotationStrings = 29;
inline constexpr uint32_t kId = 1, kText = 2;  // of an entry of each
}  // namespace interned

namespace track {
inline constexpr uint32_t kUuid = 1;
inline constexpr uint32_t kName = 2;
inline constexpr uint32_t kProcess = 3;
inline constexpr uint32_t kThread = 4;
inline constexpr uint32_t kParent = 5;
inline constexpr uint32_t kCounter = 8;
inline constexpr uint32_t kChildOrder = 11;
inline constexpr uint32_t kOrderRank = 12;
inline constexpr uint64_t kOrderExplicit = 3;
inline constexpr uint32_t kProcessPid = 1, kProcessName = 6, kProcessLabels = 8;
inline constexpr uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
inline constexpr uint32_t kCounterUnit = 3;
inline constexpr uint64_t kUnitBytes = 3;
}  // namespace track

}  // namespace nl::renderers::perfetto
