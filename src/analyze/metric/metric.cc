// SPDX-License-Identifier: Apache-2.0
#include "analyze/metric/metric.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/facts/accounting.h"
#include "analyze/facts/attribution.h"
#include "analyze/facts/stages.h"
#include "analyze/totals.h"
#include "base/near_names.h"
#include "base/units.h"

namespace nl {

namespace {

constexpr std::string_view kLlmPrefix = "LLM@";

// For sums and quantiles, which need not be whole nanoseconds.
double MsOfFraction(double ns) { return ns / 1e6; }

// A parsed spec: "stage:LLM@decode_step" is kind stage, name decode_step.
struct Spec {
  const MetricKind* kind = nullptr;
  std::string name;

  bool Is(std::string_view kind_name) const { return kind->name == kind_name; }
  std::string Text() const {
    return name.empty() ? std::string(kind->name) : fmt::format("{}:{}", kind->name, name);
  }
};

// Whether the form has a part after the colon, and whether it is required.
bool TakesName(const MetricKind& kind) { return kind.form.find(':') != std::string_view::npos; }
bool NeedsName(const MetricKind& kind) {
  return TakesName(kind) && kind.form.find('[') == std::string_view::npos;
}
bool NamesStage(const MetricKind& kind) {
  return kind.name == "stage" || kind.form.find(":STAGE") != std::string_view::npos;
}

Result<Spec> ParseSpec(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind_name = text.substr(0, colon);
  Spec spec;
  for (const MetricKind& kind : MetricKinds()) {
    if (kind.name == kind_name) spec.kind = &kind;
  }
  if (spec.kind == nullptr)
    return InvalidInput(fmt::format("unknown metric '{}'", text)).Hint("metrics: " + MetricForms());
  if (colon != std::string_view::npos) spec.name = text.substr(colon + 1);
  const bool has_name = !spec.name.empty();
  if ((colon != std::string_view::npos && !has_name) || (has_name && !TakesName(*spec.kind)) ||
      (!has_name && NeedsName(*spec.kind))) {
    return InvalidInput(fmt::format("'{}' is not a metric; write {}", text, spec.kind->form));
  }
  if (NamesStage(*spec.kind) && spec.name.rfind(kLlmPrefix, 0) == 0) spec.name.erase(0, kLlmPrefix.size());
  return spec;
}

// One metric of one run.
class Reader {
 public:
  Reader(Analysis& analysis, const Spec& spec) : analysis_(analysis), spec_(spec) {
    out_.spec = spec.Text();
    out_.unit = spec.kind->unit;
    out_.larger_is_better = spec.kind->larger_is_better;
  }

  Result<MetricValue> Read() {
    NL_TRY(ReadKind());
    if (out_.samples.size() < 2) out_.samples.clear();
    if (out_.samples.empty()) out_.samples_of.clear();
    return std::move(out_);
  }

 private:
  Status ReadKind() {
    if (spec_.Is("wall")) return Wall();
    if (spec_.Is("stage")) return StageDuration();
    if (spec_.kind->name.front() == 'p') return StagePercentile();
    if (spec_.Is("device") || spec_.Is("idle")) return spec_.name.empty() ? DeviceTime() : StageDeviceTime();
    if (spec_.Is("op")) return OpTime();
    if (spec_.Is("kernel")) return KernelTime();
    if (spec_.Is("mfu") || spec_.Is("mbu")) return Utilisation(spec_.Is("mfu"));
    if (spec_.Is("tokens_per_s")) return TokenRate();
    if (spec_.Is("ttft") || spec_.Is("tpot")) return Latency();
    return Memory();
  }

  Error NotMeasured(std::string_view reason) const {
    return Unsupported(fmt::format("{} was not measured: {}", out_.spec, reason));
  }

