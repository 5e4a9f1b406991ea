// SPDX-License-Identifier: Apache-2.0
#include "ops/open_snapshot.h"

namespace nl::ops::kernels {

namespace {

class KernelsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "kernels";
    info.summary = "Kernels of a run with their time on the device";
    info.choose_when =
        "Choose it to see what the device spent its time on; `operators` for who asked for it.";
    info.example = "neurolens kernels @latest --sort calls --md";
    info.cost = Cost::kSeconds;
    info.reply_schema = TotalsSchema(TotalsKind::kKernels);
    return info;
  }

  void Bind(ParamBinder& binder) override { params_.Bind(binder, {"total", "calls", "mean", "name"}); }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenRun run, OpenSnapshot(context, params_.run));
    NL_ASSIGN(std::vector<NameStats> stats, KernelTotals(*run.snapshot, params_.Filter()));
    return TotalsReply(run, std::move(stats), params_, TotalsKind::kKernels);
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    return TotalsText(reply.json, TotalsKind::kKernels, style);
  }

 private:
  TotalsParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<KernelsOp>(); }

}  // namespace nl::ops::kernels
