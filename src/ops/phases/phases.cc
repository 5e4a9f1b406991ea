// SPDX-License-Identifier: Apache-2.0
// `neurolens phases`: start-up, warm-up and steady steps of a run, and what the first two consist of.

#include <algorithm>

#include <fmt/format.h>

#include "analyze/facts/phases.h"
#include "analyze/facts/startup.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "base/units.h"
#include "ops/open_analysis.h"
#include "report/phase_label.h"
#include "report/report_value.h"
#include "report/startup_text.h"
#include "report/text_table.h"

namespace nl::ops::phases {

namespace {

struct PhasesReply {
  std::string run_id;
  double wall_ms = 0;
  PhasesSection phases;
  StartupSection startup;
};
void Describe(Record<PhasesReply>& r) {
  r.Name("PhasesReply", "Reply of `neurolens phases`");
  r.Field("run_id", &PhasesReply::run_id, "The run");
  r.Field("wall_ms", &PhasesReply::wall_ms, Unit::kMs, "Time from the first to the last event of the run");
  r.Field("phases", &PhasesReply::phases, "The phases, from the first event on");
  r.Field("startup", &PhasesReply::startup,
          "What start-up and warm-up consist of, with what the program did before its first event");
}

const PhaseTime* Find(const PhasesReply& reply, PhaseKind phase) {
  const auto& spans = reply.phases.spans;
  const auto it =
      std::find_if(spans.begin(), spans.end(), [&](const PhaseTime& p) { return p.phase == phase; });
  return it == spans.end() ? nullptr : &*it;
}

class PhasesOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "phases";
    info.summary =
        "Start-up, warm-up, steady steps and tail of a run, and where start-up and warm-up time went";
    info.choose_when =
        "Choose it when a program takes long before its first step; `findings` explains the steady steps.";
    info.example = "neurolens phases @latest";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<PhasesReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("limit", limit_, "Rows to list at each level of start-up and warm-up; 0 lists all").Range(0, 1e9);
    b.Add("depth", depth_, "Levels of names below each kind of activity").Range(0, StartupFacts::kMaxDepth);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_TRY(NeedTimeline(open));
    NL_ASSIGN(const StartupFacts* startup, open.analysis->Need<StartupFacts>());
    NL_ASSIGN(const PhasesFacts* phases, open.analysis->Need<PhasesFacts>());
    const auto& timeline = open.analysis->facts().Get<TimelineFacts>();
    PhasesReply reply;
    reply.run_id = open.run.run.run_id;
    reply.wall_ms = Ms(timeline.wall_ns());
    reply.phases = SectionOf(*phases);
    reply.startup = SectionOf(*startup);
    Prune(reply.startup.parts);
    Prune(reply.startup.warmup.parts);
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<PhasesReply>();
    std::string out = Wrap(Headline(reply), style.width, 0) + "\n\n" + PhaseTable(reply, style);
    out += StartupText(reply.startup, style) + WarmupText(reply, style);
    return out;
  }

 private:
  // Rows deeper than asked for; the limit of rows is one of the text form.
  void Prune(std::vector<StartupPart>& parts) const {
    std::erase_if(parts, [this](const StartupPart& part) { return part.depth > depth_; });
  }

  static std::string Headline(const PhasesReply& reply) {
    const PhaseTime* steady = Find(reply, PhaseKind::kSteady);
    if (steady == nullptr)
      return fmt::format("One phase of {}: {}.", HumanMs(reply.startup.run_ms),
                         reply.phases.reason.value_or("no steps were found"));
    const auto ms_of = [&](PhaseKind phase) {
      const PhaseTime* found = Find(reply, phase);
      return found == nullptr ? 0.0 : found->ms;
    };
    const double startup_ms = ms_of(PhaseKind::kStartup);
    const double before_ms = reply.startup.before_ms.value_or(0);
    std::string out = before_ms > 0 ? fmt::format("Before the first event {}, ", HumanMs(before_ms)) : "";
    if (startup_ms > 0)
      out += fmt::format("{} {}, ", out.empty() ? "Start-up" : "start-up", HumanMs(startup_ms));
    if (const double ms = ms_of(PhaseKind::kWarmup); ms > 0) out += fmt::format("warm-up {}, ", HumanMs(ms));
    out += fmt::format("{} of {} ({})", Counted(reply.phases.steady_steps, "steady step"),
                       HumanMs(reply.phases.step_ms.value_or(0)), HumanMs(steady->ms));
    if (const double ms = ms_of(PhaseKind::kTail); ms > 0) out += fmt::format(", tail {}", HumanMs(ms));
    return out + ".";
  }

  static std::string PhaseTable(const PhasesReply& reply, const TextStyle& style) {
    TextTable table({{"PHASE", Align::kLeft, false, 0},
                     {"FROM", Align::kRight, false, 0},
                     {"TIME", Align::kRight, false, 0},
                     {"SHARE", Align::kRight, false, 0},
                     {"STEPS", Align::kRight, false, 0}});
    const double before_ms = reply.startup.before_ms.value_or(0);
    const auto add = [&](std::string_view name, double from_ms, double ms, int64_t steps) {
      table.AddRow({std::string(name), HumanMs(from_ms), HumanMs(ms), HumanPercent(ms, reply.startup.run_ms),
                    HumanCount(steps)});
    };
    if (before_ms > 0) add("Before the first event", 0, before_ms, 0);
    for (const PhaseTime& p : reply.phases.spans) add(PhaseLabel(p), before_ms + p.start_ms, p.ms, p.steps);
    return table.Render(style.width, style.color);
  }

  StartupTableStyle TableStyle(const TextStyle& style) const {
    return {false, depth_, static_cast<size_t>(limit_), style.width, style.color};
  }

  std::string StartupText(const StartupSection& startup, const TextStyle& style) const {
    if (startup.reason)
      return "\n" + Wrap(fmt::format("Start-up: {}.", *startup.reason), style.width, 2) + "\n";
    std::string out = StartupTable(
        startup.parts, startup.explains == PhaseKind::kWhole ? "WHOLE RUN" : "START-UP", TableStyle(style));
    if (!out.empty()) out.insert(0, "\n");
    if (startup.imports_reason)
      out += "\n" + Wrap(fmt::format("Imports are not known: {}.", *startup.imports_reason), style.width, 2) +
             "\n";
    return out;
  }

  std::string WarmupText(const PhasesReply& reply, const TextStyle& style) const {
    const WarmupSection& warmup = reply.startup.warmup;
    if (warmup.reason || warmup.ms <= 0) return "";
    const std::string table =
        StartupTable(warmup.parts, "WARM-UP, MORE THAN STEADY STEPS", TableStyle(style));
    const std::string steps = Counted(warmup.steps, "warm-up step");
    if (table.empty()) return fmt::format("\n{}: no longer than steady ones.\n", steps);
    const std::string text = fmt::format("{}: {}, which is {} more than as many steady steps take.", steps,
                                         HumanMs(warmup.ms), HumanMs(warmup.extra_ms));
    return "\n" + Wrap(text, style.width, 0) + "\n\n" + table;
  }

  AnalysisParams params_;
  int64_t limit_ = 10, depth_ = StartupFacts::kMaxDepth;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<PhasesOp>(); }

}  // namespace nl::ops::phases