  Status Wall() {
    NL_ASSIGN(const AccountingFacts* facts, analysis_.Need<AccountingFacts>());
    if (facts->wall_ns <= 0) return NotMeasured("the run has no span with a duration");
    out_.value = Ms(facts->wall_ns);
    for (const AccountingFacts::Step& step : facts->steps)
      out_.samples.push_back(Ms(step.end_ns - step.start_ns));
    out_.samples_of = "step";
    return {};
  }

  // Mean over the devices, so that busy and idle sum to the wall time for any number of devices.
  double MeanTime(const std::vector<TimeParts>& devices) const {
    int64_t sum_ns = 0;
    for (const TimeParts& parts : devices) sum_ns += spec_.Is("idle") ? parts.idle_ns() : parts.busy_ns();
    return Ms(sum_ns) / static_cast<double>(devices.size());
  }

  Status DeviceTime() {
    NL_ASSIGN(const AccountingFacts* facts, analysis_.Need<AccountingFacts>());
    if (facts->devices.empty()) return NotMeasured("the run has no device work");
    out_.value = MeanTime(facts->devices);
    for (const AccountingFacts::Step& step : facts->steps) out_.samples.push_back(MeanTime(step.devices));
    out_.samples_of = "step";
    return {};
  }

  Result<const StagesFacts::Stage*> FindStage(const StagesFacts& facts, const std::string& name) const {
    if (facts.stages.empty()) return NotMeasured(facts.reason);
    if (const StagesFacts::Stage* stage = facts.Find(name)) return stage;
    std::vector<std::string> names;
    for (const StagesFacts::Stage& stage : facts.stages) names.push_back(stage.name);
    return NotFound(fmt::format("the run has no stage '{}'", name)).Hint(NearNamesHint(name, names));
  }

  Status StageDuration() {
    NL_ASSIGN(const StagesFacts* facts, analysis_.Need<StagesFacts>());
    NL_ASSIGN(const StagesFacts::Stage* stage, FindStage(*facts, spec_.name));
    if (stage->instances.empty()) return NotMeasured("the stage has no instance");
    for (const StagesFacts::Instance& i : stage->instances) out_.samples.push_back(Ms(i.duration_ns()));
    return MeanOfSamples(*stage);
  }

  Status StagePercentile() {
    NL_TRY(StageDuration());
    std::vector<int64_t> ns;
    for (const double ms : out_.samples) ns.push_back(std::llround(ms * 1e6));
    out_.value = MsOfFraction(Percentile(ns, std::stod(std::string(spec_.kind->name.substr(1)))));
    return {};
  }

  Status StageDeviceTime() {
    NL_ASSIGN(const StagesFacts* facts, analysis_.Need<StagesFacts>());
    NL_ASSIGN(const StagesFacts::Stage* stage, FindStage(*facts, spec_.name));
    for (const StagesFacts::Instance& i : stage->instances) {
      if (i.duration_ns() <= 0 || i.device_ns <= 0) continue;
      // device_ns is devices x duration; divide to get the mean device.
      const double devices = static_cast<double>(i.device_ns) / static_cast<double>(i.duration_ns());
      const int64_t ns = spec_.Is("idle") ? i.idle_ns : i.device_ns - i.idle_ns;
      out_.samples.push_back(Ms(ns) / devices);
    }
    if (out_.samples.empty()) return NotMeasured("the stage has no device work");
    return MeanOfSamples(*stage);
  }

  Status MeanOfSamples(const StagesFacts::Stage& stage) {
    double sum = 0;
    for (const double v : out_.samples) sum += v;
    out_.value = sum / static_cast<double>(out_.samples.size());
    out_.samples_of = stage.name;
    return {};
  }

  // Device time of the work items that `belongs` selects, in total and per step.
  template <class Belongs>
  Status SumWork(const Belongs& belongs) {
    NL_ASSIGN(const TimelineFacts* timeline, analysis_.Need<TimelineFacts>());
    NL_ASSIGN(const AttributionFacts* attribution, analysis_.Need<AttributionFacts>());
    NL_TRY(analysis_.Load(NL_READS(Step, start_ns)));
    std::vector<int64_t> by_step(analysis_.data().step.size());
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < timeline->work.size(); ++i) {
      if (!belongs(i)) continue;
      const int64_t ns = timeline->work.end_ns[i] - timeline->work.start_ns[i];
      sum_ns += ns;
      if (attribution->step[i] != kNone) by_step[attribution->step[i]] += ns;
    }
    out_.value = Ms(sum_ns);
    for (const int64_t ns : by_step) out_.samples.push_back(Ms(ns));
    out_.samples_of = "step";
    return {};
  }

