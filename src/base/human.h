// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers for people: bytes, durations and counts with a unit and few digits.
// For display only; files and JSON carry the exact numbers.

#include <cstdint>
#include <string>

namespace nl {

std::string HumanBytes(int64_t bytes);                // "12.9 MB" (powers of 1000)
std::string HumanDurationNs(int64_t ns);              // "182.8 ms", "950 ns", "3 min 05 s"
std::string HumanMs(double ms);                       // the same, from milliseconds; "-" when not finite
std::string HumanCount(int64_t count);                // "36,353"
std::string HumanPercent(double part, double whole);  // "12.3 %"; "-" when whole is 0

}  // namespace nl
