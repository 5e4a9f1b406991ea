// SPDX-License-Identifier: Apache-2.0
#include "report/report_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/counter.h"
#include "base/human.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

namespace {

// The first `rows` of the list, and a line when there are more.
std::string Finish(const TextTable& table, const std::string& heading, size_t shown, int64_t total,
                   const char* file) {
  if (table.rows() == 0) return "";
  std::string out = heading + table.Markdown() + "\n";
  const auto rows = static_cast<int64_t>(shown);
  if (rows < total)
    out += fmt::format("{} of {} rows; {} has more.\n\n", HumanCount(rows), HumanCount(total), file);
  return out;
}

std::string LabelOf(std::optional<int64_t> rank, std::optional<int64_t> index, const std::string& name) {
  std::string out;
  if (rank) out += fmt::format("rank {} ", HumanCount(*rank));
  out += "GPU";
  if (index) out += " " + HumanCount(*index);
  return MdCell(name.empty() ? out : out + " " + name);
}

std::optional<int64_t> IntegerOf(const Json& object, const char* key) {
  const Json& value = ChildAt(object, key);
  return value.is_number_integer() ? std::optional(value.get<int64_t>()) : std::nullopt;
}

}  // namespace

std::string RunTitle(const Report& report) {
  const Json& environment = report.run.environment;
  const std::string model = TextAt(ChildAt(environment, "model"), "name");
  std::string out = model.empty() ? "run " + report.generated_from : model;
  const Json& devices = ListAt(ChildAt(environment, "hardware"), "devices");
  if (devices.empty()) return out;
  const std::string name = TextAt(devices[0], "name");
  if (name.empty()) return out;
  return out + (devices.size() > 1 ? fmt::format(" on {} x {}", devices.size(), name) : " on " + name);
}

std::string DeviceLabel(const DeviceTime& device) {
  return LabelOf(device.rank, device.index, device.name.value_or(""));
}

std::string LossLines(const Report& report) {
  std::string out;
  for (const RunCounter& reason : report.run.counters.reasons) {
    if (reason.severity == SeverityName(Severity::kInfo)) continue;
    out += fmt::format(
        "> {}: {} x {}. {}\n", reason.severity == SeverityName(Severity::kDataLoss) ? "Data loss" : "Notice",
        HumanCount(reason.count), MdText(reason.name, 80), MdText(reason.advice.value_or(""), 400));
  }
  const std::optional<double> overhead = report.run.overhead_pct;
  if (overhead && *overhead > 5)
    out += fmt::format("> The profiler slowed the run by {:.1f} %: times here are that much too long.\n",
                       *overhead);
  return out.empty() ? out : out + "\n";
}

std::string OperatorTable(const Report& report, size_t rows, const std::string& heading) {
  TextTable table({{"Operator"},
                   {"Total ms", Align::kRight},
                   {"Self ms", Align::kRight},
                   {"GPU ms", Align::kRight},
                   {"Calls", Align::kRight},
                   {"Mean ms", Align::kRight}});
  const size_t shown = std::min(rows, report.operators.size());
  for (size_t i = 0; i < shown; ++i) {
    const NameTotals& o = report.operators[i];
    table.AddRow({MdCell(o.name), MsNumber(o.total_ms), MsNumber(o.self_ms), MsNumber(o.gpu_ms),
                  HumanCount(o.calls), MsNumber(o.mean_ms)});
  }
  return Finish(table, heading, shown, report.operators_total,
                rows == SIZE_MAX ? "`neurolens operators --limit 0`" : "operators.md");
}

std::string KernelTable(const Report& report, size_t rows, const std::string& heading) {
  TextTable table({{"Kernel"},
                   {"Device", Align::kRight},
                   {"Total ms", Align::kRight},
                   {"Calls", Align::kRight},
                   {"Mean ms", Align::kRight}});
  const size_t shown = std::min(rows, report.kernels.size());
  for (size_t i = 0; i < shown; ++i) {
    const NameTotals& k = report.kernels[i];
    table.AddRow({MdCell(k.name), k.device ? HumanCount(*k.device) : "all", MsNumber(k.total_ms),
                  HumanCount(k.calls), MsNumber(k.mean_ms)});
  }
  return Finish(table, heading, shown, report.kernels_total,
                rows == SIZE_MAX ? "`neurolens kernels --limit 0`" : "kernels.md");
}

