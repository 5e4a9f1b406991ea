// SPDX-License-Identifier: Apache-2.0
#include "ops/bench/measure.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <fmt/format.h>

#include "analyze/statistics/stats.h"
#include "base/run_program.h"
#include "bench/command_pair.h"
#include "bench/gpu_conditions.h"
#include "bench/worker.h"
#include "capture/launcher/environment.h"

namespace nl::ops::bench {

namespace {

namespace fs = std::filesystem;
using nl::bench::Command;
using nl::bench::Side;
using nl::bench::Target;
using nl::bench::Worker;

constexpr double kBatchNs = 2e6;  // one request to a worker takes some 50 us: a batch is longer by far
constexpr int64_t kMostPerBatch = 1000;

// Seconds of one iteration: the median of a list of nanoseconds of a reply.
// The first failed checks, by name; a time that cannot be trusted is not reported, unless asked for.
std::string WhyRejected(const std::vector<nl::bench::VerifyCheck>& checks) {
  std::string why;
  for (const nl::bench::VerifyCheck& check : checks) {
    if (check.result == nl::bench::CheckResult::kFailed && check.text != "did not run")
      why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", check.name, check.text.value_or(""));
  }
  return why;
}

// The command that starts a benchmark file; C++ is compiled first.
Result<Command> PrepareFile(const MeasureOptions& options, const nl::bench::Program& program,
                            const std::string& name, const std::function<bool()>& keep_going) {
  Command out;
  const std::string file = fs::absolute(program.file).string();
  out.text = file;
  if (fs::path(file).extension() == ".py") {
    out.words = {options.python, "-m", "neurolens.bench", file};
    return out;
  }
  const char* named = std::getenv("CXX");
  const std::string compiler = FindProgram(named != nullptr && *named != 0 ? named : "c++");
  if (compiler.empty()) return NotFound("no C++ compiler: install one, or name it in CXX");
  const std::string binary = fmt::format("{}/{}", options.scratch, name);
  NL_ASSIGN(const ProgramResult made,
            RunProgram({compiler, "-O2", "-std=c++20", "-pthread", "-I" + options.scratch + "/include", file,
                        "-o", binary, "-ldl"},
                       keep_going));
  if (made.status != 0) return InvalidInput(fmt::format("{} does not compile:\n{}", file, made.err));
  out.words = {binary};
  return out;
}

Result<Command> CommandOf(const MeasureOptions& options, const Target& target,
                          const nl::bench::Program& program) {
  NL_ASSIGN(Command out, nl::bench::ParseCommand(program.command));
  out.directory =
      fs::absolute(target.group == "." ? options.suite : options.suite + "/" + target.group).string();
  if (target.environment.empty()) return out;
  std::vector<std::string> words{"env"};
  words.insert(words.end(), target.environment.begin(), target.environment.end());
  words.insert(words.end(), out.words.begin(), out.words.end());
  out.words = std::move(words);
  return out;
}

class Pair {
 public:
  Pair(const MeasureOptions& options, const Target& target, const std::function<bool()>& keep_going,
       BenchTarget& out)
      : options_(options), target_(target), keep_going_(keep_going), out_(out) {}

