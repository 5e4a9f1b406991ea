// SPDX-License-Identifier: Apache-2.0
#include "ops/open_snapshot.h"

namespace nl::ops::operators {

namespace {

class OperatorsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "operators";
    info.summary = "Framework operators of a run with device, total and self time";
    info.choose_when =
        "Choose it to see which operators cost time; `kernels` for what ran on the device, `summary` for the "
        "whole.";
    info.example = "neurolens operators @latest --by-shape --limit 10";
    info.cost = Cost::kSeconds;
    info.reply_schema = TotalsSchema(TotalsKind::kOperators);
    return info;
  }

  void Bind(ParamBinder& binder) override {
    params_.Bind(binder, {"gpu", "total", "self", "calls", "mean", "name"});
    binder.Add("by_type", params_.by_type,
               "One row per operator type (Conv) where names are of single nodes");
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenRun run, OpenSnapshot(context, params_.run));
    NL_ASSIGN(std::vector<NameStats> stats, OperatorTotals(*run.snapshot, params_.Filter()));
    return TotalsReply(run, std::move(stats), params_, TotalsKind::kOperators);
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return TotalsText(reply.json, TotalsKind::kOperators, style);
  }

 private:
  TotalsParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<OperatorsOp>(); }

}  // namespace nl::ops::operators
