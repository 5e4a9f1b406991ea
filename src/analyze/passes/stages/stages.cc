// SPDX-License-Identifier: Apache-2.0
// Measures the stages of LLM inference: latency, tokens, kernels, launch and idle shares,
// MFU and MBU, each from recorded rows.

#include "analyze/facts/stages.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/facts/attribution.h"
#include "analyze/passes/stages/find_stages.h"
#include "analyze/passes/stages/forwards.h"
#include "analyze/passes/stages/sampled_work.h"
#include "analyze/totals.h"
#include "base/intervals.h"
#include "model/api_kind.h"
#include "model/labels/nvtx_label.h"

namespace nl {

namespace passes::stages {

namespace {

using Instance = StagesFacts::Instance;
using Stage = StagesFacts::Stage;

// What lies on one host thread, by start.
struct ThreadLine {
  ThreadId thread = ThreadId::kNull;
  int32_t process = -1;
  bool labelled = false;                               // has stages of its own
  std::vector<std::pair<int64_t, uint32_t>> launched;  // launch start, work item
  std::vector<Interval> launch_calls;
  std::vector<const Forward*> forwards;
};

class Measurer {
 public:
  Measurer(const RunData& data, const FactBoard& facts, const AnalysisOptions& options, StagesFacts& out)
      : data_(data),
        t_(facts.Get<TimelineFacts>()),
        a_(facts.Get<AttributionFacts>()),
        options_(options),
        out_(out) {}

  Status Measure() {
    if (!options_.model_config.is_null() && !options_.model_config.is_object())
      return InvalidInput("the model config is not a JSON object")
          .Hint("use the config.json of a Hugging Face model");
    out_.model = FindModelShape(data_, options_);
    forwards_ = FindForwards(data_, t_, out_.model);
    FoundStages found = FindStages(data_, t_, forwards_);
    out_.source = found.source;
    out_.reason = found.reason;
    NL_TRY(FindPeaks());
    if (found.stages.empty()) {
      out_.ttft_reason = out_.tpot_reason = out_.reason;
      return {};
    }
    if (!found.forwards.empty()) forwards_ = found.forwards;
    if (found.source == "labels" && forwards_.empty()) ForwardsFromDocument(found);
    from_work_ = found.by_engine;
    Index(found);
    for (const FoundStage& stage : found.stages) out_.stages.push_back(Place(stage, found.inferred));
    PartOverlaps(found);
    CompleteOuterStages(found, out_.stages);
    for (size_t i = 0; i < found.stages.size(); ++i)
      Sum(out_.stages[i], found.stages[i].spans.front().on_device);
    FindLatencies();
    return {};
  }

 private:
  // Devices with one name have the same peaks; with different names there is no single peak.
  Status FindPeaks() {
    std::set<std::string> names;
    std::set<int32_t> devices;
    for (const DeviceKey& key : t_.devices) devices.insert(key.device);
    for (const int32_t device : devices) names.insert(DeviceNameOf(data_, device));
    if (devices.empty() || names.size() > 1) {
      out_.peaks_reason =
          devices.empty() ? "no device work was recorded" : "the run used devices of different types";
      return {};
    }
    NL_ASSIGN(out_.peaks, PeaksOfDevice(data_, *devices.begin(), options_));
    out_.measured_peaks = MeasuredPeaksFor(*names.begin(), options_);
    if (!out_.peaks) {
      out_.peaks_reason = names.begin()->empty()
                              ? "the run does not name its device; use --peaks"
                              : fmt::format("the peaks of '{}' are unknown; use --peaks", *names.begin());
      return {};
    }
    if (out_.model.dtype.empty()) return {};
    out_.peak_tflops = out_.peaks->TflopsFor(out_.model.dtype);
    if (out_.measured_peaks) out_.measured_tflops = out_.measured_peaks->TflopsFor(out_.model.dtype);
    return {};
  }

