// SPDX-License-Identifier: Apache-2.0
#pragma once
// What about a system is missing, outdated or does not fit together, and what to do about it. Every check is
// in the list, also those that are fine. Thread rule: pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "machine/system.h"

namespace nl::machine {

// `capabilities`: effective ones of this process (machine/host.h).
std::vector<HealthCheck> JudgeHealth(const System& system, uint64_t capabilities);

// Oldest driver on Linux that runs programs of this CUDA version ("12.4"), as NVIDIA publishes it; empty: not
// known. From CUDA 11 on, the minor versions of a major one share it.
std::string_view OldestDriver(std::string_view cuda_version);

}  // namespace nl::machine
