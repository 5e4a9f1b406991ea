// SPDX-License-Identifier: Apache-2.0
// report.md, operators.md and kernels.md.

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/human.h"
#include "report/report_forms.h"
#include "report/report_text.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

namespace {

constexpr size_t kTopRows = 15;

std::string Breakdown(const Json& report) {
  TextTable table({{"Part"}, {"Time", Align::kRight}, {"Share", Align::kRight}});
  double ms = 0, share = 0;
  for (const Json& part : ListAt(report, "breakdown")) {
    table.AddRow({TextAt(part, "label"), MsAt(part, "ms"), PercentAt(part, "share")});
    ms += NumberAt(part, "ms").value_or(0);
    share += NumberAt(part, "share").value_or(0);
  }
  if (table.rows() == 0) return "";
  const size_t devices = ListAt(report, "devices").size();
  table.AddRow({devices > 1 ? fmt::format("Wall time of {} devices", devices) : "Wall time", HumanMs(ms),
                fmt::format("{:.1f} %", 100 * share)});
  return "## Where the time went\n\n" + table.Markdown() + "\n";
}

std::string Devices(const Json& report) {
  const Json& devices = ListAt(report, "devices");
  if (devices.empty()) return "";
  TextTable table({{"Device"},
                   {"Busy", Align::kRight},
                   {"Idle", Align::kRight},
                   {"Utilization", Align::kRight},
                   {"Compute", Align::kRight},
                   {"Communication", Align::kRight},
                   {"Memory", Align::kRight},
                   {"Overlap", Align::kRight}});
  for (const Json& d : devices) {
    table.AddRow({DeviceLabel(d), MsAt(d, "busy_ms"), MsAt(d, "idle_ms"), PercentAt(d, "utilization"),
                  MsAt(d, "compute_ms"), MsAt(d, "communication_ms"), MsAt(d, "memory_ms"),
                  MsAt(d, "overlap_ms")});
  }
  return "### Devices\n\n" + table.Markdown() + "\n";
}

std::string Finding(const Json& f, size_t number) {
  std::string title = TextAt(f, "title");
  std::string out;
  if (title.empty()) {
    out = fmt::format("### {}. {}\n\n", number, MdText(TextAt(f, "message"), 400));
  } else {
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    out = fmt::format("### {}. {}\n\n{}\n\n", number, MdText(title, 200), MdText(TextAt(f, "message"), 600));
  }
  out +=
      fmt::format("Rule {}, severity {}", MdText(TextAt(f, "rule"), 80), MdText(TextAt(f, "severity"), 20));
  const std::string cost = CostText(f);
  if (!cost.empty()) out += ", " + MdText(cost);
  if (NumberAt(f, "confidence")) out += fmt::format(", confidence {}", PercentAt(f, "confidence"));
  for (const char* where : {"stage", "module", "op", "kernel"}) {
    const std::string text = TextAt(f, where);
    if (!text.empty()) out += fmt::format(", {} {}", where, MdText(text, 120));
  }
  out += ".\n\n";
  std::string evidence;
  for (const Json& e : ListAt(f, "evidence"))
    evidence += (evidence.empty() ? "" : "; ") + MdText(EvidenceText(e), 300);
  if (!evidence.empty()) out += fmt::format("Evidence: {}.\n\n", evidence);
  for (const Json& s : ListAt(f, "suggestions")) {
    if (s.is_string()) out += fmt::format("- {}\n", MdText(s.get<std::string>(), 600));
  }
  return out + "\n";
}

// What the profiling tool itself says, marked as its word.
std::string ToolFindings(const Json& words) {
  constexpr size_t kMostRows = 20;
  if (words.empty()) return "";
  std::string out = fmt::format("What {} itself suggests (its words and estimates, not checked here):\n\n",
                                MdText(TextAt(words[0], "tool"), 60));
  TextTable table({{"Kernel"}, {"Its rule"}, {"Time", Align::kRight}, {"It estimates"}, {"It says"}});
  for (size_t i = 0; i < std::min(kMostRows, words.size()); ++i) {
    const Json& w = words[i];
    std::string estimate = "-";
    if (NumberAt(w, "estimated_ms"))
      estimate = fmt::format("{} less", MsAt(w, "estimated_ms"));
    else if (NumberAt(w, "speedup_pct"))
      estimate = fmt::format("up to {:.0f} % less of a part", *NumberAt(w, "speedup_pct"));
    table.AddRow({MdCell(TextAt(w, "kernel"), 80), MdCell(TextAt(w, "rule"), 60), MsAt(w, "kernel_ms"),
                  estimate, MdCell(TextAt(w, "message"), 300)});
  }
  return out + table.Markdown() + "\n";
}

std::string Findings(const Json& report) {
  const Json& section = ChildAt(report, "findings");
  if (!section.is_object()) return "";
  std::string out = "## Findings\n\n";
  const Json& diagnosis = ChildAt(section, "diagnosis");
  if (!TextAt(diagnosis, "class").empty()) {
    out += fmt::format("Diagnosis: {}", MdText(PlainWords(TextAt(diagnosis, "class")), 60));
    if (NumberAt(diagnosis, "confidence"))
      out += fmt::format(" (confidence {})", PercentAt(diagnosis, "confidence"));
    out += ".\n";
    for (const Json& e : ListAt(diagnosis, "evidence"))
      out += fmt::format("- {}\n", MdText(EvidenceText(e), 300));
    for (const Json& s : ListAt(diagnosis, "settle")) {
      if (s.is_string())
        out += fmt::format("- What would settle it: {}\n", MdText(s.get<std::string>(), 300));
    }
    out += "\n";
  }
  size_t number = 0;
  for (const Json& f : ListAt(section, "findings")) out += Finding(f, ++number);
  if (number == 0) out += "No rule fired.\n\n";
  out += ToolFindings(ListAt(section, "tool_findings"));
  const Json& missing = ListAt(section, "not_assessed");
  if (!missing.empty()) {
    TextTable table({{"Not assessed"}, {"Needs"}});
    for (const Json& m : missing) table.AddRow({MdCell(TextAt(m, "rule")), MdCell(JoinedAt(m, "needs"))});
    out += table.Markdown() + "\n";
  }
  return out;
}

std::string Stages(const Json& report) {
  const Json& section = ChildAt(report, "stages");
  const Json& stages = ListAt(section, "stages");
  if (stages.empty()) return "";
  std::string out = "## Stages\n\n" + StageTable(report);
  std::string line;
  if (NumberAt(section, "ttft_ms")) line += fmt::format("TTFT {}", MsAt(section, "ttft_ms"));
  if (NumberAt(section, "tpot_ms"))
    line += fmt::format("{}TPOT {}", line.empty() ? "" : ", ", MsAt(section, "tpot_ms"));
  if (!line.empty()) out += "\n" + line + ".\n";
  return out + "\n";
}

std::string Idle(const Json& report) {
  const Json& idle = ChildAt(report, "idle");
  const Json& causes = ListAt(idle, "causes");
  if (causes.empty()) return "";
  TextTable table(
      {{"What the host was doing"}, {"Where"}, {"Time", Align::kRight}, {"Share", Align::kRight}});
  for (size_t i = 0; i < std::min(kTopRows, causes.size()); ++i) {
    const Json& c = causes[i];
    table.AddRow(
        {MdCell(TextAt(c, "what")), MdCell(TextAt(c, "name")), MsAt(c, "ms"), PercentAt(c, "share")});
  }
  return "## Why the device was idle\n\n" + table.Markdown() + "\n";
}

std::string Launch(const Json& report) {
  const Json& launch = ChildAt(report, "launch");
  if (!launch.is_object()) return "";
  const auto us = [&launch](const char* key) {
    const auto value = NumberAt(launch, key);
    return value ? HumanMs(*value / 1e3) : std::string("-");
  };
  return fmt::format(
      "## Launches\n\n{} launches; the call takes {} (median) and {} (p95); the device starts {} after the "
      "call "
      "began (median). {} of the kernels run shorter than their launch.\n\n",
      CountAt(launch, "launches"), us("api_p50_us"), us("api_p95_us"), us("queue_delay_p50_us"),
      PercentAt(launch, "launch_bound_share"));
}

std::string CriticalPath(const Json& report) {
  const Json& path = ChildAt(report, "critical_path");
  const Json& shares = ListAt(path, "shares");
  if (shares.empty()) return "";
  TextTable table({{"Bound by"}, {"Time", Align::kRight}, {"Share", Align::kRight}});
  for (const Json& s : shares) {
    if (NumberAt(s, "ms").value_or(0) > 0)
      table.AddRow({MdCell(PlainWords(TextAt(s, "class"))), MsAt(s, "ms"), PercentAt(s, "share")});
  }
  if (table.rows() == 0) return "";
  std::string out = "## Critical path\n\n" + table.Markdown() + "\n";
  const Json& top = ListAt(path, "contributors");
  if (top.empty()) return out;
  TextTable names({{"Longest on the path"}, {"Class"}, {"Time", Align::kRight}, {"Share", Align::kRight}});
  for (size_t i = 0; i < std::min(kTopRows, top.size()); ++i) {
    names.AddRow({MdCell(TextAt(top[i], "name")), MdCell(PlainWords(TextAt(top[i], "class"))),
                  MsAt(top[i], "ms"), PercentAt(top[i], "share")});
  }
  return out + names.Markdown() + "\n";
}

std::string Roofline(const Json& report) {
  const Json& points = ListAt(ChildAt(report, "roofline"), "points");
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
  const auto number = [](const Json& p, const char* key) {
    const auto value = NumberAt(p, key);
    if (!value) return std::string("-");
    return *value >= 100 ? fmt::format("{:.0f}", *value) : fmt::format("{:.3g}", *value);
  };
  for (size_t i = 0; i < std::min(kTopRows, points.size()); ++i) {
    const Json& p = points[i];
    const std::string name = TextAt(p, "op").empty() ? TextAt(p, "kernel") : TextAt(p, "op");
    table.AddRow({MdCell(name), MdCell(TextAt(p, "shapes"), 48), MdCell(TextAt(p, "bound")), number(p, "ai"),
                  number(p, "tflops"), number(p, "gbps"), MsAt(p, "t_roof_ms"), MsAt(p, "t_measured_ms"),
                  PercentAt(p, "efficiency")});
  }
  return "## Roofline\n\n" + table.Markdown() + "\n";
}

std::string Copies(const Json& report) {
  const Json& copies = ListAt(report, "copies");
  if (copies.empty()) return "";
  TextTable table({{"Copy"},
                   {"From"},
                   {"To"},
                   {"Calls", Align::kRight},
                   {"Time", Align::kRight},
                   {"Bytes", Align::kRight}});
  for (const Json& c : copies) {
    table.AddRow({MdCell(TextAt(c, "kind")), MdCell(TextAt(c, "from")), MdCell(TextAt(c, "to")),
                  CountAt(c, "calls"), MsAt(c, "total_ms"), BytesAt(c, "bytes")});
  }
  return "## Copies\n\n" + table.Markdown() + "\n";
}

std::string Ranks(const Json& report) {
  const Json& ranks = ChildAt(report, "ranks");
  const Json& members = ListAt(ranks, "members");
  if (members.empty()) return "";
  TextTable table({{TextAt(ranks, "members_are") == "ranks" ? "Rank" : "Device"},
                   {"Collectives", Align::kRight},
                   {"Waited", Align::kRight},
                   {"Moving data", Align::kRight},
                   {"Late by (mean)", Align::kRight},
                   {"Last", Align::kRight},
                   {"Held up", Align::kRight},
                   {"Clock offset", Align::kRight},
                   {"Within", Align::kRight}});
  for (const Json& m : members) {
    const auto bound = NumberAt(m, "clock_bound_ms");
    table.AddRow({CountAt(m, NumberAt(m, "rank") ? "rank" : "device"), CountAt(m, "collectives"),
                  MsAt(m, "waited_ms"), MsAt(m, "transfer_ms"), MsAt(m, "mean_late_ms"), CountAt(m, "last"),
                  MsAt(m, "held_up_ms"), MsAt(m, "clock_offset_ms"),
                  bound ? "\xc2\xb1 " + HumanMs(*bound) : std::string("-")});
  }
  const Json& corrected = ChildAt(ranks, "clocks_corrected");
  return fmt::format(
      "## Ranks\n\n{} collectives: {} waiting for the last to arrive, {} moving data, summed over members. "
      "{}\n\n{}\n",
      CountAt(ranks, "collectives_total"), MsAt(ranks, "waited_ms"), MsAt(ranks, "transfer_ms"),
      corrected.is_boolean() && corrected.get<bool>()
          ? "Arrivals are corrected for clocks that cannot be equal; times stored in the run are not."
          : "No clock was corrected.",
      table.Markdown());
}

std::string Memory(const Json& report) {
  const Json& peaks = ListAt(ChildAt(report, "memory"), "peaks");
  if (peaks.empty()) return "";
  TextTable table({{"Device"}, {"Peak allocated", Align::kRight}, {"Peak reserved", Align::kRight}});
  for (const Json& p : peaks)
    table.AddRow({CountAt(p, "device"), BytesAt(p, "allocated_bytes"), BytesAt(p, "reserved_bytes")});
  return "## Memory\n\n" + table.Markdown() + "\n";
}

std::string Glossary(const Json& report) {
  std::string out = "## Glossary\n\n";
  for (const Json& term : ListAt(report, "glossary")) {
    out += fmt::format("- **{}** ({}): {}\n", MdText(TextAt(term, "name")), MdText(TextAt(term, "unit")),
                       MdText(TextAt(term, "meaning"), 300));
  }
  return out;
}

}  // namespace