  Status OpTime() {
    NL_ASSIGN(const TimelineFacts* timeline, analysis_.Need<TimelineFacts>());
    NL_ASSIGN(const AttributionFacts* attribution, analysis_.Need<AttributionFacts>());
    NL_TRY(analysis_.Load(NL_READS(Op, start_ns)));
    const RunData& data = analysis_.data();
    if (data.op.size() == 0) return NotMeasured("the run has no framework ops");
    if (timeline->work.size() == 0) return NotMeasured("the run has no device work");
    std::set<StringId> matched;
    std::vector<std::string> names;
    const NameMatcher matcher(spec_.name);
    for (const AttributionFacts::NameTotals& op : attribution->ops) {
      names.emplace_back(data.Text(op.name));
      if (matcher.Matches(names.back())) matched.insert(op.name);
    }
    if (matched.empty())
      return NotFound(fmt::format("the run has no op '{}'", spec_.name))
          .Hint(NearNamesHint(spec_.name, names));
    // Inside an op of that name at any depth, counted once even inside several of them.
    const HostTree& host = timeline->host;
    std::vector<int8_t> inside(host.size(), -1);
    const auto is_inside = [&](uint32_t node) {
      uint32_t top = node;
      int8_t found = 0;
      for (; top != kNone; top = host.parent[top]) {
        if (inside[top] >= 0) found = inside[top];
        if (inside[top] < 0 && host.kind[top] == HostKind::kOp && matched.count(host.name[top]) > 0)
          found = 1;
        if (inside[top] >= 0 || found == 1) break;
      }
      for (uint32_t at = node; at != top; at = host.parent[at]) inside[at] = found;
      if (top != kNone) inside[top] = found;
      return found == 1;
    };
    return SumWork(
        [&](uint32_t i) { return attribution->node[i] != kNone && is_inside(attribution->node[i]); });
  }

  Status KernelTime() {
    NL_ASSIGN(const TimelineFacts* timeline, analysis_.Need<TimelineFacts>());
    NL_TRY(analysis_.Load(NL_READS(Kernel, start_ns)));
    if (analysis_.data().kernel.size() == 0) return NotMeasured("the run has no kernels");
    const NameMatcher matcher(spec_.name);
    std::unordered_map<uint32_t, bool> matched;
    std::vector<std::string> names;
    bool any = false;
    for (const auto& [raw, parsed] : timeline->kernel_names) {
      const std::string_view raw_text = analysis_.data().Text(static_cast<StringId>(raw));
      matched[raw] = matcher.Matches(raw_text) || matcher.Matches(parsed.short_name);
      any = any || matched[raw];
      names.push_back(parsed.short_name);
    }
    if (!any) {
      std::sort(names.begin(), names.end());
      return NotFound(fmt::format("the run has no kernel '{}'", spec_.name))
          .Hint(NearNamesHint(spec_.name, names));
    }
    const DeviceWork& work = timeline->work;
    return SumWork([&](uint32_t i) {
      return work.kind[i] == WorkKind::kKernel && matched[static_cast<uint32_t>(work.name[i])];
    });
  }

  // The stages that cover an inference without overlap.
  static std::vector<const StagesFacts::Stage*> OutermostStages(const StagesFacts& facts) {
    if (const auto* request = facts.Find("request")) return {request};
    std::vector<const StagesFacts::Stage*> out;
    if (const auto* prefill = facts.Find("prefill")) out.push_back(prefill);
    const auto* decode = facts.Find("decode_all");
    if (decode == nullptr) decode = facts.Find("decode_step");
    if (decode != nullptr) out.push_back(decode);
    return out;
  }

