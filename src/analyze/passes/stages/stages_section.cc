// SPDX-License-Identifier: Apache-2.0
// The stages as reports and `neurolens stages` give them.
#include <algorithm>

#include "analyze/facts/stages.h"
#include "base/units.h"

namespace nl {

void Describe(Record<StageInstance>& r) {
  r.Name("StageInstance", "One execution of a stage");
  r.Field("start_ms", &StageInstance::start_ms, Unit::kMs, "Start, from the start of the first stage");
  r.Field("duration_ms", &StageInstance::duration_ms, Unit::kMs,
          "From its first host activity to the end of the last kernel it launched");
  r.Field("kernels", &StageInstance::kernels, "Kernels it launched");
  r.Field("tokens", &StageInstance::tokens, Unit::kTokens, "Tokens it processed");
  r.Field("range_id", &StageInstance::range_id, "Row of its label in table `range`; null when inferred");
}

void Describe(Record<StagePeak>& r) {
  r.Name("StagePeak", "Peaks of the device that MFU and MBU are relative to");
  r.Field("tflops", &StagePeak::tflops, Unit::kTflops, "Dense compute peak for the type of the model");
  r.Field("gbps", &StagePeak::gbps, Unit::kGbPerS, "Memory bandwidth peak");
  r.Field("dtype", &StagePeak::dtype, "Type of the model");
  r.Field("kind", &StagePeak::kind, "Where the peaks come from; null without peaks");
  r.Field("source", &StagePeak::source, "Source of the peaks, or why there are none");
}

namespace {

void DescribeStageTimes(Record<StageSummary>& r) {
  r.Field("name", &StageSummary::name, "Stage: prefill, decode_step, prefill::vision");
  r.Field("parent", &StageSummary::parent, "Stage that this sub-stage belongs to");
  r.Field("inferred", &StageSummary::inferred, "Found without labels");
  r.Field("count", &StageSummary::count, "Executions");
  r.Field("total_ms", &StageSummary::total_ms, Unit::kMs, "Sum of durations");
  r.Field("p50_ms", &StageSummary::p50_ms, Unit::kMs, "Median duration");
  r.Field("p95_ms", &StageSummary::p95_ms, Unit::kMs, "95th percentile of the duration");
  r.Field("p99_ms", &StageSummary::p99_ms, Unit::kMs, "99th percentile of the duration");
  r.Field("tokens", &StageSummary::tokens, Unit::kTokens, "Tokens of all executions");
  r.Field("tokens_per_s", &StageSummary::tokens_per_s, Unit::kTokensPerS, "Tokens per second");
  r.Field("tokens_reason", &StageSummary::tokens_reason, "Why the tokens are unknown");
}

}  // namespace

void Describe(Record<StageSummary>& r) {
  r.Name("StageSummary", "All executions of one stage");
  DescribeStageTimes(r);
  r.Field("forwards", &StageSummary::forwards, "Forward passes of the model");
  r.Field("kernels", &StageSummary::kernels, "Kernels launched");
  r.Field("launch_share", &StageSummary::launch_share, Unit::kShare, "Part of its time inside launch calls");
  r.Field("idle_share", &StageSummary::idle_share, Unit::kShare, "Part of its time with idle devices");
  r.Field("mfu", &StageSummary::mfu, Unit::kShare, "Model FLOPs utilization: flops / (peak x work_device_s)");
  r.Field("mfu_measured", &StageSummary::mfu_measured, Unit::kShare,
          "MFU relative to peak_measured; null without it");
  r.Field("mfu_reason", &StageSummary::mfu_reason, "Why MFU is unknown");
  r.Field("mbu", &StageSummary::mbu, Unit::kShare,
          "Model bandwidth utilization: bytes / (peak bandwidth x work_device_s)");
  r.Field("mbu_measured", &StageSummary::mbu_measured, Unit::kShare,
          "MBU relative to peak_measured; null without it");
  r.Field("mbu_reason", &StageSummary::mbu_reason, "Why MBU is unknown");
  r.Field("flops", &StageSummary::flops, Unit::kFlops,
          "FLOPs of the model in the executions of work_executions");
  r.Field("bytes", &StageSummary::bytes, Unit::kBytes, "weight_bytes + kv_bytes");
  r.Field("weight_bytes", &StageSummary::weight_bytes, Unit::kBytes, "Weights read");
  r.Field("kv_bytes", &StageSummary::kv_bytes, Unit::kBytes, "KV cache read and written");
  r.Field("device_s", &StageSummary::device_s, Unit::kSeconds, "Devices x duration");
  r.Field("work_executions", &StageSummary::work_executions,
          "Executions with recorded shapes: flops, bytes, MFU and MBU are of these");
  r.Field("work_device_s", &StageSummary::work_device_s, Unit::kSeconds, "Devices x duration of these");
  r.Field("peak", &StageSummary::peak, "Peaks of the device that mfu and mbu are relative to");
  r.Field("peak_measured", &StageSummary::peak_measured,
          "What a device of this name was measured to reach; null: not measured");
  r.Field("instances", &StageSummary::instances, "Each execution, by start");
}

void Describe(Record<StagesSection>& r) {
  r.Name("StagesSection", "Stages of LLM inference");
  r.Field("source", &StagesSection::source, "labels, op shapes or kernel sequence; null without stages");
  r.Field("reason", &StagesSection::reason, "Why there are no stages");
  r.Field("stages", &StagesSection::stages, "Stages; nested stages are not added to the one around them");
  r.Field("ttft_ms", &StagesSection::ttft_ms, Unit::kMs, "Median time to first token");
  r.Field("ttft_reason", &StagesSection::ttft_reason, "Why TTFT is unknown");
  r.Field("tpot_ms", &StagesSection::tpot_ms, Unit::kMs, "Median time per output token");
  r.Field("tpot_p95_ms", &StagesSection::tpot_p95_ms, Unit::kMs, "95th percentile of TPOT");
  r.Field("tpot_p99_ms", &StagesSection::tpot_p99_ms, Unit::kMs, "99th percentile of TPOT");
  r.Field("tpot_reason", &StagesSection::tpot_reason, "Why TPOT is unknown");
  r.Field("model", &StagesSection::model, "The model");
  r.Field("device", &StagesSection::device, "Device whose peaks were used");
}

namespace passes::stages {
namespace {

std::optional<double> MsOf(const std::optional<double>& ns) {
  return ns ? std::optional(*ns / 1e6) : std::nullopt;
}

StagePeak PeakOf(const StagesFacts& facts) {
  StagePeak out;
  out.tflops = facts.peak_tflops;
  if (facts.peaks) out.gbps = facts.peaks->dram_gbps;
  out.dtype = KnownText(facts.model.dtype);
  if (facts.peaks) out.kind = facts.peaks->kind;
  out.source = KnownText(facts.peaks ? facts.peaks->source : facts.peaks_reason);
  return out;
}

std::optional<StagePeak> MeasuredPeakOf(const StagesFacts& facts) {
  if (!facts.measured_peaks) return std::nullopt;
  StagePeak out;
  out.tflops = facts.measured_tflops;
  out.gbps = facts.measured_peaks->dram_gbps;
  out.dtype = KnownText(facts.model.dtype);
  out.kind = facts.measured_peaks->kind;
  out.source = facts.measured_peaks->source;
  return out;
}

StageInstance InstanceOf(const StagesFacts::Instance& i, int64_t origin_ns) {
  StageInstance out;
  out.start_ms = Ms(i.start_ns - origin_ns);
  out.duration_ms = Ms(i.duration_ns());
  out.kernels = i.kernels;
  out.tokens = i.tokens;
  if (i.range_row != kNone) out.range_id = i.range_row;
  return out;
}

StageSummary SummaryOf(const StagesFacts::Stage& s, int64_t origin_ns) {
  StageSummary out;
  out.name = s.name;
  out.parent = KnownText(s.parent);
  out.inferred = s.inferred;
  out.count = static_cast<int64_t>(s.instances.size());
  out.total_ms = Ms(s.total_ns);
  out.p50_ms = s.p50_ns / 1e6;
  out.p95_ms = s.p95_ns / 1e6;
  out.p99_ms = s.p99_ns / 1e6;
  out.tokens = s.tokens;
  out.tokens_per_s = s.tokens_per_s;
  out.tokens_reason = KnownText(s.tokens_reason);
  out.forwards = s.forwards;
  out.kernels = s.kernels;
  out.launch_share = s.launch_share;
  out.idle_share = s.idle_share;
  out.mfu = s.mfu;
  out.mfu_measured = s.mfu_measured;
  out.mfu_reason = KnownText(s.mfu_reason);
  out.mbu = s.mbu;
  out.mbu_measured = s.mbu_measured;
  out.mbu_reason = KnownText(s.mbu_reason);
  out.flops = s.flops;
  if (s.weight_bytes && s.kv_bytes) out.bytes = *s.weight_bytes + *s.kv_bytes;
  out.weight_bytes = s.weight_bytes;
  out.kv_bytes = s.kv_bytes;
  out.device_s = s.device_s;
  out.work_executions = s.work_executions;
  out.work_device_s = s.work_device_s;
  for (const StagesFacts::Instance& i : s.instances) out.instances.push_back(InstanceOf(i, origin_ns));
  return out;
}

}  // namespace
}  // namespace passes::stages

const StageSummary* StagesSection::Find(std::string_view name) const {
  const auto same = [&](const StageSummary& s) { return s.name == name; };
  const auto at = std::find_if(stages.begin(), stages.end(), same);
  return at == stages.end() ? nullptr : &*at;
}

StagesSection SectionOf(const StagesFacts& facts) {
  using namespace passes::stages;
  int64_t origin_ns = INT64_MAX;
  for (const StagesFacts::Stage& s : facts.stages) {
    if (!s.instances.empty()) origin_ns = std::min(origin_ns, s.instances.front().start_ns);
  }
  StagesSection out;
  out.source = KnownText(facts.source);
  out.reason = KnownText(facts.reason);
  const StagePeak peak = PeakOf(facts);
  for (const StagesFacts::Stage& s : facts.stages) {
    out.stages.push_back(SummaryOf(s, origin_ns));
    out.stages.back().peak = peak;
    out.stages.back().peak_measured = MeasuredPeakOf(facts);
  }
  out.ttft_ms = MsOf(facts.ttft_ns);
  out.ttft_reason = KnownText(facts.ttft_reason);
  out.tpot_ms = MsOf(facts.tpot_ns);
  out.tpot_p95_ms = MsOf(facts.tpot_p95_ns);
  out.tpot_p99_ms = MsOf(facts.tpot_p99_ns);
  out.tpot_reason = KnownText(facts.tpot_reason);
  out.model = SectionOf(facts.model);
  if (facts.peaks) out.device = facts.peaks->device;
  return out;
}

}  // namespace nl
