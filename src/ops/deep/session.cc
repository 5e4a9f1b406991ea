// SPDX-License-Identifier: Apache-2.0
#include "ops/deep/session.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/check.h"
#include "base/file_ops.h"
#include "base/time_text.h"
#include "base/uuid.h"
#include "capture/launcher/environment.h"

namespace nl::ops::deep {

using nl::deep::DeepTool;
using nl::deep::Tool;

std::string DeepParams::NvtxRange() const {
  constexpr std::string_view kNvtx = "nvtx:";
  return capture_range.starts_with(kNvtx) ? capture_range.substr(kNvtx.size()) : "";
}

DeepSession::DeepSession(OpContext& context, const DeepParams& params, std::vector<Tool> tools,
                         nl::deep::Bundle bundle)
    : context_(context), params_(params), tools_(std::move(tools)), bundle_(std::move(bundle)) {
  metrics_.mode = params.light() ? nl::deep::DeepMode::kLight : nl::deep::DeepMode::kDeep;
  metrics_.created_at = Rfc3339Utc(UnixNowNs());
  metrics_.command = params.command;
}

Result<DeepReply> DeepSession::Run(std::vector<Error>& problems) {
  const Status timeline = Timeline();
  NL_TRY(bundle_.Rename(metrics_.run_id.value_or(NewUuidV7())));
  if (!timeline.ok()) Fail(timeline.error(), problems);
  const auto step = [&](Status (DeepSession::*work)()) {
    if (context_.Cancelled()) return false;
    const Status done = (this->*work)();
    if (!done.ok()) Fail(done.error(), problems);
    return done.ok();
  };
  step(&DeepSession::WriteSettings);
  if (timeline.ok() && step(&DeepSession::Plan)) {
    const bool collected = params_.light() || step(&DeepSession::CollectCounters);
    if (!params_.plan_only || !collected) step(&DeepSession::JoinCounters);
  }
  if (metrics_.run_id) {
    step(&DeepSession::WriteEnvironment);
    step(&DeepSession::WriteReports);
    step(&DeepSession::WriteKernels);
    step(&DeepSession::WritePrediction);
  }
  if (context_.Cancelled() && problems.empty()) Fail(Cancelled(), problems);
  NL_TRY(WriteMetrics(problems));
  DeepReply reply;
  static_cast<nl::deep::DeepMetrics&>(reply) = metrics_;
  reply.bundle = bundle_.path();
  NL_ASSIGN(reply.files, bundle_.Files());
  NL_ASSIGN(reply.removed, nl::deep::KeepNewest(params_.out, params_.keep,
                                                bundle_.path().substr(bundle_.path().rfind('/') + 1)));
  return reply;
}

void DeepSession::Fail(Error error, std::vector<Error>& problems) {
  metrics_.problems.push_back(error.ToString());
  problems.push_back(std::move(error));
}

const Tool& DeepSession::Found(std::string_view name) const {
  const auto found =
      std::find_if(tools_.begin(), tools_.end(), [&](const Tool& t) { return t.name == name; });
  NL_CHECK(found != tools_.end());
  return *found;
}

DeepTool& DeepSession::ToolRow(const std::string& name) {
  for (DeepTool& tool : metrics_.tools) {
    if (tool.tool == name) return tool;
  }
  DeepTool row;
  row.tool = name;
  for (const Tool& tool : tools_) {
    if (tool.name == name && !tool.version.empty()) row.version = tool.version;
  }
  metrics_.tools.push_back(std::move(row));
  return metrics_.tools.back();
}

Result<ProgramResult> DeepSession::RunTool(DeepTool& tool, const std::string& folder,
                                           const std::vector<std::string>& command) {
  std::vector<std::string> words;
  // As the recorder does, so that a program that imports neurolens finds it here too.
  const std::string python = capture::FindPythonDirectory(), env = FindProgram("env");
  if (!python.empty() && !env.empty()) words = {env, "PYTHONPATH=" + capture::PythonPath(python)};
  words.insert(words.end(), command.begin(), command.end());
  NL_ASSIGN(const std::string path, bundle_.Folder(folder));
  if (context_.progress) context_.progress("running the program under " + tool.tool, 0, 0);
  const auto began = std::chrono::steady_clock::now();
  Result<ProgramResult> ran = RunProgram(
      words, [this] { return !context_.Cancelled(); }, 256 << 10, path + "/program.out");
  tool.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (ran.ok()) tool.exit_status = ran->status;
  return ran;
}

}  // namespace nl::ops::deep
