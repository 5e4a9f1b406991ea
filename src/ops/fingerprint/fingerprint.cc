// SPDX-License-Identifier: Apache-2.0
// `neurolens fingerprint`: a short vector per operator, to compare runs.

#include <algorithm>

#include <fmt/format.h>

#include "analyze/facts/fingerprint.h"
#include "base/file_ops.h"
#include "base/human.h"
#include "base/record_json.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::fingerprint {

namespace {

class FingerprintOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "fingerprint";
    info.summary =
        "A short vector per operator (latency share, intensity, occupancy, ...) to store and compare runs";
    info.choose_when =
        "Choose it to keep the profile of a run in a small file; the same run always gives the same bytes.";
    info.example = "neurolens fingerprint @latest --out run.fingerprint.json";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<FingerprintSection>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    params_.BindPeaks(b);
    b.Add("out", out_, "Write the document to this file").Path();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const FingerprintFacts* facts, open.analysis->Need<FingerprintFacts>());
    FingerprintSection section = SectionOf(*facts, open.analysis->data());
    if (!out_.empty()) NL_TRY(WriteFileAtomically(out_, ToJsonText(section, 1) + "\n"));
    return Reply::Of(std::move(section));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<FingerprintSection>();
    std::string out = fmt::format("run {}\nsource {}\n", reply.run_id.value_or("?"), reply.source_run_sha);
    if (!out_.empty()) out += fmt::format("written to {}\n", out_);
    TextTable table({{"OP", Align::kLeft, true, 12},
                     {"SIG", Align::kLeft, false, 0},
                     {"LAT", Align::kRight, false, 0},
                     {"AI", Align::kRight, false, 0},
                     {"OCC", Align::kRight, false, 0},
                     {"WARP", Align::kRight, false, 0},
                     {"L2", Align::kRight, false, 0},
                     {"DRAM", Align::kRight, false, 0}});
    constexpr size_t kShown = 15;
    std::vector<const FingerprintRow*> ops;
    for (const FingerprintRow& op : reply.ops) ops.push_back(&op);
    std::stable_sort(ops.begin(), ops.end(), [](const FingerprintRow* a, const FingerprintRow* b) {
      return a->vector[0].value_or(0) > b->vector[0].value_or(0);
    });
    for (size_t i = 0; i < std::min(kShown, ops.size()); ++i) {
      std::vector<std::string> row = {ops[i]->name, ops[i]->sig};
      for (const std::optional<double>& value : ops[i]->vector)
        row.push_back(value ? fmt::format("{:.3g}", *value) : "-");
      table.AddRow(std::move(row));
    }
    out += "\n" + table.Render(style.width, style.color);
    if (ops.size() > kShown) {
      out += fmt::format("{} more; --json and --out include all\n",
                         HumanCount(static_cast<int64_t>(ops.size() - kShown)));
    }
    return out;
  }

 private:
  AnalysisParams params_;
  std::string out_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<FingerprintOp>(); }

}  // namespace nl::ops::fingerprint