  // Without shapes: batch and length from the run document, one forward per labelled prefill and step.
  void ForwardsFromDocument(const FoundStages& found) {
    const Json model = data_.document.is_object() ? data_.document.value("model", Json()) : Json();
    if (!model.is_object() || !model.value("batch_size", Json()).is_number_integer()) return;
    const int64_t batch = model["batch_size"];
    const Json length = model.value("sequence_length", Json());
    std::vector<std::pair<StageSpan, bool>> spans;
    for (const FoundStage& stage : found.stages) {
      if (stage.name != "prefill" && stage.name != "decode_step") continue;
      for (const StageSpan& span : stage.spans) spans.emplace_back(span, stage.name == "prefill");
    }
    std::stable_sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first.thread, a.first.start_ns) < std::tie(b.first.thread, b.first.start_ns);
    });
    std::optional<int64_t> context;
    for (const auto& [span, prefill] : spans) {
      Forward f;
      f.thread = span.thread;
      f.start_ns = f.end_ns = span.start_ns;
      f.batch = batch;
      if (prefill)
        context = length.is_number_integer() ? std::optional<int64_t>(length.get<int64_t>()) : std::nullopt;
      if (!prefill && context) ++*context;
      f.q_len = prefill ? context : std::optional<int64_t>(1);
      f.kv_len = context;
      if (f.q_len) f.tokens = f.head_tokens = batch * *f.q_len;
      forwards_.push_back(f);
    }
  }

  void Index(const FoundStages& found) {
    std::unordered_map<int32_t, size_t> line_of;
    const auto line = [&](ThreadId thread) -> ThreadLine& {
      const auto [it, added] = line_of.try_emplace(static_cast<int32_t>(thread), lines_.size());
      if (added) {
        lines_.emplace_back();
        lines_.back().thread = thread;
        lines_.back().process = ProcessOf(data_, thread);
      }
      return lines_[it->second];
    };
    ApiKinds kinds(data_.strings);
    for (uint32_t i = 0; i < t_.host.size(); ++i) {
      if (t_.host.kind[i] != HostKind::kApi) continue;
      const ApiKind kind = kinds.Of(t_.host.name[i]);
      if (kind == ApiKind::kLaunch || kind == ApiKind::kGraphLaunch)
        line(t_.host.thread[i]).launch_calls.push_back({t_.host.start_ns[i], t_.host.end_ns[i]});
    }
    for (uint32_t k = 0; k < t_.work.size(); ++k) {
      if (a_.node[k] == kNone) continue;
      const uint32_t node = t_.work.launch[k] != kNone ? t_.work.launch[k] : a_.node[k];
      line(t_.host.thread[node]).launched.emplace_back(t_.host.start_ns[node], k);
    }
    for (ThreadLine& l : lines_) std::sort(l.launched.begin(), l.launched.end());
    for (const Forward& f : forwards_) line(f.thread).forwards.push_back(&f);
    for (const FoundStage& stage : found.stages) {
      for (const StageSpan& span : stage.spans) line(span.thread).labelled = true;
    }
    std::vector<std::vector<Interval>> busy(t_.devices.size());
    for (size_t k = 0; k < t_.work.size(); ++k)
      busy[t_.work.device[k]].push_back({t_.work.start_ns[k], t_.work.end_ns[k]});
    for (auto& v : busy) busy_.emplace_back(std::move(v));
  }

  // Stages of one name that overlap in a process run on several threads; then work of a thread without
  // labels cannot be assigned to one of them and is not counted.
  static std::set<int32_t> Overlapping(const std::vector<StageSpan>& spans) {
    std::unordered_map<int32_t, int64_t> end;
    std::set<int32_t> out;
    for (const StageSpan& s : spans) {
      const auto [it, added] = end.try_emplace(s.process, s.end_ns);
      if (!added && s.start_ns < it->second) out.insert(s.process);
      it->second = std::max(it->second, s.end_ns);
    }
    return out;
  }

  // When each execution began and ended, and what it did.
  Stage Place(const FoundStage& found, bool inferred) {
    Stage stage;
    stage.name = found.name;
    stage.parent = found.parent;
    stage.inferred = inferred;
    const std::set<int32_t> overlapping = Overlapping(found.spans);
    for (const StageSpan& span : found.spans) {
      Instance i;
      i.range_row = span.range_row;
      i.start_ns = span.start_ns;
      i.end_ns = i.host_end_ns = span.end_ns;
      if (span.on_device) {
        ByDeviceTime(span, i);
      } else {
        ByLaunch(span, overlapping.count(span.process) == 0, stage, i);
      }
      stage.instances.push_back(std::move(i));
    }
    return stage;
  }

