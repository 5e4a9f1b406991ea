// SPDX-License-Identifier: Apache-2.0
// `neurolens bench-results`: what `bench run` and `prove` found so far, from the store.

#include <algorithm>

#include <fmt/format.h>

#include "base/file_mark.h"
#include "base/human.h"
#include "base/terminal.h"
#include "bench/results.h"
#include "ops/op.h"
#include "ops/settings.h"
#include "report/text_table.h"

namespace nl::ops::bench_results {

namespace {

using nl::bench::KeptResult;
using nl::bench::KeptTarget;
using nl::bench::ResultKind;

struct BenchResultsReply {
  int64_t results_total = 0;
  std::optional<int64_t> next_offset;
  std::vector<KeptResult> results;
  std::optional<Json> reply;
};
void Describe(Record<BenchResultsReply>& r) {
  r.Name("BenchResultsReply", "Reply of `neurolens bench-results`");
  r.Field("results_total", &BenchResultsReply::results_total, "Results that match");
  r.Field("next_offset", &BenchResultsReply::next_offset,
          "Offset of the next page; null: this is the last one");
  r.Field("results", &BenchResultsReply::results, "Newest first");
  r.Field("reply", &BenchResultsReply::reply,
          "With a result: the whole reply of the command, a BenchReply or a ProveReply; null: a list was "
          "asked for");
}

std::string KindName(ResultKind kind) { return std::string(NamesOf(kind)[static_cast<size_t>(kind)]); }

// "2 faster, 1 rejected"; of one pair its speedup.
std::string FoundText(const KeptResult& result) {
  if (result.targets.size() == 1 && result.targets[0].speedup)
    return fmt::format("{:.3f}× {}", *result.targets[0].speedup,
                       NamesOf(result.targets[0].outcome)[static_cast<size_t>(result.targets[0].outcome)]);
  std::string out;
  const auto names = NamesOf(nl::bench::KeptOutcome{});
  for (size_t i = 0; i < names.size(); ++i) {
    const auto n = std::count_if(result.targets.begin(), result.targets.end(),
                                 [i](const KeptTarget& t) { return static_cast<size_t>(t.outcome) == i; });
    if (n > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", n, names[i]);
  }
  return out;
}

class BenchResultsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "bench-results";
    info.summary = "Results of earlier `bench run` and `prove`, as a list or in full";
    info.choose_when =
        "Choose it for the history of a pair; it works over HTTP too. `bench` and `prove` measure; "
        "`bench-pairs` "
        "lists what "
        "can be measured.";
    info.example = "neurolens bench-results --target cpp:branch";
    info.reply = ReplyOf<BenchResultsReply>();
    info.watched.event = "bench_result";
    info.watched.rows = "results";
    info.watched.id = "result_id";
    info.watched.args = {{"limit", 20}};
    info.watched.mark = [](const Settings& settings) {
      return FileMark(nl::bench::ResultsFolder(settings.Get("store")));
    };
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("result", result_, "One result in full: its id, or a unique beginning of it").Positional();
    b.Add("kind", kind_, "Only results of this command").Choices({"bench", "prove"});
    b.Add("target", target_, "Only results with this pair, and of them only this pair");
    b.Add("limit", limit_, "At most this many results; 0 for all").Range(0, 1e9);
    b.Add("offset", offset_, "Results to leave out, newest first").Range(0, 1e9);
  }

  Result<Reply> Run(OpContext& context) override {
    const std::string store = context.settings->Get("store");
    BenchResultsReply reply;
    if (!result_.empty()) {
      NL_ASSIGN(nl::bench::WholeResult whole, nl::bench::ReadResult(store, result_));
      reply.results_total = 1;
      reply.results.push_back(std::move(whole.result));
      reply.reply = std::move(whole.reply);
      return Reply::Of(std::move(reply));
    }
    for (KeptResult& result : nl::bench::ListResults(store)) {
      if (!Matches(result)) continue;
      const int64_t at = reply.results_total++;
      if (at >= offset_ && (limit_ == 0 || at - offset_ < limit_)) reply.results.push_back(std::move(result));
    }
    const int64_t end = offset_ + static_cast<int64_t>(reply.results.size());
    if (!reply.results.empty() && end < reply.results_total) reply.next_offset = end;
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<BenchResultsReply>();
    if (reply.results.empty()) return "no results\n";
    if (reply.reply) return DumpJson(*reply.reply, 2) + "\n";
    TextTable table({{"RESULT", Align::kLeft, false, 0},
                     {"WHEN", Align::kLeft, false, 0},
                     {"COMMAND", Align::kLeft, false, 0},
                     {"FOUND", Align::kLeft, false, 0},
                     {"WHAT", Align::kLeft, true, 12}});
    for (const KeptResult& r : reply.results)
      table.AddRow({r.result_id.substr(0, 13), r.created_at.substr(0, 16), KindName(r.kind), FoundText(r),
                    PrintableName(r.title, 200)});
    std::string out = table.Render(style.width, style.color);
    const auto shown = static_cast<int64_t>(reply.results.size());
    if (shown < reply.results_total)
      out += fmt::format("{} of {} results\n", HumanCount(shown), HumanCount(reply.results_total));
    return out;
  }

 private:
  bool Matches(KeptResult& result) const {
    if (!kind_.empty() && KindName(result.kind) != kind_) return false;
    if (target_.empty()) return true;
    const auto other = [&](const KeptTarget& t) { return t.target != target_; };
    result.targets.erase(std::remove_if(result.targets.begin(), result.targets.end(), other),
                         result.targets.end());
    return !result.targets.empty();
  }

  std::string result_, kind_, target_;
  int64_t limit_ = 50, offset_ = 0;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<BenchResultsOp>(); }

}  // namespace nl::ops::bench_results
