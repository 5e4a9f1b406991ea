// SPDX-License-Identifier: Apache-2.0
// Divides start-up and warm-up into parts that say what took the time.
#include "analyze/facts/startup.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "analyze/facts/timeline.h"
#include "analyze/pass.h"
#include "analyze/passes/startup/host_parts.h"
#include "analyze/program/main_thread.h"

namespace nl::passes::startup {

namespace {

constexpr const char* kNoSamples = "no CPU samples were recorded; `neurolens run` records them";
constexpr const char* kNoThread = "no host thread was recorded";
constexpr int64_t kNamesOf = 100;      // a name is listed from a hundredth of the whole
constexpr size_t kComparedSteps = 32;  // steady steps that warm-up is compared with

class Explainer {
 public:
  Explainer(const RunData& data, const TimelineFacts& t, const PhasesFacts& phases)
      : data_(data), t_(t), phases_(phases), main_(program::FindMainThread(data, t)) {}

  StartupFacts Run() {
    const int64_t start_ns = std::min(main_.start_ns, t_.first_start_ns);
    out_.run_ns = t_.last_end_ns - start_ns;
    out_.start_ns = start_ns;
    out_.end_ns = start_ns;
    out_.warmup_reason = phases_.reason;
    if (t_.wall_ns() <= 0 || data_.OrderOnly()) {
      out_.reason = out_.warmup_reason = "the run has no timeline";
      out_.imports_reason = kNoSamples;
      return std::move(out_);
    }
    const PhasesFacts::Span* warmup = Find(PhaseKind::kWarmup);
    const bool whole = phases_.steady_steps == 0;
    const int64_t end_ns = whole ? t_.last_end_ns : phases_.steps.front().start_ns;
    HostParts parts(data_, t_, main_, warmup != nullptr ? phases_.steady_end_ns : end_ns);
    if (!parts.sampled()) out_.imports_reason = kNoSamples;
    out_.explains = whole ? PhaseKind::kWhole : PhaseKind::kStartup;
    if (whole && !parts.sampled()) {
      out_.reason = phases_.reason;
    } else if (IsNull(main_.thread)) {
      out_.reason = kNoThread;
    } else {
      out_.end_ns = end_ns;
      out_.before_ns = t_.first_start_ns - start_ns;
      out_.parts = parts.Divide(start_ns, end_ns).Rows(0, (end_ns - start_ns) / kNamesOf);
    }
    if (warmup != nullptr) ExplainWarmup(*warmup, parts);
    return std::move(out_);
  }

 private:
  const PhasesFacts::Span* Find(PhaseKind what) const {
    const auto it = std::find_if(phases_.spans.begin(), phases_.spans.end(),
                                 [what](const PhasesFacts::Span& span) { return span.what == what; });
    return it == phases_.spans.end() ? nullptr : &*it;
  }

  int64_t LaunchNs(uint32_t work) const {
    const uint32_t launch = t_.work.launch[work];
    return launch == kNone ? t_.work.start_ns[work] : t_.host.start_ns[launch];
  }

  // Work of warm-up with names that the steady phase does not have.
  std::vector<uint32_t> WarmupWork(const PhasesFacts::Span& warmup) const {
    std::unordered_set<uint32_t> steady;
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < t_.work.size(); ++i) {
      if (t_.work.kind[i] != WorkKind::kKernel) continue;
      const int64_t at_ns = LaunchNs(i);
      if (at_ns >= phases_.steady_start_ns && at_ns < phases_.steady_end_ns)
        steady.insert(static_cast<uint32_t>(t_.work.name[i]));
      if (at_ns >= warmup.start_ns && at_ns < warmup.end_ns) out.push_back(i);
    }
    std::erase_if(out, [&](uint32_t i) { return steady.contains(static_cast<uint32_t>(t_.work.name[i])); });
    return out;
  }

