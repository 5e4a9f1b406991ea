// SPDX-License-Identifier: Apache-2.0
// `neurolens bench`: the pairs of a suite listed, checked, or measured and verified.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <fmt/format.h>

#include "analyze/statistics/stats.h"
#include "base/file_ops.h"
#include "base/quantity.h"
#include "base/run_program.h"
#include "bench/command_pair.h"
#include "bench/worker.h"
#include "capture/launcher/environment.h"
#include "ops/bench/reply.h"
#include "ops/op.h"

namespace nl::embedded {
extern const std::string_view kBenchHeader;
}

namespace nl::ops::bench {

namespace {

namespace fs = std::filesystem;
using nl::bench::Command;
using nl::bench::Side;
using nl::bench::Target;
using nl::bench::Worker;

constexpr double kBatchNs = 2e6;  // one request to a worker takes some 50 us: a batch is longer by far
constexpr int64_t kMostPerBatch = 1000;

// Seconds of one iteration: the median of the batch.
Result<double> SecondsOf(const Json& reply) {
  std::vector<double> times;
  for (const Json& ns : reply.contains("ns") && reply["ns"].is_array() ? reply["ns"] : Json::array()) {
    if (ns.is_number()) times.push_back(ns.get<double>() / 1e9);
  }
  if (times.empty()) return InvalidInput("the answer to run has no times");
  return Median(std::move(times));
}

class BenchOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "bench";
    info.local = true;
    info.summary =
        "List, check or run a suite of benchmarks: baseline against optimized, verified and interleaved";
    info.choose_when =
        "Choose it for pairs of programs kept as files; `prove` compares two commands. A pair whose outputs "
        "or inputs "
        "cannot be trusted is rejected by the name of the check.";
    info.example = "neurolens bench run cpp:branch --suite examples/bench --budget 5s";
    info.cost = Cost::kMinutes;
    info.bad_input_status = 3;
    info.exit_status =
        "0 done, 1 a problem of the suite (check), or a pair that is slower, rejected or failed (run), 3 bad "
        "input, 4 "
        "internal error.";
    info.reply = ReplyOf<BenchReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("action", action_, "What to do").Positional().Choices({"ls", "check", "run"});
    b.Add("targets", words_, "Pairs: GROUP, GROUP:NAME,NAME with globs, or all").Positional();
    b.Add("suite", suite_, "Folder of the suite").Path();
    b.Add("precision", precision_, "Stop when the interval of the ratio is this narrow on each side");
    b.Add("budget", budget_, "Most time for the timed runs of one pair");
    b.Add("iterations", options_.iterations,
          "Exactly this many timed runs of each; 0: by precision and budget")
        .Range(0, 1e7);
    b.Add("warmup", options_.warmup, "Runs of each before the timed ones").Range(5, 1e6);
    b.Add("goal", goal_, "Speedup to reach").Range(0.01, 1e6);
    b.Add("python", python_, "Python interpreter for .py files");
    b.Add("validity", validity_, "strict: stop when the machine disturbs measurements; portable: state it")
        .Choices({"strict", "portable"});
    b.Add("allow_virtualization", allow_virtualization_, "Accept a virtual machine with --validity strict");
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(options_.precision, ParseShare("--precision", precision_, "0.5%"));
    NL_ASSIGN(options_.budget_s, ParseSeconds("--budget", budget_));
    NL_ASSIGN(const nl::bench::Suite suite, nl::bench::FindSuite(suite_));
    if (words_.empty()) words_.emplace_back("all");
    BenchReply reply;
    reply.suite = suite_;
    reply.problems = suite.problems;
    std::vector<Target> targets;
    if (!suite.targets.empty() || words_ != std::vector<std::string>{"all"}) {
      NL_ASSIGN(targets, ChooseTargets(suite, words_));
    }
    if (action_ == "check") reply.action = BenchAction::kCheck;
    if (action_ != "run") {
      for (const Target& target : targets) reply.targets.push_back(Listed(target));
      Reply out = Reply::Of(std::move(reply));
      out.answer_is_no = action_ == "check" && !suite.problems.empty();
      return out;
    }
    if (targets.empty()) return InvalidInput(fmt::format("{} has no pairs", suite_));
    return RunAll(context, targets, std::move(reply));
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return BenchText(reply.As<BenchReply>(), style.width, style.color);
  }

