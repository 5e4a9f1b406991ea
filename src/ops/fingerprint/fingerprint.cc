// SPDX-License-Identifier: Apache-2.0
// `neurolens fingerprint`: the short vectors two runs are compared by.

#include <algorithm>

#include <fmt/format.h>

#include "analyze/facts/fingerprint.h"
#include "base/file_ops.h"
#include "base/human.h"
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
        "A short vector per op (latency share, intensity, occupancy, ...) to keep and compare runs by";
    info.choose_when =
        "Choose it to store what a run looked like in a small file; the same run always gives the same "
        "bytes.";
    info.example = "neurolens fingerprint @latest --out run.fingerprint.json";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["run_id", "source_run_sha", "hardware_norm", "vector_spec", "ops", "summary", "created_at"],
      "properties": {"run_id": {"type": "string"}, "source_run_sha": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "hardware_norm": {"type": "object", "required": ["device", "devices", "peaks"]},
        "vector_spec": {"type": "object", "required": ["version", "fields"]},
        "ops": {"type": "array", "items": {"type": "object", "required": ["sig", "name", "type", "index", "vector", "ai_source"],
          "properties": {"vector": {"type": "array", "minItems": 6, "maxItems": 6, "items": {"type": ["number", "null"]}}}}},
        "summary": {"type": "object"}, "created_at": {"type": "string"}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    params_.BindPeaks(b);
    b.Add("out", out_, "Write the document to this file").Path().LocalOnly();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const FingerprintFacts* facts, open.analysis->Need<FingerprintFacts>());
    Reply reply;
    reply.json = ToJson(*facts, open.analysis->data());
    if (!out_.empty()) NL_TRY(WriteFileAtomically(out_, DumpJson(reply.json, 1) + "\n"));
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    std::string out = fmt::format("run {}\nsource {}\n", r["run_id"].get<std::string>(),
                                  r["source_run_sha"].get<std::string>());
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
    std::vector<const Json*> ops;
    for (const Json& op : r["ops"]) ops.push_back(&op);
    const auto share = [](const Json* op) {
      return (*op)["vector"][0].is_number() ? (*op)["vector"][0].get<double>() : 0;
    };
    std::stable_sort(ops.begin(), ops.end(),
                     [&](const Json* a, const Json* b) { return share(a) > share(b); });
    for (size_t i = 0; i < std::min(kShown, ops.size()); ++i) {
      std::vector<std::string> row = {(*ops[i])["name"], (*ops[i])["sig"]};
      for (const Json& value : (*ops[i])["vector"])
        row.push_back(value.is_null() ? "-" : fmt::format("{:.3g}", value.get<double>()));
      table.AddRow(std::move(row));
    }
    out += "\n" + table.Render(style.width, style.color);
    if (ops.size() > kShown)
      out += fmt::format("{} more; --json and --out have all\n",
                         HumanCount(static_cast<int64_t>(ops.size() - kShown)));
    return out;
  }

 private:
  AnalysisParams params_;
  std::string out_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<FingerprintOp>(); }

}  // namespace nl::ops::fingerprint
