// SPDX-License-Identifier: Apache-2.0
// Host code of the steady steps: stretches of a launching thread in which no operator runs, by what lies
// around them; and what the roofline says of each kernel.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "analyze/features/parts.h"
#include "analyze/replay/step_replay.h"
#include "base/has_any.h"

namespace nl::features {

namespace {

constexpr size_t kMostGaps = 50;

struct GapGroup {
  int64_t count = 0, ns = 0, longest_ns = -1;
  uint32_t longest = 0;
  std::vector<uint32_t> gaps;
};

std::string_view NameOf(const RunData& data, const HostTree& h, uint32_t node) {
  return node == kNone || IsNull(h.name[node]) ? std::string_view() : data.Text(h.name[node]);
}

std::string GapPlace(std::string_view inside, std::string_view before, std::string_view after) {
  if (!inside.empty()) return fmt::format("in {}", inside.substr(0, 120));
  if (!before.empty() && !after.empty()) {
    return before == after ? fmt::format("between one {} and the next", before.substr(0, 120))
                           : fmt::format("between {} and {}", before.substr(0, 120), after.substr(0, 120));
  }
  if (!before.empty()) return fmt::format("after {}", before.substr(0, 120));
  return after.empty() ? "outside of all operators" : fmt::format("before {}", after.substr(0, 120));
}

}  // namespace

void AddGaps(const replay::StepReplay& steps, Features& out) {
  const HostTree& h = steps.timeline().host;
  const RunData& data = steps.data();
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, GapGroup> groups;
  // At the ends of the window a gap has one neighbour; it is the same code as the gap that has both.
  std::map<std::string_view, std::string_view> after_of, before_of;
  for (const replay::HostGap& gap : steps.gaps()) {
    if (gap.before == kNone || gap.after == kNone) continue;
    after_of.emplace(NameOf(data, h, gap.before), NameOf(data, h, gap.after));
    before_of.emplace(NameOf(data, h, gap.after), NameOf(data, h, gap.before));
  }
  for (uint32_t i = 0; i < steps.gaps().size(); ++i) {
    const replay::HostGap& gap = steps.gaps()[i];
    const std::string_view inside = NameOf(data, h, gap.inside);
    std::string_view before = NameOf(data, h, gap.before), after = NameOf(data, h, gap.after);
    if (after.empty() && after_of.count(before) > 0) after = after_of[before];
    if (before.empty() && before_of.count(after) > 0) before = before_of[after];
    GapGroup& group = groups[{inside, inside.empty() ? before : "", inside.empty() ? after : ""}];
    ++group.count;
    group.ns += gap.end_ns - gap.start_ns;
    group.gaps.push_back(i);
    if (gap.end_ns - gap.start_ns > group.longest_ns) {
      group.longest_ns = gap.end_ns - gap.start_ns;
      group.longest = i;
    }
  }
  const auto per_step = static_cast<double>(steps.steps());
  const double step_ms = steps.StepNs(steps.unchanged()) / 1e6;
  for (auto& [key, group] : groups) {
    const auto& [inside, before, after] = key;
    FeatureSubject s;
    s.texts["gap.place"] = GapPlace(inside, before, after);
    s.texts["gap.inside"] = std::string(inside.substr(0, 120));
    auto& n = s.numbers;
    n["gap.ms"] = Ms(group.ns) / per_step;
    n["gap.per_step"] = static_cast<double>(group.count) / per_step;
    n["gap.longest_ms"] = Ms(group.longest_ns);
    n["gap.total_ms"] = Ms(group.ns);
    if (step_ms > 0) n["gap.share"] = n["gap.ms"] / step_ms;
    n["gap.is_loader"] = HasAny(inside, {"DataLoader", "dataloader", "data_loader"});
    s.targets["gap"].gaps = std::move(group.gaps);
    out.gaps.push_back(std::move(s));
  }
  std::sort(out.gaps.begin(), out.gaps.end(), [](const FeatureSubject& a, const FeatureSubject& b) {
    return a.numbers.at("gap.ms") > b.numbers.at("gap.ms");
  });
  if (out.gaps.size() > kMostGaps) out.gaps.resize(kMostGaps);
  double work_ns = 0;
  for (const double ns : steps.recorded().work_ns) work_ns += ns;
  const auto devices = static_cast<double>(std::max<size_t>(1, steps.timeline().devices.size()));
  const double recorded_ns = steps.StepNs(steps.recorded()) * per_step;
  if (recorded_ns > 0)
    out.run.numbers["run.steady_utilization"] = std::min(1.0, work_ns / devices / recorded_ns);
  out.run.numbers["run.steady_step_ms"] = step_ms;
  out.run.numbers["run.steady_steps"] = per_step;
  out.available.push_back("steady_steps");
}

void AddRoofline(const RooflineFacts& roofline, const RunData& data, Features& out) {
  // Practical ceilings: what good kernels reach of the peaks.
  constexpr double kOfCompute = 0.85, kOfMemory = 0.85, kFullRateUs = 30;
  std::map<std::string_view, const RooflinePoint*> by_name;
  for (const auto* list : {&roofline.kernels, &roofline.counted}) {
    for (const RooflinePoint& point : *list) {
      if (!IsNull(point.kernel) && point.Efficiency()) by_name[data.Text(point.kernel)] = &point;
    }
  }
  for (FeatureSubject& kernel : out.kernels) {
    kernel.numbers["kernel.slack"] = 0.5;
    const auto at = by_name.find(kernel.texts["kernel.raw_name"]);
    if (at == by_name.end()) continue;
    const RooflinePoint& point = *at->second;
    const double efficiency = *point.Efficiency();
    kernel.numbers["kernel.efficiency"] = efficiency;
    const bool memory = point.bound == RooflineBound::kMemory;
    kernel.numbers["kernel.is_memory_bound"] = memory;
    // The formula of a family that is none of these may not be what its kernels do.
    const auto is = [&](const char* name) { return kernel.Number(name).value_or(0) != 0; };
    if (!is("kernel.is_gemm") && !is("kernel.is_conv") && !is("kernel.is_attention") &&
        !is("kernel.is_elementwise"))
      continue;
    // Short kernels do not get near a peak: filling and draining the device takes a few µs.
    const double roof_us =
        point.roof_ns.value_or(0) / 1e3 / static_cast<double>(std::max<int64_t>(1, point.kernels));
    const double attainable =
        (memory ? kOfMemory : kOfCompute) * std::min(1.0, std::sqrt(roof_us / kFullRateUs));
    kernel.numbers["kernel.left"] = attainable > 0 ? std::min(1.0, efficiency / attainable) : 1;
    kernel.numbers["kernel.slack"] = 1 - kernel.numbers["kernel.left"];
  }
  // A product without tensor cores, done with them: by the peaks of the device.
  double left = 0.25;
  if (!roofline.peaks.empty()) {
    const Peaks& peaks = roofline.peaks.begin()->second;
    if (peaks.fp32_tflops && peaks.tf32_tflops && *peaks.tf32_tflops > 0)
      left = std::min(1.0, *peaks.fp32_tflops / (0.6 * *peaks.tf32_tflops));
  }
  out.run.numbers["run.tensor_core_left"] = left;
}

}  // namespace nl::features
