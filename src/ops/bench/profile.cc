// SPDX-License-Identifier: Apache-2.0
#include "ops/bench/profile.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/run_program.h"
#include "capture/launcher/environment.h"
#include "deep/tools.h"
#include "model/kernel_name.h"
#include "ops/deep/reply.h"
#include "ops/open_analysis.h"
#include "ops/record_run.h"
#include "ops/run_difference.h"

namespace nl::ops::bench {

namespace {

constexpr char kStep[] = "step";  // label of a recorded run of a benchmark
constexpr int64_t kWarmupRuns = 5;
constexpr int64_t kTopKernels = 10;                // that counters are collected for
constexpr int64_t kSampleRate = 1000;              // per second: benchmarks are short
constexpr double kDeviceMs = 300, kHostMs = 1500;  // recorded time of a side, about
constexpr size_t kMostSentences = 5;

class Profiler {
 public:
  Profiler(OpContext& context, const MeasureOptions& measure, const ProfileOptions& options,
           const nl::bench::Target& target, BenchTarget& out)
      : context_(context),
        measure_(measure),
        options_(options),
        target_(target),
        out_(out),
        profile_(out.profile.emplace()) {}

  Status Run(std::optional<CompareFacts>& comparison) {
    profile_.profile = options_.profile;
    profile_.iterations = Iterations();
    FindMetricSet();
    for (const bool is_b : {false, true}) {
      BenchProfiledSide& side = is_b ? profile_.optimized : profile_.baseline;
      const Status done = Side(is_b, side);
      if (context_.Cancelled()) return Cancelled();
      if (!done.ok()) side.reason = done.error().message;
    }
    if (!profile_.baseline.run_id || !profile_.optimized.run_id) {
      profile_.reason = "one of the programs was not recorded";
      return {};
    }
    const Status compared = Compare(comparison);
    if (!compared.ok()) profile_.reason = compared.error().message;
    return compared.ok() || compared.error().code != ErrorCode::kCancelled ? Status() : compared;
  }

 private:
  bool uses_device() const { return out_.baseline_device_ms || out_.optimized_device_ms; }
  bool is_command() const { return target_.baseline.file.empty(); }

  // The same on both sides, so that totals can be compared.
  int64_t Iterations() const {
    if (is_command()) return 1;
    double slower_ms = 1e-6;
    for (const auto* time : {&out_.baseline_time, &out_.optimized_time})
      if (*time) slower_ms = std::max(slower_ms, (*time)->median_ms);
    const double wanted = (uses_device() ? kDeviceMs : kHostMs) / slower_ms;
    return uses_device() ? static_cast<int64_t>(std::clamp(wanted, 10.0, 50.0))
                         : static_cast<int64_t>(std::clamp(wanted, 20.0, 20000.0));
  }

  void FindMetricSet() {
    const std::string set = options_.MetricSet();
    if (set.empty()) {
      profile_.metric_reason = "--profile minimal records without counters";
    } else if (!uses_device() && !is_command()) {
      profile_.metric_reason = "the programs use no GPU";
    } else if (const nl::deep::Tool ncu = nl::deep::FindTool("ncu"); ncu.path.empty()) {
      profile_.metric_reason = ncu.detail;
    } else {
      profile_.metric_set = set;
    }
  }

