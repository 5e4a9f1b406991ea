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

double BusyShare(const Report& report) {
  double busy = 0;
  for (const ReportPart& part : report.breakdown) busy += part.idle ? 0 : part.share;
  return busy;
}

std::string Summary(const Report& report) {
  std::string out = MdText(report.verdict, 600);
  if (!report.devices.empty()) {
    const double busy = BusyShare(report);
    out += fmt::format(
        " In plain words: of every 100 seconds of run time, the GPU does useful work for {:.0f} and waits "
        "for {:.0f}.",
        100 * busy, 100 - 100 * busy);
  }
  if (!report.kernels.empty() && report.kernels[0].share) {
    out += fmt::format(" The most expensive piece of GPU work is {}, {} of the GPU's working time.",
                       MdText(report.kernels[0].name, 100), PercentOrDash(report.kernels[0].share));
  }
  if (!report.findings.findings.empty()) {
    const Finding& first = report.findings.findings[0];
    out += fmt::format(" The first thing to fix: {}", MdText(first.message, 300));
    if (out.back() != '.') out += '.';
    if (first.gain_ms && first.gain_share.value_or(0) > 0) {
      out += fmt::format(" Fixing it saves about {} of {}.", GainShareText(*first.gain_share),
                         first.phase == "whole" ? "the run" : "every step");
    } else if (first.impact_ms.value_or(0) > 0) {
      out += fmt::format(" Fixing it could save up to {} of the {} run.", HumanMs(*first.impact_ms),
                         HumanMs(report.wall_ms));
    }
  }
  if (report.run.counters.lost > 0)
    out += " Some records were lost while recording, so the true numbers are higher than those shown.";
  return out + "\n\n";
}

std::string Aggregates(const Report& report) {
  TextTable table({{"Figure"}, {"Value", Align::kRight}});
  table.AddRow({"Wall time", HumanMs(report.wall_ms)});
  if (!report.devices.empty()) {
    const double busy = BusyShare(report);
    table.AddRow({"GPUs", HumanCount(static_cast<int64_t>(report.devices.size()))});
    table.AddRow({"GPU working", fmt::format("{:.1f} %", 100 * busy)});
    table.AddRow({"GPU waiting", fmt::format("{:.1f} %", 100 - 100 * busy)});
  }
  table.AddRow({"Different operators", HumanCount(report.operators_total)});
  table.AddRow({"Different GPU kernels", HumanCount(report.kernels_total)});
  if (report.launch) table.AddRow({"Kernel launches", HumanCount(report.launch->launches)});
  if (report.stages.ttft_ms) table.AddRow({"Time to first token", HumanMs(*report.stages.ttft_ms)});
  if (report.stages.tpot_ms) table.AddRow({"Time per further token", HumanMs(*report.stages.tpot_ms)});
  if (report.memory) {
    for (const MemoryPeak& p : report.memory->peaks)
      table.AddRow({fmt::format("Peak memory, GPU {}", HumanCount(p.device)), HumanBytes(p.allocated_bytes)});
  }
  return table.Markdown() + "\n";
}

std::string MfuLine(const StageSummary& s) {
  const std::string name = MdText(s.name, 60);
  if (!s.mfu && !s.mbu) {
    return fmt::format("- {}: not assessed{}\n", name,
                       s.mfu_reason
                           ? ": " + MdText(*s.mfu_reason, 200)
                           : "; needs the model's dimensions (--model-config) and the device's peak");
  }
  std::string out = fmt::format("- {}: {} of the GPU's compute peak, {} of its memory bandwidth", name,
                                PercentOrDash(s.mfu), PercentOrDash(s.mbu));
  if (s.peak.tflops)
    out += fmt::format(" (peak {:.0f} TFLOP/s, {}; source: {})", *s.peak.tflops,
                       s.peak.gbps ? fmt::format("{:.0f} GB/s", *s.peak.gbps) : "-",
                       MdText(s.peak.source.value_or(""), 120));
  return out + "\n";
}

std::string Mfu(const Report& report) {
  if (report.stages.stages.empty()) return "Not assessed: no model stages were found in this run.\n\n";
  std::string out;
  for (const StageSummary& s : report.stages.stages) out += MfuLine(s);
  return "How much of what the GPU can do was used for the model:\n\n" + out + "\n";
}

std::string Recommendations(const Report& report) {
  std::string out;
  size_t number = 0;
  for (const Finding& f : report.findings.findings) {
    if (f.suggestions.empty()) continue;
    out += fmt::format("{}. {}", ++number, MdText(f.suggestions[0], 400));
    if (f.gain_ms && f.gain_share.value_or(0) > 0) {
      out += fmt::format(" It saves about {} of {} ({}).", HumanMs(f.gain_ms->expected),
                         f.phase == "whole" ? "the run" : "a step", GainShareText(*f.gain_share));
    } else if (f.impact_ms.value_or(0) > 0) {
      out += fmt::format(" It could save up to {} of {}.", HumanMs(*f.impact_ms), HumanMs(report.wall_ms));
    }
    out += fmt::format(" Reason: {}\n", MdText(f.message, 300));
    if (number == kRecommendations) break;
  }
  return out.empty() ? "None: no rule fired.\n" : out;
}

}  // namespace

std::string StakeholderMarkdown(const Report& report) {
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
