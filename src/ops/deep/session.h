// SPDX-License-Identifier: Apache-2.0
#pragma once
// One run of `neurolens deep`: the steps in order, each of which adds to the bundle and to the metrics. A
// step that fails leaves what it has, and a problem: the bundle stays partial and the command fails. Thread
// rule: one thread.

#include <optional>
#include <string>
#include <vector>

#include "base/run_program.h"
#include "deep/bundle.h"
#include "deep/metrics.h"
#include "deep/ncu_command.h"
#include "deep/plan.h"
#include "deep/tools.h"
#include "ops/deep/reply.h"
#include "ops/op.h"

namespace nl::ops::deep {

struct DeepParams {
  std::string mode = "deep", out = "neurolens-deep", replay = "kernel", clock_control = "none";
  std::string metric_set = "deep_dive";
  std::string config, capture_range, timeline;
  int64_t top_n = 20, keep = 5, max_size = 0;
  double duration = 0;
  bool nsys = false, plan_only = false;
  std::vector<std::string> command, tags, sets;
  // Of --config: the text of the file, and its settings after variant, --set and defaults.
  std::string workload_text;
  Json workload;

  bool light() const { return mode == "light"; }
  // The label of --capture-range nvtx:LABEL; empty: none.
  std::string NvtxRange() const;
};

class DeepSession {
 public:
  // `tools`: those that will be run, found before anything else is done.
  DeepSession(OpContext& context, const DeepParams& params, std::vector<nl::deep::Tool> tools,
              nl::deep::Bundle bundle);

  // Errors of steps are in `problems`; an error here is one of the bundle itself.
  Result<DeepReply> Run(std::vector<Error>& problems);

 private:
  using Commands = std::vector<std::vector<std::string>>;
  // Steps; the first three in timeline.cc, those of Nsight Compute in counters.cc, WritePrediction in
  // prediction.cc, what else is written in files.cc.
  Status Timeline();
  Status RecordTimeline();
  Status RecordWithNsys();
  Status Plan();
  Status CollectCounters();
  Status RunNcu(const nl::deep::NcuOptions& options);
  Status ExportPages(const nl::deep::NcuOptions& options);
  Error NothingMatched(const nl::deep::NcuLog& log) const;
  Status AttachCounters(const std::string& report);
  Status JoinCounters();
  Status WriteSettings();
  Status WriteInputs();
  Status WriteEnvironment();
  Status WriteReports();
  Status WriteKernels();
  Status WritePrediction();
  Status WriteMetrics(std::vector<Error>& problems);

  // Runs a command of a tool with our Python package in reach; what the program prints goes to
  // FOLDER/program.out. `tool` gets time and status.
  Result<ProgramResult> RunTool(nl::deep::DeepTool& tool, const std::string& folder,
                                const std::vector<std::string>& command);
  const nl::deep::Tool& Found(std::string_view name) const;
  nl::deep::DeepTool& ToolRow(const std::string& name);
  void Fail(Error error, std::vector<Error>& problems);

  OpContext& context_;
  const DeepParams& params_;
  std::vector<nl::deep::Tool> tools_;
  nl::deep::Bundle bundle_;
  nl::deep::DeepMetrics metrics_;
  std::optional<nl::deep::DeepPlan> plan_;
  Commands ncu_commands_;
  bool range_is_push_pop_ = true;
};

}  // namespace nl::ops::deep