  Status MeasureWorkers() {
    NL_ASSIGN(const Command a, PrepareSide(options_, target_, false, keep_going_));
    NL_ASSIGN(const Command b, PrepareSide(options_, target_, true, keep_going_));
    const std::string python = capture::FindPythonDirectory();
    std::vector<std::string> environment{"PYTHONHASHSEED=0"};
    // Without it, Python may still have the package installed.
    if (!python.empty()) environment.push_back("PYTHONPATH=" + capture::PythonPath(python));
    NL_ASSIGN(Worker worker_a, Worker::Start(a, environment));
    NL_ASSIGN(Worker worker_b, Worker::Start(b, environment));
    nl::bench::Verifier verifier(worker_a, worker_b, target_.allow, keep_going_);
    // Not known before it is sent: nothing can be prepared for it.
    std::random_device entropy;
    NL_TRY(verifier.Before(entropy() & 0x7fffffff));
    out_.checks = verifier.Checks();
    if (!WhyRejected(out_.checks).empty() && options_.phase != Phase::kDetect) return Reject();
    int64_t per_batch = 1;
    std::vector<double> device_s[2];
    const auto run = [&](Side side, bool timed) -> Result<double> {
      const bool is_b = side == Side::kB;
      NL_ASSIGN(const Json reply,
                (is_b ? worker_b : worker_a).Ask(Json{{"do", "run"}, {"n", per_batch}}, keep_going_));
      verifier.Timed(is_b, reply);
      const Result<double> on_device = nl::bench::MedianSeconds(reply, "device_ns");
      if (timed && on_device.ok()) device_s[is_b].push_back(*on_device);
      return nl::bench::MedianSeconds(reply, "ns");
    };
    if (options_.interleave.iterations == 0) {
      NL_ASSIGN(const double once_a, run(Side::kA, false));
      NL_ASSIGN(const double once_b, run(Side::kB, false));
      per_batch = std::clamp<int64_t>(
          static_cast<int64_t>(kBatchNs / (1e9 * std::max({once_a, once_b, 1e-9}))), 1, kMostPerBatch);
    }
    nl::bench::InterleaveOptions interleave = options_.interleave;
    interleave.seed = entropy();
    std::optional<nl::bench::GpuSampler> gpus;
    if (verifier.side(false).uses_device || verifier.side(true).uses_device) gpus.emplace();
    const auto spoiled = [&](bool timed) {
      if (!gpus || !gpus->PairIsSpoiled(timed)) return false;
      for (std::vector<double>& times : device_s) {
        if (timed && !times.empty()) times.pop_back();
      }
      return true;
    };
    NL_ASSIGN(const nl::bench::InterleaveResult measured,
              nl::bench::Interleave(interleave, run, {}, spoiled));
    if (gpus) {
      out_.gpu = gpus->Stop();
      out_.gpu->locked_clock_mhz = options_.locked_clock_mhz;
      out_.gpu->lock_reason = options_.lock_reason;
    }
    NL_TRY(verifier.After());
    out_.checks = verifier.Checks();
    if (!verifier.passed() && options_.phase != Phase::kDetect) return Reject();
    Fill(measured);
    if (!device_s[0].empty()) out_.baseline_device_ms = 1e3 * Median(std::move(device_s[0]));
    if (!device_s[1].empty()) out_.optimized_device_ms = 1e3 * Median(std::move(device_s[1]));
    FillMemory(verifier.side(false).peak_bytes, verifier.side(true).peak_bytes);
    JudgeGoal();
    const nl::bench::Verifier::Side& side = verifier.side(true);
    provenance_ = {"", side.device_name, side.toolchain};
    return {};
  }

  // Plain commands of a bench.yaml, timed from outside: their outputs are all that can be checked.
  Status MeasureCommands() {
    NL_ASSIGN(const Command a, PrepareSide(options_, target_, false, keep_going_));
    NL_ASSIGN(const Command b, PrepareSide(options_, target_, true, keep_going_));
    nl::bench::PairOptions compare;
    compare.tolerance = target_.tolerance;
    NL_ASSIGN(nl::bench::CommandPair pair, nl::bench::CommandPair::Make(a, b, compare));
    nl::bench::InterleaveOptions interleave = options_.interleave;
    interleave.seed = std::random_device()();
    const auto run = [&](Side side, bool timed) { return pair.Run(side, timed, keep_going_); };
    NL_ASSIGN(const nl::bench::InterleaveResult measured, nl::bench::Interleave(interleave, run));
    out_.checks.push_back(CheckOutputs(pair.Outputs()));
    if (!WhyRejected(out_.checks).empty() && options_.phase != Phase::kDetect) return Reject();
    Fill(measured);
    FillMemory(PeakOf(pair.peak_rss_bytes(Side::kA)), PeakOf(pair.peak_rss_bytes(Side::kB)));
    JudgeGoal();
    provenance_ = {"", "", "commands"};
    return {};
  }

  // What the file of expectations keeps; none for a pair that was not measured.
  Result<std::optional<nl::bench::Expectation>> Measured() const {
    if (out_.outcome != BenchOutcome::kMeasured || out_.reason || !out_.speedup_low || !out_.speedup_high)
      return std::optional<nl::bench::Expectation>();
    nl::bench::Expectation e;
    e.target = out_.target;
    e.baseline = nl::bench::ExpectedOf(*out_.baseline_time);
    e.optimized = nl::bench::ExpectedOf(*out_.optimized_time);
    e.speedup = *out_.speedup;
    e.speedup_low = *out_.speedup_low;
    e.speedup_high = *out_.speedup_high;
    e.provenance = provenance_;
    e.provenance.hardware = nl::bench::HardwareKey(provenance_.hardware);
    NL_ASSIGN(e.provenance.sources_sha256, nl::bench::SourcesSha256(target_));
    return std::optional(std::move(e));
  }