  Status Utilisation(bool flops) {
    NL_ASSIGN(const StagesFacts* facts, analysis_.Need<StagesFacts>());
    if (facts->stages.empty()) return NotMeasured(facts->reason);
    std::vector<const StagesFacts::Stage*> stages = OutermostStages(*facts);
    if (!spec_.name.empty()) {
      NL_ASSIGN(const StagesFacts::Stage* stage, FindStage(*facts, spec_.name));
      stages = {stage};
    }
    if (stages.empty())
      return NotMeasured("the run has no request, prefill or decode stage; name a stage after a colon");
    double done = 0;
    double device_s = 0;
    for (const StagesFacts::Stage* s : stages) {
      const std::optional<double>& value = flops ? s->mfu : s->mbu;
      if (!value) return NotMeasured(flops ? s->mfu_reason : s->mbu_reason);
      done += *value * s->device_s;
      device_s += s->device_s;
    }
    out_.value = done / device_s;
    if (stages.size() == 1) UtilisationSamples(*stages[0], flops);
    return {};
  }

  // Work and time of each instance relative to those of all; the peak cancels out.
  void UtilisationSamples(const StagesFacts::Stage& s, bool flops) {
    const auto work_of = [&](const auto& x) -> std::optional<double> {
      if (flops) return x.flops;
      return x.weight_bytes && x.kv_bytes ? std::optional(*x.weight_bytes + *x.kv_bytes) : std::nullopt;
    };
    const std::optional<double> all = work_of(s);
    if (!all || !(*all > 0)) return;
    for (const StagesFacts::Instance& i : s.instances) {
      const std::optional<double> part = work_of(i);
      if (!part || i.device_ns <= 0) {
        out_.samples.clear();
        return;
      }
      out_.samples.push_back(out_.value * (*part / *all) *
                             (s.device_s * 1e9 / static_cast<double>(i.device_ns)));
    }
    out_.samples_of = s.name;
  }

  Status TokenRate() {
    NL_ASSIGN(const StagesFacts* facts, analysis_.Need<StagesFacts>());
    if (facts->stages.empty()) return NotMeasured(facts->reason);
    const StagesFacts::Stage* stage = nullptr;
    if (!spec_.name.empty()) {
      NL_ASSIGN(stage, FindStage(*facts, spec_.name));
    } else {
      for (const char* name : {"decode_step", "decode_all", "request"}) {
        if (stage == nullptr) stage = facts->Find(name);
      }
      if (stage == nullptr) return NotMeasured("the run has no decode stage; name a stage after a colon");
    }
    if (!stage->tokens_per_s) return NotMeasured(stage->tokens_reason);
    out_.value = *stage->tokens_per_s;
    for (const StagesFacts::Instance& i : stage->instances) {
      if (i.tokens && i.duration_ns() > 0)
        out_.samples.push_back(*i.tokens / (static_cast<double>(i.duration_ns()) / 1e9));
    }
    out_.samples_of = stage->name;
    return {};
  }

  Status Latency() {
    NL_ASSIGN(const StagesFacts* facts, analysis_.Need<StagesFacts>());
    const bool first = spec_.Is("ttft");
    const std::optional<double>& ns = first ? facts->ttft_ns : facts->tpot_ns;
    if (!ns) {
      const std::string& reason = first ? facts->ttft_reason : facts->tpot_reason;
      return NotMeasured(reason.empty() ? facts->reason : reason);
    }
    out_.value = MsOfFraction(*ns);
    const StagesFacts::Stage* stage = facts->Find(first ? "prefill" : "decode_step");
    if (stage == nullptr) return {};
    for (const StagesFacts::Instance& i : stage->instances) out_.samples.push_back(Ms(i.duration_ns()));
    out_.samples_of = stage->name;
    return {};
  }

