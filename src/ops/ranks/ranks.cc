// SPDX-License-Identifier: Apache-2.0
// `neurolens ranks`: which rank waited for which in the collectives of a distributed run.

#include <algorithm>

#include <fmt/format.h>

#include "analyze/facts/ranks.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/units.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::ranks {

namespace {

struct RanksReply : RanksSection {
  std::string run_id;
  double wall_ms = 0;
};
void Describe(Record<RanksReply>& r) {
  r.Name("RanksReply", "Reply of `neurolens ranks`");
  r.Field("run_id", &RanksReply::run_id, "The run");
  r.Field("wall_ms", &RanksReply::wall_ms, Unit::kMs, "Time from the first to the last event of the run");
  r.Base<RanksSection>();
}

std::string Signed(const std::optional<double>& ms) {
  if (!ms) return "";
  return (*ms < 0 ? "-" : "+") + HumanMs(*ms < 0 ? -*ms : *ms);
}

std::string NumberOf(const RankMember& m) { return fmt::format("{}", m.rank.value_or(m.device.value_or(0))); }

class RanksOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "ranks";
    info.summary =
        "Which rank waited for which: arrival skew and transfer time of every collective, per rank and group";
    info.choose_when =
        "Choose it for a distributed run (a folder of ranks) with communication. `overlap` shows how much of "
        "the communication ran concurrently with compute.";
    info.example = "neurolens ranks @latest --limit 5";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<RanksReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("limit", limit_, "Collectives to list, largest skew first; 0 lists all").Range(0, 1e9);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const RanksFacts* facts, open.analysis->Need<RanksFacts>());
    const auto& timeline = open.analysis->facts().Get<TimelineFacts>();
    RanksReply reply;
    static_cast<RanksSection&>(reply) =
        SectionOf(*facts, timeline, open.analysis->data(), static_cast<size_t>(limit_));
    reply.run_id = open.run.run.run_id;
    reply.wall_ms = Ms(timeline.wall_ns());
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<RanksReply>();
    if (r.collectives.empty() && r.not_assessed)
      return fmt::format("not assessed: {}\n", *r.not_assessed) + UnmatchedText(r);
    return VerdictText(r) + "\n" + MembersText(r, style) + "\n" + ClocksText(r, style) + "\n" +
           GroupsText(r, style) + "\n" + CollectivesText(r, style) + UnmatchedText(r);
  }

 private:
  static const char* Word(const RanksReply& r) {
    return r.members_are == RankMembers::kRanks ? "rank" : "device";
  }

  static std::string VerdictText(const RanksReply& r) {
    std::string out = fmt::format("{} of {}\n", Counted(r.collectives_total, "collective"),
                                  Counted(static_cast<int64_t>(r.members.size()), Word(r)));
    out += fmt::format("  {} waiting for the last to arrive, {} of the time in collectives\n",
                       HumanMs(r.waited_ms), HumanPercent(r.waited_ms, r.waited_ms + r.transfer_ms));
    out += fmt::format("  {} transferring data\n", HumanMs(r.transfer_ms));
    const auto worst = std::max_element(
        r.members.begin(), r.members.end(),
        [](const RankMember& a, const RankMember& b) { return a.held_up_ms < b.held_up_ms; });
    if (worst != r.members.end() && worst->held_up_ms > 0) {
      out += fmt::format("  {} {} arrived last {} and delayed the others by {}\n", Word(r), NumberOf(*worst),
                         Counted(worst->last, "time"), HumanMs(worst->held_up_ms));
    }
    if (r.times_of == RankTimes::kHostCalls)
      out += "times are those of host calls, because no device work of the collectives was recorded\n";
    if (r.impossible > 0) {
      out += fmt::format("in {} a member leaves before the last arrives: the clocks disagree\n",
                         Counted(r.impossible, "collective"));
    }
    return out;
  }

  static std::string MembersText(const RanksReply& r, const TextStyle& style) {
    TextTable table({{r.members_are == RankMembers::kRanks ? "RANK" : "DEVICE", Align::kRight, false, 0},
                     {"COLLECTIVES", Align::kRight, false, 0},
                     {"WAITED", Align::kRight, false, 0},
                     {"TRANSFER", Align::kRight, false, 0},
                     {"MEAN LATENESS", Align::kRight, false, 0},
                     {"LAST", Align::kRight, false, 0},
                     {"DELAYED BY", Align::kRight, false, 0}});
    for (const RankMember& m : r.members) {
      table.AddRow({NumberOf(m), HumanCount(m.collectives), HumanMs(m.waited_ms), HumanMs(m.transfer_ms),
                    m.mean_late_ms ? HumanMs(*m.mean_late_ms) : "-", HumanCount(m.last),
                    HumanMs(m.held_up_ms)});
    }
    return table.Render(style.width, style.color);
  }

  static std::string ClocksText(const RanksReply& r, const TextStyle& style) {
    if (r.members_are != RankMembers::kRanks)
      return "clocks: the devices belong to one process and share a clock\n";
    TextTable table({{"RANK", Align::kRight, false, 0},
                     {"CLOCK OFFSET", Align::kRight, false, 0},
                     {"AT LEAST", Align::kRight, false, 0},
                     {"AT MOST", Align::kRight, false, 0},
                     {"CORRECTED", Align::kLeft, false, 0}});
    bool drift = false;
    for (size_t i = 1; i < r.members.size(); ++i) {
      const RankMember& m = r.members[i];
      drift |= !m.clock_consistent;
      table.AddRow({NumberOf(m), m.clock_offset_ms ? Signed(m.clock_offset_ms) : "unknown",
                    Signed(m.clock_offset_low_ms), Signed(m.clock_offset_high_ms),
                    m.clock_applied ? "yes" : "no"});
    }
    std::string out = fmt::format("clocks relative to rank {}, from the ends of collectives:\n",
                                  NumberOf(r.members.front()));
    out += r.clocks_corrected ? "arrivals are corrected here where equal clocks are impossible;\n"
                                "times stored in the run are not changed\n"
                              : "nothing is corrected, because equal clocks are possible\n";
    if (drift) {
      out +=
          "no single offset fits every collective: the clocks drift,\n"
          "or calls were matched wrongly\n";
    }
    return out + table.Render(style.width, style.color);
  }

  static std::string GroupsText(const RanksReply& r, const TextStyle& style) {
    TextTable table({{"GROUP", Align::kLeft, true, 8},
                     {"CALLS", Align::kRight, false, 0},
                     {"MATCHED BY", Align::kLeft, false, 0},
                     {"SKEW", Align::kRight, false, 0},
                     {"P50", Align::kRight, false, 0},
                     {"P95", Align::kRight, false, 0},
                     {"TRANSFER", Align::kRight, false, 0},
                     {"LAST", Align::kRight, false, 0}});
    int64_t incomplete = 0;
    for (const RankGroup& g : r.groups) {
      std::string name = g.group.value_or("unknown");
      if (g.description) name += " " + *g.description;
      incomplete += g.incomplete;
      table.AddRow({name, HumanCount(g.collectives),
                    std::string(NamesOf(g.matched_by)[static_cast<size_t>(g.matched_by)]), HumanMs(g.skew_ms),
                    HumanMs(g.skew_p50_ms), HumanMs(g.skew_p95_ms), HumanMs(g.transfer_ms),
                    g.most_often_last ? std::to_string(*g.most_often_last) : "-"});
    }
    std::string out = table.Render(style.width, style.color);
    if (incomplete > 0) {
      out += fmt::format("{} without all members of the group: the files of some ranks are missing\n",
                         Counted(incomplete, "collective"));
    }
    return out;
  }

  static std::string CollectivesText(const RanksReply& r, const TextStyle& style) {
    TextTable table({{"LARGEST SKEW", Align::kLeft, true, 12},
                     {"SEQ", Align::kRight, false, 0},
                     {"AT", Align::kRight, false, 0},
                     {"SKEW", Align::kRight, false, 0},
                     {"TRANSFER", Align::kRight, false, 0},
                     {"FIRST", Align::kRight, false, 0},
                     {"LAST", Align::kRight, false, 0}});
    for (const RankCollective& c : r.collectives) {
      table.AddRow({c.name.value_or("(unnamed)"), std::to_string(c.sequence), HumanMs(c.start_ms),
                    HumanMs(c.skew_ms), HumanMs(c.transfer_ms), std::to_string(c.first),
                    std::to_string(c.last)});
    }
    return table.Render(style.width, style.color);
  }

  static std::string UnmatchedText(const RanksReply& r) {
    std::string out;
    for (const RankUnmatched& u : r.unmatched)
      out += fmt::format("{} not matched: {}\n", Counted(u.count, "call"), u.why);
    return out;
  }

  AnalysisParams params_;
  int64_t limit_ = 10;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<RanksOp>(); }

}  // namespace nl::ops::ranks