  // The host runs ahead: it begins a step while the device is busy with the one before. Of two that follow
  // each other on a thread, the second begins where the first ends, so that steps never add up to more than
  // the time that passed.
  void PartOverlaps(const FoundStages& found) {
    struct At {
      ThreadId thread;
      Instance* instance;
    };
    std::vector<At> all;
    for (size_t s = 0; s < found.stages.size(); ++s) {
      if (found.stages[s].name != "prefill" && found.stages[s].name != "decode_step") continue;
      for (size_t i = 0; i < found.stages[s].spans.size(); ++i)
        all.push_back({found.stages[s].spans[i].thread, &out_.stages[s].instances[i]});
    }
    std::stable_sort(all.begin(), all.end(), [](const At& a, const At& b) {
      return std::tie(a.thread, a.instance->start_ns) < std::tie(b.thread, b.instance->start_ns);
    });
    for (size_t i = 1; i < all.size(); ++i) {
      const Instance& before = *all[i - 1].instance;
      Instance& after = *all[i].instance;
      const bool follows = all[i - 1].thread == all[i].thread && before.host_end_ns <= after.start_ns;
      if (follows) after.start_ns = std::clamp(before.end_ns, after.start_ns, after.end_ns);
    }
  }

  void ByDeviceTime(const StageSpan& span, Instance& i) const {
    const auto& starts = t_.work.start_ns;
    auto k =
        static_cast<size_t>(std::lower_bound(starts.begin(), starts.end(), span.start_ns) - starts.begin());
    for (; k < starts.size() && starts[k] < span.end_ns; ++k) {
      i.kernels += t_.work.kind[k] == WorkKind::kKernel;
      i.end_ns = std::max(i.end_ns, t_.work.end_ns[k]);
      i.devices.insert(t_.work.device[k]);
    }
  }

  void ByLaunch(const StageSpan& span, bool whole_process, Stage& stage, Instance& i) const {
    int64_t last_ns = INT64_MIN;
    std::vector<Interval> launches, work;
    for (const ThreadLine& line : lines_) {
      const bool own = line.thread == span.thread;
      if (!own && (line.labelled || !whole_process || line.process != span.process || span.process < 0))
        continue;
      auto at =
          std::lower_bound(line.launched.begin(), line.launched.end(), std::make_pair(span.start_ns, 0u));
      for (; at != line.launched.end() && at->first < span.end_ns; ++at) {
        const uint32_t k = at->second;
        i.kernels += t_.work.kind[k] == WorkKind::kKernel;
        if (from_work_) work.push_back({t_.work.start_ns[k], t_.work.end_ns[k]});
        last_ns = std::max(last_ns, t_.work.end_ns[k]);
        i.devices.insert(t_.work.device[k]);
      }
      auto call = std::lower_bound(line.launch_calls.begin(), line.launch_calls.end(), span.start_ns,
                                   [](const Interval& c, int64_t t) { return c.start_ns < t; });
      for (; call != line.launch_calls.end() && call->start_ns < span.end_ns; ++call)
        launches.push_back({call->start_ns, std::min(call->end_ns, span.end_ns)});
      auto forward = std::lower_bound(line.forwards.begin(), line.forwards.end(), span.start_ns,
                                      [](const Forward* f, int64_t t) { return f->start_ns < t; });
      for (; forward != line.forwards.end() && (*forward)->start_ns < span.end_ns; ++forward)
        AddForward(**forward, stage, i);
    }
    i.launch_ns = UnionNs(std::move(launches));
    if (last_ns == INT64_MIN) return;
    if (from_work_) i.start_ns = StartOfWork(std::move(work), last_ns);
    i.end_ns = std::max(last_ns, i.start_ns);
  }

