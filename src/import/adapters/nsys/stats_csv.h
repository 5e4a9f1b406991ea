// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables that `nsys stats --format csv` prints. They hold totals per name; a run holds events
// (its document may add up, its tables may not), so they are recognised and refused with the
// way to what can be imported.
// Thread rule: pure functions.

#include <string_view>

#include "base/result.h"

namespace nl::adapters::nsys {

// Does it begin with the header of such a table?
bool LooksLikeStats(std::string_view head);

// Unsupported: which table it is, and what to import instead.
Error RefuseStats(std::string_view head, std::string_view path);

}  // namespace nl::adapters::nsys
