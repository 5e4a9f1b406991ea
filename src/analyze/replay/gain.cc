// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/gain.h"

#include <algorithm>

#include "analyze/replay/step_replay.h"

namespace nl::replay {

Gain GainOf(const StepReplay& steps, double gain_ns) {
  // How far off predictions are where the recorder took nothing; its price is known to about a third.
  constexpr double kLeastDoubt = 0.15, kPriceDoubt = 0.35;
  const double step_ns = steps.step_ns(), price_ns = steps.recorded_step_ns() - step_ns;
  const double doubt = std::clamp(kLeastDoubt + kPriceDoubt * price_ns / step_ns, 0.0, 0.9);
  const double gain_ms = std::max(0.0, gain_ns / 1e6);
  return {gain_ms * (1 - doubt), gain_ms, std::min(gain_ms * (1 + doubt), step_ns / 1e6)};
}

}  // namespace nl::replay
