// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the operations that explain one run: its parameters and its analysis.
// Thread rule: one request, one thread.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/facts/phases.h"
#include "ops/open_snapshot.h"

namespace nl {

struct AnalysisParams {
  // `phase` is all unless an operation binds it.
  std::string run = "@latest", phase = "all", peaks, peaks_file, model_config;
  std::vector<std::string> rules;
  bool auto_is_whole =
      false;  // phase auto: the analysis is of the run, and a report of it chooses what it judges

  void BindRun(ParamBinder& binder);
  void BindPhase(ParamBinder& binder);          // by default auto
  void BindPhaseOfReport(ParamBinder& binder);  // by default auto: the run, judged by its steady phase
  void BindPhaseOfTotals(ParamBinder& binder);  // by default all: totals are of the run
  void BindPeaks(ParamBinder& binder);
  void BindModel(ParamBinder& binder);
  void BindRules(ParamBinder& binder);
};

// --phase of an operation that chooses the part of several runs itself (ops/common_phase.h); by default auto.
void BindPhase(ParamBinder& binder, std::string& phase);

struct OpenAnalysis {
  OpenRun run;
  std::unique_ptr<Analysis> analysis;
  std::optional<PhaseTime> phase;  // that was asked for: the analysis is of this part alone; none: of all
  bool judged_whole = false;       // all was asked for: a report judges the run, not its steady phase
};
// Opens the run and reads the files the parameters name. Columns are loaded when facts are needed.
Result<OpenAnalysis> Analyze(const OpContext& context, const AnalysisParams& params);

Error NoSuchPhase(const PhasesFacts& phases, const std::string& name);

// "Steady phase: 12 steps, 3.1 s of the run", as a line of its own; empty for the whole run.
std::string PhaseLine(const std::optional<PhaseTime>& phase);

// Unsupported when the source of the run recorded durations without times: starts give only the
// order, so gaps and overlap are unknown.
Status NeedTimeline(const OpenAnalysis& open);
// The error of a run whose source gives the order of kernels alone.
Error WithoutTimeline();

// --peaks: "measured" or "datasheet", and "peak_dram_gbps=4800,sm_count=132" as numbers; a bad part is
// InvalidInput naming it.
Status ReadPeaksOption(const std::string& text, AnalysisOptions& to);

}  // namespace nl
