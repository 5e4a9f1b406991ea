// SPDX-License-Identifier: Apache-2.0
#include "ops/open_analysis.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "analyze/facts/timeline.h"
#include "analyze/steady_findings.h"
#include "base/file_ops.h"
#include "base/human.h"
#include "base/plural.h"
#include "ops/measured_peaks.h"
#include "report/phase_label.h"

namespace nl {

void AnalysisParams::BindRun(ParamBinder& b) { b.Add("run", run, "Run to look at").Positional().Run(); }

void BindPhase(ParamBinder& b, std::string& phase) {
  phase = "auto";
  b.Add("phase", phase,
        "Part of the run to look at alone (`neurolens phases` lists them); auto: steady if the program was "
        "recorded from its start and less than three quarters of the run are steady, else all")
      .Choices({"auto", "all", "startup", "warmup", "steady", "tail"});
}

void AnalysisParams::BindPhase(ParamBinder& b) { nl::BindPhase(b, phase); }

void AnalysisParams::BindPhaseOfReport(ParamBinder& b) {
  phase = "auto";
  auto_is_whole = true;
  b.Add("phase", phase,
        "Part of the run to report on alone (`neurolens phases` lists them); auto: the whole run, with the "
        "verdict and findings of the steady phase if the program was recorded from its start and less than "
        "three quarters of the run are steady; all: the verdict and findings are of the whole run")
      .Choices({"auto", "all", "startup", "warmup", "steady", "tail"});
}

void AnalysisParams::BindPhaseOfTotals(ParamBinder& b) {
  b.Add("phase", phase, "Part of the run to look at alone (`neurolens phases` lists them)")
      .Choices({"all", "startup", "warmup", "steady", "tail"});
}

void AnalysisParams::BindPeaks(ParamBinder& b) {
  b.Add("peaks", peaks,
        "Device peaks to use: datasheet, measured (`neurolens peaks measure`), or "
        "peak_dram_gbps=4800,peak_tflops=989,sm_count=132");
  b.Add("peaks_file", peaks_file, "YAML or JSON file with devices to add to the peaks table").Path();
}

void AnalysisParams::BindModel(ParamBinder& b) {
  b.Add("model_config", model_config, "Hugging Face config.json with the model's dimensions").Path();
}

void AnalysisParams::BindRules(ParamBinder& b) {
  b.Add("rules", rules, "YAML file with rules to add or override").Path();
}

Status ReadPeaksOption(const std::string& text, AnalysisOptions& to) {
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    at = comma + 1;
    if (part.empty()) continue;
    if (part == "measured" || part == "datasheet") {
      to.peak_choice = part == "measured" ? PeakChoice::kMeasured : PeakChoice::kDatasheet;
      continue;
    }
    const size_t equals = part.find('=');
    char* end = nullptr;
    const double value = equals == std::string::npos ? 0 : std::strtod(part.c_str() + equals + 1, &end);
    if (equals == 0 || equals == std::string::npos || *end != '\0' || end == part.c_str() + equals + 1 ||
        !std::isfinite(value) || value <= 0) {
      return InvalidInput(
                 fmt::format("--peaks: '{}' is not measured, datasheet or name=number with a number above 0",
                             part))
          .Hint("for example --peaks peak_dram_gbps=4800,peak_tflops=989");
    }
    to.peaks[part.substr(0, equals)] = value;
  }
  return {};
}

namespace {

// The part of the run that `asked` names, as replies give it; none: the whole run.
Result<std::optional<PhaseTime>> LookAtPhase(Analysis& analysis, const std::string& asked) {
  NL_ASSIGN(const std::optional<PhasesFacts::Span> steady, SteadyByDefault(analysis));
  if (asked == "auto" && !steady) return std::optional<PhaseTime>();
  const std::string name = asked == "auto" ? "steady" : asked;
  NL_ASSIGN(const PhasesFacts* phases, analysis.Need<PhasesFacts>());
  const PhasesFacts::Span* span = FindPhase(*phases, name);
  if (span == nullptr) return NoSuchPhase(*phases, name);
  const PhaseTime time = TimeOf(*span, *phases);
  analysis.LookAt({span->start_ns, span->end_ns});
  return std::optional(time);
}

}  // namespace

Error NoSuchPhase(const PhasesFacts& phases, const std::string& name) {
  return Unsupported(phases.reason.empty() ? fmt::format("this run has no {} phase", name)
                                           : "this run has no phases: " + phases.reason)
      .Hint("`neurolens phases` lists the phases of a run");
}

std::string PhaseLine(const std::optional<PhaseTime>& phase) {
  if (!phase) return "";
  return fmt::format("{}: {}{} of the run\n", PhaseTitle(phase->phase),
                     phase->steps > 0 ? Counted(phase->steps, "step") + ", " : "", HumanMs(phase->ms));
}

Result<OpenAnalysis> Analyze(const OpContext& context, const AnalysisParams& params) {
  AnalysisOptions options;
  options.cancelled = context.cancelled;
  NL_TRY(ReadPeaksOption(params.peaks, options));
  // A document that cannot be read takes its figures away, not the analysis; `neurolens peaks` reports it.
  options.measured = ReadStoredPeaks(context).devices;
  options.peaks_file = params.peaks_file;
  if (!params.model_config.empty()) {
    NL_ASSIGN(options.model_config, ReadJsonFile(params.model_config));
  }
  options.rules_files = params.rules;
  OpenAnalysis out;
  out.judged_whole = params.auto_is_whole && params.phase == "all";
  NL_ASSIGN(out.run, OpenSnapshot(context, params.run));
  NL_ASSIGN(Json document, ReadDocument(out.run));
  out.analysis = std::make_unique<Analysis>(*out.run.snapshot, std::move(document), std::move(options));
  const bool timed = !out.analysis->data().OrderOnly();
  const bool whole = params.phase == "all" || (params.phase == "auto" && (!timed || params.auto_is_whole));
  if (!whole) {
    NL_ASSIGN(out.phase, LookAtPhase(*out.analysis, params.phase));
  }
  return out;
}

Error WithoutTimeline() {
  return Unsupported("this run has no timeline: its source recorded durations but no start times")
      .Hint(
          "`kernels`, `roofline` and `findings` work; attach the report to a run with a timeline: "
          "neurolens import --attach RUN FILE");
}

Status NeedTimeline(const OpenAnalysis& open) {
  if (!open.analysis->data().OrderOnly()) return {};
  return WithoutTimeline();
}

}  // namespace nl
