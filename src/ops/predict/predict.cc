// SPDX-License-Identifier: Apache-2.0
// `neurolens predict`: what a configured model computes and how long that takes on a device, before it runs;
// with a run, predicted and measured side by side.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyze/cost_model/workload_config.h"
#include "base/human.h"
#include "base/terminal.h"
#include "ops/open_analysis.h"
#include "ops/predict/measured.h"
#include "ops/predict/reply.h"
#include "report/text_table.h"

namespace nl::ops::predict {

namespace {

constexpr const char* kMeasuredDevice = "H200 SXM";

// A device by the name of a driver, else by the first word of a table row: h100 is H100 SXM.
Result<Peaks> FindDevice(const std::string& name, const AnalysisOptions& options) {
  NL_ASSIGN(std::optional<Peaks> found, FindPeaks(name, options));
  if (found && found->dram_gbps) return *std::move(found);
  const std::string wanted = NormalDeviceName(name);
  for (const Peaks& p : AllPeaks()) {
    if (!wanted.empty() && NormalDeviceName(p.device).starts_with(wanted + " ")) {
      NL_ASSIGN(std::optional<Peaks> peaks, FindPeaks(p.device, options));
      return *std::move(peaks);
    }
  }
  std::vector<std::string> known;
  for (const Peaks& p : AllPeaks()) known.push_back(p.device);
  return NotFound(fmt::format("the peaks of device '{}' are unknown", name))
      .Hint(fmt::format("known are {}; or give them with --peaks or --peaks-file", fmt::join(known, ", ")));
}

void SetMeasured(MeasuredTime& to, double measured_ms, double predicted_ms) {
  to.measured_ms = measured_ms;
  if (predicted_ms > 0) to.ratio = measured_ms / predicted_ms;
}

// A path belongs to the first module that names it.
void Join(PredictedStage& stage, const MeasuredStage& measured) {
  double matched_ms = 0;
  std::map<std::string, double> left = measured.module_ms;
  for (PredictedModule& module : stage.modules) {
    double ms = 0;
    bool any = false;
    for (const std::string& path : module.paths) {
      const auto it = left.find(path);
      if (it == left.end()) continue;
      any = true;
      ms += it->second;
      left.erase(it);
    }
    if (any) SetMeasured(module, ms, module.device_ms);
    matched_ms += ms;
  }
  SetMeasured(stage, measured.device_ms, stage.device_ms);
  stage.measured_wall_ms = measured.wall_ms;
  stage.measured_executions = measured.executions;
  stage.unmatched_ms = std::max(0.0, measured.device_ms - matched_ms);
}

std::optional<Agreement> AgreementOf(const PredictedStage& stage) {
  std::vector<double> errors;
  for (const PredictedModule& m : stage.modules) {
    if (m.measured_ms && *m.measured_ms >= 0.01 * stage.measured_ms.value_or(0) && *m.measured_ms > 0)
      errors.push_back(std::abs(m.device_ms - *m.measured_ms) / *m.measured_ms);
  }
  if (errors.empty()) return std::nullopt;
  std::sort(errors.begin(), errors.end());
  Agreement out;
  out.stage = stage.name;
  out.modules = static_cast<int64_t>(errors.size());
  out.median_error = (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2;
  out.within_20 = static_cast<double>(std::upper_bound(errors.begin(), errors.end(), 0.2) - errors.begin()) /
                  static_cast<double>(errors.size());
  return out;
}

// Four digits without an exponent: 0.0084, 8.59, 61,570.
std::string Digits(double value) {
  return value >= 1000 ? HumanCount(static_cast<int64_t>(std::llround(value))) : fmt::format("{:.4g}", value);
}
std::string Tera(double value) { return Digits(value / 1e12); }
std::string Giga(double value) { return Digits(value / 1e9); }

class PredictOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "predict";
    info.summary =
        "FLOPs, bytes, memory and time of a configured model per module and stage, on a named device";
    info.choose_when =
        "Choose it before a model runs, or to see which modules of a run are slower than the device allows. "
        "`stages` and `roofline` measure a run alone.";
    info.example = "neurolens predict --config llama_8b --device h100";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<PredictReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("config", config_, "Workload file, or the name of one that comes with NeuroLens, such as llama_8b")
        .Required();
    b.Add(
        "device", device_,
        "Device to predict for, such as h200, h100, a100, mi300x; by default the device of --run, else h200");
    b.Add("run", run_, "Run of this workload to compare with").Run();
    b.Add("set", sets_, "Override one setting of the workload, such as workload.batch=16 or variant=tiny")
        .KeyValue();
    params_.BindPeaks(b);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const std::string yaml, ReadWorkload(config_, !context.remote));
    NL_ASSIGN(const Json config, ResolveWorkload(yaml, config_, sets_));
    NL_ASSIGN(const ModelPlan plan, PlanModel(config));
    std::optional<OpenAnalysis> open;
    if (!run_.empty()) {
      params_.run = run_;
      NL_ASSIGN(open, Analyze(context, params_));
      NL_TRY(NeedTimeline(*open));
    }
    NL_ASSIGN(const Peaks peaks, FindPeaksFor(open));
    NL_ASSIGN(const DeviceRates rates, RatesOf(peaks, plan.dtype));
    PredictReply reply = Describe(plan, peaks, rates);
    if (config.contains("engine"))
      reply.notes.emplace_back(
          "the workload runs in a serving engine; the prediction is for the same model in eager PyTorch");
    if (open) NL_TRY(Compare(*open, reply));
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<PredictReply>();
    std::string out = Wrap(
        fmt::format("{}: {} parameters ({} of {} weights){}. Times for {} ({:g} TFLOP/s {}, {:g} GB/s).",
                    r.model, HumanCount(static_cast<int64_t>(r.parameters)),
                    HumanBytes(static_cast<int64_t>(r.weight_bytes)), r.dtype,
                    r.kv_cache_bytes > 0 ? fmt::format(", KV cache of {} after the last token",
                                                       HumanBytes(static_cast<int64_t>(r.kv_cache_bytes)))
                                         : "",
                    r.device, r.peak_tflops, r.dtype, r.peak_gbps),
        style.width, 2);
    out += "\n";
    for (const PredictedStage& stage : r.stages) out += StageText(r, stage, style);
    for (const std::string& note : r.notes) out += "\n" + Wrap("Note: " + note + ".", style.width, 2) + "\n";
    out += "\nShares and floors behind the times:\n";
    std::string sources;
    for (const Assumption& a : r.assumptions) {
      // Most have one source: it is named once, the others where they stand.
      const bool common = a.source == r.assumptions[0].source;
      out += fmt::format("  {:<18} {:>8g}  {}{}\n", a.name, a.value, common ? "" : "* ", a.meaning);
      if (!common) sources = "  * " + a.source + "\n";
    }
    if (!r.assumptions.empty()) out += "  source: " + r.assumptions[0].source + "\n" + sources;
    return out;
  }

