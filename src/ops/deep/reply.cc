// SPDX-License-Identifier: Apache-2.0
#include "ops/deep/reply.h"

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

void Describe(Record<DeepReply>& r) {
  r.Name("DeepReply", "Reply of `neurolens deep`");
  r.Field("bundle", &DeepReply::bundle, "Folder of the bundle");
  r.Base<deep::DeepMetrics>();
  r.Field("files", &DeepReply::files, "Files of the bundle");
  r.Field("removed", &DeepReply::removed, "Older bundles that --keep removed");
}

namespace ops::deep {

namespace {

using nl::deep::DeepKernel;
using nl::deep::DeepMetrics;
using nl::deep::DeepMode;

constexpr size_t kRowsShown = 20;

std::string Percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : "-";
}

std::string LimitText(const DeepKernel& kernel) {
  return kernel.utilization
             ? PlainWords(NamesOf(*kernel.utilization)[static_cast<size_t>(*kernel.utilization)])
             : "-";
}

std::string SizeText(const std::vector<int64_t>& size) {
  return size.empty() ? "-" : fmt::format("{}", fmt::join(size, "x"));
}

std::string Line(const std::string& text, int width) { return Wrap(text, width, 2) + "\n"; }

std::string Table(const DeepReply& reply, int width, bool color) {
  TextTable table({{"STAGE", Align::kLeft, true, 8},
                   {"KERNEL", Align::kLeft, true, 14},
                   {"CALLS", Align::kRight, false, 0},
                   {"GPU", Align::kRight, false, 0},
                   {"SM", Align::kRight, false, 0},
                   {"DRAM", Align::kRight, false, 0},
                   {"LIMIT", Align::kLeft, false, 0},
                   {"STALL", Align::kLeft, false, 0}});
  for (size_t i = 0; i < std::min(kRowsShown, reply.kernels.size()); ++i) {
    const DeepKernel& k = reply.kernels[i];
    table.AddRow({k.stage, k.kernel, HumanCount(k.launches), HumanMs(k.total_ms), Percent(k.sm_throughput),
                  Percent(k.dram_throughput), LimitText(k), k.top_stall.value_or("-")});
  }
  std::string out = table.Render(width, color);
  if (reply.kernels.size() > kRowsShown)
    out += fmt::format("{} more; metrics.json lists them\n", reply.kernels.size() - kRowsShown);
  return out;
}

}  // namespace

std::string DeepText(const DeepReply& reply, int width, bool color) {
  std::string out = "\n";
  if (!reply.kernels.empty()) {
    out += Line(fmt::format("{} of {} have counters: {} of {} kernel time selected, {} of it measured",
                            HumanCount(reply.counted), Counted(reply.selected, "selected kernel"),
                            HumanMs(reply.selected_ms.value_or(0)), HumanMs(reply.device_ms.value_or(0)),
                            HumanMs(reply.counted_ms.value_or(0))),
                width);
  }
  if (reply.overhead_pct)
    out += Line(fmt::format("recording made the program {:.1f} % slower{}", *reply.overhead_pct,
                            reply.mode == DeepMode::kLight ? ", counters included" : ""),
                width);
  for (const nl::deep::DeepPrediction& p : reply.prediction) {
    if (p.measured_ms)
      out += Line(fmt::format("{}: {} of device time predicted, {} measured{}", p.stage,
                              HumanMs(p.predicted_ms), HumanMs(*p.measured_ms),
                              p.median_error ? fmt::format("; median error of {} modules {}", p.modules,
                                                           HumanPercent(*p.median_error, 1))
                                             : ""),
                  width);
  }
  if (!reply.kernels.empty()) out += "\n" + Table(reply, width, color) + "\n";
  for (const std::string& note : reply.notes) out += Line("note: " + PrintableText(note), width);
  for (const std::string& name : reply.dropped) out += fmt::format("left out by --max-size: {}\n", name);
  for (const std::string& id : reply.removed) out += fmt::format("removed the older bundle {}\n", id);
  if (reply.run_id) out += fmt::format("run {}\n", *reply.run_id);
  return out +
         fmt::format("{} {}\n", reply.partial ? "partial bundle" : "bundle", PrintableText(reply.bundle));
}

std::string CountersMarkdown(const DeepMetrics& metrics) {
  TextTable table({{"Stage"},
                   {"Kernel"},
                   {"Grid"},
                   {"Launches", Align::kRight},
                   {"Total ms", Align::kRight},
                   {"SM", Align::kRight},
                   {"DRAM", Align::kRight},
                   {"Occupancy", Align::kRight},
                   {"Limit"},
                   {"Largest stall group"},
                   {"No counters because"}});
  for (const DeepKernel& k : metrics.kernels) {
    table.AddRow({MdCell(k.stage), MdCell(k.kernel), SizeText(k.grid), HumanCount(k.launches),
                  MsNumber(k.total_ms), Percent(k.sm_throughput), Percent(k.dram_throughput),
                  Percent(k.achieved_occupancy), LimitText(k), k.top_stall.value_or("-"),
                  MdCell(k.reason.value_or(""), 400)});
  }
  return table.rows() == 0 ? "" : "## Selected kernels and their counters\n\n" + table.Markdown();
}

}  // namespace ops::deep
}  // namespace nl
