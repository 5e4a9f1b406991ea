// SPDX-License-Identifier: Apache-2.0
// What `neurolens deep` says of a configured model before and after it ran: `predict` with the timeline, as
// prediction.json, a part of report.md and rows of metrics.json.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/record_json.h"
#include "ops/deep/session.h"
#include "ops/predict/reply.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl::ops::deep {

using nl::deep::DeepPrediction;
using predict::PredictReply;

namespace {

constexpr int64_t kMostReportBytes = 64 << 20;

DeepPrediction RowOf(const PredictedStage& stage, const PredictReply& reply) {
  DeepPrediction out;
  out.stage = stage.name;
  out.predicted_ms = stage.device_ms;
  out.measured_ms = stage.measured_ms;
  out.ratio = stage.ratio;
  for (const predict::Agreement& a : reply.agreement) {
    if (a.stage != stage.name) continue;
    out.modules = a.modules;
    out.median_error = a.median_error;
    out.within_20 = a.within_20;
  }
  return out;
}

std::string Measured(const std::optional<double>& ms) { return ms ? MsNumber(*ms) : "-"; }
std::string Ratio(const std::optional<double>& ratio) { return ratio ? fmt::format("{:.2f}", *ratio) : "-"; }

std::string StageMarkdown(const PredictedStage& stage, const DeepPrediction& row) {
  TextTable table({{"Module"},
                   {"GFLOP", Align::kRight},
                   {"Bytes", Align::kRight},
                   {"Weights", Align::kRight},
                   {"Activations", Align::kRight},
                   {"KV cache", Align::kRight},
                   {"Predicted ms", Align::kRight},
                   {"Measured ms", Align::kRight},
                   {"Measured / predicted", Align::kRight}});
  const auto bytes = [](double value) { return HumanBytes(std::llround(value)); };
  const auto add = [&](const std::string& name, const PredictedWork& work, const MeasuredTime& measured) {
    table.AddRow({MdCell(name), fmt::format("{:.4g}", work.flops / 1e9),
                  bytes(work.read_bytes + work.write_bytes), bytes(work.weight_bytes),
                  bytes(work.activation_bytes), bytes(work.kv_bytes), MsNumber(work.device_ms),
                  Measured(measured.measured_ms), Ratio(measured.ratio)});
  };
  for (const PredictedModule& module : stage.modules) add(module.name, module, module);
  add("all", stage, stage);
  std::string out = fmt::format("### {}\n\n{}\n", MdCell(stage.name), table.Markdown());
  if (row.median_error)
    out += fmt::format("Median error {} over {} modules, {} of them within 20 %.\n\n",
                       HumanPercent(*row.median_error, 1), row.modules,
                       HumanPercent(row.within_20.value_or(0), 1));
  return out;
}

}  // namespace

Status DeepSession::WritePrediction() {
  if (params_.config.empty()) {
    metrics_.prediction_reason = "a command was given: models of --config are predicted";
    return {};
  }
  const std::unique_ptr<Op> predict = MakeOp("predict");
  Json args{{"config", params_.config}, {"run", *metrics_.run_id}};
  if (!params_.sets.empty()) args["set"] = params_.sets;
  const Result<Reply> done = RunOp(*predict, args, context_);
  // A model of one's own, or a device without known peaks, cannot be predicted, and is profiled nevertheless.
  if (!done.ok()) {
    metrics_.prediction_reason = done.error().message;
    return {};
  }
  const auto& reply = done->As<PredictReply>();
  NL_TRY(bundle_.Write("prediction.json", ToJsonText(reply, 2) + "\n"));
  std::string text = fmt::format(
      "\n## Predicted and measured\n\nDevice time of one execution of each stage of {} on {} ({:g} TFLOP/s "
      "{}, "
      "{:g} GB/s by datasheet): predicted from its sizes, and measured.\n\n",
      MdCell(reply.model), reply.device, reply.peak_tflops, reply.dtype, reply.peak_gbps);
  for (const PredictedStage& stage : reply.stages) {
    metrics_.prediction.push_back(RowOf(stage, reply));
    text += StageMarkdown(stage, metrics_.prediction.back());
  }
  for (const std::string& note : reply.notes) text += fmt::format("Note: {}.\n", note);
  NL_ASSIGN(const std::string report, ReadWholeFile(bundle_.PathOf("report.md"), kMostReportBytes));
  return bundle_.Write("report.md", report + text);
}

}  // namespace nl::ops::deep