 private:
  BenchTarget Listed(const Target& target) const {
    BenchTarget out;
    out.target = target.Label();
    const auto shown = [&](const nl::bench::Program& program) {
      return program.file.empty() ? program.command
                                  : fs::path(program.file).lexically_relative(suite_).string();
    };
    out.baseline = shown(target.baseline);
    out.optimized = shown(target.optimized);
    return out;
  }

  Result<Reply> RunAll(OpContext& context, const std::vector<Target>& targets, BenchReply reply) {
    reply.action = BenchAction::kRun;
    reply.goal = goal_;
    const auto validity =
        validity_ == "strict" ? nl::bench::Validity::kStrict : nl::bench::Validity::kPortable;
    reply.environment = nl::bench::CheckEnvironment(validity, allow_virtualization_);
    if (validity == nl::bench::Validity::kStrict &&
        reply.environment->Count(nl::bench::CheckState::kError) > 0)
      return InvalidInput(
                 fmt::format("this machine disturbs measurements: {}", EnvironmentText(*reply.environment)))
          .Hint("--validity portable measures anyway and states it");
    NL_ASSIGN(const TempDir scratch, TempDir::Make("neurolens-bench-"));
    NL_TRY(MakeDirectories(scratch.path() + "/include/neurolens"));
    NL_TRY(WriteFileAtomically(scratch.path() + "/include/neurolens/bench.h", embedded::kBenchHeader));
    scratch_ = scratch.path();
    bool no = false;
    for (const Target& target : targets) {
      BenchTarget out = Listed(target);
      const Status done = target.baseline.file.empty() ? MeasureCommands(context, target, out)
                                                       : MeasureWorkers(context, target, out);
      if (!done.ok() && done.error().code == ErrorCode::kCancelled) return done.error();
      if (!done.ok()) {
        out.outcome = BenchOutcome::kFailed;
        out.reason = done.error().message;
      }
      no = no || out.outcome != BenchOutcome::kMeasured || out.verdict == nl::bench::Verdict::kSlower;
      reply.targets.push_back(std::move(out));
    }
    Reply out = Reply::Of(std::move(reply));
    out.answer_is_no = no;
    return out;
  }

  // The command that starts a benchmark file; C++ is compiled first.
  Result<Command> Prepare(const nl::bench::Program& program, const std::string& name,
                          const std::function<bool()>& keep_going) const {
    Command out;
    const std::string file = fs::absolute(program.file).string();
    out.text = file;
    if (fs::path(file).extension() == ".py") {
      out.words = {python_, "-m", "neurolens.bench", file};
      return out;
    }
    const char* named = std::getenv("CXX");
    const std::string compiler = FindProgram(named != nullptr && *named != 0 ? named : "c++");
    if (compiler.empty()) return NotFound("no C++ compiler: install one, or name it in CXX");
    const std::string binary = fmt::format("{}/{}", scratch_, name);
    NL_ASSIGN(const ProgramResult made, RunProgram({compiler, "-O2", "-std=c++20", "-pthread",
                                                    "-I" + scratch_ + "/include", file, "-o", binary},
                                                   keep_going));
    if (made.status != 0) return InvalidInput(fmt::format("{} does not compile:\n{}", file, made.err));
    out.words = {binary};
    return out;
  }

  Status MeasureWorkers(OpContext& context, const Target& target, BenchTarget& out) const {
    const std::function<bool()> keep_going = [&context] { return !context.Cancelled(); };
    if (context.progress) context.progress(out.target, 0, 0);
    NL_ASSIGN(const Command a, Prepare(target.baseline, "baseline", keep_going));
    NL_ASSIGN(const Command b, Prepare(target.optimized, "optimized", keep_going));
    const std::vector<std::string> environment{"PYTHONPATH=" + capture::FindPythonDirectory(),
                                               "PYTHONHASHSEED=0"};
    NL_ASSIGN(Worker worker_a, Worker::Start(a, environment));
    NL_ASSIGN(Worker worker_b, Worker::Start(b, environment));
    nl::bench::Verifier verifier(worker_a, worker_b, target.allow, keep_going);
    // Not known before it is sent: nothing can be prepared for it.
    std::random_device entropy;
    NL_TRY(verifier.Before(entropy() & 0x7fffffff));
    out.checks = verifier.Checks();
    const auto broken = [](const nl::bench::VerifyCheck& c) {
      return c.result == nl::bench::CheckResult::kFailed && c.text != "did not run";
    };
    if (std::any_of(out.checks.begin(), out.checks.end(), broken)) return Reject(out);
    int64_t per_batch = 1;
    const auto run = [&](Side side, bool) -> Result<double> {
      const bool is_b = side == Side::kB;
      NL_ASSIGN(const Json reply,
                (is_b ? worker_b : worker_a).Ask(Json{{"do", "run"}, {"n", per_batch}}, keep_going));
      verifier.Timed(is_b, reply);
      return SecondsOf(reply);
    };
    if (options_.iterations == 0) {
      NL_ASSIGN(const double once_a, run(Side::kA, false));
      NL_ASSIGN(const double once_b, run(Side::kB, false));
      per_batch = std::clamp<int64_t>(
          static_cast<int64_t>(kBatchNs / (1e9 * std::max({once_a, once_b, 1e-9}))), 1, kMostPerBatch);
    }
    nl::bench::InterleaveOptions options = options_;
    options.seed = entropy();
    NL_ASSIGN(const nl::bench::InterleaveResult measured, nl::bench::Interleave(options, run));
    NL_TRY(verifier.After());
    out.checks = verifier.Checks();
    if (!verifier.passed()) return Reject(out);
    Fill(measured, out);
    return {};
  }