 private:
  Result<Peaks> FindPeaksFor(const std::optional<OpenAnalysis>& open) {
    AnalysisOptions options;
    NL_TRY(ReadPeaksOption(params_.peaks, options));
    // The shares of a peak that kernels reach are shares of the datasheet's.
    if (options.peak_choice == PeakChoice::kMeasured)
      return InvalidInput("--peaks measured: predictions start from datasheet figures")
          .Hint("--peaks peak_tflops=700,peak_dram_gbps=4300 gives others");
    options.peaks_file = params_.peaks_file;
    if (!device_.empty()) return FindDevice(device_, options);
    if (!open) return FindDevice("h200", options);
    NL_ASSIGN(const TimelineFacts* timeline, open->analysis->Need<TimelineFacts>());
    NL_TRY(open->analysis->Load(kDeviceNameReads));
    if (timeline->devices.empty()) return Unsupported("no device work was recorded in the run");
    const std::string name = DeviceNameOf(open->analysis->data(), timeline->devices[0].device);
    if (name.empty()) return Unsupported("the run does not name its device").Hint("give it with --device");
    return FindDevice(name, options);
  }

  static PredictReply Describe(const ModelPlan& plan, const Peaks& peaks, const DeviceRates& rates) {
    PredictReply reply;
    reply.model = plan.name;
    reply.family = plan.family;
    reply.dtype = plan.dtype;
    reply.device = peaks.device;
    reply.peaks_source = peaks.source;
    reply.peak_tflops = rates.flops_per_us / 1e6;
    reply.peak_gbps = rates.bytes_per_us / 1e3;
    reply.parameters = plan.total_parameters;
    reply.weight_bytes = plan.total_parameters * plan.dtype_bytes;
    reply.kv_cache_bytes = plan.kv_cache_bytes;
    for (const auto& [name, count] : plan.parameters)
      reply.parts.push_back({name, count, count * plan.dtype_bytes});
    reply.stages = Predict(plan, rates);
    reply.assumptions = AssumptionsOf(rates.efficiency, peaks.device == kMeasuredDevice);
    return reply;
  }

