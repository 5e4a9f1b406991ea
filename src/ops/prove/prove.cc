// SPDX-License-Identifier: Apache-2.0
// `neurolens prove`: is B faster than A? Both run interleaved until the answer is precise, and then: why.

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "analyze/statistics/sequential.h"
#include "analyze/statistics/stats.h"
#include "base/file_ops.h"
#include "base/quantity.h"
#include "base/record_json.h"
#include "base/run_program.h"
#include "bench/clock_lock.h"
#include "bench/command_pair.h"
#include "bench/gpu_conditions.h"
#include "bench/results.h"
#include "ops/measured_machine.h"
#include "ops/op.h"
#include "ops/prove/reply.h"
#include "ops/prove/revisions.h"
#include "ops/prove/why.h"
#include "ops/settings.h"

namespace nl::ops::prove {

namespace {

using nl::bench::Command;
using nl::bench::Side;
using nl::bench::TimedRun;

double MedianOf(const std::vector<TimedRun>& runs, double TimedRun::*member) {
  std::vector<double> values;
  for (const TimedRun& run : runs) values.push_back(run.*member);
  return Median(std::move(values));
}

ProveSide SideOf(const Command& command, const std::vector<TimedRun>& runs,
                 const std::vector<int64_t>& peaks) {
  ProveSide out;
  out.command = command.text;
  out.shell = command.shell;
  std::vector<double> walls;
  for (const TimedRun& run : runs) {
    walls.push_back(run.wall_s);
    out.walls_ms.push_back(1e3 * run.wall_s);
  }
  out.wall = nl::bench::SummaryOf(walls);
  out.user_ms = 1e3 * MedianOf(runs, &TimedRun::user_s);
  out.system_ms = 1e3 * MedianOf(runs, &TimedRun::system_s);
  if (!peaks.empty()) {
    out.peak_rss_bytes = static_cast<int64_t>(Median({peaks.begin(), peaks.end()}));
  } else {
    out.peak_rss_reason = "not above the memory of neurolens itself, below which Linux does not report it";
  }
  return out;
}

class ProveOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "prove";
    info.local = true;
    info.runs_programs = true;
    info.summary =
        "Prove that one command is faster than another: interleaved runs, a verdict, and the cause";
    info.choose_when =
        "Choose it for any two commands on this machine, or one command on two git revisions. `compare` "
        "explains the "
        "difference between runs that exist; `gate` judges them.";
    info.example = "neurolens prove --a 'python3 old.py' --b 'python3 new.py' --budget 20s";
    info.cost = Cost::kMinutes;
    info.writes = true;
    info.bad_input_status = 3;
    info.exit_status =
        "0 faster or same, 1 slower or the outputs differ, 2 undecided, 3 bad input or a command that fails, "
        "4 "
        "internal error.";
    info.reply = ReplyOf<ProveReply>();
    info.tool.place = 11;
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("a", a_, "Command before the change, in quotes").LocalOnly();
    b.Add("b", b_, "Command after it").LocalOnly();
    b.Add("revisions", range_, "Two git revisions, BASE..HEAD, to run one command on")
        .Positional()
        .LocalOnly();
    b.Add("command", command_, "The command for both revisions, after --").Positional().LocalOnly();
    b.Add("build", build_, "Shell command that builds each revision before it is measured").LocalOnly();
    b.Add("precision", precision_,
          "Stop when the interval of the ratio is this narrow on each side, as 0.5%");
    b.Add(
        "budget", budget_,
        fmt::format("Most time for the timed runs, such as 5s; by default 20s, and at least {} runs of each",
                    kLeastPairs));
    b.Add("iterations", options_.iterations,
          "Exactly this many timed runs of each; 0: by precision and budget")
        .Range(0, 1e7);
    b.Add("warmup", options_.warmup,
          "Runs of each before the timed ones; fewer when they would take most of the budget")
        .Range(1, 1e6);
    b.Add("margin", margin_, "Difference below which both count as the same");
    b.Add("alpha", options_.alpha, "Allowed rate of false verdicts; the interval has the level 1 - alpha")
        .Range(0.0001, 0.2);
    b.Add("output", pair_.output_files,
          "File that the command writes, or a pattern; compared instead of standard output")
        .LocalOnly();
    b.Add("tolerance", pair_.tolerance,
          "Relative difference allowed between numbers of the outputs; 0: equal bytes")
        .Range(0, 1);
    b.Add("check_output", pair_.check_output, "Compare the outputs");
    b.Add("why", why_, "Record both commands once more and explain the difference");
    b.Add("validity", validity_,
          "strict: stop when a check of the machine fails; portable: report it and continue")
        .Choices({"strict", "portable"});
    b.Add("allow_virtualization", allow_virtualization_, "Accept a virtual machine with --validity strict");
    b.Add("seed", seed_, "Seed of the order of the runs; -1: a new one").Range(-1, 9e15);
    b.Add("lock_clocks", lock_clocks_,
          "Hold the SM clock of the GPUs at this many MHz while measuring, or at their `default` "
          "application clock; restored at the end");
    b.Add("keep", keep_, "Keep the result in the store, for `bench-results`");
    b.Add("md", md_, "Write a summary for a pull request to this file").Path();
    b.Add("html", html_, "Write the result as a page to this file").Path();
    b.Add("junit", junit_, "Write the result as JUnit XML to this file").Path();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_TRY(ReadOptions());
    const auto keep_going = [&context] { return !context.Cancelled(); };
    ProveReply reply;
    NL_ASSIGN(reply.environment, RequireMeasurable(validity_, allow_virtualization_));
    std::optional<Revisions> revisions;
    if (!range_.empty()) {
      if (context.progress) context.progress("checking out both revisions", 0, 0);
      NL_ASSIGN(Revisions made, Revisions::CheckOut(range_, keep_going));
      revisions.emplace(std::move(made));
      if (!build_.empty()) NL_TRY(revisions->Build(build_, keep_going));
    }
    NL_ASSIGN(const Command a, MakeCommand(a_, revisions ? &revisions->base() : nullptr));
    NL_ASSIGN(const Command b, MakeCommand(b_, revisions ? &revisions->head() : nullptr));
    NL_TRY(Measure(context, a, b, reply));
    if (revisions) {
      reply.a.revision = revisions->base().commit;
      reply.b.revision = revisions->head().commit;
    }
    const bool differs =
        reply.verdict == nl::bench::Verdict::kFaster || reply.verdict == nl::bench::Verdict::kSlower;
    if (why_ && differs) NL_TRY(ExplainDifference(context, a, b, reply));
    reply.text = Headline(reply);
    const ProveReply shared = WithoutSecrets(reply);
    if (keep_) {
      NL_ASSIGN(reply.result_id, nl::bench::KeepResult(context.settings->Get("store"), Kept(shared),
                                                       ToJsonText(shared) + "\n"));
    }
    NL_TRY(WriteForm(md_, "md", ProveMarkdown(shared), reply.files));
    NL_TRY(WriteForm(html_, "html", ProveHtml(shared), reply.files));
    NL_TRY(WriteForm(junit_, "junit", ProveJUnit(shared), reply.files));
    return WithStatus(std::move(reply));
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return ProveText(reply.As<ProveReply>(), style.width, style.color);
  }

