// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: training a GPT-shaped model (forward on the main thread, backward on the
// autograd engine's, optimizer, gradients reduced on a second stream while backward goes
// on, one rank or several).
// Thread rule: pure functions; a program's threads share its state.

#include <memory>

#include "testing/synthetic/kernels.h"
#include "testing/synthetic/simulate.h"

namespace nl::synthetic {

struct TrainOptions {
  int layers = 6, steps = 5, ranks = 1;
  int64_t batch = 8, length = 512, d = 1024, vocab = 32000;
  Type type = Type::kBf16;
  bool reduce = false;  // gradients are reduced across ranks; one rank alone was recorded when ranks is 1
  bool fused_optimizer = false;
};

// Two threads for each rank: the script's and the autograd engine's.
Program TrainProgram(const TrainOptions& options, const Recording& recording);

}  // namespace nl::synthetic