  static Status Compare(const OpenAnalysis& open, PredictReply& reply) {
    NL_ASSIGN(const TimelineFacts* timeline, open.analysis->Need<TimelineFacts>());
    NL_ASSIGN(const AttributionFacts* attribution, open.analysis->Need<AttributionFacts>());
    const auto measured = MeasureStages(open.analysis->data(), *timeline, *attribution);
    reply.run_id = open.run.run.run_id;
    std::vector<std::string> missing;
    for (PredictedStage& stage : reply.stages) {
      const auto it = measured.find(stage.name);
      if (it == measured.end()) {
        missing.push_back(stage.name);
        continue;
      }
      Join(stage, it->second);
      if (const auto agreement = AgreementOf(stage)) reply.agreement.push_back(*agreement);
    }
    if (missing.size() == reply.stages.size())
      return Unsupported(fmt::format("the run has no stage {} with device work", fmt::join(missing, " or ")))
          .Hint("record it with labels: neurolens run -- python3 -m neurolens.models run --config FILE");
    if (!missing.empty())
      reply.notes.push_back(fmt::format("the run has no stage {}", fmt::join(missing, " or ")));
    return {};
  }

  static std::string StageText(const PredictReply& r, const PredictedStage& s, const TextStyle& style) {
    const bool run = s.measured_ms.has_value();
    std::string line =
        fmt::format("{}: {} predicted, {} bound ({} TFLOP, {} GB moved, {} kernels: {} device, {} launches)",
                    s.name, HumanMs(s.predicted_ms), NamesOf(s.bound)[static_cast<size_t>(s.bound)],
                    Tera(s.flops), Giga(s.read_bytes + s.write_bytes),
                    HumanCount(static_cast<int64_t>(s.kernels)), HumanMs(s.device_ms), HumanMs(s.launch_ms));
    if (run)
      line += fmt::format("; measured {} device, {} wall", HumanMs(*s.measured_ms),
                          HumanMs(s.measured_wall_ms.value_or(0)));
    std::string out = "\n" + Wrap(line + ".", style.width, 2) + "\n";
    std::vector<TextColumn> columns = {
        {"MODULE", Align::kLeft, true, 12},   {"PARAMETERS", Align::kRight, false, 0},
        {"GFLOP", Align::kRight, false, 0},   {"READ", Align::kRight, false, 0},
        {"WRITTEN", Align::kRight, false, 0}, {"PREDICTED", Align::kRight, false, 0},
        {"BOUND", Align::kLeft, false, 0}};
    if (run)
      columns.insert(columns.end() - 1,
                     {{"MEASURED", Align::kRight, false, 0}, {"RATIO", Align::kRight, false, 0}});
    TextTable table(columns);
    for (const PredictedModule& m : s.modules) {
      std::vector<std::string> row = {m.name,
                                      m.parameters > 0 ? HumanCount(static_cast<int64_t>(m.parameters)) : "-",
                                      Giga(m.flops),
                                      HumanBytes(static_cast<int64_t>(m.read_bytes)),
                                      HumanBytes(static_cast<int64_t>(m.write_bytes)),
                                      HumanMs(m.device_ms)};
      if (run) {
        row.push_back(m.measured_ms ? HumanMs(*m.measured_ms) : "-");
        row.push_back(m.ratio ? fmt::format("{:.2f}", *m.ratio) : "-");
      }
      row.emplace_back(NamesOf(m.bound)[static_cast<size_t>(m.bound)]);
      table.AddRow(std::move(row));
    }
    out += table.Render(style.width, style.color);
    if (run && s.unmatched_ms.value_or(0) > 0)
      out += fmt::format("outside these modules: {}\n", HumanMs(*s.unmatched_ms));
    for (const Agreement& a : r.agreement) {
      if (a.stage == s.name)
        out += fmt::format("median error {} over {} modules, {} of them within 20 %\n",
                           HumanPercent(a.median_error, 1), a.modules, HumanPercent(a.within_20, 1));
    }
    return out;
  }

  std::string config_, device_, run_;
  std::vector<std::string> sets_;
  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<PredictOp>(); }

}  // namespace nl::ops::predict
