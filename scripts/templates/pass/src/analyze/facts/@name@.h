// SPDX-License-Identifier: Apache-2.0
#pragma once
// @Name@Facts: how many pieces of work the devices of a run executed, and the bytes they copied.
// Made by passes/@name@.

#include <cstdint>

#include "base/record.h"

namespace nl {

struct @Name@Facts {
  static constexpr const char* kName = "@name@";
  int64_t work_items = 0, copied_bytes = 0;
};

// The facts as reports give them.
struct @Name@Section {
  int64_t work_items = 0, copied_bytes = 0;
};
inline void Describe(Record<@Name@Section>& r) {
  r.Name("@Name@Section", "Work that the devices executed");
  r.Field("work_items", &@Name@Section::work_items, "Kernels, copies and fills");
  r.Field("copied_bytes", &@Name@Section::copied_bytes, Unit::kBytes, "Bytes of the copies");
}

}  // namespace nl
