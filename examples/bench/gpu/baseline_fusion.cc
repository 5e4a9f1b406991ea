// SPDX-License-Identifier: Apache-2.0
// result = a * x + b as two kernels: the product goes to memory and back.
#include "fusion.h"

class Benchmark final : public Fusion {
 public:
  void Run() override {
    cuda().Run(scale_, kBlocks, kThreads, x_, product_, kFactor, kCount);
    cuda().Run(shift_, kBlocks, kThreads, product_, result_, kShift, kCount);
  }
};

NEUROLENS_BENCHMARK(Benchmark)
