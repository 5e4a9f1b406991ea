// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of input files.
// Thread rule: pure functions.

#include <string_view>

namespace nl {

// The name without the ending of a compression, which says nothing of the format.
inline std::string_view UnpackedName(std::string_view name) {
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.size() > packed.size() && name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  return name;
}

}  // namespace nl
