// SPDX-License-Identifier: Apache-2.0
#include "report/report_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

namespace {

const Json& Environment(const Json& report, const char* key) {
  return ChildAt(ChildAt(ChildAt(report, "run"), "environment"), key);
}

const Json& Provenance(const Json& report, const char* key) {
  return ChildAt(ChildAt(ChildAt(report, "run"), "provenance"), key);
}

// The first `rows` of the list, and a line when there are more.
std::string Finish(const TextTable& table, const std::string& heading, size_t shown,
                   std::optional<double> total, const char* file) {
  if (table.rows() == 0) return "";
  std::string out = heading + table.Markdown() + "\n";
  if (total && static_cast<double>(shown) < *total) {
    out += fmt::format("{} of {} rows; {} has more.\n\n", HumanCount(static_cast<int64_t>(shown)),
                       HumanCount(std::llround(*total)), file);
  }
  return out;
}

}  // namespace

std::string RunTitle(const Json& report) {
  const std::string model = TextAt(Environment(report, "model"), "name");
  std::string out = model.empty() ? "run " + TextAt(report, "generated_from") : model;
  const Json& devices = ListAt(Environment(report, "hardware"), "devices");
  if (devices.empty()) return out;
  const std::string name = TextAt(devices[0], "name");
  if (name.empty()) return out;
  return out + (devices.size() > 1 ? fmt::format(" on {} x {}", devices.size(), name) : " on " + name);
}

std::string DeviceLabel(const Json& device) {
  std::string out;
  if (NumberAt(device, "rank")) out += fmt::format("rank {} ", CountAt(device, "rank"));
  out += "GPU";
  if (NumberAt(device, "index")) out += " " + CountAt(device, "index");
  const std::string name = TextAt(device, "name");
  return MdCell(name.empty() ? out : out + " " + name);
}

std::string BytesAt(const Json& object, const char* key) {
  const std::optional<double> bytes = NumberAt(object, key);
  return bytes && std::fabs(*bytes) < 9e18 ? HumanBytes(std::llround(*bytes)) : "-";
}

std::string LossLines(const Json& report) {
  const Json& run = ChildAt(report, "run");
  std::string out;
  for (const Json& reason : ListAt(ChildAt(run, "counters"), "reasons")) {
    const std::string severity = TextAt(reason, "severity");
    if (severity == "info") continue;
    out += fmt::format("> {}: {} x {}. {}\n", severity == "data_loss" ? "Data loss" : "Notice",
                       CountAt(reason, "count"), MdText(TextAt(reason, "name"), 80),
                       MdText(TextAt(reason, "advice"), 400));
  }
  const std::optional<double> overhead = NumberAt(run, "overhead_pct");
  if (overhead && *overhead > 5)
    out += fmt::format("> The profiler slowed the run by {:.1f} %: times here are that much too long.\n",
                       *overhead);
  return out.empty() ? out : out + "\n";
}

std::string OperatorTable(const Json& report, size_t rows, const std::string& heading) {
  TextTable table({{"Operator"},
                   {"Total ms", Align::kRight},
                   {"Self ms", Align::kRight},
                   {"GPU ms", Align::kRight},
                   {"Calls", Align::kRight},
                   {"Mean ms", Align::kRight}});
  const Json& list = ListAt(report, "operators");
  const size_t shown = std::min(rows, list.size());
  for (size_t i = 0; i < shown; ++i) {
    const Json& o = list[i];
    table.AddRow({MdCell(TextAt(o, "name")), MsNumber(NumberAt(o, "total_ms")),
                  MsNumber(NumberAt(o, "self_ms")), MsNumber(NumberAt(o, "gpu_ms")), CountAt(o, "calls"),
                  MsNumber(NumberAt(o, "mean_ms"))});
  }
  return Finish(table, heading, shown, NumberAt(report, "operators_total"),
                rows == SIZE_MAX ? "`neurolens operators --limit 0`" : "operators.md");
}

