// SPDX-License-Identifier: Apache-2.0
// What `neurolens deep` writes into its bundle besides the recordings.
#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "analyze/cost_model/workload_config.h"
#include "analyze/facts/timeline.h"
#include "analyze/totals.h"
#include "base/file_ops.h"
#include "base/human.h"
#include "base/record_json.h"
#include "base/time_text.h"
#include "base/units.h"
#include "ops/deep/session.h"
#include "ops/open_analysis.h"
#include "ops/write_report.h"
#include "report/report_forms.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl::ops::deep {

namespace {

constexpr char kClockName[] = "sm_clock_mhz";

// SM clocks that were sampled, by lane: a process has one for each device.
std::map<ThreadId, std::vector<double>> ClocksOf(const RunData& data) {
  std::map<ThreadId, std::vector<double>> out;
  for (size_t i = 0; i < data.counter_sample.name.size(); ++i) {
    if (IsNull(data.counter_sample.name[i]) || data.Text(data.counter_sample.name[i]) != kClockName) continue;
    const double value = data.counter_sample.value[i];
    if (!IsNull(value) && value > 0) out[data.counter_sample.thread_id[i]].push_back(value);
  }
  return out;
}

void AddClocks(std::vector<double> clocks, nl::deep::DeepGpu& gpu) {
  std::sort(clocks.begin(), clocks.end());
  gpu.sm_clock_mhz_min = clocks.front();
  gpu.sm_clock_mhz_median = clocks[clocks.size() / 2];
  gpu.sm_clock_mhz_max = clocks.back();
}

void AddAllClocks(const RunData& data, std::vector<nl::deep::DeepGpu>& gpus) {
  const std::map<ThreadId, std::vector<double>> lanes = ClocksOf(data);
  size_t at = 0;
  for (const auto& [lane, clocks] : lanes) {
    if (lanes.size() == gpus.size()) AddClocks(clocks, gpus[at++]);
  }
  for (nl::deep::DeepGpu& gpu : gpus) {
    if (gpu.sm_clock_mhz_median) continue;
    gpu.clocks_reason = lanes.empty() ? "no clock was sampled: the program ran too short, or without NVML"
                                      : "several processes sampled clocks: counter_sample has them";
  }
}

}  // namespace

// config.yaml with every option as it was used, inputs.yaml with what the program was given.
Status DeepSession::WriteSettings() {
  YAML::Emitter yaml;
  const auto put = [&yaml](const char* key, const auto& value) {
    yaml << YAML::Key << key << YAML::Value << value;
  };
  yaml << YAML::BeginMap << YAML::Key << "deep" << YAML::Value << YAML::BeginMap;
  put("mode", params_.mode);
  put("top_n", params_.top_n);
  put("timeline", params_.nsys ? "nsys" : "neurolens");
  put("replay", params_.replay);
  put("clock_control", params_.clock_control);
  put("metric_set", params_.metric_set);
  put("capture_range", params_.capture_range);
  put("duration_s", params_.duration);
  put("keep", params_.keep);
  put("max_size_bytes", params_.max_size);
  yaml << YAML::EndMap;
  yaml << YAML::Key << "command" << YAML::Value << YAML::Flow << params_.command << YAML::Block;
  if (!params_.config.empty()) put("config", params_.config);
  if (!params_.sets.empty()) put("set", params_.sets);
  yaml << YAML::EndMap;
  std::string text = std::string(yaml.c_str()) + "\n";
  if (!params_.config.empty()) text += "workload:\n" + WorkloadYaml(params_.workload, 2);
  NL_TRY(bundle_.Write("config.yaml", text));
  return WriteInputs();
}

Status DeepSession::WriteInputs() {
  std::vector<std::string> files;
  std::vector<nl::deep::InputText> texts;
  if (!params_.config.empty()) {
    if (PathExists(params_.config))
      files.push_back(params_.config);
    else
      texts.push_back({params_.config, "comes with NeuroLens", params_.workload_text});
    const Json weights = params_.workload.value("model", Json::object()).value("weights", Json());
    if (weights.is_string() && weights != "random") files.push_back(weights.get<std::string>());
  }
  NL_ASSIGN(const std::string text, nl::deep::InputsYaml(params_.command, files, texts));
  return bundle_.Write("inputs.yaml", text);
}

