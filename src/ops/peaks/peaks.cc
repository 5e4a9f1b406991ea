// SPDX-License-Identifier: Apache-2.0
// `neurolens peaks`: the peaks of devices by their datasheets and as measured, and where each number comes
// from. `measure` runs src/capture/peaks and keeps what it finds in the store.

#include "analyze/cost_model/peaks.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "capture/peaks/measure.h"
#include "ops/measured_peaks.h"
#include "ops/open_analysis.h"
#include "ops/peaks/reply.h"
#include "report/text_table.h"

namespace nl::ops::peaks {

namespace {

std::string Cell(const std::optional<double>& value) { return value ? fmt::format("{:g}", *value) : "-"; }
std::string Rounded(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "-";
}
std::string Share(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f} %", 100 * *value, digits) : "-";
}

class PeaksOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "peaks";
    info.summary =
        "Peaks of devices, dense, from the datasheet and as measured, with sources: the reference of MFU, "
        "MBU and roofline";
    info.choose_when =
        "Choose it to see which peaks a device name gets; `stages` and `roofline` use them. `peaks measure` "
        "measures the devices of this machine within a minute and stores the result; `peaks forget` removes "
        "it. Over HTTP and MCP it only lists.";
    info.example = "neurolens peaks \"NVIDIA H200\"";
    info.reply = ReplyOf<PeaksReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("action", action_, "show, measure or forget; anything else is the DEVICE to show")
        .Positional()
        .LocalOnly();
    b.Add("device", device_,
          "Device name as a trace spells it; without it, every device. With forget: the name or id "
          "of a measured device, or all")
        .Positional();
    params_.BindPeaks(b);
    b.Add("budget", budget_s_, "With measure: seconds for everything").Range(1, 600).LocalOnly();
    b.Add("gpu", gpu_, "With measure: one GPU by its number; -1: all").Range(-1, 1023).LocalOnly();
    b.Add("no_cpu", no_cpu_, "With measure: without the CPU").LocalOnly();
    b.Add("no_gpu", no_gpu_, "With measure: without GPUs").LocalOnly();
    b.Add("cublaslt", cublaslt_, "With measure: libcublasLt to multiply matrices with").Path();
    b.Add("from", from_, "With measure: a file that neurolens-peaks wrote, instead of measuring").Path();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_TRY(ReadAction());
    PeaksReply out;
    std::vector<Error> problems;
    if (action_ == "measure") {
      NL_TRY(Measure(context, out));
    } else if (action_ == "forget") {
      NL_TRY(Forget(context, out));
    } else {
      NL_TRY(Show(context, out, problems));
    }
    for (const MeasuredPeaks& m : out.measured) {
      NL_ASSIGN(const std::optional<Peaks> datasheet, FindPeaks(m.kind == "gpu" ? m.name : "", {}));
      for (ComparedFigure& row : Compare(m, datasheet)) out.compared.push_back(std::move(row));
    }
    const bool unknown =
        out.action == PeaksAction::kShow && out.asked && out.devices.empty() && out.measured.empty();
    Reply reply = Reply::Of(std::move(out));
    reply.answer_is_no = unknown;
    reply.problems = std::move(problems);
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<PeaksReply>();
    if (reply.action == PeaksAction::kForget)
      return fmt::format("removed {}\n", Counted(static_cast<int64_t>(reply.measured.size()), "measurement"));
    std::string out;
    if (reply.action == PeaksAction::kShow && reply.devices.empty() && reply.measured.empty())
      return fmt::format(
          "the peaks of '{}' are unknown; use --peaks, --peaks-file or `neurolens peaks measure`\n",
          PrintableText(reply.asked.value_or("")));
    if (!reply.devices.empty()) out = DatasheetText(reply.devices, style);
    for (const MeasuredPeaks& m : reply.measured)
      out += (out.empty() ? "" : "\n") + MeasuredText(reply, m, style);
    if (reply.gpu_reason)
      out += Wrap("GPUs: not measured: " + PrintableText(*reply.gpu_reason), style.width, 2) + "\n";
    return out;
  }

 private:
  // `peaks "NVIDIA H200"` names the device first.
  Status ReadAction() {
    if (action_ == "ls" || action_.empty()) action_ = "show";
    if (action_ == "show" || action_ == "measure" || action_ == "forget") {
      if (action_ == "measure" && !device_.empty())
        return InvalidInput(
                   fmt::format("`peaks measure` measures this machine; unexpected argument '{}'", device_))
            .Hint("--gpu N chooses one GPU");
      if (action_ == "forget" && device_.empty())
        return InvalidInput("peaks forget needs the DEVICE: a name, an id, or all");
      return {};
    }
    if (!device_.empty())
      return InvalidInput(fmt::format("'{}' is not one of show, measure, forget", action_));
    device_ = std::exchange(action_, "show");
    return {};
  }

  Status Show(const OpContext& context, PeaksReply& out, std::vector<Error>& problems) {
    AnalysisOptions options;
    NL_TRY(ReadPeaksOption(params_.peaks, options));
    options.peaks_file = params_.peaks_file;
    StoredPeaks stored = ReadStoredPeaks(context);
    problems = std::move(stored.problems);
    if (!device_.empty()) {
      out.asked = device_;
      options.measured = stored.devices;
      NL_ASSIGN(std::optional<Peaks> found, FindPeaks(device_, options));
      if (found) out.devices.push_back(*std::move(found));
    } else {
      if (!options.peaks_file.empty()) {
        NL_ASSIGN(const std::string text, ReadWholeFile(options.peaks_file));
        NL_ASSIGN(out.devices, ParsePeaksTable(text, options.peaks_file));
      }
      out.devices.insert(out.devices.end(), AllPeaks().begin(), AllPeaks().end());
    }
    for (MeasuredPeaks& m : stored.devices) {
      if (device_.empty() || Matches(m)) out.measured.push_back(std::move(m));
    }
    return {};
  }

  bool Matches(const MeasuredPeaks& m) const {
    return m.id == device_ || NormalDeviceName(m.name) == NormalDeviceName(device_);
  }

  Status Measure(const OpContext& context, PeaksReply& out) {
    out.action = PeaksAction::kMeasure;
    std::string text, origin = from_;
    if (from_.empty()) {
      text = capture::PeaksJson(capture::MeasurePeaks(OptionsOf(context)));
      origin = "the measurement";
    } else {
      NL_ASSIGN(text, ReadWholeFile(from_, 1 << 20));
    }
    if (context.Cancelled()) return Cancelled();
    NL_ASSIGN(PeakDocument document, ReadPeakDocument(text, origin));
    for (const MeasuredPeaks& device : document.devices) NL_TRY(StorePeaks(context, device));
    out.measured = std::move(document.devices);
    out.gpu_reason = document.gpu_reason;
    return {};
  }

  capture::PeakOptions OptionsOf(const OpContext& context) const {
    capture::PeakOptions options;
    options.budget_s = budget_s_;
    options.device = static_cast<int>(gpu_);
    options.cpu = !no_cpu_;
    options.gpu = !no_gpu_;
    options.cublaslt = cublaslt_;
    options.progress = [&context](const std::string& device, const std::string& figure) {
      if (context.progress) context.progress(fmt::format("measuring {}: {}", device, figure), 0, 0);
      return !context.Cancelled();
    };
    return options;
  }

  Status Forget(const OpContext& context, PeaksReply& out) {
    out.action = PeaksAction::kForget;
    out.asked = device_;
    for (MeasuredPeaks& m : ReadStoredPeaks(context).devices) {
      if (device_ != "all" && !Matches(m)) continue;
      NL_TRY(ForgetPeaks(context, m));
      out.measured.push_back(std::move(m));
    }
    if (out.measured.empty() && device_ != "all")
      return NotFound(fmt::format("the store has no measurement of '{}'", device_))
          .Hint("`neurolens peaks` lists them");
    return {};
  }

  static std::string DatasheetText(const std::vector<Peaks>& devices, const TextStyle& style) {
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
    for (const Peaks& d : devices) {
      table.AddRow({d.device, Cell(d.bf16_tflops), Cell(d.fp16_tflops), Cell(d.tf32_tflops),
                    Cell(d.fp8_tflops), Cell(d.fp32_tflops), Cell(d.fp64_tflops), Cell(d.dram_gbps),
                    d.sm_count ? std::to_string(*d.sm_count) : "-"});
      sources += fmt::format("  {}: {}\n", d.device, d.source);
    }
    return table.Render(style.width, style.color) + "\nTFLOP/s without sparsity. Sources:\n" + sources;
  }

  static std::string MeasuredText(const PeaksReply& reply, const MeasuredPeaks& m, const TextStyle& style) {
    std::string out =
        Wrap(fmt::format(
                 "Measured: {} ({}), {} {}, {}, in {:.0f} s{}", PrintableText(m.name), PrintableText(m.id),
                 m.kind == "cpu" ? "kernel" : "driver", PrintableText(m.driver_version),
                 m.measured_at.substr(0, 16), m.seconds,
                 m.loaded.sm_mhz ? fmt::format(", SM clock {:g} MHz under load", *m.loaded.sm_mhz) : ""),
             style.width, 2) +
        "\n";
    TextTable table({{"FIGURE", Align::kLeft, false, 0},
                     {"UNIT", Align::kLeft, false, 0},
                     {"DATASHEET", Align::kRight, false, 0},
                     {"MEASURED", Align::kRight, false, 0},
                     {"RATIO", Align::kRight, false, 0},
                     {"SPREAD", Align::kRight, false, 0},
                     {"HOW", Align::kLeft, true, 10}});
    for (const ComparedFigure& f : reply.compared) {
      if (f.id != m.id || f.driver_version != m.driver_version) continue;
      table.AddRow({PrintableText(f.figure), f.unit, Rounded(f.datasheet), Rounded(f.measured),
                    Share(f.ratio, 1), Share(f.spread, 1),
                    PrintableText(f.measured ? f.how.value_or("") : f.reason.value_or(""))});
    }
    return out + table.Render(style.width, style.color);
  }

  std::string action_, device_, cublaslt_, from_;
  double budget_s_ = 60;
  int64_t gpu_ = -1;
  bool no_cpu_ = false, no_gpu_ = false;
  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<PeaksOp>(); }

}  // namespace nl::ops::peaks