 private:
  Status ReadOptions() {
    NL_ASSIGN(options_.precision, ParseShare("--precision", precision_, "0.5%"));
    NL_ASSIGN(options_.margin, ParseShare("--margin", margin_, "1%"));
    if (budget_.empty()) {
      options_.least_pairs = kLeastPairs;
    } else {
      NL_ASSIGN(options_.budget_s, ParseSeconds("--budget", budget_));
    }
    const bool pair = !a_.empty() || !b_.empty();
    if (pair && !range_.empty())
      return InvalidInput(
          "--a and --b are commands of their own; a range of revisions takes one command after --");
    if (range_.empty() && (a_.empty() || b_.empty()))
      return InvalidInput(pair ? "both --a and --b are needed" : "nothing to compare")
          .Hint("neurolens prove --a CMD --b CMD, or neurolens prove BASE..HEAD -- CMD");
    if (!range_.empty() && command_.empty())
      return InvalidInput("the command for both revisions is missing")
          .Hint("neurolens prove BASE..HEAD -- CMD");
    if (!build_.empty() && range_.empty()) return InvalidInput("--build belongs to a range of revisions");
    options_.seed = seed_ >= 0 ? static_cast<uint64_t>(seed_) : std::random_device()();
    return {};
  }

  Result<Command> MakeCommand(const std::string& text, const Revisions::Tree* tree) const {
    if (tree == nullptr) return nl::bench::ParseCommand(text);
    Command out;
    out.words = command_;
    out.text = nl::bench::QuoteCommand(command_);
    out.directory = tree->directory;
    return out;
  }