std::string ReportMarkdown(const Json& report) {
  std::string out =
      fmt::format("# {}\n\n**{}**\n\n", MdText(RunTitle(report)), MdText(TextAt(report, "verdict"), 600));
  out += LossLines(report);
  out += Breakdown(report) + Devices(report) + Findings(report) + Stages(report);
  out += OperatorTable(report, kTopRows, "## Top operators\n\n");
  out += KernelTable(report, kTopRows, "## Top kernels\n\n");
  out += Roofline(report) + Idle(report) + Launch(report) + CriticalPath(report) + Ranks(report) +
         Copies(report) + Memory(report);
  out += "## What ran\n\n" + EnvironmentTable(report) + "\n";
  return out + Glossary(report);
}

std::string OperatorsMarkdown(const Json& report) {
  const std::string table = OperatorTable(report, SIZE_MAX, "");
  return fmt::format("# Operators of {}\n\n{}", MdText(RunTitle(report)),
                     table.empty() ? "The run has no operators.\n" : table);
}

std::string KernelsMarkdown(const Json& report) {
  const std::string table = KernelTable(report, SIZE_MAX, "");
  std::string out = fmt::format("# Kernels of {}\n\n{}", MdText(RunTitle(report)),
                                table.empty() ? "The run has no kernels.\n" : table);
  TextTable raw({{"Kernel"}, {"Raw name"}});
  for (const Json& k : ListAt(report, "kernels")) {
    if (TextAt(k, "raw_name") != TextAt(k, "name"))
      raw.AddRow({MdCell(TextAt(k, "name")), MdCell(TextAt(k, "raw_name"), 2000)});
  }
  if (raw.rows() > 0) out += "## Raw names\n\n" + raw.Markdown();
  return out;
}

}  // namespace nl
