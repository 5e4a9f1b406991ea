// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/recorder_price.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/program/per_name.h"
#include "base/median.h"
#include "model/api_kind.h"

namespace nl {

namespace {

// On the host that the prices were measured on, an operator that only makes a view takes this long under
// torch.profiler, nearly all of it the profiler's own, and a launch call this long.
constexpr double kViewNs = 600, kLaunchNs = 6000;
// By the name that a run document has for its recorder.
struct ToolPrice {
  std::string_view tool, operators_by;  // "": whichever way
  RecorderPrice price;
  bool scales;  // with the speed of the host, which shows in its own operators
};
const ToolPrice kPrices[] = {{kTorchProfiler, "", {2200, 7000, 4000, 650, 420, "torch.profiler"}, true},
                             {"NeuroLens", "observer", {600, 2500, 2000, 500, 0, "neurolens run"}, false},
                             {"NeuroLens", "", {900, 2500, 2000, 500, 0, "neurolens run"}, false},
                             {"Nsight Systems", "", {0, 2500, 2000, 500, 0, "Nsight Systems"}, false}};
constexpr double kLeastSpeed = 0.5, kMostSpeed = 4;

// How much slower this host is than the one measured; 1 where the run does not show it.
double Slowness(const RunData& data, const TimelineFacts& timeline) {
  constexpr size_t kFewest = 8, kEnough = 4096;
  const HostTree& h = timeline.host;
  ApiKinds kinds(data.strings);
  program::PerName view(data, [](std::string_view name) { return name == "aten::as_strided"; });
  std::vector<int64_t> views, launches;
  for (uint32_t i = 0; i < h.size() && (views.size() < kEnough || launches.size() < kEnough); ++i) {
    if (IsNull(h.name[i])) continue;
    const int64_t ns = h.end_ns[i] - h.start_ns[i];
    if (h.kind[i] == HostKind::kApi && kinds.Of(h.name[i]) == ApiKind::kLaunch) launches.push_back(ns);
    if (h.kind[i] == HostKind::kOp && h.last[i] == i + 1 && view.Of(h.name[i])) views.push_back(ns);
  }
  double slow = 1;
  if (views.size() >= kFewest) slow *= static_cast<double>(UpperMedian(views)) / kViewNs;
  if (launches.size() >= kFewest) slow *= static_cast<double>(UpperMedian(launches)) / kLaunchNs;
  if (views.size() >= kFewest && launches.size() >= kFewest) slow = std::sqrt(slow);
  return std::clamp(slow, kLeastSpeed, kMostSpeed);
}

}  // namespace

RecorderPrice PriceOf(const RunData& data, const TimelineFacts& timeline) {
  const std::string_view tool = data.Noted("/source/tool"),
                         operators_by = data.Noted("/capture/operators_by");
  for (const ToolPrice& known : kPrices) {
    if (known.tool != tool || (!known.operators_by.empty() && known.operators_by != operators_by)) continue;
    const double slow = known.scales ? Slowness(data, timeline) : 1;
    RecorderPrice price = known.price;
    for (double* ns : {&price.op_ns, &price.launch_ns, &price.copy_ns, &price.api_ns, &price.python_ns})
      *ns *= slow;
    return price;
  }
  return {};
}

}  // namespace nl
