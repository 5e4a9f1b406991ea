// SPDX-License-Identifier: Apache-2.0
// The first steps of `neurolens deep`: the timeline, by our recorder or by Nsight Systems, and the plan.
#include <algorithm>

#include <fmt/format.h>

#include "analyze/run_data.h"
#include "base/file_ops.h"
#include "base/human.h"
#include "base/record_json.h"
#include "ops/deep/session.h"
#include "ops/import_recording.h"
#include "ops/open_analysis.h"
#include "ops/record_run.h"

namespace nl::ops::deep {

using nl::deep::DeepTool;

namespace {

constexpr char kNsysStats[] = "cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,cuda_api_sum,nvtx_sum,osrt_sum";

// How the program opens ranges of this label, as the timeline saw them.
bool IsPushPop(const RunData& data, const std::string& label) {
  for (size_t i = 0; i < data.range.name.size(); ++i) {
    if (!IsNull(data.range.name[i]) && data.Text(data.range.name[i]) == label)
      return IsNull(data.range.kind[i]) || data.Text(data.range.kind[i]) != "async";
  }
  return true;
}

}  // namespace

Status DeepSession::Timeline() {
  if (!params_.timeline.empty()) {
    NL_ASSIGN(const OpenRun run, OpenSnapshot(context_, params_.timeline));
    metrics_.run_id = run.run.run_id;
    metrics_.overhead_reason = "the timeline was recorded before";
    return {};
  }
  NL_TRY(params_.nsys ? RecordWithNsys() : RecordTimeline());
  if (context_.Cancelled()) return Cancelled();
  return {};
}

Status DeepSession::RecordTimeline() {
  RecordParams recording;
  recording.command = params_.command;
  recording.tags = params_.tags;
  recording.capture_range = params_.capture_range;
  recording.duration = params_.duration;
  recording.counters = params_.light();
  NL_TRY(bundle_.Folder("timeline"));
  recording.out = bundle_.PathOf("timeline/capture.nlcap");
  NL_ASSIGN(const capture::LaunchOptions options, recording.Options());
  DeepTool& tool = ToolRow("timeline");
  tool.version = options.version;
  tool.command = {"neurolens", "record", "--out", "capture.nlcap"};
  if (!recording.counters) tool.command.emplace_back("--no-counters");
  if (!recording.capture_range.empty())
    tool.command.insert(tool.command.end(), {"--capture-range", recording.capture_range});
  if (recording.duration > 0)
    tool.command.insert(tool.command.end(), {"--duration", fmt::format("{}", recording.duration)});
  tool.command.emplace_back("--");
  tool.command.insert(tool.command.end(), params_.command.begin(), params_.command.end());
  NL_TRY(bundle_.WriteCommand("timeline", {tool.command}));
  NL_ASSIGN(const RecordedRun recorded, RecordAndImport(context_, options, params_.tags));
  const RecordReply& capture = recorded.capture;
  tool.exit_status = capture.exit_status;
  tool.seconds = capture.wall_ms / 1e3;
  for (const std::string& message : capture.messages) metrics_.notes.push_back(message);
  if (capture.cost_ms > 0 && capture.cost_ms < capture.wall_ms)
    metrics_.overhead_pct = 100 * capture.cost_ms / (capture.wall_ms - capture.cost_ms);
  else
    metrics_.overhead_reason = "the recorder measured nothing of itself";
  metrics_.run_id = recorded.run_id;
  const std::string words = fmt::format("{}", fmt::join(capture.messages, "; "));
  if (capture.exit_status != 0) {
    tool.problem = fmt::format("the program ended with status {}", capture.exit_status);
    return InvalidInput(fmt::format("the program ended with status {} while its timeline was recorded",
                                    capture.exit_status))
        .Hint("counters are not collected for a program that fails");
  }
  if (!recorded.imported.ok()) {
    tool.problem = recorded.imported.error().ToString();
    return recorded.imported.error();
  }
  if (capture.kernels == 0) {
    tool.problem = words.empty() ? "no kernel was recorded" : words;
    return InvalidInput(fmt::format("the timeline has no kernels{}{}", words.empty() ? "" : ": ", words))
        .Hint("`neurolens doctor` shows what can be recorded on this machine");
  }
  return {};
}

Status DeepSession::RecordWithNsys() {
  const std::string nsys = Found("nsys").path;
  NL_ASSIGN(const std::string folder, bundle_.Folder("nsys"));
  const std::string report = folder + "/report.nsys-rep", sqlite = folder + "/report.sqlite";
  std::vector<std::string> profile{nsys, "profile", "--trace", "cuda,nvtx,osrt", "--sample", "none"};
  if (const std::string label = params_.NvtxRange(); !label.empty())
    profile.insert(profile.end(),
                   {"--capture-range", "nvtx", "--nvtx-capture", label + "@*", "--capture-range-end", "stop",
                    "--env-var", "NSYS_NVTX_PROFILER_REGISTER_ONLY=0"});
  if (params_.duration > 0)
    profile.insert(profile.end(), {"--duration", fmt::format("{}", params_.duration), "--kill", "none"});
  profile.insert(profile.end(), {"--force-overwrite", "true", "--output", report});
  profile.insert(profile.end(), params_.command.begin(), params_.command.end());
  const Commands commands{
      profile,
      {nsys, "export", "--type", "sqlite", "--force-overwrite", "true", "--output", sqlite, report},
      {nsys, "stats", "--report", kNsysStats, "--format", "csv", "--force-export", "false", "--output",
       folder + "/stats", sqlite}};
  NL_TRY(bundle_.WriteCommand("nsys", commands));
  DeepTool& tool = ToolRow("nsys");
  tool.command = profile;
  double seconds = 0;
  for (const std::vector<std::string>& command : commands) {
    NL_ASSIGN(const ProgramResult ran, RunTool(tool, "nsys", command));
    seconds += tool.seconds.value_or(0);
    tool.seconds = seconds;
    if (ran.status == 0) continue;
    const std::string said = nl::deep::ToolsWords(ran.err.empty() ? ran.out : ran.err);
    tool.problem = said;
    return InvalidInput(fmt::format("nsys {} ended with status {}: {}", command[1], ran.status, said))
        .Hint("without --nsys, neurolens records the timeline itself");
  }
  ImportArguments request;
  request.paths = {sqlite};
  request.tags = params_.tags;
  request.only = true;
  NL_ASSIGN(ImportedRun run, ImportRecording(context_, request, "the export of nsys"));
  metrics_.run_id = std::move(run.run_id);
  metrics_.overhead_reason = "nsys does not report its own overhead";
  return {};
}

Status DeepSession::Plan() {
  AnalysisParams analysis;
  analysis.run = *metrics_.run_id;
  NL_ASSIGN(const OpenAnalysis open, Analyze(context_, analysis));
  NL_ASSIGN(plan_, nl::deep::MakePlan(*open.analysis, *metrics_.run_id, params_.top_n));
  if (const std::string label = params_.NvtxRange(); !label.empty()) {
    NL_TRY(open.analysis->Load(NL_READS(Range, name, kind)));
    range_is_push_pop_ = IsPushPop(open.analysis->data(), label);
  }
  NL_TRY(bundle_.Write("plan.json", ToJsonText(*plan_, 2) + "\n"));
  metrics_.stages = plan_->stages;
  metrics_.device_ms = plan_->device_ms;
  metrics_.selected_ms = plan_->selected_ms;
  metrics_.selected = static_cast<int64_t>(plan_->kernels.size());
  if (plan_->kernels.empty()) return InvalidInput("the timeline has no kernels to collect counters for");
  return {};
}

}  // namespace nl::ops::deep
