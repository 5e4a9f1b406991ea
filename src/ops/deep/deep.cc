// SPDX-License-Identifier: Apache-2.0
// `neurolens deep`: timeline, counters of the kernels that matter, reports, in one folder (docs/deep.md).

#include <fmt/format.h>

#include "analyze/cost_model/workload_config.h"
#include "base/run_program.h"
#include "capture/launcher/environment.h"
#include "ops/deep/session.h"

namespace nl::ops::deep {

namespace {

class DeepOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "deep";
    info.local = true;
    info.runs_programs = true;
    info.summary =
        "Profile a program in depth: its timeline, hardware counters of its top kernels, and reports";
    info.choose_when =
        "Choose it to learn what limits the kernels that matter. It runs the program twice: for the "
        "timeline, "
        "and under Nsight Compute; --mode light runs it once. `run` records the timeline alone.";
    info.example = "neurolens deep --top-n 10 -- python3 infer.py";
    info.cost = Cost::kMinutes;
    info.writes = true;
    info.stdout_is_programs = true;
    info.reply = ReplyOf<DeepReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("mode", params_.mode,
          "deep: counters by Nsight Compute, which runs each selected kernel several times; light: by PM "
          "sampling while the timeline is recorded")
        .Choices({"deep", "light"});
    b.Add("top_n", params_.top_n, "Kernels to select per stage, by total device time").Range(1, 10000);
    b.Add("out", params_.out, "Folder for bundles; each is OUT/RUN_ID").Path();
    b.Add("keep", params_.keep, "Bundles to keep in OUT; older ones are removed. 0: all").Range(0, 1e6);
    b.Add("max_size", params_.max_size,
          "Limit for the size of the bundle, in bytes; recordings are left out first. 0: no limit")
        .Range(0, 1e15);
    b.Add("nsys", params_.nsys, "Record the timeline with Nsight Systems");
    b.Add("timeline", params_.timeline,
          "Take this run of the same program as the timeline instead of recording one")
        .Run();
    b.Add("plan_only", params_.plan_only,
          "Write the plan and the command lines of Nsight Compute, and do not run it");
    b.Add("replay", params_.replay,
          "How Nsight Compute collects counters that do not fit into one pass: run the kernel, the "
          "application or an NVTX range again")
        .Choices({"kernel", "application", "range"});
    b.Add("metric_set", params_.metric_set,
          "What Nsight Compute collects: minimal: shares of peak and occupancy; roofline: also FLOPs and "
          "traffic; "
          "stalls: why warps wait; deep_dive: all of these")
        .Choices(nl::deep::kMetricSets);
    b.Add("clock_control", params_.clock_control,
          "none: clocks as they are; base: Nsight Compute locks them to the base clock")
        .Choices({"none", "base"});
    b.Add("capture_range", params_.capture_range, "Profile only inside NVTX ranges of this name: nvtx:LABEL");
    b.Add("duration", params_.duration,
          "Seconds of the timeline to record, from the start of the program; 0: until it ends")
        .Range(0, 1e7);
    b.Add("config", params_.config,
          "Model to run instead of a command: a workload file, or the name of one that comes with NeuroLens, "
          "such as llama_8b")
        .LocalOnly();
    b.Add("set", params_.sets,
          "With --config: override one setting of the workload, such as workload.batch=16 or variant=tiny")
        .KeyValue();
    b.Add("tag", params_.tags, "Tag for the run").KeyValue();
    b.Add("command", params_.command, "Program to profile, with its arguments, after --")
        .Positional()
        .LocalOnly();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_TRY(Check());
    std::vector<nl::deep::Tool> tools;
    // Before the program runs: it may run for hours.
    if (!params_.light() && !params_.plan_only) {
      NL_ASSIGN(nl::deep::Tool ncu, nl::deep::NeedTool("ncu"));
      tools.push_back(std::move(ncu));
    }
    if (params_.nsys) {
      NL_ASSIGN(nl::deep::Tool nsys, nl::deep::NeedTool("nsys"));
      tools.push_back(std::move(nsys));
    }
    NL_ASSIGN(nl::deep::Bundle bundle, nl::deep::Bundle::Make(params_.out));
    DeepSession session(context, params_, std::move(tools), std::move(bundle));
    std::vector<Error> problems;
    NL_ASSIGN(DeepReply done, session.Run(problems));
    Reply reply = Reply::Of(std::move(done));
    reply.problems = std::move(problems);
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    return DeepText(any.As<DeepReply>(), style.width, style.color);
  }