  // A benchmark reads its requests from a file, so that it runs alone, under whichever tool.
  Result<std::vector<std::string>> Words(bool is_b, const std::string& name) const {
    const std::function<bool()> keep_going = [this] { return !context_.Cancelled(); };
    NL_ASSIGN(const nl::bench::Command command, PrepareSide(measure_, target_, is_b, keep_going));
    std::string requests = "/dev/null";
    if (!is_command()) {
      requests = fmt::format("{}/profiles/{}.requests", options_.folder, name);
      NL_TRY(WriteFileAtomically(
          requests,
          fmt::format("{{\"do\": \"setup\", \"seed\": 7}}\n{{\"do\": \"run\", \"n\": {}}}\n"
                      "{{\"do\": \"run\", \"n\": {}, \"label\": \"{}\"}}\n{{\"do\": \"teardown\"}}\n",
                      kWarmupRuns, profile_.iterations, kStep)));
    }
    const std::string log = fmt::format("{}/logs/{}", options_.folder, name);
    std::vector<std::string> out{
        "/bin/sh",   "-c",     "in=$1 out=$2 err=$3; shift 3; exec \"$@\" <\"$in\" >\"$out\" 2>\"$err\"",
        "sh",        requests, log + ".out",
        log + ".err"};
    if (!command.directory.empty()) out.insert(out.end(), {"/usr/bin/env", "-C", command.directory});
    if (!is_command()) {
      out.insert(out.end(), {"/usr/bin/env", "PYTHONHASHSEED=0"});
      // The recorder sets the path of the package too; other tools do not.
      if (const std::string python = capture::FindPythonDirectory(); !python.empty())
        out.push_back("PYTHONPATH=" + python + "/neurolens/_site:" + capture::PythonPath(python));
    }
    out.insert(out.end(), command.words.begin(), command.words.end());
    return out;
  }

  Status Side(bool is_b, BenchProfiledSide& side) {
    const std::string name = FileName(target_.Label()) + (is_b ? "_optimized" : "_baseline");
    NL_ASSIGN(const std::vector<std::string> words, Words(is_b, name));
    if (context_.progress) context_.progress("profiling " + name, 0, 0);
    NL_TRY(profile_.metric_set ? WithCounters(words, name, side) : Record(words, name, side));
    if (options_.profile == "deep_dive" && uses_device()) NL_TRY(WithNsys(words, name, side));
    return Answered(name);
  }

  std::vector<std::string> Tags(const BenchProfiledSide& side) const {
    return {"bench=" + target_.Label(), &side == &profile_.optimized ? "side=optimized" : "side=baseline"};
  }

  Status Record(const std::vector<std::string>& words, const std::string& name, BenchProfiledSide& side) {
    RecordParams params;
    params.command = words;
    params.counters = false;
    params.rate = kSampleRate;
    params.out = fmt::format("{}/profiles/{}.nlcap", options_.folder, name);
    params.tags = Tags(side);
    NL_ASSIGN(const capture::LaunchOptions launch, params.Options());
    NL_ASSIGN(const RecordedRun recorded, RecordAndImport(context_, launch, params.tags));
    side.run_id = recorded.run_id;
    if (recorded.capture.exit_status != 0)
      return InvalidInput(
          fmt::format("it ended with status {} while it was recorded; {}/logs/{}.err has its words",
                      recorded.capture.exit_status, options_.folder, name));
    return recorded.imported;
  }

  Status WithCounters(const std::vector<std::string>& words, const std::string& name,
                      BenchProfiledSide& side) {
    const std::unique_ptr<Op> deep = MakeOp("deep");
    const Json args{{"command", words},     {"metric_set", *profile_.metric_set},
                    {"top_n", kTopKernels}, {"keep", 0},
                    {"tag", Tags(side)},    {"out", fmt::format("{}/profiles/{}", options_.folder, name)}};
    NL_ASSIGN(const Reply reply, RunOp(*deep, args, context_));
    const DeepReply& found = reply.As<DeepReply>();
    side.run_id = found.run_id;
    side.bundle = found.bundle;
    side.selected = found.selected;
    side.counted = found.counted;
    if (!found.problems.empty()) side.reason = found.problems.front();
    return {};
  }

