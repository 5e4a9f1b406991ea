// SPDX-License-Identifier: Apache-2.0
// `neurolens bench`: the pairs of a suite listed, checked, or measured and verified.

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/quantity.h"
#include "base/record_json.h"
#include "base/run_program.h"
#include "base/time_text.h"
#include "bench/clock_lock.h"
#include "bench/command.h"
#include "bench/results.h"
#include "deep/ncu_command.h"
#include "ops/bench/measure.h"
#include "ops/bench/profile.h"
#include "ops/measured_machine.h"
#include "ops/op.h"
#include "ops/settings.h"

namespace nl::embedded {
extern const std::string_view kBenchHeader, kBenchCudaHeader;
}

namespace nl::ops::bench {

namespace {

namespace fs = std::filesystem;
using nl::bench::ExpectationStatus;
using nl::bench::Target;

class BenchOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "bench";
    info.local = true;
    info.runs_programs = true;
    info.summary =
        "List, check, run or profile a suite of benchmarks: baseline against optimized, verified and "
        "interleaved";
    info.choose_when =
        "Choose it for pairs of programs kept as files; `prove` compares two commands. A pair whose outputs "
        "or inputs "
        "cannot be trusted is rejected by the name of the check.";
    info.example = "neurolens bench run cpp:branch --suite examples/bench --budget 5s";
    info.cost = Cost::kMinutes;
    info.writes = true;
    info.bad_input_status = 3;
    info.exit_status =
        "0 done, 1 a problem of the suite or its expectations (check), or a pair that is slower, rejected, "
        "failed, worse than expected or without its declared goal (run), 3 bad input, 4 internal error.";
    info.reply = ReplyOf<BenchReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("action", action_, "What to do")
        .Positional()
        .Choices({"ls", "check", "run", "deep-dive", "sweep", "expectations"});
    b.Add("targets", words_, "Pairs: GROUP, GROUP:NAME,NAME with globs, or all").Positional();
    b.Add("suite", suite_, "Folder of the suite").Path();
    b.Add("precision", precision_, "Stop when the interval of the ratio is this narrow on each side");
    b.Add("budget", budget_, "Most time for the timed runs of one pair");
    b.Add("iterations", measure_.interleave.iterations,
          "Exactly this many timed runs of each; 0: by precision and budget")
        .Range(0, 1e7);
    b.Add("warmup", measure_.interleave.warmup, "Runs of each before the timed ones").Range(5, 1e6);
    b.Add("goal", measure_.goal, "Speedup to reach").Range(0.01, 1e6);
    b.Add("memory_goal", measure_.memory_goal,
          "Peak memory of the baseline over that of the optimized program, to reach")
        .Range(0.01, 1e6);
    b.Add("regression", regression_, "Slowdown that a pair whose goal is memory or throughput may have");
    b.Add("phase", phase_,
          "A pair that fails a check: gate: is rejected, and the answer is no; quarantine: its times are "
          "withheld; detect: it is measured, with its failed checks listed")
        .Choices({"detect", "quarantine", "gate"});
    b.Add("profile", profile_.profile,
          "After the timing, record both programs of the fastest variant and compare them: minimal: without "
          "counters; "
          "roofline, deep_dive: with counters of Nsight Compute")
        .Choices({"none", "minimal", "roofline", "deep_dive"});
    b.Add("ncu_metric_set", profile_.metric_set,
          "With --profile: what Nsight Compute collects; by default that of the profile")
        .Choices(nl::deep::kMetricSets);
    b.Add("config", config_, "sweep: file with the command and the grid of its settings").Path();
    b.Add("allow_unvalidated", allow_unvalidated_,
          "check: list files without a partner or a benchmark, and do not fail for them");
    b.Add("update_expectations", update_,
          "Keep the measured speedups in the suite as expectations_HARDWARE.json");
    b.Add("accept_regressions", accept_, "Let --update-expectations replace a better figure");
    b.Add("artifacts", artifacts_, "Write manifest, results and reports below this folder, as runs/RUN_ID")
        .Path();
    b.Add("run_id", run_id_, "Name of the folder in --artifacts; by default time and targets");
    b.Add("lock_clocks", lock_clocks_,
          "run: hold the SM clock of the GPUs at this many MHz, or at their `default` application clock; "
          "restored at the end");
    b.Add("keep", keep_, "run: keep the result in the store, for `bench-results`");
    b.Add("md", md_, "Write a summary for a pull request to this file").Path();
    b.Add("html", html_, "run: write the result as a page to this file").Path();
    b.Add("junit", junit_, "Write the result as JUnit XML to this file").Path();
    b.Add("python", measure_.python, "Python interpreter for .py files");
    b.Add("validity", validity_,
          "strict: stop when a check of the machine fails; portable: report it and continue")
        .Choices({"strict", "portable"});
    b.Add("allow_virtualization", allow_virtualization_, "Accept a virtual machine with --validity strict");
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(measure_.interleave.precision, ParseShare("--precision", precision_, "0.5%"));
    NL_ASSIGN(measure_.interleave.budget_s, ParseSeconds("--budget", budget_));
    NL_ASSIGN(measure_.regression, ParseShare("--regression", regression_, "5%"));
    if (action_ == "sweep") return Sweep(context);
    if (!config_.empty())
      return InvalidInput("--config describes a sweep").Hint("neurolens bench sweep --config FILE");
    if (action_ == "expectations") return Expectations();
    if (action_ == "deep-dive" && words_.empty())
      return InvalidInput("no pair to look into")
          .Hint("name one, as in neurolens bench deep-dive GROUP:NAME");
    if (words_.empty()) words_.emplace_back("all");
    NL_ASSIGN(const nl::bench::Suite suite, nl::bench::FindSuite(suite_));
    BenchReply reply;
    reply.suite = suite_;
    reply.problems = suite.problems;
    std::vector<Target> targets;
    if (!suite.targets.empty() || words_ != std::vector<std::string>{"all"}) {
      NL_ASSIGN(targets, ChooseTargets(suite, words_));
    }
    if (action_ == "check") {
      reply.action = BenchAction::kCheck;
      for (nl::bench::SuiteProblem& problem : CheckExpectations(suite))
        reply.problems.push_back(std::move(problem));
    }
    if (action_ == "ls" || action_ == "check") {
      for (const Target& target : targets) reply.targets.push_back(Listed(target));
      const bool no = action_ == "check" && std::any_of(reply.problems.begin(), reply.problems.end(),
                                                        [&](const auto& p) { return !IsAllowed(p); });
      Reply out = Reply::Of(std::move(reply));
      out.answer_is_no = no;
      return out;
    }
    if (targets.empty()) return InvalidInput(fmt::format("{} has no pairs", suite_));
    return RunAll(context, targets, std::move(reply));
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return BenchText(reply.As<BenchReply>(), style.width, style.color);
  }