  Status Measure(OpContext& context, const Command& a, const Command& b, ProveReply& reply) const {
    NL_ASSIGN(nl::bench::CommandPair pair, nl::bench::CommandPair::Make(a, b, pair_));
    const auto keep_going = [&context] { return !context.Cancelled(); };
    const auto run = [&](Side side, bool timed) { return pair.Run(side, timed, keep_going); };
    const auto progress = [&](double share) {
      if (context.progress)
        context.progress(
            fmt::format("measuring: {} runs of each, {:.0f} %", pair.runs(Side::kA).size(), 100 * share), 0,
            0);
    };
    NL_ASSIGN(const nl::bench::ClockLock clocks,
              nl::bench::ClockLock::Hold(lock_clocks_, {OwnProgram(), "clock-guard"}));
    if (clocks.reason() && validity_ == "strict")
      return InvalidInput(fmt::format("the clocks cannot be locked: {}", *clocks.reason()));
    nl::bench::GpuSampler gpus;
    const auto spoiled = [&](bool timed) {
      const bool is = gpus.PairIsSpoiled(timed);
      if (timed && is) pair.DropLastPair();
      return is;
    };
    NL_ASSIGN(const nl::bench::InterleaveResult measured,
              nl::bench::Interleave(options_, run, progress, spoiled));
    reply.gpu = gpus.Stop();
    reply.gpu.locked_clock_mhz = clocks.mhz();
    reply.gpu.lock_reason = clocks.reason();
    reply.a = SideOf(a, pair.runs(Side::kA), pair.peak_rss_bytes(Side::kA));
    reply.b = SideOf(b, pair.runs(Side::kB), pair.peak_rss_bytes(Side::kB));
    reply.outputs = pair.Outputs();
    reply.verdict = measured.verdict;
    reply.speedup = std::exp(measured.estimate.log_ratio);
    if (std::isfinite(measured.estimate.low)) reply.speedup_low = std::exp(measured.estimate.low);
    if (std::isfinite(measured.estimate.high)) reply.speedup_high = std::exp(measured.estimate.high);
    reply.gain = std::expm1(measured.estimate.log_ratio);
    reply.p_value = measured.estimate.p_value;
    reply.alpha = options_.alpha;
    reply.margin = options_.margin;
    reply.precision = options_.precision;
    reply.stopped_by = measured.stopped_by;
    reply.iterations = static_cast<int64_t>(measured.a_s.size());
    reply.warmup = measured.warmup_runs;
    reply.group_runs = measured.group_runs;
    reply.timed_s = measured.timed_s;
    reply.budget_s = options_.budget_s;
    reply.budget_needed_s = measured.budget_needed_s;
    reply.seed = options_.seed;
    AddNotes(reply);
    return {};
  }

  static void AddNotes(ProveReply& reply) {
    if (const std::string gpu = ConditionsText(reply.gpu); !gpu.empty()) reply.notes.push_back(gpu);
    if (reply.a.shell || reply.b.shell)
      reply.notes.push_back(fmt::format("{} in /bin/sh, whose start is part of the time",
                                        reply.a.shell && reply.b.shell ? "both commands run"
                                        : reply.a.shell                ? "A runs"
                                                                       : "B runs"));
    if (!reply.a.peak_rss_bytes || !reply.b.peak_rss_bytes)
      reply.notes.push_back(
          fmt::format("peak memory not known: {}",
                      (reply.a.peak_rss_reason ? reply.a : reply.b).peak_rss_reason.value_or("")));
  }

  // As others may read it: in the store and in files.
  static ProveReply WithoutSecrets(ProveReply reply) {
    for (ProveSide* side : {&reply.a, &reply.b})
      side->command = nl::bench::CommandWithoutSecrets(side->command);
    return reply;
  }

  static nl::bench::KeptResult Kept(const ProveReply& reply) {
    nl::bench::KeptResult out;
    out.kind = nl::bench::ResultKind::kProve;
    out.title = fmt::format("{} against {}", reply.b.command, reply.a.command);
    if (reply.a.revision && reply.b.revision)
      out.title = fmt::format("{}..{}: {}", reply.a.revision->substr(0, 12), reply.b.revision->substr(0, 12),
                              reply.b.command);
    out.targets.push_back({"", nl::bench::OutcomeOf(reply.verdict), reply.speedup, reply.speedup_low,
                           reply.speedup_high, reply.a.wall.median_ms, reply.b.wall.median_ms});
    return out;
  }

  static Reply WithStatus(ProveReply reply) {
    const bool differ = reply.outputs.equal && !*reply.outputs.equal;
    const bool no = differ || reply.verdict == nl::bench::Verdict::kSlower;
    const bool undecided = reply.verdict == nl::bench::Verdict::kUndecided;
    Reply out = Reply::Of(std::move(reply));
    out.answer_is_no = no;
    out.answer_status = !no && undecided ? 2 : 0;
    return out;
  }

  std::string a_, b_, range_, build_, precision_ = "0.5%", budget_, margin_ = "1%", md_, html_, junit_,
                                      lock_clocks_;
  std::string validity_ = "portable";
  std::vector<std::string> command_;
  nl::bench::InterleaveOptions options_;
  nl::bench::PairOptions pair_;
  bool why_ = true, keep_ = true, allow_virtualization_ = false;
  int64_t seed_ = -1;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ProveOp>(); }

}  // namespace nl::ops::prove