  // Kept for those who read it in Nsight Systems itself; nothing here depends on it.
  Status WithNsys(const std::vector<std::string>& words, const std::string& name, BenchProfiledSide& side) {
    const nl::deep::Tool nsys = nl::deep::FindTool("nsys");
    if (nsys.path.empty()) return {};
    const std::string report = fmt::format("{}/profiles/{}.nsys-rep", options_.folder, name);
    std::vector<std::string> command{nsys.path, "profile",           "--trace", "cuda,nvtx,osrt", "--sample",
                                     "none",    "--force-overwrite", "true",    "--output",       report};
    command.insert(command.end(), words.begin(), words.end());
    NL_ASSIGN(const ProgramResult ran, RunProgram(command, [this] { return !context_.Cancelled(); }));
    if (ran.status == 0 && PathExists(report)) {
      side.nsys_report = report;
    } else if (!side.reason) {
      side.reason = "nsys: " + nl::deep::ToolsWords(ran.err.empty() ? ran.out : ran.err);
    }
    return {};
  }

  // What a benchmark answers when its work fails: the process itself ends well.
  Status Answered(const std::string& name) const {
    if (is_command()) return {};
    NL_ASSIGN(const std::string answers,
              ReadWholeFile(fmt::format("{}/logs/{}.out", options_.folder, name), 256 << 20));
    const size_t at = answers.find("{\"ok\": false");
    if (at == std::string::npos) return {};
    return InvalidInput("the benchmark failed while it was recorded: " +
                        answers.substr(at, answers.find('\n', at) - at));
  }

  Status Compare(std::optional<CompareFacts>& comparison) {
    const std::unique_ptr<Op> compare = MakeOp("compare");
    const Json args{{"a", Json::array({*profile_.baseline.run_id})},
                    {"b", Json::array({*profile_.optimized.run_id})}};
    NL_ASSIGN(const Reply reply, RunOp(*compare, args, context_));
    const CompareReply& compared = reply.As<CompareReply>();
    profile_.next = compared.next;
    NL_TRY(PairWork(compared));
    NL_TRY(Explain(compared));
    Tell();
    comparison = compared;
    return {};
  }

  // None: not decided, or the pair was rejected; it is still explained by what the recordings show.
  std::optional<bool> MeasuredFaster() const {
    return out_.verdict ? nl::bench::IsFaster(*out_.verdict) : std::nullopt;
  }

  // Of the labelled runs where both have device work: what is before them is not what was measured.
  Status Explain(const CompareFacts& compared) {
    ProveWhy& why = profile_.why.emplace();
    if (compared.busy_a_ms + compared.busy_b_ms <= 0)
      return ExplainRuns(context_, *profile_.baseline.run_id, *profile_.optimized.run_id, MeasuredFaster(),
                         why);
    ExplainDeviceWork(compared, MeasuredFaster().has_value(), why);
    return {};
  }

  struct Work {
    std::vector<NamedTime> kernels, calls;
  };
  // Of the labelled runs where there are labels, else of everything.
  Result<Work> WorkOf(const std::string& run_id) const {
    AnalysisParams params;
    params.run = run_id;
    NL_ASSIGN(const OpenAnalysis open, Analyze(context_, params));
    NL_TRY(open.analysis->Load(NL_READS(Kernel, name, start_ns, dur_ns) |
                               NL_READS(ApiCall, name, start_ns, dur_ns) |
                               NL_READS(Step, name, start_ns, dur_ns)));
    const RunData& data = open.analysis->data();
    int64_t begin = INT64_MIN, end = INT64_MAX;
    for (size_t i = 0; i < data.step.name.size(); ++i) {
      if (IsNull(data.step.name[i]) || data.Text(data.step.name[i]) != kStep) continue;
      if (begin == INT64_MIN) begin = INT64_MAX, end = INT64_MIN;
      begin = std::min(begin, data.step.start_ns[i]);
      end = std::max(end, data.step.start_ns[i] + data.step.dur_ns[i]);
    }
    const auto totals = [&](const auto& table, int64_t last) {
      std::map<std::string, NamedTime> by_name;
      for (size_t i = 0; i < table.name.size(); ++i) {
        if (IsNull(table.name[i]) || table.start_ns[i] < begin || table.start_ns[i] > last) continue;
        NamedTime& one = by_name[std::string(data.Text(table.name[i]))];
        ++one.count;
        one.ms += static_cast<double>(table.dur_ns[i]) / 1e6;
      }
      std::vector<NamedTime> list;
      for (auto& [name, one] : by_name) list.push_back({name, one.count, one.ms});
      std::stable_sort(list.begin(), list.end(),
                       [](const NamedTime& x, const NamedTime& y) { return x.ms > y.ms; });
      return list;
    };
    // Kernels of the last run may begin after the host has left its label.
    return Work{totals(data.kernel, INT64_MAX), totals(data.api_call, end)};
  }

