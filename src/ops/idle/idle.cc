// SPDX-License-Identifier: Apache-2.0
// `neurolens idle`: why the devices of a run were idle.

#include <algorithm>

#include <fmt/format.h>

#include "analyze/facts/accounting.h"
#include "analyze/facts/idle.h"
#include "base/human.h"
#include "base/terminal.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::idle {

namespace {

struct IdleReply : IdleSection {
  std::string run_id;
  std::optional<PhaseTime> phase;
  double wall_ms = 0;
  int64_t causes_total = 0;
};
void Describe(Record<IdleReply>& r) {
  r.Name("IdleReply", "Reply of `neurolens idle`");
  r.Field("run_id", &IdleReply::run_id, "The run");
  r.Field("phase", &IdleReply::phase, "Part of the run that this is about; null: the whole run");
  r.Field("wall_ms", &IdleReply::wall_ms, Unit::kMs, "Time from the first to the last event of the run");
  r.Base<IdleSection>();
  r.Field("causes_total", &IdleReply::causes_total, "Reasons before --limit");
}

class IdleOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "idle";
    info.summary = "Why the devices were idle: host, launch, sync or other, and what the host was doing";
    info.choose_when =
        "Choose it when `summary` shows low utilization; `launch` gives the cost of launching itself.";
    info.example = "neurolens idle @latest";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<IdleReply>();
    info.tool.place = 7;
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    params_.BindPhase(b);
    b.Add("limit", limit_, "Causes to list; 0 lists all").Range(0, 1e9);
    b.Add("gaps", gaps_, "Longest gaps to list").Range(0, IdleFacts::kMaxListed);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_TRY(NeedTimeline(open));
    NL_ASSIGN(const IdleFacts* facts, open.analysis->Need<IdleFacts>());
    const auto& timeline = open.analysis->facts().Get<TimelineFacts>();
    IdleReply reply;
    static_cast<IdleSection&>(reply) = SectionOf(*facts, timeline, open.analysis->data());
    reply.run_id = open.run.run.run_id;
    reply.phase = open.phase;
    reply.wall_ms = static_cast<double>(timeline.wall_ns()) / 1e6;
    reply.causes_total = static_cast<int64_t>(reply.causes.size());
    if (limit_ > 0) reply.causes.resize(std::min(reply.causes.size(), static_cast<size_t>(limit_)));
    reply.largest.resize(std::min(reply.largest.size(), static_cast<size_t>(gaps_)));
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<IdleReply>();
    if (reply.devices.empty()) return "no device work recorded, so there is no idle time to explain\n";
    std::string out = PhaseLine(reply.phase);
    for (const IdleDevice& d : reply.devices) out += DeviceText(d, reply.wall_ms, style.width);
    if (!reply.causes.empty()) out += "\n" + CausesText(reply, style);
    if (!reply.largest.empty()) out += "\n" + GapsText(reply, style);
    return out;
  }

 private:
  static std::string DeviceText(const IdleDevice& d, double wall_ms, int width) {
    const double recorded_ms = wall_ms - d.paused_ms;
    const auto part = [&d](const char* name, double ms) {
      return fmt::format("{} {} ({:.0f} %)", name, HumanMs(ms), d.idle_ms > 0 ? 100 * ms / d.idle_ms : 0.0);
    };
    std::vector<std::string> known;
    if (d.host_ms) known.push_back(part("host", *d.host_ms));
    if (d.launch_ms) known.push_back(part("launch", *d.launch_ms));
    if (d.sync_ms) known.push_back(part("sync", *d.sync_ms));
    if (d.startup_ms.value_or(0) > 0) known.push_back(part("start-up", *d.startup_ms));
    if (d.edge_ms > 0) known.push_back(part("edges", d.edge_ms));
    known.push_back(part(d.host_ms ? "other" : "unknown (no launch calls recorded)", d.other_ms));
    const std::string parts = fmt::format("{}", fmt::join(known, ", "));
    return fmt::format("device {}{}: idle {} of {} ({:.1f} %){}\n{}\n",
                       d.index ? std::to_string(*d.index) : "?",
                       d.rank ? fmt::format(" of rank {}", *d.rank) : "", HumanMs(d.idle_ms),
                       HumanMs(recorded_ms), recorded_ms > 0 ? 100 * d.idle_ms / recorded_ms : 0.0,
                       d.paused_ms > 0 ? fmt::format(", not recorded {}", HumanMs(d.paused_ms)) : "",
                       "  " + Wrap(parts, width - 2, 2));
  }

  static std::string CausesText(const IdleReply& reply, const TextStyle& style) {
    TextTable table({{"REASON", Align::kLeft, false, 0},
                     {"NAME", Align::kLeft, true, 20},
                     {"TIME", Align::kRight, false, 0},
                     {"SHARE", Align::kRight, false, 0},
                     {"GAPS", Align::kRight, false, 0}});
    for (const IdleReason& c : reply.causes) {
      table.AddRow({c.what, c.name.value_or(""), HumanMs(c.ms),
                    c.share ? fmt::format("{:.1f} %", 100 * *c.share) : "", HumanCount(c.gaps)});
    }
    std::string out = table.Render(style.width, style.color);
    const int64_t more = reply.causes_total - static_cast<int64_t>(reply.causes.size());
    if (more > 0) out += fmt::format("{} more reasons; --limit 0 lists all\n", more);
    return out;
  }

  // What ended a gap: work, the end of the run, or a switch of the recording.
  static std::string EndText(const IdleGap& gap, double wall_ms) {
    if (gap.next) return *gap.next;
    if (gap.cause == IdleCauseName(IdleCause::kNotRecorded)) return "(recording resumed)";
    return gap.start_ms + gap.dur_ms < wall_ms - 1e-6 ? "(recording paused)" : "(end of the run)";
  }

  static std::string GapsText(const IdleReply& reply, const TextStyle& style) {
    TextTable table({{"AT", Align::kRight, false, 0},
                     {"GAP", Align::kRight, false, 0},
                     {"MAIN REASON", Align::kLeft, false, 0},
                     {"NAME", Align::kLeft, true, 12},
                     {"ENDED BY", Align::kLeft, true, 12}});
    for (const IdleGap& g : reply.largest) {
      table.AddRow(
          {HumanMs(g.start_ms), HumanMs(g.dur_ms), g.cause, g.name.value_or(""), EndText(g, reply.wall_ms)});
    }
    return table.Render(style.width, style.color);
  }

  AnalysisParams params_;
  int64_t limit_ = 15, gaps_ = 5;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<IdleOp>(); }

}  // namespace nl::ops::idle
