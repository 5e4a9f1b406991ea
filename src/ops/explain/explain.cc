// SPDX-License-Identifier: Apache-2.0
// `neurolens explain`: the short answer about one run, and what to ask next.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "ops/explain/reply.h"
#include "ops/open_run_or_file.h"
#include "ops/write_report.h"
#include "report/phase_label.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl::ops::explain {

namespace {

constexpr size_t kTopNames = 5;
constexpr size_t kMaxNext = 3;
constexpr size_t kShortId = 13;  // characters of a run id: its creation time
// Above this share of idle time the question is why the device waits, not what it does.
constexpr double kMuchIdle = 0.3;
// A gap shorter than this part of the run is not worth a look.
constexpr double kLongGap = 0.01;

std::vector<TimeByName> TopOf(const std::vector<NameTotals>& rows, bool on_host) {
  std::vector<TimeByName> out;
  for (const NameTotals& row : rows) {
    if (out.size() == kTopNames) break;
    out.push_back({row.name, on_host ? row.self_ms : row.gpu_ms, row.share, row.calls});
  }
  return out;
}

ExplainedFinding Shortened(const Finding& f) {
  ExplainedFinding out{f.rule,      f.title,   f.severity, f.confidence, {}, f.gain_share,
                       f.impact_ms, f.message, {}};
  if (f.gain_ms) out.gain_ms = f.gain_ms->expected;
  if (!f.suggestions.empty()) out.fix = f.suggestions[0];
  return out;
}

std::vector<std::string> WarningsOf(const RunCounters& counters) {
  std::vector<std::string> out;
  for (const RunCounter& c : counters.reasons) {
    if (c.severity != "info")
      out.push_back(
          fmt::format("{}: {} x {}. {}", c.severity, HumanCount(c.count), c.name, c.advice.value_or("")));
  }
  return out;
}

double IdleShare(const std::vector<ReportPart>& breakdown) {
  double share = 0;
  for (const ReportPart& part : breakdown) share += part.idle ? part.share : 0;
  return share;
}

// How a person types the run.
std::string Typed(const std::string& run) { return run.substr(0, kShortId); }

// What looks closer at where most of the time went.
NextStep LargestPart(const ExplainReply& r, const std::string& run) {
  const auto about = [&run](const char* operation, std::string why) {
    return NextStep{
        fmt::format("neurolens {} {}", operation, Typed(run)), std::move(why), operation, {{"run", run}}};
  };
  if (r.kernels.empty())
    return about("operators", "the run has no device work: which operators take the time");
  const double idle = IdleShare(r.breakdown);
  if (idle > kMuchIdle)
    return about("idle", fmt::format("why the device was idle {:.0f} % of the time", 100 * idle));
  return about("kernels",
               fmt::format("the device was busy {:.0f} % of the time: with which kernels", 100 * (1 - idle)));
}

// The evidence of the findings, which the reply leaves out.
std::optional<NextStep> AboutFindings(const ExplainReply& r, const std::string& run) {
  if (r.findings.empty()) return std::nullopt;
  return NextStep{fmt::format("neurolens findings {}", Typed(run)),
                  "the evidence and all suggestions of the findings",
                  "findings",
                  {{"run", run}}};
}

// The step with the first fix whose gain can be predicted.
std::optional<NextStep> WithTheFix(const ExplainReply& r, const std::string& run) {
  for (const ExplainedFinding& f : r.findings) {
    if (!f.gain_ms || *f.gain_ms <= 0 || !r.step_ms) continue;
    return NextStep{
        fmt::format("neurolens what-if {} --apply {}", Typed(run), f.rule),
        fmt::format("how long a step of {} takes with the fix for {}", HumanMs(*r.step_ms), f.rule),
        "what-if",
        {{"run", run}, {"apply", Json::array({f.rule})}}};
  }
  return std::nullopt;
}

// The longest gap of a device and what surrounds it.
std::optional<NextStep> LongestGap(const Report& report, const std::string& run) {
  if (!report.idle || report.idle->largest.empty()) return std::nullopt;
  const IdleGap& gap = report.idle->largest[0];
  if (gap.dur_ms < kLongGap * report.wall_ms) return std::nullopt;
  const auto rounded = [](double ms) { return std::round(1000 * ms) / 1000; };
  const double from = rounded(std::max(0.0, gap.start_ms - 0.1 * gap.dur_ms));
  const double to = rounded(gap.start_ms + 1.1 * gap.dur_ms);
  return NextStep{fmt::format("neurolens timeline-window {} --from-ms {} --to-ms {}", Typed(run), from, to),
                  fmt::format("what ran around the longest gap of the device ({})", HumanMs(gap.dur_ms)),
                  "timeline_window",
                  {{"run", run}, {"from_ms", from}, {"to_ms", to}}};
}

std::vector<NextStep> NextOf(const ExplainReply& r, const Report& report) {
  std::vector<NextStep> out{LargestPart(r, r.run_id)};
  if (auto step = AboutFindings(r, r.run_id)) out.push_back(std::move(*step));
  if (auto step = LongestGap(report, r.run_id)) out.push_back(std::move(*step));
  if (out.size() < kMaxNext) {
    if (auto step = WithTheFix(r, r.run_id)) out.push_back(std::move(*step));
  }
  return out;
}

class ExplainOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "explain";
    info.summary =
        "Short summary of a run: verdict, phases, where the time went, first findings, next questions";
    info.choose_when =
        "Choose it first for one run or one profile. `compare` explains the difference of two; `findings` "
        "has "
        "the evidence, `report` the full analysis.";
    info.example = "neurolens explain @latest";
    info.cost = Cost::kSeconds;
    info.writes = true;
    info.writes_by_import = true;
    info.reply = ReplyOf<ExplainReply>();
    info.tool.place = 1;
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("run", params_.run, "Run to look at, or profile to import: a file, a folder of ranks, or -")
        .Positional()
        .Run();
    b.Add("limit", limit_, "Findings to list").Range(1, 100);
    params_.BindPhaseOfReport(b);
    params_.BindRules(b);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(OpenAnalysis open, OpenRunOrFile(context, params_));
    NL_ASSIGN(const Report report, MakeReport(open));
    ExplainReply reply;
    reply.run_id = open.run.run.run_id;
    reply.model = open.run.run.model;
    reply.device = KnownText(open.run.run.device);
    reply.wall_ms = report.wall_ms;
    reply.verdict = report.verdict;
    reply.bound = report.diagnosis.bound;
    reply.confidence = report.diagnosis.confidence;
    if (!open.analysis->data().OrderOnly()) NL_TRY(AddPhases(*open.analysis, reply));
    if (report.findings.step && report.findings.step->steady_steps > 0)
      reply.step_ms = report.findings.step->ms;
    reply.breakdown = report.breakdown;
    reply.kernels = TopOf(report.kernels, false);
    reply.operators = TopOf(report.operators, reply.kernels.empty());
    for (const Finding& f : report.findings.findings) {
      if (reply.findings.size() < static_cast<size_t>(limit_)) reply.findings.push_back(Shortened(f));
    }
    reply.findings_total = static_cast<int64_t>(report.findings.findings.size());
    reply.warnings = WarningsOf(report.run.counters);
    reply.next = NextOf(reply, report);
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<ExplainReply>();
    std::string out = fmt::format("{}  {}\n", r.run_id, PrintableText(r.model));
    out += Wrap(PrintableText(r.verdict), style.width, 0) + "\n";
    out += PhasesText(r, style.width) + "\n" + BreakdownText(r, style);
    if (!r.kernels.empty()) out += "\n" + NamesText("KERNEL", r.kernels, style);
    if (!r.operators.empty()) out += "\n" + NamesText("OPERATOR", r.operators, style);
    out += "\n" + FindingsText(r, style.width);
    for (const std::string& warning : r.warnings) out += Wrap(PrintableText(warning), style.width, 2) + "\n";
    out += "\nnext\n";
    for (const NextStep& step : r.next)
      out += "  " + step.command + "\n" + "    " + Wrap(step.why, style.width, 4) + "\n";
    return out;
  }

 private:
  static Status AddPhases(Analysis& analysis, ExplainReply& reply) {
    NL_ASSIGN(const PhasesFacts* phases, analysis.Need<PhasesFacts>());
    reply.phases = SectionOf(*phases);
    return {};
  }

  static std::string PhasesText(const ExplainReply& r, int width) {
    if (!r.phases || r.phases->steady_steps == 0) return "";
    std::vector<std::string> parts;
    for (const PhaseTime& p : r.phases->spans) {
      std::string part = fmt::format("{} {}", PhaseLabel(p), HumanMs(p.ms));
      if (p.phase == PhaseKind::kSteady)
        part += fmt::format(" ({} steps)", HumanCount(r.phases->steady_steps));
      parts.push_back(std::move(part));
    }
    std::string text = fmt::format("Phases: {}.", fmt::join(parts, ", "));
    if (r.step_ms)
      text += fmt::format(" A steady step takes {} without the cost of recording.", HumanMs(*r.step_ms));
    return Wrap(text, width, 0) + "\n";
  }

  static std::string BreakdownText(const ExplainReply& r, const TextStyle& style) {
    TextTable table({{"WHERE THE TIME WENT", Align::kLeft, true, 20},
                     {"TIME", Align::kRight, false, 0},
                     {"SHARE", Align::kRight, false, 0}});
    for (const ReportPart& part : r.breakdown)
      table.AddRow({part.label, HumanMs(part.ms), fmt::format("{:.1f} %", 100 * part.share)});
    return table.rows() == 0 ? "" : table.Render(style.width, style.color);
  }

  static std::string NamesText(const char* what, const std::vector<TimeByName>& rows,
                               const TextStyle& style) {
    TextTable table({{what, Align::kLeft, true, 20},
                     {"TIME", Align::kRight, false, 0},
                     {"SHARE", Align::kRight, false, 0},
                     {"CALLS", Align::kRight, false, 0}});
    for (const TimeByName& row : rows)
      table.AddRow({row.name, HumanMs(row.ms), PercentOrDash(row.share), HumanCount(row.calls)});
    return table.Render(style.width, style.color);
  }

  static std::string FindingsText(const ExplainReply& r, int width) {
    if (r.findings.empty()) return "No findings.\n";
    std::string out;
    size_t number = 0;
    for (const ExplainedFinding& f : r.findings) {
      std::string head =
          fmt::format("{}. {} [{}, {}]", ++number, f.title, f.rule, RuleSeverityName(f.severity));
      if (f.gain_ms) {
        head += fmt::format(": would save about {} {} ({})", HumanMs(*f.gain_ms),
                            r.step_ms ? "per step" : "of the run", GainShareText(f.gain_share.value_or(0)));
      } else if (f.impact_ms.value_or(0) > 0) {
        head += fmt::format(": could save up to {}", HumanMs(*f.impact_ms));
      }
      out += Wrap(PrintableText(head), width, 3) + "\n";
      out += "   " + Wrap(PrintableText(f.message), width, 3) + "\n";
      if (f.fix) out += "   " + Wrap("-> " + PrintableText(*f.fix), width - 3, 6) + "\n";
    }
    const auto more = r.findings_total - static_cast<int64_t>(r.findings.size());
    if (more > 0) out += fmt::format("{} more; `neurolens findings` lists all\n", more);
    return out;
  }

  AnalysisParams params_;
  int64_t limit_ = 3;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ExplainOp>(); }

}  // namespace nl::ops::explain