  Status Memory() {
    NL_TRY(analysis_.Load(NL_READS(MemoryEvent, total_allocated_bytes, device_type)));
    const MemoryEventView& events = analysis_.data().memory_event;
    int64_t peak_bytes = -1;
    for (size_t i = 0; i < events.total_allocated_bytes.size(); ++i) {
      const bool on_device = !IsNull(events.device_type[i]) && events.device_type[i] != 0;
      if (on_device && !IsNull(events.total_allocated_bytes[i]))
        peak_bytes = std::max(peak_bytes, events.total_allocated_bytes[i]);
    }
    if (peak_bytes < 0)
      return NotMeasured("the run has no device memory events (profile_memory=True records them)");
    out_.value = static_cast<double>(peak_bytes);
    return {};
  }

  Analysis& analysis_;
  const Spec& spec_;
  MetricValue out_;
};

}  // namespace

const std::vector<MetricKind>& MetricKinds() {
  static const std::vector<MetricKind> kinds = {
      {"wall", "wall", "ms", "first start to last end of the run", false},
      {"device", "device[:STAGE]", "ms", "device busy, mean over the devices; of a stage, per instance",
       false},
      {"idle", "idle[:STAGE]", "ms", "wall time in which a device is idle, mean over the devices", false},
      {"stage", "stage:NAME", "ms", "mean duration of an instance of a stage", false},
      {"p10", "p10:STAGE", "ms", "10th percentile of the durations of a stage, hardly affected by host noise",
       false},
      {"p50", "p50:STAGE", "ms", "median duration of a stage", false},
      {"p95", "p95:STAGE", "ms", "95th percentile of the durations of a stage", false},
      {"p99", "p99:STAGE", "ms", "99th percentile of the durations of a stage", false},
      {"op", "op:NAME", "ms", "device time of all work below an op; * and ? match", false},
      {"kernel", "kernel:NAME", "ms", "device time of a kernel by short or raw name; * and ? match", false},
      {"mfu", "mfu[:STAGE]", "share", "model FLOPs relative to the device's peak", true},
      {"mbu", "mbu[:STAGE]", "share", "model bytes relative to the device's peak memory bandwidth", true},
      {"tokens_per_s", "tokens_per_s[:STAGE]", "tokens/s", "token rate; without a stage, of decoding", true},
      {"ttft", "ttft", "ms", "time to the first token, median", false},
      {"tpot", "tpot", "ms", "time per output token, median", false},
      {"memory", "memory", "bytes", "peak memory that the framework allocated on one device", false},
  };
  return kinds;
}

std::string MetricForms() {
  std::string out;
  for (const MetricKind& kind : MetricKinds()) out += (out.empty() ? "" : ", ") + std::string(kind.form);
  return out;
}

Status CheckMetric(std::string_view spec) {
  NL_ASSIGN(const Spec parsed, ParseSpec(spec));
  (void)parsed;
  return {};
}

Result<std::string> MetricOfStage(std::string_view spec, std::string_view stage) {
  NL_ASSIGN(Spec parsed, ParseSpec(spec));
  const std::string target =
      parsed.Is("wall") ? fmt::format("stage:{}", stage) : fmt::format("{}:{}", parsed.kind->name, stage);
  if (!parsed.name.empty() || (!parsed.Is("wall") && !NamesStage(*parsed.kind)))
    return InvalidInput(fmt::format("the metric '{}' cannot be restricted to a stage", spec));
  NL_ASSIGN(const Spec restricted, ParseSpec(target));
  return restricted.Text();
}

bool IsSumOverTime(std::string_view text) {
  const Result<Spec> spec = ParseSpec(text);
  if (!spec.ok()) return false;
  return spec->Is("wall") || spec->Is("op") || spec->Is("kernel") ||
         ((spec->Is("device") || spec->Is("idle")) && spec->name.empty());
}

Result<MetricValue> ReadMetric(Analysis& analysis, std::string_view text) {
  NL_ASSIGN(const Spec spec, ParseSpec(text));
  return Reader(analysis, spec).Read();
}

}  // namespace nl