std::string KernelTable(const Json& report, size_t rows, const std::string& heading) {
  TextTable table({{"Kernel"},
                   {"Device", Align::kRight},
                   {"Total ms", Align::kRight},
                   {"Calls", Align::kRight},
                   {"Mean ms", Align::kRight}});
  const Json& list = ListAt(report, "kernels");
  const size_t shown = std::min(rows, list.size());
  for (size_t i = 0; i < shown; ++i) {
    const Json& k = list[i];
    table.AddRow({MdCell(TextAt(k, "name")), NumberAt(k, "device") ? CountAt(k, "device") : "all",
                  MsNumber(NumberAt(k, "total_ms")), CountAt(k, "calls"), MsNumber(NumberAt(k, "mean_ms"))});
  }
  return Finish(table, heading, shown, NumberAt(report, "kernels_total"),
                rows == SIZE_MAX ? "`neurolens kernels --limit 0`" : "kernels.md");
}

std::string StageTable(const Json& report) {
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
  for (const Json& s : ListAt(ChildAt(report, "stages"), "stages")) {
    const std::optional<double> rate = NumberAt(s, "tokens_per_s");
    const Json& inferred = ChildAt(s, "inferred");
    table.AddRow({MdCell(TextAt(s, "name")) + (inferred == Json(true) ? " (inferred)" : ""),
                  CountAt(s, "count"), MsAt(s, "total_ms"), MsAt(s, "p50_ms"), MsAt(s, "p95_ms"),
                  rate ? fmt::format("{:.1f}", *rate) : "-", PercentAt(s, "launch_share"),
                  PercentAt(s, "idle_share"), PercentAt(s, "mfu"), PercentAt(s, "mbu")});
  }
  return table.rows() == 0 ? "" : table.Markdown();
}

std::string EnvironmentTable(const Json& report) {
  TextTable table({{"What"}, {"Value"}});
  const auto add = [&table](const char* what, std::string value) {
    value.erase(value.find_last_not_of(' ') + 1);
    if (!value.empty()) table.AddRow({what, MdCell(value)});
  };
  const Json& hardware = Environment(report, "hardware");
  const Json& software = Environment(report, "software");
  const Json& model = Environment(report, "model");
  const Json& source = Provenance(report, "source");
  add("Run", TextAt(report, "generated_from"));
  add("Model", TextAt(model, "name"));
  for (const Json& d : ListAt(hardware, "devices")) add("Device", DeviceLabel(d));
  add("CPU", TextAt(ChildAt(hardware, "host"), "cpu_model"));
  add("OS", TextAt(ChildAt(hardware, "host"), "os"));
  add("Backend", TextAt(software, "backend") + " " + TextAt(software, "version"));
  add("Precision", TextAt(software, "precision"));
  add("CUDA or ROCm", TextAt(software, "cuda_version"));
  for (const Json& f : ListAt(source, "files")) {
    const std::string hash = TextAt(f, "hash");
    add("Source", fmt::format("{} ({}, {} {})", TextAt(f, "name"), BytesAt(f, "bytes"),
                              hash.empty() ? "sha256" : hash, TextAt(f, "sha256").substr(0, 12)));
  }
  add("Profiler", TextAt(source, "tool") + " " + TextAt(source, "tool_version"));
  add("Read by", TextAt(source, "adapter") + " " + TextAt(source, "adapter_version"));
  add("Stored at", TextAt(ChildAt(ChildAt(report, "run"), "provenance"), "created_at"));
  const std::optional<double> overhead = NumberAt(ChildAt(report, "run"), "overhead_pct");
  add("Profiler overhead", overhead ? fmt::format("{:.1f} %", *overhead) : "not recorded");
  add("Lost records", CountAt(ChildAt(ChildAt(report, "run"), "counters"), "lost"));
  for (const Json& note : ListAt(ChildAt(ChildAt(report, "run"), "provenance"), "notes")) {
    if (note.is_string()) add("Note", note.get<std::string>());
  }
  return table.Markdown();
}

}  // namespace nl
