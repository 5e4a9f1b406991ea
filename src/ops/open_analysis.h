// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the operations that explain one run: its parameters and its analysis.
// Thread rule: one request, one thread.

#include <memory>
#include <string>
#include <vector>

#include "analyze/analysis.h"
#include "ops/open_snapshot.h"

namespace nl {

struct AnalysisParams {
  std::string run = "@latest", peaks, peaks_file, model_config;
  std::vector<std::string> rules;

  void BindRun(ParamBinder& binder);
  void BindPeaks(ParamBinder& binder);
  void BindModel(ParamBinder& binder);
  void BindRules(ParamBinder& binder);
};

struct OpenAnalysis {
  OpenRun run;
  std::unique_ptr<Analysis> analysis;
};
// Opens the run and reads the files the parameters name. Columns are loaded when facts are needed.
Result<OpenAnalysis> Analyze(const OpContext& context, const AnalysisParams& params);

// Unsupported when the source of the run recorded durations without times: starts give only the
// order, so gaps and overlap are unknown.
Status NeedTimeline(const OpenAnalysis& open);

// "peak_dram_gbps=4800,sm_count=132" as numbers; a bad part is InvalidInput naming it.
Result<std::map<std::string, double>> ParsePeaks(const std::string& text);

}  // namespace nl
