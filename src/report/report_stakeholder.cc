// SPDX-License-Identifier: Apache-2.0
// stakeholder_summary.md: what the run tells someone who decides, without profiler words.

#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "report/report_forms.h"
#include "report/report_text.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

namespace {

constexpr size_t kStakeholderRows = 10;
constexpr size_t kRecommendations = 5;

double BusyShare(const Json& report) {
  double busy = 0;
  for (const Json& part : ListAt(report, "breakdown")) {
    if (ChildAt(part, "idle") == Json(false)) busy += NumberAt(part, "share").value_or(0);
  }
  return busy;
}

const Json& FindingList(const Json& report) { return ListAt(ChildAt(report, "findings"), "findings"); }

std::string Summary(const Json& report) {
  std::string out = MdText(TextAt(report, "verdict"), 600);
  if (!ListAt(report, "devices").empty()) {
    const double busy = BusyShare(report);
    out += fmt::format(
        " In plain words: of every 100 seconds of run time, the GPU does useful work for {:.0f} and waits "
        "for {:.0f}.",
        100 * busy, 100 - 100 * busy);
  }
  const Json& kernels = ListAt(report, "kernels");
  if (!kernels.empty() && NumberAt(kernels[0], "share")) {
    out += fmt::format(" The most expensive piece of GPU work is {}, {} of the GPU's working time.",
                       MdText(TextAt(kernels[0], "name"), 100), PercentAt(kernels[0], "share"));
  }
  const Json& findings = FindingList(report);
  if (!findings.empty()) {
    out += fmt::format(" The first thing to fix: {}", MdText(TextAt(findings[0], "message"), 300));
    if (out.back() != '.') out += '.';
    if (NumberAt(findings[0], "impact_ms").value_or(0) > 0)
      out += fmt::format(" Fixing it could save up to {} of the {} run.", MsAt(findings[0], "impact_ms"),
                         MsAt(report, "wall_ms"));
  }
  if (NumberAt(ChildAt(ChildAt(report, "run"), "counters"), "lost").value_or(0) > 0)
    out += " Some records were lost while recording, so the true numbers are higher than those shown.";
  return out + "\n\n";
}

std::string Aggregates(const Json& report) {
  TextTable table({{"Figure"}, {"Value", Align::kRight}});
  table.AddRow({"Wall time", MsAt(report, "wall_ms")});
  const Json& devices = ListAt(report, "devices");
  if (!devices.empty()) {
    table.AddRow({"GPUs", HumanCount(static_cast<int64_t>(devices.size()))});
    table.AddRow({"GPU working", fmt::format("{:.1f} %", 100 * BusyShare(report))});
    table.AddRow({"GPU waiting", fmt::format("{:.1f} %", 100 - 100 * BusyShare(report))});
  }
  table.AddRow({"Different operators", CountAt(report, "operators_total")});
  table.AddRow({"Different GPU kernels", CountAt(report, "kernels_total")});
  if (NumberAt(ChildAt(report, "launch"), "launches"))
    table.AddRow({"Kernel launches", CountAt(ChildAt(report, "launch"), "launches")});
  const Json& stages = ChildAt(report, "stages");
  if (NumberAt(stages, "ttft_ms")) table.AddRow({"Time to first token", MsAt(stages, "ttft_ms")});
  if (NumberAt(stages, "tpot_ms")) table.AddRow({"Time per further token", MsAt(stages, "tpot_ms")});
  for (const Json& p : ListAt(ChildAt(report, "memory"), "peaks"))
    table.AddRow({fmt::format("Peak memory, GPU {}", CountAt(p, "device")), BytesAt(p, "allocated_bytes")});
  return table.Markdown() + "\n";
}

std::string Mfu(const Json& report) {
  std::string out;
  for (const Json& s : ListAt(ChildAt(report, "stages"), "stages")) {
    const std::string name = MdText(TextAt(s, "name"), 60);
    if (!NumberAt(s, "mfu") && !NumberAt(s, "mbu")) {
      const std::string why = TextAt(s, "mfu_reason");
      out += fmt::format("- {}: not assessed{}\n", name,
                         why.empty() ? "; needs the model's dimensions (--model-config) and the device's peak"
                                     : ": " + MdText(why, 200));
      continue;
    }
    const Json& peak = ChildAt(s, "peak");
    out += fmt::format("- {}: {} of the GPU's compute peak, {} of its memory bandwidth", name,
                       PercentAt(s, "mfu"), PercentAt(s, "mbu"));
    if (NumberAt(peak, "tflops"))
      out += fmt::format(" (peak {:.0f} TFLOP/s, {}; source: {})", *NumberAt(peak, "tflops"),
                         NumberAt(peak, "gbps") ? fmt::format("{:.0f} GB/s", *NumberAt(peak, "gbps")) : "-",
                         MdText(TextAt(peak, "source"), 120));
    out += "\n";
  }
  if (out.empty()) return "Not assessed: no model stages were found in this run.\n\n";
  return "How much of what the GPU can do was used for the model:\n\n" + out + "\n";
}

std::string Recommendations(const Json& report) {
  std::string out;
  size_t number = 0;
  for (const Json& f : FindingList(report)) {
    const Json& suggestions = ListAt(f, "suggestions");
    if (suggestions.empty() || !suggestions[0].is_string()) continue;
    out += fmt::format("{}. {}", ++number, MdText(suggestions[0].get<std::string>(), 400));
    if (NumberAt(f, "impact_ms").value_or(0) > 0)
      out += fmt::format(" It could save up to {} of {}.", MsAt(f, "impact_ms"), MsAt(report, "wall_ms"));
    out += fmt::format(" Reason: {}\n", MdText(TextAt(f, "message"), 300));
    if (number == kRecommendations) break;
  }
  if (!out.empty()) return out;
  return ChildAt(report, "findings").is_null() ? "Not assessed: this report has no findings.\n"
                                               : "None: no rule fired.\n";
}

}  // namespace

std::string StakeholderMarkdown(const Json& report) {
  std::string out = fmt::format("# Summary: {}\n\n{}", MdText(RunTitle(report)), Summary(report));
  out += "## Environment\n\n" + EnvironmentTable(report) + "\n";
  out += "## Aggregates\n\n" + Aggregates(report);
  const std::string stages = StageTable(report);
  out += "## Per-Stage Timings\n\n" +
         (stages.empty() ? "The run has no stages: label them, or see docs/report.md.\n\n" : stages + "\n");
  out += "## MFU\n\n" + Mfu(report);
  const std::string operators = OperatorTable(report, kStakeholderRows, "");
  out += "## Top Operators\n\n" + (operators.empty() ? "None recorded.\n\n" : operators);
  const std::string kernels = KernelTable(report, kStakeholderRows, "");
  out += "## Top Kernels\n\n" + (kernels.empty() ? "None recorded.\n\n" : kernels);
  return out + "## Recommendations\n\n" + Recommendations(report);
}

}  // namespace nl
