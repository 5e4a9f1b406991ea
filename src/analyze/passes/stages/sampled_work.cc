// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/stages/sampled_work.h"

#include <array>
#include <optional>

namespace nl::passes::stages {

namespace {

using Instance = StagesFacts::Instance;
using Value = std::optional<double> Instance::*;
constexpr std::array<Value, 4> kValues = {&Instance::tokens, &Instance::flops, &Instance::weight_bytes,
                                          &Instance::kv_bytes};

// One execution of prefill or decode_step.
struct Forwarded {
  ThreadId thread;
  int64_t start_ns;  // on the host
  std::array<std::optional<double>, kValues.size()> values;
};

bool HoldsOneForward(const std::string& stage) { return stage == "prefill" || stage == "decode_step"; }

// Of execution `at`: its own, or in between those of the nearest executions alike that have one.
std::optional<double> ValueOf(const std::vector<Instance>& all, size_t at, Value value) {
  if (all[at].*value) return all[at].*value;
  const auto alike = [&](size_t i) {
    return (all[i].*value).has_value() && all[i].kernels == all[at].kernels;
  };
  std::optional<size_t> before, after;
  for (size_t i = at; i-- > 0 && !before;) {
    if (alike(i)) before = i;
  }
  for (size_t i = at + 1; i < all.size() && !after; ++i) {
    if (alike(i)) after = i;
  }
  if (!before && !after) return std::nullopt;
  if (!before || !after) return all[before ? *before : *after].*value;
  const double from = *(all[*before].*value), to = *(all[*after].*value);
  return from + (to - from) * static_cast<double>(at - *before) / static_cast<double>(*after - *before);
}

// Also completes the tokens of each; FLOPs and bytes stay those of the executions that were looked into.
std::vector<Forwarded> Collect(const FoundStages& found, std::vector<StagesFacts::Stage>& stages) {
  std::vector<Forwarded> out;
  for (size_t s = 0; s < stages.size(); ++s) {
    if (!HoldsOneForward(stages[s].name)) continue;
    for (size_t i = 0; i < stages[s].instances.size(); ++i) {
      const StageSpan& span = found.stages[s].spans[i];
      Forwarded one{span.thread, span.start_ns, {}};
      for (size_t v = 0; v < kValues.size(); ++v) one.values[v] = ValueOf(stages[s].instances, i, kValues[v]);
      out.push_back(one);
    }
    for (size_t i = 0; i < stages[s].instances.size(); ++i)
      stages[s].instances[i].tokens = out[out.size() - stages[s].instances.size() + i].values[0];
  }
  return out;
}

}  // namespace

void CompleteOuterStages(const FoundStages& found, std::vector<StagesFacts::Stage>& stages) {
  const std::vector<Forwarded> all = Collect(found, stages);
  for (size_t s = 0; s < stages.size(); ++s) {
    if (HoldsOneForward(stages[s].name) || !stages[s].parent.empty()) continue;
    for (size_t i = 0; i < stages[s].instances.size(); ++i) {
      const StageSpan& span = found.stages[s].spans[i];
      Instance& outer = stages[s].instances[i];
      int64_t inside = 0;
      std::array<std::optional<double>, kValues.size()> sums = {0.0, 0.0, 0.0, 0.0};
      for (const Forwarded& one : all) {
        if (one.thread != span.thread || one.start_ns < span.start_ns || one.start_ns >= span.end_ns)
          continue;
        ++inside;
        for (size_t v = 0; v < sums.size(); ++v)
          sums[v] = sums[v] && one.values[v] ? std::optional(*sums[v] + *one.values[v]) : std::nullopt;
      }
      if (inside <= outer.forwards) continue;  // all of them were looked into
      for (size_t v = 0; v < sums.size(); ++v) outer.*kValues[v] = sums[v];
    }
  }
}

}  // namespace nl::passes::stages
