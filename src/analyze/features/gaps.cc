// SPDX-License-Identifier: Apache-2.0
// Host code of the steady steps: stretches of a launching thread in which no operator runs, by what lies
// around them and by the functions that CPU samples met there; and what the roofline says of each kernel.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analyze/cost_model/attainable.h"
#include "analyze/facts/samples.h"
#include "analyze/features/parts.h"
#include "analyze/program/sampled_host.h"
#include "analyze/replay/gap_groups.h"
#include "base/has_any.h"

namespace nl::features {

namespace {

constexpr size_t kMostGaps = 50;

// The innermost Python function that four in five of these samples are in or below; empty: there is none.
std::string CommonCaller(const RunData& data, const std::map<StringId, int64_t>& samples, int64_t all) {
  std::map<std::string, std::pair<int64_t, size_t>> callers;  // samples, depth
  for (const auto& [stack, count] : samples) {
    std::set<std::string> seen;
    size_t depth = 0;
    for (std::string_view rest = data.Text(stack); !rest.empty();) {
      const size_t end = std::min(rest.find(';'), rest.size());
      const SampledFrame frame = ParseFrame(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++depth;
      if (frame.language != FrameLanguage::kPython) continue;
      std::string name = fmt::format("{} ({})", frame.name, frame.place);
      if (!seen.insert(name).second) continue;
      auto& [met, deepest] = callers[std::move(name)];
      met += count;
      deepest = std::max(deepest, depth);
    }
  }
  const std::pair<const std::string, std::pair<int64_t, size_t>>* best = nullptr;
  for (const auto& caller : callers) {
    if (5 * caller.second.first < 4 * all) continue;
    if (best == nullptr || caller.second.second > best->second.second) best = &caller;
  }
  return best == nullptr ? "" : best->first;
}

// The function that CPU samples met most often in these gaps, or the one that most of what they met was
// called by; empty: fewer than three samples, or none that stands out.
std::string FunctionIn(const replay::StepReplay& steps, const program::SampledHost& sampled,
                       const std::vector<uint32_t>& gaps) {
  constexpr int64_t kFewest = 3;
  std::map<StringId, int64_t> samples;
  int64_t all = 0;
  for (const uint32_t g : gaps) {
    const replay::HostGap& gap = steps.gaps()[g];
    sampled.Split(steps.timeline().threads[gap.thread].thread, gap.start_ns, gap.end_ns,
                  [&](StringId stack, int64_t) { ++all, ++samples[stack]; });
  }
  const auto most = std::max_element(samples.begin(), samples.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == samples.end() || all < kFewest) return "";
  if (most->second < kFewest || 2 * most->second < all) return CommonCaller(steps.data(), samples, all);
  return program::SampledFunction(steps.data().Text(most->first));
}

// Without the recorder's price, as gains are.
double HostMs(const replay::StepReplay& steps, const std::vector<uint32_t>& gaps) {
  replay::Plan plan = steps.unchanged();
  double ns = 0;
  for (const uint32_t g : gaps) {
    const replay::HostGap& gap = steps.gaps()[g];
    ns += steps.ScaleHost(plan, gap.thread, gap.start_ns, gap.end_ns, 0);
  }
  return ns / 1e6;
}

}  // namespace

void AddGaps(const replay::StepReplay& steps, Features& out) {
  const auto per_step = static_cast<double>(steps.steps());
  const double step_ms = steps.step_ns() / 1e6;
  const program::SampledHost sampled(steps.data());
  for (replay::GapGroup& group : replay::GroupGaps(steps)) {
    if (out.gaps.size() == kMostGaps) break;
    FeatureSubject s;
    auto& n = s.numbers;
    n["gap.has_workers"] = group.place.find("MultiProcessing") != std::string::npos;
    n["gap.is_op"] = !group.op.empty();
    n["gap.is_guards"] = HasAny(group.place, {"TorchDynamo Cache Lookup"});
    s.texts["gap.op"] = std::move(group.op);
    s.texts["gap.place"] = std::move(group.place);
    n["gap.ms"] = HostMs(steps, group.gaps) / per_step;
    n["gap.total_ms"] = Ms(group.ns + group.copies_ns);
    n["gap.from_device"] = group.to_host > 0;
    n["gap.to_device"] = group.to_device > 0;
    if (!group.copies.empty()) {
      n["gap.copies"] = static_cast<double>(group.to_host + group.to_device) / per_step;
      n["gap.copies_ms"] = Ms(group.copies_ns) / per_step;
      n["gap.copied_bytes"] = static_cast<double>(group.bytes) / per_step;
    }
    n["gap.op_ms"] = Ms(group.op_ns) / per_step;
    if (group.op_ns > 0 && group.ns > group.op_ns) n["gap.around_ms"] = Ms(group.ns - group.op_ns) / per_step;
    if (step_ms > 0) n["gap.share"] = n["gap.ms"] / step_ms;
    n["gap.is_loader"] = group.is_loader;
    s.texts["gap.function"] = FunctionIn(steps, sampled, group.gaps);
    n["gap.writes"] = HasAny(s.texts["gap.function"], {"save", "write", "dump", "serializ", "checkpoint"});
    s.targets["gap"].gaps = std::move(group.gaps);
    s.targets["gap"].nodes = std::move(group.copies);
    out.gaps.push_back(std::move(s));
  }
  double work_ns = 0;
  for (const double ns : steps.recorded().work_ns) work_ns += ns;
  const auto devices = static_cast<double>(std::max<size_t>(1, steps.timeline().devices.size()));
  const double recorded_ns = steps.recorded_step_ns() * per_step;
  if (recorded_ns > 0)
    out.run.numbers["run.steady_utilization"] = std::min(1.0, work_ns / devices / recorded_ns);
  out.run.numbers["run.steady_step_ms"] = step_ms;
  out.run.numbers["run.steady_steps"] = per_step;
  out.available.push_back("steady_steps");
}

void AddRoofline(const RooflineFacts& roofline, const RunData& data, Features& out) {
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
    // The formula of a family that is none of these may not be what its kernels do.
    const auto is = [&](const char* name) { return kernel.Number(name).value_or(0) != 0; };
    if (!is("kernel.is_gemm") && !is("kernel.is_conv") && !is("kernel.is_attention") &&
        !is("kernel.is_elementwise"))
      continue;
    const double roof_us =
        point.roof_ns.value_or(0) / 1e3 / static_cast<double>(std::max<int64_t>(1, point.kernels));
    const double attainable = AttainableShare(roof_us);
    double left = attainable > 0 ? std::min(1.0, efficiency / attainable) : 1;
    // What this device was measured to reach is nearer to the truth than a share of its datasheet.
    constexpr double kOfMeasured = 0.95;
    if (const auto measured = point.MeasuredEfficiency())
      left = std::max(left, std::min(1.0, *measured / kOfMeasured));
    kernel.numbers["kernel.left"] = left;
    kernel.numbers["kernel.slack"] = 1 - kernel.numbers["kernel.left"];
  }
}

}  // namespace nl::features
