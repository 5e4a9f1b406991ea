// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: a ResNet-shaped network that classifies batches of images, one after another.
// Thread rule: pure functions.

#include "testing/synthetic/kernels.h"
#include "testing/synthetic/simulate.h"

namespace nl::synthetic {

struct CnnOptions {
  int64_t batch = 32, image = 224;
  int steps = 10;
  std::vector<int> blocks{3, 4, 6, 3};
  Type type = Type::kHalf;
};

Program CnnProgram(const CnnOptions& options, const Recording& recording);

}  // namespace nl::synthetic