 private:
  nl::bench::VerifyCheck CheckOutputs(const nl::bench::OutputCheck& outputs) const {
    nl::bench::VerifyCheck check{"outputs", nl::bench::CheckResult::kPassed, std::nullopt};
    if (outputs.equal == true) return check;
    const auto allowed = target_.allow.find("outputs");
    check.result =
        allowed == target_.allow.end() ? nl::bench::CheckResult::kFailed : nl::bench::CheckResult::kAllowed;
    check.text = allowed != target_.allow.end() ? allowed->second
                 : outputs.difference           ? *outputs.difference
                                                : outputs.reason.value_or("cannot run");
    return check;
  }

  Status Reject() {
    out_.outcome = BenchOutcome::kRejected;
    out_.reason = WhyRejected(out_.checks);
    return {};
  }

  static std::optional<double> PeakOf(const std::vector<int64_t>& bytes) {
    if (bytes.empty()) return std::nullopt;
    return static_cast<double>(*std::max_element(bytes.begin(), bytes.end()));
  }

  void FillMemory(std::optional<double> baseline, std::optional<double> optimized) {
    out_.baseline_peak_bytes = baseline;
    out_.optimized_peak_bytes = optimized;
    if (!baseline || !optimized || *optimized <= 0) return;
    out_.memory_ratio = *baseline / *optimized;
    out_.meets_memory_goal = *out_.memory_ratio >= options_.memory_goal;
  }

  void JudgeGoal() {
    out_.goal = target_.goal.value_or(nl::bench::Goal::kSpeed);
    out_.goal_declared = target_.goal.has_value();
    const bool is_memory = out_.goal == nl::bench::Goal::kMemory;
    out_.goal_ratio = target_.goal_ratio.value_or(is_memory ? options_.memory_goal : options_.goal);
    const double items = out_.goal == nl::bench::Goal::kThroughput ? target_.items_ratio : 1;
    const auto times = [items](std::optional<double> ratio) {
      return ratio ? std::optional(*ratio * items) : std::nullopt;
    };
    out_.goal_reached = is_memory ? out_.memory_ratio : times(out_.speedup);
    const std::optional<double> sure = is_memory ? out_.memory_ratio : times(out_.speedup_low);
    out_.meets_goal = sure && *sure >= *out_.goal_ratio;
  }

  void Fill(const nl::bench::InterleaveResult& measured) {
    out_.outcome = BenchOutcome::kMeasured;
    out_.verdict = measured.verdict;
    out_.speedup = std::exp(measured.estimate.log_ratio);
    out_.gain = std::expm1(measured.estimate.log_ratio);
    if (std::isfinite(measured.estimate.low)) out_.speedup_low = std::exp(measured.estimate.low);
    if (std::isfinite(measured.estimate.high)) out_.speedup_high = std::exp(measured.estimate.high);
    out_.p_value = measured.estimate.p_value;
    out_.iterations = static_cast<int64_t>(measured.a_s.size());
    out_.baseline_time = nl::bench::SummaryOf(measured.a_s);
    out_.optimized_time = nl::bench::SummaryOf(measured.b_s);
    if (const std::string failed = WhyRejected(out_.checks); !failed.empty()) out_.reason = failed;
  }

  const MeasureOptions& options_;
  const Target& target_;
  const std::function<bool()>& keep_going_;
  BenchTarget& out_;
  nl::bench::Provenance provenance_;
};

}  // namespace

Result<nl::bench::Command> PrepareSide(const MeasureOptions& options, const nl::bench::Target& target,
                                       bool is_b, const std::function<bool()>& keep_going) {
  const nl::bench::Program& program = is_b ? target.optimized : target.baseline;
  if (program.file.empty()) return CommandOf(options, target, program);
  return PrepareFile(options, program, is_b ? "optimized" : "baseline", keep_going);
}

Status MeasurePair(const MeasureOptions& options, const Target& target,
                   const std::function<bool()>& keep_going, BenchTarget& out,
                   std::optional<nl::bench::Expectation>& measured) {
  Pair pair(options, target, keep_going, out);
  NL_TRY(target.baseline.file.empty() ? pair.MeasureCommands() : pair.MeasureWorkers());
  NL_ASSIGN(measured, pair.Measured());
  return {};
}

}  // namespace nl::ops::bench