namespace {

// Which peaks MFU and MBU are shares of, and the shares of the measured ones.
std::string StagePeaksLine(const StagesSection& stages) {
  std::string out;
  for (const StageSummary& s : stages.stages) {
    if (!s.mfu && !s.mbu) continue;
    if (out.empty() && s.peak.kind)
      out = fmt::format("\nMFU and MBU are relative to {} peaks ({}).", KindName(*s.peak.kind),
                        MdText(s.peak.source.value_or(""), 200));
    if (!s.mfu_measured && !s.mbu_measured) continue;
    out += fmt::format(" Of the measured peaks, {} reaches {} (compute) and {} (memory).", MdText(s.name, 60),
                       PercentOrDash(s.mfu_measured), PercentOrDash(s.mbu_measured));
  }
  return out.empty() ? "" : out + "\n";
}

}  // namespace

std::string StageTable(const Report& report) {
  TextTable table({{"Stage"},
                   {"Count", Align::kRight},
                   {"Total", Align::kRight},
                   {"p50", Align::kRight},
                   {"p95", Align::kRight},
                   {"Tokens/s", Align::kRight},
                   {"Launch", Align::kRight},
                   {"Idle", Align::kRight},
                   {"MFU", Align::kRight},
                   {"MBU", Align::kRight}});
  for (const StageSummary& s : report.stages.stages) {
    table.AddRow({MdCell(s.name) + (s.inferred ? " (inferred)" : ""), HumanCount(s.count),
                  HumanMs(s.total_ms), HumanMs(s.p50_ms), HumanMs(s.p95_ms),
                  s.tokens_per_s ? fmt::format("{:.1f}", *s.tokens_per_s) : "-",
                  PercentOrDash(s.launch_share), PercentOrDash(s.idle_share), PercentOrDash(s.mfu),
                  PercentOrDash(s.mbu)});
  }
  return table.rows() == 0 ? "" : table.Markdown() + StagePeaksLine(report.stages);
}

std::string EnvironmentTable(const Report& report) {
  TextTable table({{"What"}, {"Value"}});
  const auto add = [&table](const char* what, std::string value) {
    value.erase(value.find_last_not_of(' ') + 1);
    if (!value.empty()) table.AddRow({what, MdCell(value)});
  };
  const Json& hardware = ChildAt(report.run.environment, "hardware");
  const Json& software = ChildAt(report.run.environment, "software");
  const Json& model = ChildAt(report.run.environment, "model");
  const Json& source = ChildAt(report.run.provenance, "source");
  add("Run", report.generated_from);
  add("Model", TextAt(model, "name"));
  for (const Json& d : ListAt(hardware, "devices"))
    add("Device", LabelOf(std::nullopt, IntegerOf(d, "index"), TextAt(d, "name")));
  add("CPU", TextAt(ChildAt(hardware, "host"), "cpu_model"));
  add("OS", TextAt(ChildAt(hardware, "host"), "os"));
  add("Backend", TextAt(software, "backend") + " " + TextAt(software, "version"));
  add("Precision", TextAt(software, "precision"));
  add("CUDA or ROCm", TextAt(software, "cuda_version"));
  const Json& system = ChildAt(report.run.environment, "system");
  add("Driver", TextAt(ChildAt(system, "cuda"), "driver"));
  add("Container", TextAt(ChildAt(system, "host"), "container"));
  if (const Json& frameworks = ChildAt(software, "frameworks"); frameworks.is_object()) {
    for (const auto& [name, version] : frameworks.items())
      add("Package", name + " " + TextAt(frameworks, name.c_str()));
  }
  for (const Json& check : ListAt(system, "health")) {
    const std::string state = TextAt(check, "state");
    if (state == "warning" || state == "problem") add("Health", state + ": " + TextAt(check, "text"));
  }
  for (const Json& f : ListAt(source, "files")) {
    const std::string hash = TextAt(f, "hash");
    const std::optional<int64_t> bytes = IntegerOf(f, "bytes");
    add("Source", fmt::format("{} ({}, {} {})", TextAt(f, "name"), bytes ? HumanBytes(*bytes) : "-",
                              hash.empty() ? "sha256" : hash, TextAt(f, "sha256").substr(0, 12)));
  }
  add("Profiler", TextAt(source, "tool") + " " + TextAt(source, "tool_version"));
  add("Read by", TextAt(source, "adapter") + " " + TextAt(source, "adapter_version"));
  add("Stored at", TextAt(report.run.provenance, "created_at"));
  const std::optional<double> overhead = report.run.overhead_pct;
  add("Profiler overhead", overhead ? fmt::format("{:.1f} %", *overhead) : "not recorded");
  add("Lost records", HumanCount(report.run.counters.lost));
  for (const Json& note : ListAt(report.run.provenance, "notes")) {
    if (note.is_string()) add("Note", note.get<std::string>());
  }
  return table.Markdown();
}

}  // namespace nl
