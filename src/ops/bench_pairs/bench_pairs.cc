// SPDX-License-Identifier: Apache-2.0
// `neurolens bench-pairs`: the pairs of the suites below the setting bench_root, with what was last measured
// and what is expected of each. It runs nothing.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/terminal.h"
#include "bench/expectations.h"
#include "bench/results.h"
#include "bench/suite.h"
#include "ops/op.h"
#include "ops/settings.h"
#include "report/text_table.h"

namespace nl::ops::bench_pairs {

namespace {

namespace fs = std::filesystem;

struct LastMeasured {
  std::string result_id, created_at;
  std::optional<std::string> hardware;
  nl::bench::KeptTarget found;
};
void Describe(Record<LastMeasured>& r) {
  r.Name("LastMeasured", "The newest stored result of a pair");
  r.Field("result_id", &LastMeasured::result_id, "For `bench-results`");
  r.Field("created_at", &LastMeasured::created_at, "When it was measured");
  r.Field("hardware", &LastMeasured::hardware, "GPU or CPU that was measured; null: not known");
  r.Field("found", &LastMeasured::found, "Outcome and times");
}

struct ListedPair {
  std::string target, group, baseline, optimized;
  std::vector<nl::bench::Expectation> expected;
  std::optional<LastMeasured> last;
};
void Describe(Record<ListedPair>& r) {
  r.Name("ListedPair", "A baseline and an optimized program of a suite");
  r.Field("target", &ListedPair::target, "GROUP:NAME, or GROUP:NAME_VARIANT");
  r.Field("group", &ListedPair::group, "Folder below the root");
  r.Field("baseline", &ListedPair::baseline, "File or command of the baseline");
  r.Field("optimized", &ListedPair::optimized, "File or command that is measured against it");
  r.Field("expected", &ListedPair::expected, "What the suite expects of it, for each kind of hardware");
  r.Field("last", &ListedPair::last, "What was measured last; null: no stored result has it");
}

struct BenchPairsReply {
  std::optional<std::string> root;
  std::vector<ListedPair> pairs;
  std::vector<nl::bench::SuiteProblem> problems;
  std::optional<std::string> reason;
};
void Describe(Record<BenchPairsReply>& r) {
  r.Name("BenchPairsReply", "Reply of `neurolens bench-pairs`");
  r.Field("root", &BenchPairsReply::root, "Folder of the suites; null: none is set");
  r.Field("pairs", &BenchPairsReply::pairs, "Every pair, by group and name");
  r.Field("problems", &BenchPairsReply::problems, "What is wrong with the suites");
  r.Field("reason", &BenchPairsReply::reason, "Why nothing is listed");
}

class BenchPairsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "bench-pairs";
    info.summary = "Pairs of the benchmark suites below bench_root, with the last result and the expectation";
    info.choose_when =
        "Choose it to see the state of a suite; it works over HTTP too. `bench run` measures, on the machine "
        "itself.";
    info.example = "neurolens bench-pairs --bench-root examples/bench";
    info.reply = ReplyOf<BenchPairsReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("targets", words_, "Pairs: GROUP, GROUP:NAME,NAME with globs, or all").Positional();
  }

  Result<Reply> Run(OpContext& context) override {
    BenchPairsReply reply;
    const std::string root = context.settings->Get("bench_root");
    if (root.empty()) {
      reply.reason = "no folder of suites is set: use --bench-root DIR or the setting bench_root";
      return Reply::Of(std::move(reply));
    }
    reply.root = root;
    NL_ASSIGN(const nl::bench::Suite suite, nl::bench::FindSuite(root));
    reply.problems = suite.problems;
    for (nl::bench::SuiteProblem& problem : reply.problems) problem.file = Below(root, problem.file);
    std::vector<nl::bench::Target> targets = suite.targets;
    if (!words_.empty()) {
      NL_ASSIGN(targets, ChooseTargets(suite, words_));
    }
    for (const nl::bench::Target& target : targets) reply.pairs.push_back(Listed(root, target));
    AddExpected(root, reply);
    AddLast(context.settings->Get("store"), root, reply.pairs);
    if (reply.pairs.empty()) reply.reason = "the folder has no pairs";
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<BenchPairsReply>();
    std::string out;
    TextTable table({{"TARGET", Align::kLeft, true, 16},
                     {"LAST", Align::kRight, false, 0},
                     {"OUTCOME", Align::kLeft, false, 0},
                     {"WHEN", Align::kLeft, false, 0},
                     {"EXPECTED", Align::kRight, false, 0}});
    const auto speedup = [](std::optional<double> x) { return x ? fmt::format("{:.3f}×", *x) : "-"; };
    for (const ListedPair& p : reply.pairs) {
      const bool known = p.last.has_value();
      table.AddRow(
          {p.target, known ? speedup(p.last->found.speedup) : "-",
           known ? std::string(NamesOf(p.last->found.outcome)[static_cast<size_t>(p.last->found.outcome)])
                 : "-",
           known ? p.last->created_at.substr(0, 16) : "-",
           p.expected.empty() ? "-" : speedup(p.expected[0].speedup)});
    }
    if (!reply.pairs.empty()) out += table.Render(style.width, style.color);
    if (reply.reason) out += PrintableText(*reply.reason) + "\n";
    for (const nl::bench::SuiteProblem& p : reply.problems)
      out += fmt::format("{}: {}\n", PrintableText(p.file), PrintableText(p.text));
    return out;
  }

 private:
  // Names of other folders of this machine stay here.
  static std::string Below(const std::string& root, const std::string& file) {
    return fs::path(file).lexically_relative(root).string();
  }

  static ListedPair Listed(const std::string& root, const nl::bench::Target& target) {
    const auto shown = [&](const nl::bench::Program& program) {
      return program.file.empty() ? program.command : Below(root, program.file);
    };
    ListedPair out;
    out.target = target.Label();
    out.group = target.group;
    out.baseline = shown(target.baseline);
    out.optimized = shown(target.optimized);
    return out;
  }

  static void AddExpected(const std::string& root, BenchPairsReply& reply) {
    for (const std::string& path : nl::bench::ExpectationPaths(root)) {
      const Result<nl::bench::ExpectationFile> file = nl::bench::ReadExpectations(path);
      if (!file.ok()) {
        reply.problems.push_back(
            {nl::bench::SuiteProblemKind::kBadFile, Below(root, path), file.error().message});
        continue;
      }
      for (const nl::bench::Expectation& e : file->expectations) {
        for (ListedPair& pair : reply.pairs) {
          if (pair.target == e.target) pair.expected.push_back(e);
        }
      }
    }
  }

  static void AddLast(const std::string& store, const std::string& root, std::vector<ListedPair>& pairs) {
    for (const nl::bench::KeptResult& result : nl::bench::ListResults(store)) {
      if (result.suite != root) continue;
      for (const nl::bench::KeptTarget& found : result.targets) {
        for (ListedPair& pair : pairs) {
          if (pair.target == found.target && !pair.last)
            pair.last = LastMeasured{result.result_id, result.created_at, result.hardware, found};
        }
      }
    }
  }

  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<BenchPairsOp>(); }

}  // namespace nl::ops::bench_pairs
