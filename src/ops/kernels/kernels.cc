// SPDX-License-Identifier: Apache-2.0
// `neurolens kernels`: the kernels of a run with their time on the device.
#include "ops/totals_list.h"

namespace nl::ops::kernels {

namespace {

struct KernelsReply {
  std::string run_id;
  std::optional<PhaseTime> phase;
  int64_t rows_total = 0;
  std::vector<NameTotals> kernels;
};
void Describe(Record<KernelsReply>& r) {
  r.Name("KernelsReply", "Reply of `neurolens kernels`");
  r.Field("run_id", &KernelsReply::run_id, "The run");
  r.Field("phase", &KernelsReply::phase, "Part of the run that this is about; null: the whole run");
  r.Field("rows_total", &KernelsReply::rows_total, "Rows before --limit");
  r.Field("kernels", &KernelsReply::kernels, "One row per kernel, in the order of --sort");
}

class KernelsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "kernels";
    info.summary = "Kernels of a run with their time on the device";
    info.choose_when =
        "Choose it to see what the device spent its time on; `operators` shows what launched the kernels.";
    info.example = "neurolens kernels @latest --sort calls --md";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<KernelsReply>();
    info.tool.place = 5;
    return info;
  }

  void Bind(ParamBinder& binder) override { params_.Bind(binder, {"total", "calls", "mean", "name"}); }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const TotalsRun open, OpenTotals(context, params_));
    NL_ASSIGN(std::vector<NameStats> stats, KernelTotals(*open.run.snapshot, open.filter));
    KernelsReply out;
    out.run_id = open.run.run.run_id;
    out.phase = open.phase;
    out.rows_total = static_cast<int64_t>(stats.size());
    out.kernels = ListOf(std::move(stats), TotalsKind::kKernels, params_);
    std::string raw = TotalsRaw(out.kernels, TotalsKind::kKernels, params_);
    Reply reply = Reply::Of(std::move(out));
    reply.raw = std::move(raw);
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<KernelsReply>();
    return PhaseLine(reply.phase) + TotalsText(reply.kernels, reply.rows_total, TotalsKind::kKernels, style);
  }

 private:
  TotalsParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<KernelsOp>(); }

}  // namespace nl::ops::kernels
