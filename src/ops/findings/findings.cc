// SPDX-License-Identifier: Apache-2.0
// `neurolens findings`: what bounds a run, what is wrong in it, and what to change.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "analyze/facts/findings.h"
#include "analyze/steady_findings.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "ops/open_analysis.h"
#include "ops/open_store.h"
#include "report/phase_label.h"
#include "report/report_value.h"

namespace nl::ops::findings {

namespace {

struct FindingsReply : FindingsFacts {
  std::string run_id, model;
  int64_t findings_total = 0;
  std::vector<std::string> rules_files;
};
void Describe(Record<FindingsReply>& r) {
  r.Name("FindingsReply", "Reply of `neurolens findings`");
  r.Field("run_id", &FindingsReply::run_id, "The run");
  r.Field("model", &FindingsReply::model, "Name of the model");
  r.Base<FindingsFacts>();
  r.Field("findings_total", &FindingsReply::findings_total, "Findings of this severity before --limit");
  r.Field("rules_files", &FindingsReply::rules_files, "Rule files used in addition to the shipped rules");
}

// A paragraph indented by `indent` columns, with two more on each line after the first.
std::string Para(const std::string& text, int width, int indent) {
  std::string out(static_cast<size_t>(indent), ' ');
  for (const char c : Wrap(PrintableText(text), std::max(20, width - indent), 2)) {
    out += c;
    if (c == '\n') out.append(static_cast<size_t>(indent), ' ');
  }
  return out + "\n";
}

std::string_view BoundText(RunBound bound) {
  switch (bound) {
    case RunBound::kLaunch: return "launch-bound: the device waits for the host to launch short kernels";
    case RunBound::kCpu: return "CPU-bound: the device waits for the host";
    case RunBound::kGpuCompute: return "GPU-bound by compute";
    case RunBound::kGpuMemory: return "GPU-bound by memory bandwidth";
    case RunBound::kTransfer: return "transfer-bound: copies between host and device take the time";
    case RunBound::kSync:
      return "sync-bound: the host blocks on the device, and the device then waits for the host";
    case RunBound::kCommunication: return "communication-bound: collectives take the time";
    case RunBound::kBalanced: return "balanced: no single resource limits it";
    case RunBound::kUnknown: break;
  }
  return "unknown";
}

// Without the flags, which only say that a rule is for runs such as this one.
std::string EvidenceList(const std::vector<Evidence>& evidence) {
  std::string out;
  for (const Evidence& e : evidence) {
    if (e.unit == "flag") continue;
    if (!out.empty()) out += ", ";
    out += EvidenceText(e);
  }
  return out;
}

std::string PlaceText(const Finding& f, std::optional<PhaseKind> phase) {
  std::vector<std::string> parts;
  const auto add = [&parts](const char* what, const std::optional<std::string>& name) {
    if (name) parts.push_back(fmt::format("{} {}", what, *name));
  };
  add("stage", f.stage);
  add("module", f.module);
  add("op", f.op);
  add("kernel", f.kernel);
  if (parts.empty()) return phase && !f.of_recording ? std::string(PhaseInSentence(*phase)) : "the whole run";
  return fmt::format("{}", fmt::join(parts, ", "));
}

// As the first word of a sentence.
std::string Begin(std::string_view words) {
  std::string out(words);
  out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

class FindingsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "findings";
    info.summary = "What bounds a run, and what to change: ranked findings with evidence and suggestions";
    info.choose_when =
        "Choose it to learn what is wrong and what to do. `summary` shows where the time went, `rules` lists "
        "what is checked.";
    info.example = "neurolens findings @latest";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<FindingsReply>();
    info.tool.place = 4;
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    BindPhase(b, phase_);
    b.Add("severity", severity_, "Lowest severity to list").Choices({"low", "medium", "high"});
    params_.BindRules(b);
    params_.BindPeaks(b);
    b.Add("limit", limit_, "Findings to list").Range(1, 1000);
  }

