// SPDX-License-Identifier: Apache-2.0
#pragma once
// RecorderPrice: what recording one event cost the recorded program, so that predictions speak of the
// program without the recorder. Prices were measured (docs/advice.md) and scale with the speed of the host,
// which shows in the shortest operators of the run itself.
// Thread rule: pure functions.

#include <string>
#include <string_view>

#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"

namespace nl {

// As run documents name it.
inline constexpr std::string_view kTorchProfiler = "torch.profiler";

struct RecorderPrice {
  double op_ns = 0;      // per framework operator
  double launch_ns = 0;  // per call that launches a kernel
  double copy_ns = 0;    // per call that copies or sets memory
  double api_ns = 0;     // per other API call
  double python_ns = 0;  // per call of Python that is recorded as such
  std::string recorder;  // whose; "" where no price is known
};

RecorderPrice PriceOf(const RunData& data, const TimelineFacts& timeline);

}  // namespace nl
