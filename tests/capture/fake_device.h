// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the parts of the fake CUPTI share: its options, its clock, what its device did.
// Thread rule: any thread.

#include <cstdint>
#include <string_view>

namespace fake {

// Value of a word of FAKE_CUPTI: -1 not given, 0 or its number.
int64_t Option(std::string_view word);
inline bool Is(std::string_view word) { return Option(word) >= 0; }
int64_t GpuNs();
// Ends the program: the caller did what the real one does not take.
[[noreturn]] void Misuse(const char* what);
bool Attached();      // CUPTI is in the process
int64_t PmObjects();  // made and not given back

// What ran on the device from start to end, in nanoseconds of each of two kinds of kernels.
struct Busy {
  int64_t gemm_ns = 0, other_ns = 0;
};
Busy BusyIn(int64_t start_ns, int64_t end_ns);

}  // namespace fake
