// SPDX-License-Identifier: Apache-2.0
#pragma once
// The messages of an .xplane.pb file by their public field numbers. A file is one XSpace:
//   XSpace  planes 1, errors 2, warnings 3, hostnames 4
//   XPlane  id 1, name 2, lines 3, event_metadata 4, stat_metadata 5 (maps: key 1, value 2), stats 6
//   XLine   id 1, name 2, timestamp_ns 3, events 4, duration_ps 9, display_id 10, display_name 11
//   XEvent  metadata_id 1, offset_ps 2 (from the line's timestamp), duration_ps 3, stats 4,
//           num_occurrences 5 (instead of offset_ps: a total, no event)
//   XStat   metadata_id 1, then one of double 2, uint64 3, int64 4, str 5, bytes 6,
//           ref 7 (the text is the name of that stat_metadata)
//   XEventMetadata  id 1, name 2, metadata 3, display_name 4, stats 5, child_id 6
//   XStatMetadata   id 1, name 2, description 3
// Writers put fields in the order of their numbers: names come after the events they belong to.

#include <cstdint>

namespace nl::adapters::xplane {

enum SpaceField : uint32_t { kSpacePlanes = 1, kSpaceErrors = 2, kSpaceWarnings = 3, kSpaceHostnames = 4 };
enum PlaneField : uint32_t {
  kPlaneId = 1,
  kPlaneName = 2,
  kPlaneLines = 3,
  kPlaneEventMetadata = 4,
  kPlaneStatMetadata = 5,
  kPlaneStats = 6,
};
enum MapField : uint32_t { kMapKey = 1, kMapValue = 2 };
enum LineField : uint32_t {
  kLineId = 1,
  kLineName = 2,
  kLineTimestampNs = 3,
  kLineEvents = 4,
  kLineDurationPs = 9,
  kLineDisplayId = 10,
  kLineDisplayName = 11,
};
enum EventField : uint32_t {
  kEventMetadataId = 1,
  kEventOffsetPs = 2,
  kEventDurationPs = 3,
  kEventStats = 4,
  kEventOccurrences = 5,
};
enum StatField : uint32_t {
  kStatMetadataId = 1,
  kStatDouble = 2,
  kStatUint = 3,
  kStatInt = 4,
  kStatText = 5,
  kStatBytes = 6,
  kStatRef = 7,
};
enum MetadataField : uint32_t {
  kMetadataId = 1,
  kMetadataName = 2,
  kMetadataBytes = 3,
  kMetadataDisplayName = 4,
  kMetadataStats = 5,
  kMetadataChildren = 6,
};

}  // namespace nl::adapters::xplane
