// SPDX-License-Identifier: Apache-2.0
#pragma once
// DemangleItanium: C++ symbol -> readable name, for kernel names recorded by CUPTI and HIP.
// Why not abi::__cxa_demangle: libstdc++ 12 refuses symbols over 1024 characters, which CUTLASS,
// ck_tile and PyTorch kernels exceed, and its output doubles with every crafted substitution
// (a 200-byte symbol can ask for 140 MB). Here input, nesting, work and output are bounded.
// The spelling follows the GNU demangler ("T const&", "{lambda(int)#1}", "(anonymous namespace)").
// Thread rule: pure function.

#include <optional>
#include <string>
#include <string_view>

namespace nl {

inline constexpr size_t kMaxMangledBytes = 64 * 1024;
inline constexpr size_t kMaxDemangledBytes = 256 * 1024;

// nullopt when `mangled` does not start with "_Z", is malformed, uses a construct no kernel name has
// (special names, requires-expressions), or passes a limit.
std::optional<std::string> DemangleItanium(std::string_view mangled);

}  // namespace nl
