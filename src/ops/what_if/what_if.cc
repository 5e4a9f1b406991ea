// SPDX-License-Identifier: Apache-2.0
// `neurolens what-if`: the steady step of a run after one or several fixes.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "analyze/facts/critical_path.h"
#include "analyze/facts/phases.h"
#include "analyze/facts/roofline.h"
#include "analyze/replay/what_if.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "ops/open_analysis.h"
#include "ops/what_if/reply.h"
#include "report/text_table.h"

namespace nl::ops::what_if {

namespace {

using replay::FixOutcome;
using replay::FixRequests;
using replay::RequestedFix;
using replay::StepReplay;

Error NoSteps(const PhasesFacts& phases) {
  const std::string& reason = phases.reason;
  return Unsupported(fmt::format("a step cannot be predicted: {}",
                                 reason.empty() ? "no launches were recorded in the steady steps" : reason))
      .Hint(
          "record several steps and label them: torch.profiler with a schedule and prof.step(), or a range "
          "such as torch.profiler.record_function or NVTX around each step");
}

std::optional<BatchPrediction> BatchOf(const RequestedFix& fix, const FixOutcome& outcome, double step_ms) {
  if (!fix.batch || !outcome.step_ms || step_ms <= 0) return std::nullopt;
  BatchPrediction out;
  out.from = fix.batch->from;
  out.factor = fix.batch->factor;
  out.step_ms = *outcome.step_ms;
  const auto ratio = [&](double ms) { return ms > 0 ? out.factor * step_ms / ms : 0; };
  out.throughput_ratio = {ratio(out.step_ms.high), ratio(out.step_ms.expected), ratio(out.step_ms.low)};
  if (out.from) {
    out.to = static_cast<double>(*out.from) * out.factor;
    out.samples_per_s_before = static_cast<double>(*out.from) / step_ms * 1e3;
    out.samples_per_s_after = *out.to / out.step_ms.expected * 1e3;
  }
  return out;
}

std::vector<AppliedFix> Joined(const std::vector<RequestedFix>& fixes,
                               const std::vector<FixOutcome>& outcomes, double step_ms) {
  std::vector<AppliedFix> out;
  for (size_t i = 0; i < fixes.size(); ++i) {
    const RequestedFix& f = fixes[i];
    const FixOutcome& o = outcomes[i];
    out.push_back({f.apply, f.what, f.count, f.unit, o.step_ns / 1e6, o.gain_ms, o.gain_share,
                   BatchOf(f, o, step_ms), KnownText(o.note)});
  }
  return out;
}

void PredictEach(const StepReplay& steps, const FixRequests& requests, WhatIfReply& reply) {
  const std::vector<RequestedFix> fixes = requests.Applicable();
  reply.alone = true;
  reply.fixes = Joined(fixes, ApplyEachAlone(steps, requests.search(), fixes), reply.step.ms);
  std::stable_sort(reply.fixes.begin(), reply.fixes.end(), [](const AppliedFix& a, const AppliedFix& b) {
    return a.gain_ms.expected > b.gain_ms.expected;
  });
}

void PredictAll(const StepReplay& steps, const FixRequests& requests, const std::vector<RequestedFix>& fixes,
                WhatIfReply& reply) {
  reply.fixes = Joined(fixes, ApplyInOrder(steps, requests.search(), fixes), reply.step.ms);
  const double after_ms = reply.fixes.empty() ? reply.step.ms : reply.fixes.back().step_after_ms;
  reply.step_after_ms = after_ms;
  double factor = 1;
  for (const AppliedFix& fix : reply.fixes) factor *= fix.batch ? fix.batch->factor : 1;
  reply.gain_ms = replay::GainOf(steps, 1e6 * (reply.step.ms - after_ms / factor));
  if (after_ms > 0) reply.speedup = factor * reply.step.ms / after_ms;
}

// "graphs", "graphs and pinned", "sync, graphs and pinned".
std::string Names(const std::vector<AppliedFix>& fixes) {
  std::string out;
  for (size_t i = 0; i < fixes.size(); ++i) {
    if (i > 0) out += i + 1 == fixes.size() ? " and " : ", ";
    out += PrintableText(fixes[i].apply);
  }
  return out;
}

std::string BatchVerdict(const WhatIfReply& r, const BatchPrediction& b, const std::string& names) {
  const double now_ms = r.step.ms, after_ms = r.step_after_ms.value_or(now_ms);
  std::string out =
      fmt::format("With {}: a step of {} would take about {}", names, HumanMs(now_ms), HumanMs(after_ms));
  if (after_ms == b.step_ms.expected)
    out += fmt::format(" ({} to {})", HumanMs(b.step_ms.low), HumanMs(b.step_ms.high));
  out += fmt::format(" for {:.4g} times the samples, {:.2f} times the throughput", b.factor,
                     r.speedup.value_or(0));
  if (after_ms == b.step_ms.expected)
    out += fmt::format(" ({:.2f} to {:.2f})", b.throughput_ratio.low, b.throughput_ratio.high);
  if (b.samples_per_s_before && b.to) {
    out += fmt::format(": {:.4g} instead of {:.4g} samples per second", 1e3 * *b.to / after_ms,
                       *b.samples_per_s_before);
  }
  return out + ".";
}

std::string Verdict(const WhatIfReply& r) {
  const std::string now = HumanMs(r.step.ms);
  const bool whole = r.step.steady_steps == 0;
  const std::string takes = fmt::format("{} takes {}.", whole ? "The run" : "A step", now);
  if (r.alone && r.fixes.empty()) return takes + " No fix is known for it.";
  if (r.alone) return takes + " What each fix alone would gain:";
  if (r.fixes.empty()) return takes + " `neurolens findings` proposes no fix.";
  const std::string names = Names(r.fixes);
  const auto batch =
      std::find_if(r.fixes.begin(), r.fixes.end(), [](const AppliedFix& f) { return f.batch; });
  if (batch != r.fixes.end()) return BatchVerdict(r, *batch->batch, names);
  if (r.gain_ms->expected <= 0)
    return fmt::format("With {}: {} would still take {}.", names, whole ? "the run" : "a step", now);
  // A lower bound of nothing at all says nothing.
  const double least_ms = r.step.ms - r.gain_ms->high;
  const std::string most = HumanMs(r.step.ms - r.gain_ms->low);
  std::string out = fmt::format(
      "With {}: {} of {} would take about {} ({})", names, whole ? "the run" : "a step", now,
      HumanMs(*r.step_after_ms),
      least_ms > 0.01 * r.step.ms ? fmt::format("{} to {}", HumanMs(least_ms), most) : "at most " + most);
  if (r.speedup) out += fmt::format(", {:.{}f} times faster", *r.speedup, *r.speedup < 1.95 ? 2 : 1);
  return out + ".";
}

class WhatIfOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "what-if";
    info.summary =
        "How long a steady step would take after fixes: CUDA graphs, no waits, pinned copies, bf16";
    info.choose_when =
        "Choose it to decide which fix to make, and what several gain together. `findings` shows what is "
        "wrong and where; `critical-path --what-if` scales durations of the whole run.";
    info.example = "neurolens what-if @latest --apply sync,graphs";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<WhatIfReply>();
    info.tool.place = 13;
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("apply", apply_,
          "Fixes to apply in this order, separated by commas: graphs, sync[:OP], pinned[:OP], host[:PLACE], "
          "allocs, bf16[:OP], batch=N, remove:OP, fuse:OP=F, kernel:NAME=F (F: share of the time that stays, "
          "0 to 1; "
          "OP and NAME may contain *), a rule of `findings`, or all. Without it, each applicable fix alone");
    params_.BindPeaks(b);
    params_.BindRules(b);
  }

