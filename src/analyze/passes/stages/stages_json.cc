// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "analyze/facts/stages.h"

namespace nl {

namespace {

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json MsOrNull(const std::optional<double>& ns) { return ns ? Json(*ns / 1e6) : Json(); }

Json InstancesJson(const StagesFacts::Stage& s, int64_t origin_ns) {
  Json out = Json::array();
  for (const StagesFacts::Instance& i : s.instances) {
    out.push_back({{"start_ms", static_cast<double>(i.start_ns - origin_ns) / 1e6},
                   {"duration_ms", static_cast<double>(i.duration_ns()) / 1e6},
                   {"kernels", i.kernels},
                   {"tokens", OrNull(i.tokens)},
                   {"range_id", i.range_row == kNone ? Json() : Json(i.range_row)}});
  }
  return out;
}

Json StageJson(const StagesFacts::Stage& s, const StagesFacts& facts, int64_t origin_ns) {
  Json out{{"name", s.name}, {"parent", TextOrNull(s.parent)}, {"inferred", s.inferred}};
  out["count"] = s.instances.size();
  out["total_ms"] = static_cast<double>(s.total_ns) / 1e6;
  out["p50_ms"] = s.p50_ns / 1e6;
  out["p95_ms"] = s.p95_ns / 1e6;
  out["p99_ms"] = s.p99_ns / 1e6;
  out["tokens"] = OrNull(s.tokens);
  out["tokens_per_s"] = OrNull(s.tokens_per_s);
  out["tokens_reason"] = TextOrNull(s.tokens_reason);
  out["forwards"] = s.forwards;
  out["kernels"] = s.kernels;
  out["launch_share"] = OrNull(s.launch_share);
  out["idle_share"] = OrNull(s.idle_share);
  out["mfu"] = OrNull(s.mfu);
  out["mfu_reason"] = TextOrNull(s.mfu_reason);
  out["mbu"] = OrNull(s.mbu);
  out["mbu_reason"] = TextOrNull(s.mbu_reason);
  out["flops"] = OrNull(s.flops);
  const bool bytes = s.weight_bytes && s.kv_bytes;
  out["bytes"] = bytes ? Json(*s.weight_bytes + *s.kv_bytes) : Json();
  out["weight_bytes"] = OrNull(s.weight_bytes);
  out["kv_bytes"] = OrNull(s.kv_bytes);
  out["device_s"] = s.device_s;
  out["peak"] = {{"tflops", OrNull(facts.peak_tflops)},
                 {"gbps", facts.peaks ? OrNull(facts.peaks->dram_gbps) : Json()},
                 {"dtype", TextOrNull(facts.model.dtype)},
                 {"source", facts.peaks ? TextOrNull(facts.peaks->source) : TextOrNull(facts.peaks_reason)}};
  out["instances"] = InstancesJson(s, origin_ns);
  return out;
}

}  // namespace

Json ToJson(const StagesFacts& facts, const RunData&) {
  int64_t origin_ns = INT64_MAX;
  for (const StagesFacts::Stage& s : facts.stages) {
    if (!s.instances.empty()) origin_ns = std::min(origin_ns, s.instances.front().start_ns);
  }
  Json out{{"source", TextOrNull(facts.source)}, {"reason", TextOrNull(facts.reason)}};
  out["stages"] = Json::array();
  for (const StagesFacts::Stage& s : facts.stages) out["stages"].push_back(StageJson(s, facts, origin_ns));
  out["ttft_ms"] = MsOrNull(facts.ttft_ns);
  out["ttft_reason"] = TextOrNull(facts.ttft_reason);
  out["tpot_ms"] = MsOrNull(facts.tpot_ns);
  out["tpot_p95_ms"] = MsOrNull(facts.tpot_p95_ns);
  out["tpot_p99_ms"] = MsOrNull(facts.tpot_p99_ns);
  out["tpot_reason"] = TextOrNull(facts.tpot_reason);
  out["model"] = ToJson(facts.model);
  out["device"] = facts.peaks ? Json(facts.peaks->device) : Json();
  return out;
}

}  // namespace nl
