// SPDX-License-Identifier: Apache-2.0
// report.md, operators.md and kernels.md.

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "report/report_forms.h"
#include "report/report_text.h"
#include "report/report_value.h"
#include "report/samples_text.h"
#include "report/startup_text.h"
#include "report/text_table.h"

namespace nl {

namespace {

constexpr size_t kTopRows = 15;

std::string Breakdown(const Report& report) {
  TextTable table({{"Part"}, {"Time", Align::kRight}, {"Share", Align::kRight}});
  double ms = 0, share = 0;
  for (const ReportPart& part : report.breakdown) {
    table.AddRow({part.label, HumanMs(part.ms), PercentOrDash(part.share)});
    ms += part.ms;
    share += part.share;
  }
  if (table.rows() == 0) return "";
  const size_t devices = report.devices.size();
  table.AddRow({devices > 1 ? fmt::format("Wall time of {} devices", devices) : "Wall time", HumanMs(ms),
                PercentOrDash(share)});
  return "## Where the time went\n\n" + table.Markdown() + "\n";
}

std::string Devices(const Report& report) {
  if (report.devices.empty()) return "";
  TextTable table({{"Device"},
                   {"Busy", Align::kRight},
                   {"Idle", Align::kRight},
                   {"Utilization", Align::kRight},
                   {"Compute", Align::kRight},
                   {"Communication", Align::kRight},
                   {"Memory", Align::kRight},
                   {"Overlap", Align::kRight}});
  for (const DeviceTime& d : report.devices) {
    table.AddRow({DeviceLabel(d), HumanMs(d.busy_ms), HumanMs(d.idle_ms), PercentOrDash(d.utilization),
                  HumanMs(d.compute_ms), HumanMs(d.communication_ms), HumanMs(d.memory_ms),
                  HumanMs(d.overlap_ms)});
  }
  return "### Devices\n\n" + table.Markdown() + "\n";
}

std::string PlaceOf(const Finding& f) {
  std::string out;
  const auto add = [&out](const char* what, const std::optional<std::string>& name) {
    if (name && !name->empty()) out += fmt::format(", {} {}", what, MdText(*name, 120));
  };
  add("stage", f.stage);
  add("module", f.module);
  add("op", f.op);
  add("kernel", f.kernel);
  return out;
}

std::string FindingSection(const Finding& f, size_t number) {
  std::string title = f.title;
  std::string out;
  if (title.empty()) {
    out = fmt::format("### {}. {}\n\n", number, MdText(f.message, 400));
  } else {
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    out = fmt::format("### {}. {}\n\n{}\n\n", number, MdText(title, 200), MdText(f.message, 600));
  }
  out += fmt::format("Rule {}, severity {}", MdText(f.rule, 80), RuleSeverityName(f.severity));
  const std::string cost = CostText(f);
  if (!cost.empty()) out += ", " + MdText(cost);
  out += fmt::format(", confidence {}{}.\n\n", PercentOrDash(f.confidence), PlaceOf(f));
  std::string evidence;
  for (const Evidence& e : f.evidence)
    evidence += (evidence.empty() ? "" : "; ") + MdText(EvidenceText(e), 300);
  if (!evidence.empty()) out += fmt::format("Evidence: {}.\n\n", evidence);
  for (const std::string& s : f.suggestions) out += fmt::format("- {}\n", MdText(s, 600));
  return out + "\n";
}

// What the profiling tool itself says, marked as its word.
std::string ToolFindings(const std::vector<ToolFinding>& words) {
  constexpr size_t kMostRows = 20;
  if (words.empty()) return "";
  std::string out = fmt::format("What {} itself suggests (its words and estimates, not checked here):\n\n",
                                MdText(words[0].tool, 60));
  TextTable table({{"Kernel"}, {"Its rule"}, {"Time", Align::kRight}, {"It estimates"}, {"It says"}});
  for (size_t i = 0; i < std::min(kMostRows, words.size()); ++i) {
    const ToolFinding& w = words[i];
    std::string estimate = "-";
    if (w.estimated_ms)
      estimate = fmt::format("{} less", HumanMs(*w.estimated_ms));
    else if (w.speedup_pct)
      estimate = fmt::format("up to {:.0f} % less of a part", *w.speedup_pct);
    table.AddRow(
        {MdCell(w.kernel, 80), MdCell(w.rule, 60), HumanMs(w.kernel_ms), estimate, MdCell(w.message, 300)});
  }
  return out + table.Markdown() + "\n";
}

std::string DiagnosisLines(const Diagnosis& diagnosis) {
  std::string out =
      fmt::format("Diagnosis{}: {} (confidence {}).\n", diagnosis.phase ? " of the steady phase" : "",
                  MdText(PlainWords(RunBoundName(diagnosis.bound)), 60), PercentOrDash(diagnosis.confidence));
  for (const Evidence& e : diagnosis.evidence) out += fmt::format("- {}\n", MdText(EvidenceText(e), 300));
  for (const std::string& s : diagnosis.settle)
    out += fmt::format("- What would settle it: {}\n", MdText(s, 300));
  return out + "\n";
}

std::string Findings(const Report& report) {
  const FindingsFacts& section = report.findings;
  std::string out = "## Findings\n\n" + DiagnosisLines(section.diagnosis);
  size_t number = 0;
  for (const Finding& f : section.findings) out += FindingSection(f, ++number);
  if (number == 0) out += "No rule fired.\n\n";
  out += ToolFindings(section.tool_findings);
  if (!section.not_assessed.empty()) {
    TextTable table({{"Not assessed"}, {"Needs"}});
    for (const NotAssessed& m : section.not_assessed)
      table.AddRow({MdCell(m.rule), MdCell(fmt::format("{}", fmt::join(m.needs, ", ")))});
    out += table.Markdown() + "\n";
  }
  return out;
}

std::string Stages(const Report& report) {
  const std::string table = StageTable(report);
  if (table.empty()) return "";
  const StagesSection& section = report.stages;
  std::string line;
  if (section.ttft_ms) line += fmt::format("TTFT {}", HumanMs(*section.ttft_ms));
  if (section.tpot_ms) line += fmt::format("{}TPOT {}", line.empty() ? "" : ", ", HumanMs(*section.tpot_ms));
  if (!line.empty()) line = "\n" + line + ".\n";
  return "## Stages\n\n" + table + line + "\n";
}

std::string Idle(const Report& report) {
  if (!report.idle || report.idle->causes.empty()) return "";
  const std::vector<IdleReason>& causes = report.idle->causes;
  TextTable table(
      {{"What the host was doing"}, {"Where"}, {"Time", Align::kRight}, {"Share", Align::kRight}});
  for (size_t i = 0; i < std::min(kTopRows, causes.size()); ++i) {
    const IdleReason& c = causes[i];
    table.AddRow({MdCell(c.what), MdCell(c.name.value_or("")), HumanMs(c.ms), PercentOrDash(c.share)});
  }
  return "## Why the device was idle\n\n" + table.Markdown() + "\n";
}

std::string Launch(const Report& report) {
  if (!report.launch) return "";
  const LaunchSection& launch = *report.launch;
  const auto us = [](std::optional<double> value) {
    return value ? HumanMs(*value / 1e3) : std::string("-");
  };
  return fmt::format(
      "## Launches\n\n{}; the call takes {} (median) and {} (p95); the device starts {} after the "
      "call "
      "began (median). {} of the kernels run shorter than their launch.\n\n",
      Counted(launch.launches, "launch"), us(launch.api_p50_us), us(launch.api_p95_us),
      us(launch.queue_delay_p50_us), PercentOrDash(launch.launch_bound_share));
}

std::string CriticalPath(const Report& report) {
  if (!report.critical_path) return "";
  const ReportPath& path = *report.critical_path;
  TextTable table({{"Bound by"}, {"Time", Align::kRight}, {"Share", Align::kRight}});
  for (const PathClassShare& s : path.shares) {
    if (s.ms > 0)
      table.AddRow({MdCell(PlainWords(PathClassName(s.what))), HumanMs(s.ms), PercentOrDash(s.share)});
  }
  if (table.rows() == 0) return "";
  std::string out = "## Critical path\n\n" + table.Markdown() + "\n";
  const std::vector<PathContributor>& top = path.contributors;
  if (top.empty()) return out;
  TextTable names({{"Longest on the path"}, {"Class"}, {"Time", Align::kRight}, {"Share", Align::kRight}});
  for (size_t i = 0; i < std::min(kTopRows, top.size()); ++i) {
    names.AddRow({MdCell(top[i].name.value_or("")), MdCell(PlainWords(PathClassName(top[i].what))),
                  HumanMs(top[i].ms), PercentOrDash(top[i].share)});
  }
  return out + names.Markdown() + "\n";
}

std::string RateText(std::optional<double> value) {
  if (!value) return "-";
  return *value >= 100 ? fmt::format("{:.0f}", *value) : fmt::format("{:.3g}", *value);
}

std::string Roofline(const Report& report) {
  const std::vector<RooflineRow>& points = report.roofline.points;
  if (points.empty()) return "";
  TextTable table({{"Operator"},
                   {"Shapes"},
                   {"Bound by"},
                   {"FLOP/byte", Align::kRight},
                   {"TFLOP/s", Align::kRight},
                   {"GB/s", Align::kRight},
                   {"At the roof", Align::kRight},
                   {"Measured", Align::kRight},
                   {"Efficiency", Align::kRight}});
  for (size_t i = 0; i < std::min(kTopRows, points.size()); ++i) {
    const RooflineRow& p = points[i];
    const std::string name = p.op.value_or(p.kernel.value_or(""));
    table.AddRow({MdCell(name), MdCell(p.shapes.value_or(""), 48),
                  p.bound ? std::string(NamesOf(*p.bound)[static_cast<size_t>(*p.bound)]) : "",
                  RateText(p.ai), RateText(p.tflops), RateText(p.gbps), MsOrDash(p.t_roof_ms),
                  HumanMs(p.t_measured_ms), PercentOrDash(p.efficiency)});
  }
  return "## Roofline\n\n" + table.Markdown() + "\n";
}

std::string Copies(const Report& report) {
  if (report.copies.empty()) return "";
  TextTable table({{"Copy"},
                   {"From"},
                   {"To"},
                   {"Calls", Align::kRight},
                   {"Time", Align::kRight},
                   {"Bytes", Align::kRight}});
  for (const CopyTotalsRow& c : report.copies) {
    table.AddRow({MdCell(c.kind), MdCell(c.from), MdCell(c.to), HumanCount(c.calls), HumanMs(c.total_ms),
                  HumanBytes(c.bytes)});
  }
  return "## Copies\n\n" + table.Markdown() + "\n";
}

std::string Ranks(const Report& report) {
  if (!report.ranks || report.ranks->members.empty()) return "";
  const RanksSection& ranks = *report.ranks;
  TextTable table({{ranks.members_are == RankMembers::kRanks ? "Rank" : "Device"},
                   {"Collectives", Align::kRight},
                   {"Waited", Align::kRight},
                   {"Moving data", Align::kRight},
                   {"Late by (mean)", Align::kRight},
                   {"Last", Align::kRight},
                   {"Held up", Align::kRight},
                   {"Clock offset", Align::kRight},
                   {"Within", Align::kRight}});
  for (const RankMember& m : ranks.members) {
    table.AddRow({CountOrDash(m.rank ? m.rank : m.device), HumanCount(m.collectives), HumanMs(m.waited_ms),
                  HumanMs(m.transfer_ms), MsOrDash(m.mean_late_ms), HumanCount(m.last), HumanMs(m.held_up_ms),
                  MsOrDash(m.clock_offset_ms),
                  m.clock_bound_ms ? "\xc2\xb1 " + HumanMs(*m.clock_bound_ms) : "-"});
  }
  return fmt::format(
      "## Ranks\n\n{}: {} waiting for the last to arrive, {} moving data, summed over members. "
      "{}\n\n{}\n",
      Counted(ranks.collectives_total, "collective"), HumanMs(ranks.waited_ms), HumanMs(ranks.transfer_ms),
      ranks.clocks_corrected
          ? "Arrivals are corrected for clocks that cannot be equal; times stored in the run are not."
          : "No clock was corrected.",
      table.Markdown());
}

std::string Memory(const Report& report) {
  if (!report.memory) return "";
  TextTable table({{"Device"}, {"Peak allocated", Align::kRight}, {"Peak reserved", Align::kRight}});
  for (const MemoryPeak& p : report.memory->peaks)
    table.AddRow({HumanCount(p.device), HumanBytes(p.allocated_bytes), HumanBytes(p.reserved_bytes)});
  return "## Memory\n\n" + table.Markdown() + "\n";
}

std::string Samples(const Report& report) {
  if (!report.samples) return "";
  const std::string tables =
      SamplesTables(*report.samples, report.devices.empty() ? report.wall_ms : 0, {true, kTopRows});
  return tables.empty() ? "" : "## CPU samples\n\n" + tables;
}

std::string Startup(const Report& report) {
  constexpr size_t kStartupRows = 6;
  if (!report.startup || !ShowsStartup(*report.startup)) return "";
  return fmt::format(
      "## Start-up\n\n{}\n\n{}\n", StartupSentence(*report.startup),
      StartupTable(report.startup->parts, "What the launching thread did", {true, 1, kStartupRows}));
}

std::string Glossary(const Report& report) {
  std::string out = "## Glossary\n\n";
  for (const GlossaryTerm& term : report.glossary)
    out +=
        fmt::format("- **{}** ({}): {}\n", MdText(term.name), MdText(term.unit), MdText(term.meaning, 300));
  return out;
}

}  // namespace

std::string ReportMarkdown(const Report& report) {
  std::string out = fmt::format("# {}\n\n**{}**\n\n", MdText(RunTitle(report)), MdText(report.verdict, 600));
  out += LossLines(report);
  out += Breakdown(report) + Devices(report) + Startup(report) + Findings(report) + Stages(report);
  out += Samples(report);
  out += OperatorTable(report, kTopRows, "## Top operators\n\n");
  out += KernelTable(report, kTopRows, "## Top kernels\n\n");
  out += Roofline(report) + Idle(report) + Launch(report) + CriticalPath(report) + Ranks(report) +
         Copies(report) + Memory(report);
  out += "## What ran\n\n" + EnvironmentTable(report) + "\n";
  return out + Glossary(report);
}

std::string OperatorsMarkdown(const Report& report) {
  const std::string table = OperatorTable(report, SIZE_MAX, "");
  return fmt::format("# Operators of {}\n\n{}", MdText(RunTitle(report)),
                     table.empty() ? "The run has no operators.\n" : table);
}

std::string KernelsMarkdown(const Report& report) {
  const std::string table = KernelTable(report, SIZE_MAX, "");
  std::string out = fmt::format("# Kernels of {}\n\n{}", MdText(RunTitle(report)),
                                table.empty() ? "The run has no kernels.\n" : table);
  TextTable raw({{"Kernel"}, {"Raw name"}});
  for (const NameTotals& k : report.kernels) {
    if (k.raw_name != k.name) raw.AddRow({MdCell(k.name), MdCell(k.raw_name, 2000)});
  }
  if (raw.rows() > 0) out += "## Raw names\n\n" + raw.Markdown();
  return out;
}

}  // namespace nl