  Result<Reply> Run(OpContext& context) override {
    std::error_code ignored;
    const std::string project = FindProjectRules(std::filesystem::current_path(ignored).string());
    if (!project.empty()) params_.rules.insert(params_.rules.begin(), project);
    NL_ASSIGN(const RuleSet rules, RuleSet::Load(params_.rules));
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_TRY(NeedTimeline(open));
    NL_ASSIGN(const FindingsFacts* findings, open.analysis->Need<FindingsFacts>());
    NL_ASSIGN(const PhasesFacts* phases, open.analysis->Need<PhasesFacts>());
    NL_ASSIGN(const CriticalPathFacts* path, open.analysis->Need<CriticalPathFacts>());
    NL_ASSIGN(const TimelineFacts* timeline, open.analysis->Need<TimelineFacts>());
    NL_ASSIGN(const RooflineFacts* roofline, open.analysis->Need<RooflineFacts>());
    if (!findings->step || path->graph == nullptr) return NoSteps(*phases);
    const StepReplay steps(*path->graph, *timeline, open.analysis->data(), *phases);
    const FixRequests requests(steps, *findings, *roofline, rules);
    WhatIfReply reply;
    reply.run_id = open.run.run.run_id;
    reply.step = *findings->step;
    std::vector<RequestedFix> fixes;
    bool asked = false;
    for (const std::string& list : apply_) {
      for (const std::string& item : replay::SplitFixes(list)) {
        asked = true;
        NL_ASSIGN(std::vector<RequestedFix> found, requests.Find(item));
        std::move(found.begin(), found.end(), std::back_inserter(fixes));
      }
    }
    if (asked) {
      PredictAll(steps, requests, fixes, reply);
    } else {
      PredictEach(steps, requests, reply);
    }
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<WhatIfReply>();
    std::string out = Wrap(Verdict(r), style.width, 2) + "\n";
    if (r.fixes.empty()) return out;
    out += "\n" + Table(r, style) + "\n";
    for (const std::string& line : Explanations(r)) out += Wrap(line, style.width, 2) + "\n";
    if (r.step.recorder && r.step.recorded_ms > 1.01 * r.step.ms) {
      const bool whole = r.step.steady_steps == 0;
      out += Wrap(fmt::format("Times are without the estimated cost of {}: recorded, {} took {}.",
                              PrintableText(*r.step.recorder), whole ? "the run" : "a step",
                              HumanMs(r.step.recorded_ms)),
                  style.width, 2) +
             "\n";
    }
    return out;
  }

