// SPDX-License-Identifier: Apache-2.0
// `neurolens overlap`: how much of the communication and the copies ran at the same time as compute.

#include <fmt/format.h>

#include "analyze/facts/accounting.h"
#include "base/human.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::overlap {

namespace {

struct OverlapReply : AccountingSection {
  std::string run_id;
  std::optional<PhaseTime> phase;
};
void Describe(Record<OverlapReply>& r) {
  r.Name("OverlapReply", "Reply of `neurolens overlap`");
  r.Field("run_id", &OverlapReply::run_id, "The run");
  r.Field("phase", &OverlapReply::phase, "Part of the run that this is about; null: the whole run");
  r.Base<AccountingSection>();
}

class OverlapOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "overlap";
    info.summary =
        "What ran at the same time on each device: compute, communication and copies; the parts sum to the "
        "wall time";
    info.choose_when = "Choose it when copies or collectives take time; `summary` gives only the totals.";
    info.example = "neurolens overlap @latest";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<OverlapReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    params_.BindPhase(b);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_TRY(NeedTimeline(open));
    NL_ASSIGN(const AccountingFacts* facts, open.analysis->Need<AccountingFacts>());
    OverlapReply reply;
    static_cast<AccountingSection&>(reply) =
        SectionOf(*facts, open.analysis->facts().Get<TimelineFacts>(), open.analysis->data());
    reply.run_id = open.run.run.run_id;
    reply.phase = open.phase;
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<OverlapReply>();
    if (reply.devices.empty()) return "no device work recorded\n";
    std::string out = PhaseLine(reply.phase) + fmt::format("wall {}\n", HumanMs(reply.wall_ms));
    for (const DeviceTime& d : reply.devices) out += "\n" + DeviceText(d, style);
    return out;
  }

 private:
  static std::string DeviceText(const DeviceTime& d, const TextStyle& style) {
    std::string out =
        fmt::format("device {}{}{}: busy {} ({:.1f} %)\n", d.index ? std::to_string(*d.index) : "?",
                    d.rank ? fmt::format(" of rank {}", *d.rank) : "", d.name ? " " + *d.name : "",
                    HumanMs(d.busy_ms), 100 * d.utilization.value_or(0));
    out += HiddenText("communication", d.hidden_communication_share) +
           HiddenText("copies and memsets", d.hidden_memory_share);
    TextTable parts({{"WHAT RAN", Align::kLeft, false, 0},
                     {"TIME", Align::kRight, false, 0},
                     {"SHARE", Align::kRight, false, 0}});
    for (const TimeShare& p : d.parts)
      parts.AddRow({p.what, HumanMs(p.ms), p.share ? fmt::format("{:.2f} %", 100 * *p.share) : ""});
    return out + parts.Render(style.width, style.color);
  }

  static std::string HiddenText(const char* what, const std::optional<double>& share) {
    return share ? fmt::format("  {:.1f} % of the {} overlapped with compute\n", 100 * *share, what) : "";
  }

  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<OverlapOp>(); }

}  // namespace nl::ops::overlap
