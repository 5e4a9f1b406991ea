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
constexpr double kTorchOpNs = 2200, kTorchLaunchNs = 7000, kTorchCopyNs = 4000, kTorchApiNs = 650;
constexpr double kNeurolensOpNs = 900, kNeurolensLaunchNs = 2500, kNeurolensCopyNs = 2000,
                 kNeurolensApiNs = 500;
constexpr double kNsysLaunchNs = 2500, kNsysCopyNs = 2000, kNsysApiNs = 500;
constexpr double kLeastSpeed = 0.5, kMostSpeed = 4;

std::string_view AdapterOf(const RunData& data) {
  const Json& document = data.document;
  if (!document.is_object() || !document.contains("source") || !document["source"].is_object()) return "";
  const Json& source = document["source"];
  if (!source.contains("adapter") || !source["adapter"].is_string()) return "";
  return source["adapter"].get_ref<const std::string&>();
}

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
  const std::string_view adapter = AdapterOf(data);
  if (adapter == "kineto") {
    const double slow = Slowness(data, timeline);
    return {kTorchOpNs * slow, kTorchLaunchNs * slow, kTorchCopyNs * slow, kTorchApiNs * slow,
            "torch.profiler"};
  }
  if (adapter == "nlcap")
    return {kNeurolensOpNs, kNeurolensLaunchNs, kNeurolensCopyNs, kNeurolensApiNs, "neurolens run"};
  if (adapter == "nsys") return {0, kNsysLaunchNs, kNsysCopyNs, kNsysApiNs, "Nsight Systems"};
  return {};
}

}  // namespace nl