  // Of a step: its first work, or what follows a wait of more than half of the time. Such a wait is for
  // requests before, for a graph that is loaded or for the recorder to begin.
  static int64_t StartOfWork(std::vector<Interval> work, int64_t last_ns) {
    std::sort(work.begin(), work.end(),
              [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
    int64_t start_ns = work.front().start_ns, until_ns = work.front().end_ns;
    for (const Interval& w : work) {
      if (2 * (w.start_ns - until_ns) > last_ns - work.front().start_ns) start_ns = w.start_ns;
      until_ns = std::max(until_ns, w.end_ns);
    }
    return start_ns;
  }

  void AddForward(const Forward& f, Stage& stage, Instance& i) const {
    const bool first = i.forwards++ == 0;
    const auto add = [first](std::optional<double>& to, std::optional<double> value) {
      if (first) {
        to = value;
      } else {
        to = to && value ? std::optional<double>(*to + *value) : std::nullopt;
      }
    };
    add(i.tokens, f.tokens ? std::optional<double>(static_cast<double>(*f.tokens)) : std::nullopt);
    ForwardWork work;
    std::string reason = f.ToWork(work);
    if (reason.empty()) reason = out_.model.MissingFor();
    if (!reason.empty()) {
      stage.work_reason = reason;
      add(i.flops, std::nullopt);
      add(i.weight_bytes, std::nullopt);
      add(i.kv_bytes, std::nullopt);
      return;
    }
    const bool sized = out_.model.dtype_bytes.has_value();
    add(i.flops, ForwardFlops(out_.model, work));
    add(i.weight_bytes, sized ? std::optional<double>(ForwardWeightBytes(out_.model, work)) : std::nullopt);
    add(i.kv_bytes, sized ? std::optional<double>(ForwardKvBytes(out_.model, work)) : std::nullopt);
  }

  void Sum(Stage& stage, bool on_device) const {
    std::vector<int64_t> durations;
    for (Instance& i : stage.instances) {
      durations.push_back(i.duration_ns());
      for (const uint32_t device : i.devices) {
        i.device_ns += i.duration_ns();
        i.idle_ns += i.duration_ns() - busy_[device].CoveredNs(i.start_ns, i.end_ns);
      }
    }
    int64_t launch_ns = 0, device_ns = 0, idle_ns = 0;
    bool all_tokens = true, all_bytes = true;
    int64_t work_device_ns = 0;
    double tokens = 0, flops = 0, weights = 0, kv = 0;
    for (const Instance& i : stage.instances) {
      stage.total_ns += i.duration_ns();
      stage.kernels += i.kernels;
      stage.forwards += i.forwards;
      launch_ns += i.launch_ns;
      device_ns += i.device_ns;
      idle_ns += i.idle_ns;
      all_tokens = all_tokens && i.tokens;
      tokens += i.tokens.value_or(0);
      if (!i.flops) continue;
      ++stage.work_executions;
      work_device_ns += i.device_ns;
      all_bytes = all_bytes && i.weight_bytes && i.kv_bytes;
      flops += *i.flops;
      weights += i.weight_bytes.value_or(0);
      kv += i.kv_bytes.value_or(0);
    }
    const auto share = [](int64_t part, int64_t whole) {
      return whole > 0 ? std::optional<double>(static_cast<double>(part) / static_cast<double>(whole))
                       : std::nullopt;
    };
    stage.p50_ns = Percentile(durations, 50);
    stage.p95_ns = Percentile(durations, 95);
    stage.p99_ns = Percentile(durations, 99);
    if (!on_device) stage.launch_share = share(launch_ns, stage.total_ns);
    stage.idle_share = share(idle_ns, device_ns);
    stage.device_s = static_cast<double>(device_ns) / 1e9;
    if (all_tokens) stage.tokens = tokens;
    if (all_tokens && stage.total_ns > 0)
      stage.tokens_per_s = tokens / (static_cast<double>(stage.total_ns) / 1e9);
    stage.work_device_s = static_cast<double>(work_device_ns) / 1e9;
    if (stage.work_executions > 0) stage.flops = flops;
    if (stage.work_executions > 0 && all_bytes) {
      stage.weight_bytes = weights;
      stage.kv_bytes = kv;
    }
    if (!all_tokens) stage.tokens_reason = NoForward(stage);
    Utilise(stage);
  }

  std::string NoForward(const Stage& stage) const {
    if (stage.forwards > 0) return "some executions of this stage have no forward pass with recorded shapes";
    if (!stage.parent.empty()) return "this sub-stage contains no complete forward pass";
    return "no operator shapes were recorded (record_shapes=True)";
  }

  void Utilise(Stage& stage) const {
    if (stage.work_reason.empty() && !stage.flops) stage.work_reason = NoForward(stage);
    std::string reason = stage.flops ? "" : stage.work_reason;
    if (reason.empty()) reason = out_.peaks_reason;
    if (reason.empty() && out_.model.is_config && SpansRanks())
      reason = "the model config describes the whole model, but this run is one of several ranks";
    if (reason.empty() && stage.work_device_s <= 0) reason = "the stage has no device work";
    stage.mfu_reason = stage.mbu_reason = reason;
    if (!reason.empty()) return;
    if (out_.peak_tflops) {
      stage.mfu = *stage.flops / (*out_.peak_tflops * 1e12 * stage.work_device_s);
    } else {
      stage.mfu_reason = out_.model.dtype.empty()
                             ? out_.model.dtype_from
                             : fmt::format("the compute peak for {} is unknown", out_.model.dtype);
    }
    if (!stage.weight_bytes) {
      stage.mbu_reason = out_.model.dtype_from;
    } else if (!out_.peaks->dram_gbps) {
      stage.mbu_reason = "the memory bandwidth of the device is unknown";
    } else {
      stage.mbu =
          (*stage.weight_bytes + *stage.kv_bytes) / (*out_.peaks->dram_gbps * 1e9 * stage.work_device_s);
    }
    UtiliseMeasured(stage);
  }

  // The same shares of what a device of this name was measured to reach.
  void UtiliseMeasured(Stage& stage) const {
    if (!out_.measured_peaks) return;
    if (out_.measured_tflops)
      stage.mfu_measured = *stage.flops / (*out_.measured_tflops * 1e12 * stage.work_device_s);
    const auto gbps = out_.measured_peaks->dram_gbps;
    if (gbps && stage.weight_bytes && stage.kv_bytes)
      stage.mbu_measured = (*stage.weight_bytes + *stage.kv_bytes) / (*gbps * 1e9 * stage.work_device_s);
  }

  bool SpansRanks() const {
    if (t_.devices.size() > 1) return true;
    for (const auto size : data_.collective.group_size) {
      if (!IsNull(size) && size > 1) return true;
    }
    return false;
  }

  // TTFT of a request: from its start to the end of its last prefill. Of a prefill outside any request: its
  // own duration.
  void FindLatencies() {
    const Stage *prefill = out_.Find("prefill"), *request = out_.Find("request");
    if (prefill == nullptr) {
      out_.ttft_reason = "the run has no prefill stage";
    } else {
      std::vector<int64_t> all, request_ttft_ns;
      if (request != nullptr) request_ttft_ns.assign(request->instances.size(), -1);
      for (const Instance& p : prefill->instances) {
        const size_t r = request == nullptr ? SIZE_MAX : RequestAround(*request, p);
        if (r == SIZE_MAX) {
          all.push_back(p.duration_ns());
        } else {
          request_ttft_ns[r] = std::max(request_ttft_ns[r], p.end_ns - request->instances[r].start_ns);
        }
      }
      for (const int64_t ns : request_ttft_ns) {
        if (ns >= 0) all.push_back(ns);
      }
      out_.ttft_ns = Percentile(all, 50);
    }
    const Stage* step = out_.Find("decode_step");
    if (step == nullptr) {
      out_.tpot_reason = "the run has no decode_step stage";
      return;
    }
    out_.tpot_ns = step->p50_ns;
    out_.tpot_p95_ns = step->p95_ns;
    out_.tpot_p99_ns = step->p99_ns;
  }
  // The latest request of the same process that is open when `p` begins.
  size_t RequestAround(const Stage& request, const Instance& p) const {
    const auto process = [&](const Instance& i) {
      return i.range_row == kNone ? -1 : ProcessOf(data_, data_.range.thread_id[i.range_row]);
    };
    const auto& all = request.instances;
    auto next = std::upper_bound(all.begin(), all.end(), p.start_ns,
                                 [](int64_t t, const Instance& r) { return t < r.start_ns; });
    while (next != all.begin()) {
      --next;
      if (process(*next) == process(p))
        return p.start_ns < next->host_end_ns ? static_cast<size_t>(next - all.begin()) : SIZE_MAX;
    }
    return SIZE_MAX;
  }

  const RunData& data_;
  const TimelineFacts& t_;
  const AttributionFacts& a_;
  const AnalysisOptions& options_;
  StagesFacts& out_;
  std::vector<Forward> forwards_;
  // The label of a serving engine also spans what prepares the step, while the device may still be busy with
  // others.
  bool from_work_ = false;
  std::vector<ThreadLine> lines_;
  std::vector<IntervalCover> busy_;  // by device
};

constexpr Reads kReads = kModelShapeReads | kDeviceNameReads | NL_READS(Thread, process_id) |
                         NL_READS(Range, thread_id, start_ns, dur_ns, name, kind) |
                         NL_READS(Collective, group_size);

class StagesPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {StagesFacts::kName,
            "Stages of LLM inference: latency, tokens, MFU, MBU",
            {TimelineFacts::kName, AttributionFacts::kName},
            kReads,
            &RecordOf<StagesSection>};
  }
  Status Run(const RunData& data, const AnalysisOptions& options, FactBoard& facts) const override {
    StagesFacts out;
    NL_TRY(Measurer(data, facts, options, out).Measure());
    facts.Put(std::move(out));
    return {};
  }
  Described Section(const RunData&, const FactBoard& facts) const override {
    return Described::Of(SectionOf(facts.Get<StagesFacts>()));
  }
};

}  // namespace

const Pass& Describe() {
  static const StagesPass pass;
  return pass;
}

}  // namespace passes::stages

}  // namespace nl