 private:
  // Fixtures: files that are not whole on purpose.
  bool IsAllowed(const nl::bench::SuiteProblem& problem) const {
    return allow_unvalidated_ && (problem.kind == nl::bench::SuiteProblemKind::kOrphan ||
                                  problem.kind == nl::bench::SuiteProblemKind::kNoBenchmark);
  }

  Result<Reply> Expectations() {
    if (words_ != std::vector<std::string>{"check"})
      return InvalidInput("what to do with the expectations is missing")
          .Hint("neurolens bench expectations check");
    NL_ASSIGN(const nl::bench::Suite suite, nl::bench::FindSuite(suite_));
    BenchReply reply;
    reply.action = BenchAction::kExpectations;
    reply.suite = suite_;
    reply.problems = CheckExpectations(suite);
    const bool no = !reply.problems.empty();
    Reply out = Reply::Of(std::move(reply));
    out.answer_is_no = no;
    return out;
  }

  Result<Reply> Sweep(OpContext& context) {
    if (config_.empty()) return InvalidInput("a sweep needs --config FILE").Hint("docs/bench.md shows one");
    NL_ASSIGN(const SweepConfig config, ReadSweep(config_));
    BenchReply reply;
    reply.action = BenchAction::kSweep;
    reply.suite = suite_;
    if (artifacts_.empty()) artifacts_ = "artifacts";
    NL_TRY(NameRun(config.name, reply));
    reply.sweep.emplace();
    const Status done = RunSweep(context, config, folder_, *reply.sweep);
    NL_TRY(WriteSweep(reply));
    if (!done.ok()) {
      Error stopped = done.error();
      if (stopped.code != ErrorCode::kCancelled) return stopped;
      stopped.message = fmt::format("stopped after {} recordings", reply.sweep->runs.size());
      return std::move(stopped).Hint(fmt::format("{}/summary.csv has them", folder_));
    }
    const bool no = std::any_of(reply.sweep->runs.begin(), reply.sweep->runs.end(),
                                [](const SweepRun& run) { return !run.ended_well(); });
    Reply out = Reply::Of(std::move(reply));
    out.answer_is_no = no;
    return out;
  }