  Status PairWork(const CompareFacts& compared) {
    NL_ASSIGN(const Work a, WorkOf(*profile_.baseline.run_id));
    NL_ASSIGN(const Work b, WorkOf(*profile_.optimized.run_id));
    std::vector<std::pair<std::string, std::string>> aligned;
    for (const CompareContribution& change : compared.contributions) {
      for (const ComparePart& part : change.parts) {
        if (part.kernel_a && part.kernel_b) aligned.emplace_back(*part.kernel_a, *part.kernel_b);
      }
    }
    profile_.kernels = PairKernels(a.kernels, b.kernels, aligned);
    profile_.api_calls = PairCalls(a.calls, b.calls);
    if (profile_.kernels.empty()) return {};
    profile_.pairing = CountMatches(profile_.kernels);
    std::map<std::string, const CounterComparison*> counters;
    for (const CounterComparison& one : compared.counters) counters[one.kernel] = &one;
    const auto of = [&](const std::optional<std::string>& kernel) -> const CounterComparison* {
      if (!kernel) return nullptr;
      const auto found = counters.find(ParseKernelName(*kernel).short_name);
      return found == counters.end() ? nullptr : found->second;
    };
    for (BenchKernel& kernel : profile_.kernels) {
      if (const CounterComparison* in_a = of(kernel.kernel_a)) kernel.counters_a = in_a->a;
      if (const CounterComparison* in_b = of(kernel.kernel_b)) kernel.counters_b = in_b->b;
    }
    return {};
  }

  void Tell() {
    if (out_.speedup && out_.baseline_time && out_.optimized_time)
      profile_.narrative.push_back(fmt::format(
          "The optimized program takes {} instead of {}: {:.2f} times as fast.",
          HumanMs(out_.optimized_time->median_ms), HumanMs(out_.baseline_time->median_ms), *out_.speedup));
    if (profile_.pairing) {
      const BenchPairing& p = *profile_.pairing;
      profile_.narrative.push_back(
          fmt::format("{} on both sides, {} in the baseline only, {} in the optimized program only.",
                      Counted(p.exact + p.normalised + p.structural, "kernel"), HumanCount(p.unmatched_a),
                      HumanCount(p.unmatched_b)));
    }
    if (!profile_.why) return;
    if (profile_.why->reason)
      profile_.narrative.push_back("Why: not known, because " + *profile_.why->reason + ".");
    for (const ProveCause& cause : profile_.why->causes) {
      if (profile_.narrative.size() > kMostSentences) break;
      profile_.narrative.push_back(
          fmt::format("{:.0f} % of the difference: {}.", 100 * cause.share, cause.text));
    }
  }

  OpContext& context_;
  const MeasureOptions& measure_;
  const ProfileOptions& options_;
  const nl::bench::Target& target_;
  BenchTarget& out_;
  BenchProfile& profile_;
};

}  // namespace

std::string ProfileOptions::MetricSet() const {
  if (!metric_set.empty()) return metric_set;
  return profile == "roofline" || profile == "deep_dive" ? profile : "";
}

Status ProfilePair(OpContext& context, const MeasureOptions& measure, const ProfileOptions& options,
                   const nl::bench::Target& target, BenchTarget& out,
                   std::optional<CompareFacts>& comparison) {
  return Profiler(context, measure, options, target, out).Run(comparison);
}

}  // namespace nl::ops::bench
