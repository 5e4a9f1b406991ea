// SPDX-License-Identifier: Apache-2.0
// `neurolens peaks`: what devices can do at best, and who says so.

#include "analyze/cost_model/peaks.h"

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::peaks {

namespace {

std::string Cell(const Json& value) {
  return value.is_null() ? "-" : fmt::format("{:g}", value.get<double>());
}

class PeaksOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "peaks";
    info.summary =
        "Dense peaks of devices with the source of each: the denominators of MFU, MBU and roofline";
    info.choose_when = "Choose it to see which peaks a device name gets; `stages` and `roofline` use them.";
    info.example = "neurolens peaks \"NVIDIA H200\"";
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["devices", "asked"],
      "properties": {"asked": {"type": ["string", "null"]},
        "devices": {"type": "array", "items": {"type": "object", "required": ["device", "dram_gbps", "sm_count", "source"],
          "properties": {"device": {"type": "string"}, "source": {"type": "string"},
            "dram_gbps": {"type": ["number", "null"]}, "sm_count": {"type": ["integer", "null"]},
            "bf16_tflops": {"type": ["number", "null"]}, "fp16_tflops": {"type": ["number", "null"]},
            "tf32_tflops": {"type": ["number", "null"]}, "fp8_tflops": {"type": ["number", "null"]},
            "fp32_tflops": {"type": ["number", "null"]}, "fp64_tflops": {"type": ["number", "null"]}}}}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("device", device_, "Device name as a trace spells it; without it, every device").Positional();
    params_.BindPeaks(b);
  }

  Result<Reply> Run(OpContext&) override {
    AnalysisOptions options;
    NL_ASSIGN(options.peaks, ParsePeaks(params_.peaks));
    options.peaks_file = params_.peaks_file;
    Reply reply;
    Json list = Json::array();
    if (!device_.empty()) {
      NL_ASSIGN(const std::optional<Peaks> found, FindPeaks(device_, options));
      if (found) list.push_back(ToJson(*found));
      reply.answer_is_no = !found;
    } else {
      if (!options.peaks_file.empty()) {
        NL_ASSIGN(const std::string text, ReadWholeFile(options.peaks_file));
        NL_ASSIGN(const std::vector<Peaks> user, ParsePeaksTable(text, options.peaks_file));
        for (const Peaks& p : user) list.push_back(ToJson(p));
      }
      for (const Peaks& p : AllPeaks()) list.push_back(ToJson(p));
    }
    reply.json = {{"asked", device_.empty() ? Json() : Json(device_)}, {"devices", std::move(list)}};
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    if (r["devices"].empty()) {
      return fmt::format("No peaks are known for '{}'; give them with --peaks or --peaks-file.\n",
                         r["asked"].get<std::string>());
    }
    TextTable table({{"DEVICE", Align::kLeft, true, 8},
                     {"BF16", Align::kRight, false, 0},
                     {"FP16", Align::kRight, false, 0},
                     {"TF32", Align::kRight, false, 0},
                     {"FP8", Align::kRight, false, 0},
                     {"FP32", Align::kRight, false, 0},
                     {"FP64", Align::kRight, false, 0},
                     {"GB/s", Align::kRight, false, 0},
                     {"SMs", Align::kRight, false, 0}});
    std::string sources;
    for (const Json& d : r["devices"]) {
      table.AddRow({d["device"], Cell(d["bf16_tflops"]), Cell(d["fp16_tflops"]), Cell(d["tf32_tflops"]),
                    Cell(d["fp8_tflops"]), Cell(d["fp32_tflops"]), Cell(d["fp64_tflops"]),
                    Cell(d["dram_gbps"]), Cell(d["sm_count"])});
      sources += fmt::format("  {}: {}\n", d["device"].get<std::string>(), d["source"].get<std::string>());
    }
    return table.Render(style.width, style.color) + "\nTFLOP/s are dense. Sources:\n" + sources;
  }

 private:
  std::string device_;
  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<PeaksOp>(); }

}  // namespace nl::ops::peaks