  Status WriteSweep(BenchReply& reply) const {
    NL_TRY(WriteForm(folder_ + "/summary.csv", "csv", SweepCsv(*reply.sweep), reply.files));
    NL_TRY(WriteManifest(reply));
    return WriteForm(folder_ + "/results/results.json", "json", ToJsonText(reply, 2) + "\n", reply.files);
  }

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
    reply.action = action_ == "run" ? BenchAction::kRun : BenchAction::kDeepDive;
    if (action_ == "deep-dive" && !profile_.wanted()) profile_.profile = "deep_dive";
    if (!profile_.metric_set.empty() && !profile_.wanted())
      return InvalidInput("--ncu-metric-set is for --profile, which is missing");
    if (profile_.wanted() && artifacts_.empty()) artifacts_ = "artifacts";
    reply.goal = measure_.goal;
    reply.memory_goal = measure_.memory_goal;
    reply.regression = measure_.regression;
    NL_ASSIGN(reply.environment, RequireMeasurable(validity_, allow_virtualization_));
    NL_ASSIGN(const TempDir scratch, TempDir::Make("neurolens-bench-"));
    NL_TRY(MakeDirectories(scratch.path() + "/include/neurolens"));
    NL_TRY(WriteFileAtomically(scratch.path() + "/include/neurolens/bench.h", embedded::kBenchHeader));
    NL_TRY(
        WriteFileAtomically(scratch.path() + "/include/neurolens/bench_cuda.h", embedded::kBenchCudaHeader));
    measure_.scratch = scratch.path();
    measure_.suite = suite_;
    measure_.phase = phase_ == "detect" ? Phase::kDetect
                     : phase_ == "gate" ? Phase::kGate
                                        : Phase::kQuarantine;
    NL_TRY(NameRun(NameOf(targets), reply));
    profile_.folder = folder_.empty() ? "" : fs::absolute(folder_).string();
    NL_ASSIGN(const nl::bench::ClockLock clocks,
              nl::bench::ClockLock::Hold(lock_clocks_, {OwnProgram(), "clock-guard"}));
    if (clocks.reason() && validity_ == "strict")
      return InvalidInput(fmt::format("the clocks cannot be locked: {}", *clocks.reason()));
    measure_.locked_clock_mhz = clocks.mhz();
    measure_.lock_reason = clocks.reason();
    std::vector<nl::bench::Expectation> measured;
    for (const Target& target : targets) {
      NL_TRY(Progress(context, target, reply.targets.size(), targets.size()));
      const Status done = MeasureOne(context, target, reply, measured);
      if (!done.ok() && !reply.targets.empty())
        return Stopped(context, std::move(reply), measured, targets.size());
      NL_TRY(done);
    }
    NL_TRY(Expect(measured, reply));
    NL_TRY(Profile(context, targets, reply));
    NL_TRY(Keep(context, measured, reply));
    NL_TRY(WriteFiles(reply));
    const bool no = IsNo(reply);
    Reply out = Reply::Of(std::move(reply));
    out.answer_is_no = no;
    return out;
  }

  // Of every baseline, the variant that is fastest.
  Status Profile(OpContext& context, const std::vector<Target>& targets, BenchReply& reply) {
    if (!profile_.wanted()) return {};
    DeepDiveDocument document;
    document.run_id = run_id_;
    document.suite = suite_;
    document.profile = profile_.profile;
    document.created_at = Rfc3339Utc(UnixNowNs());
    for (size_t first = 0, next = 0; first < targets.size(); first = next) {
      DeepDiveExample example;
      example.example = targets[first].group + ":" + targets[first].name;
      std::optional<size_t> best;
      for (next = first; next < targets.size() && targets[next].group == targets[first].group &&
                         targets[next].name == targets[first].name;
           ++next) {
        const std::optional<double>& speedup = reply.targets[next].speedup;
        if (speedup && (!best || *speedup > *reply.targets[*best].speedup)) best = next;
      }
      if (best) {
        example.selected = reply.targets[*best].target;
        NL_TRY(ProfilePair(context, measure_, profile_, targets[*best], reply.targets[*best],
                           example.comparison));
      } else {
        example.selected_reason = "no variant was measured";
      }
      const auto of = [&](size_t at) { return reply.targets.begin() + static_cast<std::ptrdiff_t>(at); };
      example.targets.assign(of(first), of(next));
      document.examples.push_back(std::move(example));
    }
    for (DeepDiveExample& example : document.examples) {
      for (BenchTarget& target : example.targets) HideSecrets(target);
    }
    return WriteForm(folder_ + "/reports/deep_dive_compare.json", "json", ToJsonText(document, 2) + "\n",
                     reply.files);
  }

  Status Keep(const OpContext& context, const std::vector<nl::bench::Expectation>& measured,
              BenchReply& reply) const {
    if (!keep_) return {};
    NL_ASSIGN(reply.result_id, nl::bench::KeepResult(context.settings->Get("store"), Kept(reply, measured),
                                                     ToJsonText(WithoutSecrets(reply)) + "\n"));
    return {};
  }

  // Nothing that was measured is lost. Expectations are of whole runs and stay as they are.
  Error Stopped(const OpContext& context, BenchReply reply,
                const std::vector<nl::bench::Expectation>& measured, size_t all) const {
    const Status kept = Keep(context, measured, reply);
    if (!kept.ok()) return kept.error();
    const Status written = WriteFiles(reply);
    if (!written.ok()) return written.error();
    Error out = Cancelled();
    out.message = fmt::format("stopped after {} of {} pairs", reply.targets.size(), all);
    if (reply.result_id)
      return std::move(out).Hint(
          fmt::format("neurolens bench-results {} shows what was measured", *reply.result_id));
    return out;
  }

  Status MeasureOne(OpContext& context, const Target& target, BenchReply& reply,
                    std::vector<nl::bench::Expectation>& measured) const {
    const std::function<bool()> keep_going = [&context] { return !context.Cancelled(); };
    BenchTarget out = Listed(target);
    std::optional<nl::bench::Expectation> kept;
    const Status done = MeasurePair(measure_, target, keep_going, out, kept);
    if (!done.ok() && done.error().code == ErrorCode::kCancelled) return done;
    if (!done.ok()) {
      out.outcome = BenchOutcome::kFailed;
      out.reason = done.error().message;
    }
    if (kept) measured.push_back(std::move(*kept));
    reply.targets.push_back(std::move(out));
    return {};
  }

  // As others may read it: in the store and in files.
  static BenchReply WithoutSecrets(BenchReply reply) {
    for (BenchTarget& t : reply.targets) HideSecrets(t);
    return reply;
  }
  static void HideSecrets(BenchTarget& t) {
    t.baseline = nl::bench::CommandWithoutSecrets(t.baseline);
    t.optimized = nl::bench::CommandWithoutSecrets(t.optimized);
  }

  nl::bench::KeptResult Kept(const BenchReply& reply,
                             const std::vector<nl::bench::Expectation>& measured) const {
    nl::bench::KeptResult out;
    out.title = suite_;
    out.suite = SuiteFolder();
    for (const nl::bench::Expectation& e : measured) out.hardware = e.provenance.hardware;
    for (const BenchTarget& t : reply.targets) {
      nl::bench::KeptTarget one;
      one.target = t.target;
      one.outcome = t.outcome == BenchOutcome::kMeasured && t.verdict ? nl::bench::OutcomeOf(*t.verdict)
                    : t.outcome == BenchOutcome::kRejected            ? nl::bench::KeptOutcome::kRejected
                                                                      : nl::bench::KeptOutcome::kFailed;
      one.speedup = t.speedup;
      one.speedup_low = t.speedup_low;
      one.speedup_high = t.speedup_high;
      if (t.baseline_time) one.baseline_ms = t.baseline_time->median_ms;
      if (t.optimized_time) one.optimized_ms = t.optimized_time->median_ms;
      out.targets.push_back(std::move(one));
    }
    return out;
  }

  // As the setting bench_root has it.
  std::string SuiteFolder() const {
    std::string folder = fs::absolute(suite_).lexically_normal().string();
    if (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    return folder;
  }

  // Pairs on a GPU and on the CPU have a file each.
  Status Expect(const std::vector<nl::bench::Expectation>& measured, BenchReply& reply) const {
    std::map<std::string, std::vector<nl::bench::Expectation>> by_hardware;
    for (const nl::bench::Expectation& e : measured) by_hardware[e.provenance.hardware].push_back(e);
    const bool whole = words_ == std::vector<std::string>{"all"};
    for (const auto& [hardware, list] : by_hardware) {
      const std::string path = nl::bench::ExpectationPath(suite_, hardware);
      NL_ASSIGN(nl::bench::ExpectationFile file, nl::bench::ReadExpectations(path));
      if (file.expectations.empty() && !update_) continue;
      for (nl::bench::ExpectationResult& result : CompareWith(file, list, whole))
        reply.expectations.push_back(std::move(result));
      if (!update_) continue;
      file.hardware = hardware;
      NL_TRY(UpdateExpectations(path, std::move(file), list, accept_));
      reply.files.push_back({path, "expectations", static_cast<int64_t>(fs::file_size(path))});
    }
    return {};
  }

  bool IsNo(const BenchReply& reply) const {
    const bool bad = std::any_of(reply.targets.begin(), reply.targets.end(), [&](const BenchTarget& t) {
      const bool rejected = t.outcome == BenchOutcome::kRejected && phase_ == "gate";
      return rejected || t.outcome == BenchOutcome::kFailed || IsWorse(t, measure_.regression);
    });
    return bad || std::any_of(reply.expectations.begin(), reply.expectations.end(),
                              [](const auto& e) { return e.status == ExpectationStatus::kRegressed; });
  }

  std::string NameOf(const std::vector<Target>& targets) const {
    if (words_ == std::vector<std::string>{"all"}) return "all";
    std::string what = targets[0].Label();
    return targets.size() > 1 ? fmt::format("{}_and_{}", what, targets.size() - 1) : what;
  }

  // <UTC>__bench__<profile>__<targets>, when nothing else is asked for.
  Status NameRun(std::string what, BenchReply& reply) {
    if (artifacts_.empty()) {
      if (!run_id_.empty()) return InvalidInput("--run-id names a folder in --artifacts, which is missing");
      return {};
    }
    if (run_id_.empty()) {
      std::replace_if(
          what.begin(), what.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; },
          '_');
      std::string time = Rfc3339Utc(UnixNowNs());
      time.erase(
          std::remove_if(time.begin(), time.end(), [](char c) { return c == '-' || c == ':' || c == '.'; }),
          time.end());
      run_id_ = fmt::format("{}__bench__{}__{}", time, action_ == "sweep" ? "sweep" : profile_.profile, what);
    }
    if (run_id_.find('/') != std::string::npos || run_id_[0] == '.')
      return InvalidInput("--run-id is the name of one folder");
    folder_ = artifacts_ + "/runs/" + run_id_;
    if (fs::exists(folder_)) return InvalidInput(fmt::format("{} exists already", folder_));
    reply.run_id = run_id_;
    for (const char* part : {"/results", "/profiles", "/reports", "/logs", "/progress"})
      NL_TRY(MakeDirectories(folder_ + part));
    return {};
  }

  // Also for whoever watches the folder: replaced at once, never half written.
  Status Progress(OpContext& context, const Target& target, size_t done, size_t all) const {
    if (context.progress)
      context.progress(target.Label(), static_cast<int64_t>(done), static_cast<int64_t>(all));
    if (folder_.empty()) return {};
    const Json state{{"phase", "measuring"},
                     {"target", target.Label()},
                     {"done", done},
                     {"all", all},
                     {"percent", 100.0 * static_cast<double>(done) / static_cast<double>(all)}};
    return WriteFileAtomically(folder_ + "/progress/progress.json", DumpJson(state, 2) + "\n");
  }

  Status WriteManifest(BenchReply& reply) const {
    Json manifest{{"schema", "neurolens.bench_run.v1"},
                  {"run_id", run_id_},
                  {"suite", fs::absolute(suite_).string()},
                  {"targets", words_},
                  {"action", action_},
                  {"profile", profile_.profile},
                  {"finished", Rfc3339Utc(UnixNowNs())}};
    if (!config_.empty()) manifest["config"] = fs::absolute(config_).string();
    return WriteForm(folder_ + "/manifest.json", "manifest", DumpJson(manifest, 2) + "\n", reply.files);
  }

  Status WriteFiles(BenchReply& reply) const {
    NL_TRY(WriteForm(md_, "md", BenchMarkdown(reply), reply.files));
    NL_TRY(WriteForm(html_, "html", BenchHtml(reply), reply.files));
    NL_TRY(WriteForm(junit_, "junit", BenchJUnit(reply), reply.files));
    if (folder_.empty()) return {};
    NL_TRY(WriteForm(folder_ + "/reports/report.md", "md", BenchMarkdown(reply), reply.files));
    NL_TRY(WriteForm(folder_ + "/reports/report.html", "html", BenchHtml(reply), reply.files));
    NL_TRY(WriteForm(folder_ + "/reports/junit.xml", "junit", BenchJUnit(reply), reply.files));
    NL_TRY(WriteManifest(reply));
    NL_TRY(WriteFileAtomically(folder_ + "/progress/progress.json",
                               DumpJson(Json{{"phase", "done"}, {"percent", 100}}, 2) + "\n"));
    return WriteForm(folder_ + "/results/results.json", "json", ToJsonText(WithoutSecrets(reply), 2) + "\n",
                     reply.files);
  }

  std::string action_ = "ls", suite_ = ".", precision_ = "0.5%", regression_ = "5%", budget_ = "5s",
              phase_ = "gate";
  std::string validity_ = "portable", artifacts_, run_id_, md_, html_, junit_, folder_, lock_clocks_, config_;
  ProfileOptions profile_;
  std::vector<std::string> words_;
  MeasureOptions measure_;
  bool allow_virtualization_ = false, allow_unvalidated_ = false, update_ = false, accept_ = false,
       keep_ = true;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<BenchOp>(); }

}  // namespace nl::ops::bench