  Result<Reply> Run(OpContext& context) override {
    std::error_code ignored;
    const std::string project = FindProjectRules(std::filesystem::current_path(ignored).string());
    if (!project.empty()) params_.rules.insert(params_.rules.begin(), project);
    NL_TRY(RuleSet::Load(params_.rules));  // report a bad file before loading the run
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    FindingsReply reply;
    NL_ASSIGN(static_cast<FindingsFacts&>(reply), FindingsOf(*open.analysis));
    reply.run_id = open.run.run.run_id;
    reply.model = open.run.run.model;
    reply.rules_files = params_.rules;
    const RuleSeverity lowest = ParseRuleSeverity(severity_).value_or(RuleSeverity::kLow);
    std::erase_if(reply.findings, [lowest](const Finding& f) { return f.severity < lowest; });
    reply.findings_total = static_cast<int64_t>(reply.findings.size());
    reply.findings.resize(std::min(reply.findings.size(), static_cast<size_t>(limit_)));
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<FindingsReply>();
    const int width = style.width;
    std::string out = fmt::format("{}  {}\n", r.run_id, r.model);
    out += DiagnosisText(r.diagnosis, width);
    if (r.step) out += StepText(*r.step, width);
    size_t number = 0;
    for (const Finding& f : r.findings) out += "\n" + FindingText(f, ++number, r.diagnosis.phase, width);
    const auto total = static_cast<size_t>(r.findings_total);
    if (total > number) out += fmt::format("\n{} more; use --limit {} to list all\n", total - number, total);
    if (number == 0) out += "\nNo findings.\n";
    if (!r.near_limit.empty()) out += "\n" + NearLimitText(r.near_limit, width);
    if (!r.tool_findings.empty()) out += "\n" + ToolText(r.tool_findings, width);
    if (!r.not_assessed.empty()) out += "\n" + NotAssessedText(r, width);
    return out;
  }

 private:
  // Of the part that --phase names.
  Result<FindingsFacts> FindingsOf(Analysis& analysis) const {
    if (phase_ == "auto") return SteadyFindings(analysis);
    if (phase_ == "all") {
      NL_ASSIGN(const FindingsFacts* whole, analysis.Need<FindingsFacts>());
      return *whole;
    }
    NL_ASSIGN(const PhasesFacts* phases, analysis.Need<PhasesFacts>());
    const PhasesFacts::Span* span = FindPhase(*phases, phase_);
    if (span == nullptr) return NoSuchPhase(*phases, phase_);
    return FindingsOfPart(analysis, *span);
  }

  static std::string DiagnosisText(const Diagnosis& d, int width) {
    std::string text;
    if (d.bound == RunBound::kUnknown) {
      text = fmt::format("The bound of {} is unknown", d.phase ? PhaseInSentence(*d.phase) : "this run");
      if (d.nearest)
        text +=
            fmt::format(" (best candidate: {}, confidence {:.2f})", RunBoundName(*d.nearest), d.confidence);
    } else {
      const bool host_only = !d.evidence.empty() && d.evidence[0].what == "run.cpu_running_share";
      text = fmt::format(
          "{} is {} (confidence {:.2f})", Begin(PhaseInSentence(d.phase.value_or(PhaseKind::kWhole))),
          host_only ? "CPU-bound: it runs on the CPU and uses no device" : BoundText(d.bound), d.confidence);
    }
    if (!d.evidence.empty()) text += ". Evidence: " + EvidenceList(d.evidence);
    std::string out = Para(text + ".", width, 0);
    for (const std::string& s : d.settle) out += Para("needed to decide: " + s, width, 2);
    return out;
  }

  static std::string StepText(const SteadyStep& step, int width) {
    std::string text = fmt::format("Gains are those of one steady step of {}, from {}", HumanMs(step.ms),
                                   Counted(step.steps, "step"));
    if (step.steady_steps == 0)
      text = fmt::format("No steps were found; gains are those of the run of {}", HumanMs(step.ms));
    if (step.label && step.steady_steps > 0) text += fmt::format(" labelled {}", *step.label);
    if (step.source == StepSource::kRepetition) text += " found by their repeated kernels";
    if (step.source == StepSource::kGraphLaunches) text += " found by their graph launches";
    if (step.recorder && step.recorded_ms > 1.01 * step.ms) {
      text += fmt::format("; recorded, it took {}, of which about {:.0f} % is the cost of {}",
                          HumanMs(step.recorded_ms), 100 * (1 - step.ms / step.recorded_ms), *step.recorder);
    }
    return Para(text + ".", width, 0);
  }

