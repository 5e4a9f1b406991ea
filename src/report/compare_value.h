// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the forms of a comparison share: times of one table in one unit, signs, shares.
// Thread rule: pure functions.

#include <optional>
#include <string>

#include "base/json.h"

namespace nl {

// One unit for all times of a table, so that a column can be read and added up.
struct DeltaScale {
  double factor = 1;  // from ms
  const char* unit = "ms";
  int digits = 2;

  // For values of which the largest is this.
  static DeltaScale For(double largest_ms);
  std::string Signed(std::optional<double> ms) const;  // "+18.21"; "-" when null
  std::string Plain(std::optional<double> ms) const;   // "18.21"
};
// Large enough for every row of the waterfall, the walls left out.
DeltaScale ScaleOf(const Json& comparison);

std::string SignedMs(std::optional<double> ms);                // "+18.2 ms"
std::string SignedPercent(std::optional<double> part);         // a share as "+12.3 %"; ">999 %" beyond
std::string ShareText(std::optional<double> share);            // "80.9 %", "-12.0 %"
std::string ConfidenceText(std::optional<double> confidence);  // "99 %"; above 99.5 % ">99 %"

// "copy added (HtoD pageable)".
std::string CauseText(const Json& contribution);
// The contribution's confidence; "-" for noise, which claims nothing.
std::string SureText(const Json& contribution);
// How the contribution's calls changed: "12 -> 24 calls", "kernel x -> y"; "" when nothing did.
std::string ChangeText(const Json& contribution);
// "base.json.gz", or the run's id.
std::string SideName(const Json& comparison, const char* side);

}  // namespace nl
