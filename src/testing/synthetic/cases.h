// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: the pairs of known cause. Every class of cause alone, in several worlds, at
// several places and in several sizes, done and undone; and two causes at once.
// Thread rule: pure functions.

#include "testing/synthetic/pair.h"

namespace nl::synthetic {

std::vector<PairCase> SingleCases();
// Changes that the wall does not show: the device has time for them while it waits for the host.
std::vector<PairCase> HiddenCases();
std::vector<PairCase> DoubleCases();

// Worlds for repeats of the same thing.
std::vector<std::string> RepeatWorlds();

}  // namespace nl::synthetic
