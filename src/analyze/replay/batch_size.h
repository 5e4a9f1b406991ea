// SPDX-License-Identifier: Apache-2.0
#pragma once
// BatchSize: what the steady steps would take with another batch size. The shapes of each operator are scaled
// in the dimension that grows with the batch; its FLOPs and bytes by the same formulas give its roofline at
// both sizes. Expected: a kernel reaches the share of its roofline that it reaches now, and more where it was
// too short to fill the device. Best case: what good kernels reach; worst case: no better share than now.
// Weights, optimizers and collectives stay as they are; copies from and to the host, data loaders and
// operators on the CPU grow with the batch.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/roofline.h"
#include "analyze/replay/gap_groups.h"
#include "analyze/replay/step_replay.h"

namespace nl::replay {

// Time of one kernel or copy with the new batch size, in ns.
struct BatchWork {
  uint32_t work = 0;  // position in DeviceWork
  double best_ns = 0, expected_ns = 0, worst_ns = 0;
};
struct BatchGap {
  uint32_t gap = 0;      // position in StepReplay::gaps()
  bool certain = false;  // grows with the batch; otherwise it may
};

struct BatchSize {
  std::optional<int64_t> from;  // recorded batch size; none: cannot be read from the shapes
  double factor = 1;            // new batch size / recorded one
  std::vector<BatchWork> works;
  std::vector<BatchGap> gaps;
  int64_t scaled = 0;        // kernels that grow with the batch
  double unknown_share = 0;  // of the device time of the steps: kernels without shapes or formula
  std::string reason;        // why nothing can be predicted; empty when it can
};

// What was asked for: a batch size, or a factor of the recorded one.
struct BatchRequest {
  std::optional<int64_t> size;
  std::optional<double> factor;
};
// "32", "x2", "x0.5"; none for anything else.
std::optional<BatchRequest> ParseBatch(const std::string& text);

BatchSize FindBatchSize(const StepReplay& steps, const RooflineFacts& roofline,
                        const std::vector<GapGroup>& gaps, const BatchRequest& request);

enum class BatchCase : uint8_t { kBest, kExpected, kWorst };
void ApplyBatch(const StepReplay& steps, const BatchSize& batch, BatchCase which, Plan& plan);

}  // namespace nl::replay