  static std::string FindingText(const Finding& f, size_t number, std::optional<PhaseKind> phase, int width) {
    std::string head =
        fmt::format("{}. {} [{}, {}]: ", number, f.title, f.rule, RuleSeverityName(f.severity));
    if (const std::string gain = CostText(f); !gain.empty() && (f.gain_ms || f.impact_ms.value_or(0) > 0))
      head += gain + ", ";
    head += fmt::format("confidence {:.2f}", f.confidence);
    std::string out = Para(head, width, 0);
    out += Para("where: " + PlaceText(f, phase), width, 3);
    out += Para(f.message, width, 3);
    if (!f.counted_in.empty()) {
      const char* how_much = f.impact_ms.value_or(0) > 0 ? "Part of this cost" : "This cost";
      out += Para(fmt::format("{} is counted in {}.", how_much, fmt::join(f.counted_in, ", ")), width, 3);
    }
    if (!f.gain_after.empty())
      out +=
          Para(fmt::format("This gain presumes the fixes for {}.", fmt::join(f.gain_after, ", ")), width, 3);
    if (f.step_after_ms && number > 1)
      out += Para(fmt::format("After this and the fixes above, {} takes about {}.",
                              f.phase == "whole" ? "the run" : "a step", HumanMs(*f.step_after_ms)),
                  width, 3);
    if (const std::string evidence = EvidenceList(f.evidence); !evidence.empty())
      out += Para("evidence: " + evidence, width, 3);
    for (const std::string& s : f.suggestions) out += Para("- " + s, width, 3);
    return out;
  }

  static std::string NearLimitText(const std::vector<NearLimit>& list, int width) {
    std::string out =
        Para("Already near the limit; only less work or a smaller type makes them faster:", width, 0);
    for (const NearLimit& k : list) {
      out += Para(fmt::format("- {}: {} ({:.1f} % of device time) at {:.0f} % of its roofline", k.kernel,
                              HumanMs(k.total_ms), 100 * k.share, 100 * k.efficiency),
                  width, 0);
    }
    return out;
  }

  static std::string ToolFindingHead(const ToolFinding& w) {
    std::string head = fmt::format("- {} [{}]", w.kernel, w.rule);
    if (w.executions > 1) head += fmt::format(", {} executions", HumanCount(w.executions));
    head += fmt::format(", {}", HumanMs(w.kernel_ms));
    if (w.estimated_ms) return head + fmt::format(": could save up to {}", HumanMs(*w.estimated_ms));
    if (w.speedup_pct) head += fmt::format(": could save up to {:.0f} % of a part", *w.speedup_pct);
    return head;
  }

  // The opinion of another program, marked as such.
  static std::string ToolText(const std::vector<ToolFinding>& list, int width) {
    constexpr size_t kShown = 6;
    std::string out =
        Para(fmt::format("Suggestions of {} (its own estimates, not checked by NeuroLens):", list[0].tool),
             width, 0);
    for (size_t i = 0; i < std::min(kShown, list.size()); ++i)
      out += Para(ToolFindingHead(list[i]), width, 0) + Para(FirstSentences(list[i].message), width, 3);
    if (list.size() > kShown)
      out += fmt::format("{} more: SELECT * FROM tool_finding\n", list.size() - kShown);
    return out;
  }
  // The start of a long text, so that one message does not fill the screen.
  static std::string FirstSentences(const std::string& text) {
    constexpr size_t kMost = 240;
    if (text.size() <= kMost) return text;
    const size_t stop = text.rfind(". ", kMost);
    return stop == std::string::npos ? text.substr(0, text.rfind(' ', kMost)) + " ..."
                                     : text.substr(0, stop + 1);
  }

  // The most frequent reasons: a screen full of what a run lacks helps nobody.
  static std::string NotAssessedText(const FindingsReply& r, int width) {
    constexpr size_t kShown = 3;
    std::vector<std::pair<std::string, int>> reasons;
    for (const NotAssessed& n : r.not_assessed) {
      const std::string& reason = n.needs.front();
      const auto same =
          std::find_if(reasons.begin(), reasons.end(), [&](const auto& x) { return x.first == reason; });
      if (same == reasons.end()) {
        reasons.emplace_back(reason, 1);
      } else {
        ++same->second;
      }
    }
    std::stable_sort(reasons.begin(), reasons.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string out = fmt::format("{} of {} rules not assessed", r.not_assessed.size(), r.rules);
    int others = static_cast<int>(r.not_assessed.size());
    for (size_t i = 0; i < std::min(kShown, reasons.size()); ++i) {
      const auto& [reason, count] = reasons[i];
      out += fmt::format("{} {} {} {}", i == 0 ? ":" : ";", count, count == 1 ? "needs" : "need", reason);
      others -= count;
    }
    if (others > 0) out += fmt::format("; {} other{} (--json)", others, others == 1 ? "" : "s");
    return Para(out + ".", width, 0);
  }

  AnalysisParams params_;
  std::string phase_, severity_ = "low";
  int64_t limit_ = 15;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<FindingsOp>(); }

}  // namespace nl::ops::findings
