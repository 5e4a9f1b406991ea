// SPDX-License-Identifier: Apache-2.0
// result = a * x + b as one kernel, which reads and writes every value once.
#include "fusion.h"

class Benchmark final : public Fusion {
 public:
  void Run() override { cuda().Run(fused_, kBlocks, kThreads, x_, result_, kFactor, kShift, kCount); }
};

NEUROLENS_BENCHMARK(Benchmark)