  // A time of a benchmark that cannot be trusted is not reported.
  static Status Reject(BenchTarget& out) {
    out.outcome = BenchOutcome::kRejected;
    std::string why;
    for (const nl::bench::VerifyCheck& check : out.checks) {
      if (check.result == nl::bench::CheckResult::kFailed && check.text != "did not run")
        why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", check.name, check.text.value_or(""));
    }
    out.reason = why;
    return {};
  }

  // Plain commands of a bench.yaml, timed from outside: their outputs are all that can be checked.
  Status MeasureCommands(OpContext& context, const Target& target, BenchTarget& out) const {
    const auto keep_going = [&context] { return !context.Cancelled(); };
    NL_ASSIGN(Command a, nl::bench::ParseCommand(target.baseline.command));
    NL_ASSIGN(Command b, nl::bench::ParseCommand(target.optimized.command));
    a.directory = b.directory =
        fs::absolute(target.group == "." ? suite_ : suite_ + "/" + target.group).string();
    NL_ASSIGN(nl::bench::CommandPair pair, nl::bench::CommandPair::Make(a, b, {}));
    nl::bench::InterleaveOptions options = options_;
    options.seed = std::random_device()();
    const auto run = [&](Side side, bool timed) { return pair.Run(side, timed, keep_going); };
    NL_ASSIGN(const nl::bench::InterleaveResult measured, nl::bench::Interleave(options, run));
    const nl::bench::OutputCheck outputs = pair.Outputs();
    nl::bench::VerifyCheck check{"outputs", nl::bench::CheckResult::kPassed, std::nullopt};
    if (outputs.equal != true) {
      const auto allowed = target.allow.find("outputs");
      check.result =
          allowed == target.allow.end() ? nl::bench::CheckResult::kFailed : nl::bench::CheckResult::kAllowed;
      check.text = allowed != target.allow.end() ? allowed->second
                   : outputs.difference          ? *outputs.difference
                                                 : outputs.reason.value_or("cannot run");
    }
    out.checks.push_back(check);
    if (check.result == nl::bench::CheckResult::kFailed) return Reject(out);
    Fill(measured, out);
    return {};
  }

  void Fill(const nl::bench::InterleaveResult& measured, BenchTarget& out) const {
    out.outcome = BenchOutcome::kMeasured;
    out.verdict = measured.verdict;
    out.speedup = std::exp(measured.estimate.log_ratio);
    out.gain = std::expm1(measured.estimate.log_ratio);
    if (std::isfinite(measured.estimate.low)) out.speedup_low = std::exp(measured.estimate.low);
    if (std::isfinite(measured.estimate.high)) out.speedup_high = std::exp(measured.estimate.high);
    out.p_value = measured.estimate.p_value;
    out.meets_goal = out.speedup_low && *out.speedup_low >= goal_;
    out.iterations = static_cast<int64_t>(measured.a_s.size());
    out.baseline_time = nl::bench::SummaryOf(measured.a_s);
    out.optimized_time = nl::bench::SummaryOf(measured.b_s);
  }

  std::string action_ = "ls", suite_ = ".", precision_ = "0.5%", budget_ = "5s", python_ = "python3";
  std::string validity_ = "portable", scratch_;
  std::vector<std::string> words_;
  nl::bench::InterleaveOptions options_;
  double goal_ = 1.05;
  bool allow_virtualization_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<BenchOp>(); }

}  // namespace nl::ops::bench