Status DeepSession::WriteEnvironment() {
  AnalysisParams params;
  params.run = *metrics_.run_id;
  NL_ASSIGN(const OpenAnalysis open, Analyze(context_, params));
  NL_ASSIGN(const Json document, ReadDocument(open.run));
  NL_TRY(bundle_.Write("timeline/run.json", document.dump(2) + "\n"));
  nl::deep::DeepEnv env = nl::deep::EnvOf(document);
  env.created_at = Rfc3339Utc(UnixNowNs());
  std::error_code code;
  env.working_folder = std::filesystem::current_path(code).string();
  std::string why_not;
  env.git = nl::deep::GitOf(env.working_folder, why_not);
  if (!env.git) env.git_reason = why_not;
  for (const nl::deep::Tool& tool : tools_) {
    if (!tool.version.empty()) env.tools[tool.name] = tool.version;
  }
  env.system = machine::ReadSystem();
  env.container = env.system.host.container;
  NL_TRY(open.analysis->Load(NL_READS(CounterSample, name, value, thread_id)));
  AddAllClocks(open.analysis->data(), env.gpus);
  return bundle_.Write("env.json", ToJsonText(env, 2) + "\n");
}

// The report of the run with its counters, as `report` writes it.
Status DeepSession::WriteReports() {
  AnalysisParams params;
  params.run = *metrics_.run_id;
  NL_ASSIGN(OpenAnalysis open, Analyze(context_, params));
  NL_ASSIGN(const Report report, MakeReport(open));
  metrics_.wall_ms = report.wall_ms;
  ReportFiles files;
  files.md = bundle_.PathOf("report.md");
  files.json = bundle_.PathOf("report.json");
  files.operators_md = bundle_.PathOf("operators.md");
  files.stakeholder_md = bundle_.PathOf("stakeholder_summary.md");
  const std::string missing = HtmlMissingReason();
  if (missing.empty())
    files.html = bundle_.PathOf("report.html");
  else
    metrics_.notes.push_back("report.html was not written: " + missing);
  NL_TRY(WriteReport(report, files));
  return {};
}

// kernels.md: every kernel of every device, then the selected ones with their counters.
Status DeepSession::WriteKernels() {
  NL_ASSIGN(const OpenRun run, OpenSnapshot(context_, *metrics_.run_id));
  AnalysisParams params;
  params.run = *metrics_.run_id;
  NL_ASSIGN(const OpenAnalysis open, Analyze(context_, params));
  NL_ASSIGN(const TimelineFacts* timeline, open.analysis->Need<TimelineFacts>());
  std::set<int32_t> devices;
  for (const DeviceKey& device : timeline->devices) devices.insert(device.device);
  std::vector<NameStats> all;
  for (const int32_t device : devices) {
    TotalsFilter filter;
    filter.device = device;
    NL_ASSIGN(std::vector<NameStats> stats, KernelTotals(*run.snapshot, filter));
    for (NameStats& row : stats) {
      row.device = device;
      all.push_back(std::move(row));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const NameStats& a, const NameStats& b) { return a.total_ns > b.total_ns; });
  TextTable table({{"Name"},
                   {"Device", Align::kRight},
                   {"Total ms", Align::kRight},
                   {"Calls", Align::kRight},
                   {"Mean ms", Align::kRight}});
  for (const NameStats& row : all) {
    table.AddRow({MdCell(row.name), std::to_string(*row.device), MsNumber(Ms(row.total_ns)),
                  std::to_string(row.calls), MsNumber(Ms(row.total_ns) / static_cast<double>(row.calls))});
  }
  return bundle_.Write("kernels.md",
                       fmt::format("# Kernels\n\n{}\n{}", table.Markdown(), CountersMarkdown(metrics_)));
}

Status DeepSession::WriteMetrics(std::vector<Error>& problems) {
  Result<std::vector<std::string>> dropped = bundle_.Shrink(params_.max_size);
  if (dropped.ok())
    metrics_.dropped = *std::move(dropped);
  else
    Fail(dropped.error(), problems);
  metrics_.partial = !problems.empty();
  NL_TRY(bundle_.Write("metrics.json", ToJsonText(metrics_, 2) + "\n"));
  return bundle_.Finish(metrics_.problems);
}

}  // namespace nl::ops::deep
