// SPDX-License-Identifier: Apache-2.0
// `neurolens peaks`: the peaks of devices, and where each number comes from.

#include "analyze/cost_model/peaks.h"

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::peaks {

namespace {

struct PeaksReply {
  std::optional<std::string> asked;
  std::vector<Peaks> devices;
};
void Describe(Record<PeaksReply>& r) {
  r.Name("PeaksReply", "Reply of `neurolens peaks`");
  r.Field("asked", &PeaksReply::asked, "Device name that was asked for; null: all devices");
  r.Field("devices", &PeaksReply::devices, "Devices with known peaks");
}

std::string Cell(const std::optional<double>& value) { return value ? fmt::format("{:g}", *value) : "-"; }

class PeaksOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "peaks";
    info.summary = "Dense peaks of devices and their sources, as used for MFU, MBU and roofline";
    info.choose_when = "Choose it to see which peaks a device name gets; `stages` and `roofline` use them.";
    info.example = "neurolens peaks \"NVIDIA H200\"";
    info.reply = ReplyOf<PeaksReply>();
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
    PeaksReply out;
    if (!device_.empty()) {
      out.asked = device_;
      NL_ASSIGN(std::optional<Peaks> found, FindPeaks(device_, options));
      if (found) out.devices.push_back(*std::move(found));
    } else {
      if (!options.peaks_file.empty()) {
        NL_ASSIGN(const std::string text, ReadWholeFile(options.peaks_file));
        NL_ASSIGN(out.devices, ParsePeaksTable(text, options.peaks_file));
      }
      out.devices.insert(out.devices.end(), AllPeaks().begin(), AllPeaks().end());
    }
    const bool unknown = !device_.empty() && out.devices.empty();
    Reply reply = Reply::Of(std::move(out));
    reply.answer_is_no = unknown;
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<PeaksReply>();
    if (reply.devices.empty()) {
      return fmt::format("the peaks of '{}' are unknown; use --peaks or --peaks-file\n",
                         reply.asked.value_or(""));
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
    for (const Peaks& d : reply.devices) {
      table.AddRow({d.device, Cell(d.bf16_tflops), Cell(d.fp16_tflops), Cell(d.tf32_tflops),
                    Cell(d.fp8_tflops), Cell(d.fp32_tflops), Cell(d.fp64_tflops), Cell(d.dram_gbps),
                    d.sm_count ? std::to_string(*d.sm_count) : "-"});
      sources += fmt::format("  {}: {}\n", d.device, d.source);
    }
    return table.Render(style.width, style.color) + "\nTFLOP/s without sparsity. Sources:\n" + sources;
  }

 private:
  std::string device_;
  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<PeaksOp>(); }

}  // namespace nl::ops::peaks
