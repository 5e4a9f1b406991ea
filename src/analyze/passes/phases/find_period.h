// SPDX-License-Identifier: Apache-2.0
#pragma once
// What repeats in a sequence of tokens (kernel names in launch order): the period of a program's steps.
// Layers repeat inside a step and are not steps: where a short period is interrupted regularly and a longer
// one explains the interruptions as well, the longer one is the step.
// Thread rule: pure functions. O(n) and a small factor: at most 16 periods are tried.

#include <cstdint>
#include <span>

namespace nl::passes::phases {

struct Repetition {
  uint32_t period = 0;  // tokens of one step; 0: nothing repeats
  // The longest stretch that repeats: nearly every token of [first, last) occurs again one period later.
  uint32_t first = 0, last = 0;
};

// `kernels[token]` is the number of kernels that the token stands for: 0 of a copy or a wait. A repetition
// has at least three periods, `least_tokens` tokens and one kernel, and covers half of the tokens after the
// first quarter. Up to 10 % of the tokens may differ, since libraries choose other kernels now and then.
Repetition FindRepetition(std::span<const uint32_t> tokens, std::span<const uint32_t> kernels,
                          size_t least_tokens);

}  // namespace nl::passes::phases
