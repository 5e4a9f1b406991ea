// SPDX-License-Identifier: Apache-2.0
#include "ops/predict/measured.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/cost_model/model_plan.h"
#include "analyze/statistics/stats.h"
#include "model/labels/nvtx_label.h"
#include "model/labels/step_label.h"

namespace nl::ops::predict {

namespace {

// "prefill::vision" of LLM@prefill::vision, "forward" of a step; empty for a label that is not a stage.
std::string StageOf(std::string_view label) {
  if (const auto llm = ParseLlmLabel(label)) {
    if (llm->stage != LlmStage::kPrefill && llm->stage != LlmStage::kDecodeStep) return {};
    const std::string name(LlmStageName(llm->stage));
    return llm->sub.empty() ? name : name + "::" + std::string(llm->sub);
  }
  return IsStepLabel(label) && !label.starts_with("ProfilerStep") ? "forward" : std::string();
}

struct Place {
  std::string stage, module;
  uint32_t instance = kNone;  // node of the stage's outermost label of that name
};

class Places {
 public:
  Places(const RunData& data, const HostTree& host) : data_(data), host_(host) {}

  // Where a node sits; nodes share their ancestors, so each is looked at once.
  const Place& Of(uint32_t node) {
    const auto [it, added] = places_.try_emplace(node);
    if (!added) return it->second;
    Place place;
    bool in_module = false;
    for (uint32_t at = node; at != kNone; at = host_.parent[at]) {
      const std::string_view text = data_.Text(host_.name[at]);
      const std::string_view module = ModuleNameOf(text);
      if (!module.empty() && !in_module) {
        in_module = true;
        place.module = NormalModulePath(module);
      }
      if (host_.kind[at] != HostKind::kRange || !module.empty()) continue;
      const std::string stage = StageOf(text);
      if (stage.empty()) continue;
      if (place.stage.empty()) place.stage = stage;
      if (place.stage == stage) place.instance = at;
    }
    return places_[node] = std::move(place);
  }

 private:
  const RunData& data_;
  const HostTree& host_;
  std::unordered_map<uint32_t, Place> places_;
};

struct Execution {
  int64_t device_ns = 0, end_ns = 0;
  std::map<std::string, int64_t> module_ns;
};

double MedianMs(std::vector<double> ns) { return ns.empty() ? 0 : Median(std::move(ns)) / 1e6; }

MeasuredStage Summarise(const std::map<uint32_t, Execution>& executions, const HostTree& host) {
  MeasuredStage out;
  out.executions = static_cast<int64_t>(executions.size());
  std::vector<double> device, wall;
  std::map<std::string, std::vector<double>> modules;
  for (const auto& [node, e] : executions) {
    device.push_back(static_cast<double>(e.device_ns));
    wall.push_back(static_cast<double>(e.end_ns - host.start_ns[node]));
    for (const auto& [path, ns] : e.module_ns) modules[path].push_back(static_cast<double>(ns));
  }
  out.device_ms = MedianMs(device);
  out.wall_ms = MedianMs(wall);
  for (auto& [path, ns] : modules) {
    ns.resize(executions.size());  // executions without it have none of it
    out.module_ms[path] = MedianMs(ns);
  }
  return out;
}

}  // namespace

std::map<std::string, MeasuredStage> MeasureStages(const RunData& data, const TimelineFacts& timeline,
                                                   const AttributionFacts& attribution) {
  Places places(data, timeline.host);
  std::map<std::string, std::map<uint32_t, Execution>> stages;
  for (size_t k = 0; k < timeline.work.size(); ++k) {
    if (attribution.node[k] == kNone) continue;
    const Place& place = places.Of(attribution.node[k]);
    if (place.instance == kNone) continue;
    Execution& e = stages[place.stage][place.instance];
    const int64_t ns = timeline.work.end_ns[k] - timeline.work.start_ns[k];
    e.device_ns += ns;
    e.end_ns = std::max(e.end_ns, timeline.work.end_ns[k]);
    e.module_ns[place.module] += ns;
  }
  std::map<std::string, MeasuredStage> out;
  for (const auto& [name, executions] : stages) out[name] = Summarise(executions, timeline.host);
  return out;
}

}  // namespace nl::ops::predict
