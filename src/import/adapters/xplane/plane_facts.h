// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the planes of an XSpace say beside their events: devices, versions, the profiler's
// own messages, and what is known of single names (an HLO op's flops on a TPU).
// Thread rule: one thread, before the events are decoded.

#include "import/adapter.h"
#include "import/adapters/xplane/space_map.h"

namespace nl::adapters::xplane {

void ReadPlaneFacts(const SpaceMap& map, ImportFile& file);

}  // namespace nl::adapters::xplane
