// SPDX-License-Identifier: Apache-2.0
// `neurolens operators`: the framework operators of a run with host and device time.
#include "ops/totals_list.h"

namespace nl::ops::operators {

namespace {

struct OperatorsReply {
  std::string run_id;
  std::optional<PhaseTime> phase;
  int64_t rows_total = 0;
  std::vector<NameTotals> operators;
};
void Describe(Record<OperatorsReply>& r) {
  r.Name("OperatorsReply", "Reply of `neurolens operators`");
  r.Field("run_id", &OperatorsReply::run_id, "The run");
  r.Field("phase", &OperatorsReply::phase, "Part of the run that this is about; null: the whole run");
  r.Field("rows_total", &OperatorsReply::rows_total, "Rows before --limit");
  r.Field("operators", &OperatorsReply::operators, "One row per operator, in the order of --sort");
}

class OperatorsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "operators";
    info.summary = "Framework operators of a run with device, total and self time";
    info.choose_when =
        "Choose it to see which operators take the time; `kernels` shows what ran on the device, `summary` "
        "the whole run.";
    info.example = "neurolens operators @latest --by-shape --limit 10";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<OperatorsReply>();
    info.tool.place = 6;
    return info;
  }

  void Bind(ParamBinder& binder) override {
    params_.Bind(binder, {"gpu", "total", "self", "calls", "mean", "name"});
    binder.Add("by_type", params_.by_type,
               "One row per operator type (Conv) where operators are named after their nodes");
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const TotalsRun open, OpenTotals(context, params_));
    NL_ASSIGN(std::vector<NameStats> stats, OperatorTotals(*open.run.snapshot, open.filter));
    OperatorsReply out;
    out.run_id = open.run.run.run_id;
    out.phase = open.phase;
    out.rows_total = static_cast<int64_t>(stats.size());
    out.operators = ListOf(std::move(stats), TotalsKind::kOperators, params_);
    std::string raw = TotalsRaw(out.operators, TotalsKind::kOperators, params_);
    Reply reply = Reply::Of(std::move(out));
    reply.raw = std::move(raw);
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<OperatorsReply>();
    return PhaseLine(reply.phase) +
           TotalsText(reply.operators, reply.rows_total, TotalsKind::kOperators, style);
  }

 private:
  TotalsParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<OperatorsOp>(); }

}  // namespace nl::ops::operators
