// SPDX-License-Identifier: Apache-2.0
// The steps of `neurolens deep` that have to do with counters: Nsight Compute over the program, its pages,
// and the counters beside the plan.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyze/cost_model/kernel_counters.h"
#include "base/file_ops.h"
#include "base/human.h"
#include "base/near_names.h"
#include "base/plural.h"
#include "base/units.h"
#include "capture/launcher/abilities.h"
#include "deep/ncu_name.h"
#include "ops/deep/session.h"
#include "ops/import_recording.h"
#include "ops/open_analysis.h"

namespace nl::ops::deep {

using nl::deep::DeepKernel;
using nl::deep::DeepTool;
using nl::deep::NcuLog;
using nl::deep::NcuOptions;
using nl::deep::PlanKernel;

namespace {

constexpr int64_t kMostLogBytes = 64 << 20;
constexpr double kOtherWork = 1.2;  // durations of launches with the same shapes differ less
// Under ncu caches are cold, which short kernels feel.
constexpr double kOtherWorkUnderNcu = 2, kColdCachesMs = 0.01;

DeepKernel RowOf(const PlanKernel& plan, double device_ms) {
  DeepKernel out;
  out.stage = plan.stage;
  out.kernel = plan.kernel;
  out.name = plan.name;
  out.device = plan.device;
  out.grid = plan.grid;
  out.block = plan.block;
  out.shapes = plan.shapes;
  out.launches = plan.launches;
  out.total_ms = plan.total_ms;
  out.mean_ms = plan.total_ms / static_cast<double>(plan.launches);
  if (device_ms > 0) out.share = plan.total_ms / device_ms;
  return out;
}

// Why what ncu measured is not of this kernel; "" where it may be.
std::string OtherWork(const PlanKernel& plan, const CounterValues& values) {
  const double ratio = plan.launch_ms > 0 ? plan.launch_ms / plan.median_ms : 1;
  if (!plan.same_shapes && std::max(ratio, 1 / ratio) > kOtherWork)
    return fmt::format(
        "ncu measured a launch of this name and grid that {} other work: it takes {} in the timeline, "
        "not {}",
        plan.shapes ? "does" : "may do", HumanMs(plan.launch_ms), HumanMs(plan.median_ms));
  if (IsNull(values.dur_ns) || values.dur_ns <= 0) return "";
  const double measured_ms = Ms(values.dur_ns);
  if (std::abs(measured_ms - plan.median_ms) <= kColdCachesMs ||
      std::max(measured_ms, plan.median_ms) <= kOtherWorkUnderNcu * std::min(measured_ms, plan.median_ms))
    return "";
  return fmt::format(
      "ncu measured a launch of this name and grid that does other work: it took {} there, not {}; the "
      "program launched its kernels in another order than in the timeline",
      HumanMs(measured_ms), HumanMs(plan.median_ms));
}

}  // namespace

Status DeepSession::CollectCounters() {
  NcuOptions options;
  options.ncu = params_.plan_only ? "ncu" : Found("ncu").path;
  options.replay = params_.replay;
  options.clock_control = params_.clock_control;
  options.metric_set = params_.metric_set;
  options.nvtx_range = params_.NvtxRange();
  options.range_is_push_pop = range_is_push_pop_;
  NL_ASSIGN(const std::string folder, bundle_.Folder("ncu"));
  options.report = folder + "/report.ncu-rep";
  options.log = folder + "/ncu.log";
  ToolRow("ncu").command = NcuCommand(*plan_, options, params_.command);
  ncu_commands_ = {ToolRow("ncu").command, nl::deep::NcuPageCommand(options.ncu, options.report, "raw"),
                   nl::deep::NcuPageCommand(options.ncu, options.report, "details")};
  NL_TRY(bundle_.WriteCommand("ncu", ncu_commands_));
  if (params_.plan_only) {
    metrics_.notes.push_back("--plan-only: ncu/cmd.txt has the command lines that collect the counters");
    return {};
  }
  NL_TRY(RunNcu(options));
  NL_TRY(ExportPages(options));
  if (options.replay == "range") {
    metrics_.notes.push_back(
        "range replay measures ranges as a whole: its counters are in ncu/ and are not joined to kernels");
    return {};
  }
  return AttachCounters(options.report);
}

Status DeepSession::RunNcu(const NcuOptions& options) {
  DeepTool& tool = ToolRow("ncu");
  NL_ASSIGN(const ProgramResult ran, RunTool(tool, "ncu", tool.command));
  const Result<std::string> log_file = ReadWholeFile(options.log, kMostLogBytes);
  const std::string text = log_file.ok() ? *log_file : ran.err;
  const NcuLog log = nl::deep::ReadNcuLog(text);
  const bool errors = text.find("==ERROR==") != std::string::npos;
  if (log.no_permission) {
    tool.problem = nl::deep::ToolsWords(text);
    return Unsupported(fmt::format("ncu cannot read hardware counters: {}", *tool.problem))
        .Hint(nl::deep::kCounterPermission);
  }
  if (ran.status != 0 || errors) {
    tool.problem = nl::deep::ToolsWords(errors || ran.err.empty() ? text : ran.err);
    return InvalidInput(fmt::format("ncu ended with status {}: {}", ran.status, *tool.problem))
        .Hint(fmt::format("{} has all it said", options.log));
  }
  if (!PathExists(options.report)) {
    const Error nothing = NothingMatched(log);
    tool.problem = nothing.message;
    return nothing;
  }
  return {};
}

// The run is not repeated without the filter: it may take hours, and would answer another question.
Error DeepSession::NothingMatched(const NcuLog& log) const {
  if (params_.replay == "range")
    return InvalidInput(fmt::format("ncu measured nothing: it saw no range {}", params_.NvtxRange()))
        .Hint("the label and its case must be those of the program");
  std::string message = fmt::format("ncu measured nothing: none of the {} was launched as in the timeline",
                                    Counted(static_cast<int64_t>(plan_->kernels.size()), "selected kernel"));
  if (log.available.empty())
    return InvalidInput(std::move(message))
        .Hint(
            "under ncu the program launched no kernel that could be named; check that it does the same "
            "work each time it runs");
  const auto same = std::find_if(log.available.begin(), log.available.end(), [&](const std::string& name) {
    return nl::deep::NcuRegex(name) == plan_->kernels.front().ncu_regex;
  });
  if (same != log.available.end())
    return InvalidInput(message + "; the program launches them less often than in the timeline")
        .Hint(
            "the program must do the same work each time it runs: fix its inputs, seeds and number of steps");
  return InvalidInput(message + "; the program launches other kernels than in the timeline")
      .Hint(NearNamesHint(plan_->kernels.front().kernel, log.available));
}

Status DeepSession::ExportPages(const NcuOptions& options) {
  for (const char* page : {"raw", "details"}) {
    const std::string path = bundle_.PathOf(fmt::format("ncu/{}.csv", page));
    NL_ASSIGN(const ProgramResult ran, RunProgram(
                                           nl::deep::NcuPageCommand(options.ncu, options.report, page),
                                           [this] { return !context_.Cancelled(); }, 64 << 10, path));
    if (ran.status == 0) continue;
    ToolRow("ncu").problem = nl::deep::ToolsWords(ran.err);
    return InvalidInput(
        fmt::format("ncu --import ended with status {}: {}", ran.status, nl::deep::ToolsWords(ran.err)));
  }
  return {};
}

Status DeepSession::AttachCounters(const std::string& report) {
  ImportArguments request;
  request.paths = {report};
  request.more = Json{{"attach", *metrics_.run_id}, {"join", "same_kernel"}};
  NL_ASSIGN(const ImportOutcome imported, ImportPaths(context_, request));
  const ImportAttachment& attached = *imported.reply.attached;
  if (attached.matched < attached.kernels)
    metrics_.notes.push_back(fmt::format("{} of {} of the report of ncu are not in the timeline: {}",
                                         HumanCount(attached.kernels - attached.matched),
                                         Counted(attached.kernels, "kernel"),
                                         attached.unmatched.empty() ? "" : attached.unmatched[0].meaning));
  return {};
}

Status DeepSession::JoinCounters() {
  AnalysisParams params;
  params.run = *metrics_.run_id;
  NL_ASSIGN(const OpenAnalysis open, Analyze(context_, params));
  NL_TRY(open.analysis->Load(kKernelCounterReads));
  const RunData& data = open.analysis->data();
  const KernelCounters counters(data);
  double counted_ms = 0;
  bool no_sm = false;
  for (const PlanKernel& plan : plan_->kernels) {
    DeepKernel row = RowOf(plan, plan_->device_ms);
    const CounterValues* values = counters.Of(plan.kernel_id);
    const std::string other = values == nullptr || params_.light() ? "" : OtherWork(plan, *values);
    if (!other.empty()) {
      row.reason = other;
    } else if (values != nullptr) {
      AddCounters(*values, row);
      row.source = IsNull(values->source) ? "unknown" : std::string(data.Text(values->source));
      counted_ms += row.total_ms;
      ++metrics_.counted;
      no_sm = no_sm || !row.sm_throughput;
    } else {
      row.reason = params_.light() ? "no sample lies wholly inside one of its executions"
                                   : "ncu measured no launch of this name, grid and block";
    }
    metrics_.kernels.push_back(std::move(row));
  }
  metrics_.counted_ms = counted_ms;
  if (params_.light() && no_sm)
    metrics_.notes.push_back("PM sampling has no SM throughput: kernels are classified in mode deep only");
  if (metrics_.counted > 0 || params_.replay == "range") return {};
  if (!params_.light()) {
    // Whatever failed before has said so.
    if (!metrics_.problems.empty()) return {};
    return InvalidInput("no counters of ncu belong to a selected kernel: " +
                        metrics_.kernels.front().reason.value_or(""))
        .Hint(fmt::format("{} has what ncu measured", bundle_.PathOf("ncu/raw.csv")));
  }
  // As `doctor` says it.
  std::string why;
  for (const capture::Ability& ability : capture::FindAbilities()) {
    if (ability.name == "counters") why = (ability.works ? "; " : ": ") + ability.detail;
  }
  return Unsupported("no hardware counters were recorded" + why)
      .Hint(
          "`neurolens doctor` shows whether PM sampling works here; kernels shorter than the sampling "
          "interval of 100 us get no sample of their own");
}

}  // namespace nl::ops::deep