  // Adds up to `kComparedSteps` steady steps, each with the time up to the next; returns how many.
  int64_t AddSteady(HostParts& parts, PartTree& sum) const {
    std::vector<size_t> steady;
    for (size_t i = 0; i < phases_.steps.size(); ++i) {
      if (phases_.steps[i].steady) steady.push_back(i);
    }
    const size_t first = (steady.size() - std::min(steady.size(), kComparedSteps)) / 2;
    const size_t count = std::min(steady.size(), kComparedSteps);
    for (size_t i = first; i < first + count; ++i) {
      const PhasesFacts::Step& step = phases_.steps[steady[i]];
      const bool next = i + 1 < steady.size() && steady[i + 1] == steady[i] + 1;
      sum.Subtract(parts.Divide(step.start_ns, next ? phases_.steps[steady[i + 1]].start_ns : step.end_ns),
                   -1, 1);
    }
    return static_cast<int64_t>(count);
  }

  void ExplainWarmup(const PhasesFacts::Span& warmup, HostParts& parts) {
    out_.warmup_ns = warmup.end_ns - warmup.start_ns;
    out_.warmup_steps = warmup.steps;
    // Steps that take longer than warm-up together may be so long that their sum is not a number.
    if (warmup.steps <= out_.warmup_ns / std::max<int64_t>(1, phases_.step_ns))
      out_.warmup_extra_ns = out_.warmup_ns - warmup.steps * phases_.step_ns;
    if (IsNull(main_.thread)) out_.warmup_reason = kNoThread;
    if (IsNull(main_.thread) || out_.warmup_extra_ns == 0) return;
    parts.SetWarmupWork(WarmupWork(warmup));
    PartTree steady, tree = parts.Divide(warmup.start_ns, warmup.end_ns);
    const int64_t compared = AddSteady(parts, steady);
    tree.Subtract(steady, warmup.steps, compared);
    const int64_t least_ns = out_.warmup_extra_ns / kNamesOf;
    out_.warmup_parts = tree.Rows(least_ns, least_ns);
    int64_t left_ns = out_.warmup_extra_ns;
    for (const StartupFacts::Part& part : out_.warmup_parts) left_ns -= part.depth == 0 ? part.ns : 0;
    if (left_ns == 0) return;
    const std::string name(left_ns > 0 ? LabelOf(StartupKind::kOther) : "Other, less than in steady steps");
    out_.warmup_parts.push_back({StartupKind::kOther, 0, name, left_ns});
  }

  const RunData& data_;
  const TimelineFacts& t_;
  const PhasesFacts& phases_;
  const MainThread main_;
  StartupFacts out_;
};

Status CheckSum(const std::vector<StartupFacts::Part>& parts, int64_t whole_ns, const char* what) {
  int64_t sum_ns = 0;
  for (const StartupFacts::Part& part : parts) sum_ns += part.depth == 0 ? part.ns : 0;
  if (sum_ns == whole_ns) return {};
  return Internal(fmt::format("the parts of {} sum to {} ns, not {} ns", what, sum_ns, whole_ns));
}

class StartupPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {StartupFacts::kName,
            "Where the time before the steady steps went",
            {TimelineFacts::kName, PhasesFacts::kName},
            kHostPartsReads | program::kMainThreadReads,
            &RecordOf<StartupSection>};
  }
  Status Run(const RunData& data, const AnalysisOptions&, FactBoard& facts) const override {
    StartupFacts out = Explainer(data, facts.Get<TimelineFacts>(), facts.Get<PhasesFacts>()).Run();
    NL_TRY(CheckSum(out.parts, out.end_ns - out.start_ns, "start-up"));
    if (!out.warmup_parts.empty()) NL_TRY(CheckSum(out.warmup_parts, out.warmup_extra_ns, "warm-up"));
    facts.Put(std::move(out));
    return {};
  }
  Described Section(const RunData&, const FactBoard& facts) const override {
    return Described::Of(SectionOf(facts.Get<StartupFacts>()));
  }
};

}  // namespace

const Pass& Describe() {
  static const StartupPass pass;
  return pass;
}

}  // namespace nl::passes::startup