 private:
  // One line per change; fixes that change the same share it.
  static std::vector<std::string> Explanations(const WhatIfReply& r) {
    std::vector<std::pair<std::string, std::string>> texts;  // the change, names
    for (const AppliedFix& f : r.fixes) {
      std::string text = f.what + ".";
      if (f.note) text += fmt::format(" Note: {}.", *f.note);
      const auto same =
          std::find_if(texts.begin(), texts.end(), [&](const auto& t) { return t.first == text; });
      if (same == texts.end()) {
        texts.emplace_back(text, f.apply);
      } else {
        same->second += ", " + f.apply;
      }
    }
    std::vector<std::string> out;
    for (const auto& [text, names] : texts) out.push_back(PrintableText(names + ": " + text));
    return out;
  }

  static std::string Table(const WhatIfReply& r, const TextStyle& style) {
    TextTable table({{"FIX", Align::kLeft, true, 12},
                     {"CHANGES", Align::kRight, false, 0},
                     {"STEP AFTER", Align::kRight, false, 0},
                     {"GAIN", Align::kRight, false, 0},
                     {r.step.steady_steps == 0 ? "OF RUN" : "OF STEP", Align::kRight, false, 0}});
    for (const AppliedFix& f : r.fixes) {
      table.AddRow({f.apply, Counted(f.changes, f.unit), HumanMs(f.step_after_ms),
                    HumanMs(f.gain_ms.expected), fmt::format("{:.1f} %", 100 * f.gain_share)});
    }
    return table.Render(style.width, style.color);
  }

  AnalysisParams params_;
  std::vector<std::string> apply_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<WhatIfOp>(); }

}  // namespace nl::ops::what_if