 private:
  // Before anything runs: a wrong name in it is found here.
  Status ReadConfig() {
    NL_ASSIGN(params_.workload_text, ReadWorkload(params_.config, true));
    NL_ASSIGN(params_.workload, ResolveWorkload(params_.workload_text, params_.config, params_.sets));
    params_.command = {"python3", "-m", "neurolens.models", "run", "--config", params_.config};
    for (const std::string& set : params_.sets) params_.command.insert(params_.command.end(), {"--set", set});
    return NeedPackage();
  }

  // The runner of models is part of the Python package. Asked of the interpreter itself, which may have it
  // installed.
  static Status NeedPackage() {
    const std::string python = FindProgram("python3"), env = FindProgram("env");
    if (python.empty() || env.empty())
      return NotFound("python3 is not on PATH: it runs the model of --config")
          .Hint("install Python, or add its folder to PATH");
    const std::string folder = capture::FindPythonDirectory();
    std::vector<std::string> words{env};
    if (!folder.empty()) words.push_back("PYTHONPATH=" + capture::PythonPath(folder));
    words.insert(words.end(), {python, "-c", "import neurolens.models"});
    NL_ASSIGN(const ProgramResult asked, RunProgram(words, [] { return true; }));
    if (asked.status == 0) return {};
    std::string said = asked.err;
    while (!said.empty() && said.back() == '\n') said.pop_back();
    return NotFound(
               fmt::format("{} cannot import the package neurolens, which runs the model of --config: {}",
                           python, said.substr(said.rfind('\n') + 1)))
        .Hint(folder.empty() ? "install the package for this Python, or name its folder in NEUROLENS_PYTHON"
                             : fmt::format("the package is in {}", folder));
  }

  Status Check() {
    if (params_.config.empty() == params_.command.empty()) {
      return InvalidInput(params_.config.empty()
                              ? "no program to profile"
                              : "--config names the workload; a command cannot be given too")
          .Hint("write the command after --, or name a model with --config FILE");
    }
    if (!params_.sets.empty() && params_.config.empty())
      return InvalidInput("--set changes a setting of a workload, and none is named")
          .Hint("name it with --config FILE");
    if (!params_.config.empty()) NL_TRY(ReadConfig());
    if (!params_.capture_range.empty() && params_.NvtxRange().empty())
      return InvalidInput(fmt::format("--capture-range must be nvtx:LABEL, not '{}'", params_.capture_range))
          .Hint("Nsight Compute knows NVTX ranges only");
    if (params_.replay == "range" && params_.NvtxRange().empty())
      return InvalidInput("range replay needs a range").Hint("name it with --capture-range nvtx:LABEL");
    if (!params_.timeline.empty() && (params_.nsys || params_.light()))
      return InvalidInput("--timeline takes a timeline that is there: --nsys and --mode light record one")
          .Hint("leave out one of them");
    if (params_.plan_only && params_.light())
      return InvalidInput("--plan-only is about Nsight Compute, which --mode light does not use");
    if (params_.light() && params_.nsys)
      return InvalidInput(
                 "--mode light samples counters with the recorder of neurolens; --nsys does not use it")
          .Hint("leave out one of them");
    return {};
  }

  DeepParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<DeepOp>(); }

}  // namespace nl::ops::deep
