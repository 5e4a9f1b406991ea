// SPDX-License-Identifier: Apache-2.0
// A comparison as Markdown for a pull request: the verdict and the waterfall, then folded details.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
#include "report/compare/compare_forms.h"
#include "report/compare/compare_value.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

namespace {

constexpr size_t kTableRows = 15, kParts = 8, kEvidence = 6;

// GitHub renders Markdown inside of <details> after an empty line.
std::string Folded(const std::string& title, const std::string& body) {
  if (body.empty()) return "";
  return fmt::format("<details>\n<summary>{}</summary>\n\n{}\n</details>\n\n", MdText(title), body);
}

std::string MdHeadline(const CompareFacts& c) {
  std::string verdict(VerdictName(c.verdict.verdict));
  verdict[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(verdict[0])));
  std::string out = fmt::format("## {}: {} -> {}", verdict, HumanMs(c.wall_a_ms), HumanMs(c.wall_b_ms));
  if (const auto change = RelativeDelta(c)) out += fmt::format(" ({})", SignedPercent(change));
  return out + "\n\n";
}

std::string MdFacts(const CompareFacts& c) {
  std::string out =
      fmt::format("A is {}, B is {}. ", MdText(SideName(c, false), 80), MdText(SideName(c, true), 80));
  out += fmt::format("Similarity {}; matched: {} of A's and {} of B's time.",
                     c.similarity ? fmt::format("{:.4f}", *c.similarity) : "-",
                     HumanPercent(c.matched_share_a, 1), HumanPercent(c.matched_share_b, 1));
  if (c.normalised_by)
    out += fmt::format(" Per {}: {} -> {}.", MdText(*c.normalised_by, 60), MsOrDash(c.normal_a_ms),
                       MsOrDash(c.normal_b_ms));
  if (c.phase) out += " " + ComparedPhaseText(c.phase, "A", "B");
  return out + "\n\n";
}

std::string MdDifferences(const CompareFacts& c) {
  std::string out;
  for (const CompareDifference& d : c.comparability) {
    out += fmt::format("> **{}**: {} -> {}", MdText(d.what, 80), MdText(d.a.value_or("-"), 80),
                       MdText(d.b.value_or("-"), 80));
    out += (d.consequence ? ". " + MdText(*d.consequence, 300) : "") + "\n>\n";
  }
  return out.empty() ? "" : "> The setups differ:\n>\n" + out + "\n";
}

std::string WaterfallTable(const CompareFacts& facts) {
  const DeltaScale scale = ScaleOf(facts);
  const std::string unit = fmt::format(", {}", scale.unit);
  TextTable table({{"#", Align::kRight},
                   {"Cause"},
                   {"Where"},
                   {"A" + unit, Align::kRight},
                   {"B" + unit, Align::kRight},
                   {"B - A" + unit, Align::kRight},
                   {"Share", Align::kRight},
                   {"Confidence", Align::kRight}});
  for (const CompareContribution& c : facts.contributions) {
    const bool merged = c.merged > 0;
    std::string cause = merged ? c.text : CauseText(c);
    if (!merged && !c.significant) cause += " (not significant)";
    table.AddRow({merged ? "" : HumanCount(c.rank), MdCell(cause), MdCell(PlaceText(c), 100),
                  scale.Plain(c.a_ms), scale.Plain(c.b_ms), scale.Signed(c.delta_ms), ShareText(c.share),
                  merged ? "" : ConfidenceOf(c)});
  }
  const bool some = facts.delta_ms != 0;
  if (facts.residual_ms != 0) {
    table.AddRow({"", "not explained", "", "", "", scale.Signed(facts.residual_ms),
                  some ? ShareText(facts.residual_ms / facts.delta_ms) : "-", ""});
  }
  table.AddRow({"", "total", "", scale.Plain(facts.wall_a_ms), scale.Plain(facts.wall_b_ms),
                scale.Signed(facts.delta_ms), some ? "100.0 %" : "-", ""});
  return table.Markdown() + "\n";
}

// "x -> y", or one of them where the other is the same or unknown.
std::string FromTo(const std::optional<std::string>& from, const std::optional<std::string>& to) {
  if (from == to || !to) return from.value_or("");
  return from ? *from + " -> " + *to : *to;
}

std::string PartTable(const CompareContribution& c) {
  if (c.parts.empty()) return "";
  TextTable table({{"Op"},
                   {"Kernel"},
                   {"Shapes"},
                   {"Calls", Align::kRight},
                   {"A", Align::kRight},
                   {"B", Align::kRight},
                   {"B - A", Align::kRight}});
  for (size_t i = 0; i < std::min(c.parts.size(), kParts); ++i) {
    const ComparePart& p = c.parts[i];
    table.AddRow({MdCell(p.op ? *p.op : p.change.value_or(""), 80), MdCell(FromTo(p.kernel_a, p.kernel_b)),
                  MdCell(FromTo(p.shapes_a, p.shapes_b), 80), CallsText(p.count_a, p.count_b),
                  HumanMs(p.a_ms), HumanMs(p.b_ms), SignedMs(p.delta_ms)});
  }
  std::string out = table.Markdown();
  if (c.parts.size() > kParts)
    out +=
        fmt::format("\n{} more kinds of calls.\n", HumanCount(static_cast<int64_t>(c.parts.size() - kParts)));
  return out + "\n";
}

std::string MdEvidence(const char* side, const std::vector<CompareEvidence>& rows) {
  std::string list;
  for (size_t i = 0; i < std::min(rows.size(), kEvidence); ++i)
    list += (list.empty() ? "" : "; ") + MdText(EvidenceText(rows[i]), 200);
  return list.empty() ? "" : fmt::format("- {}: {}\n", side, list);
}

std::string MdDetails(const CompareFacts& facts) {
  std::string out;
  for (const CompareContribution& c : facts.contributions) {
    if (c.merged > 0) continue;
    out += fmt::format("**{}. {}**, {}. {}\n\n", HumanCount(c.rank), MdText(CauseText(c)),
                       MdText(SignedMs(c.delta_ms)), MdText(c.text, 600));
    out += fmt::format("Number of calls {}, speed {}, idle {}.\n\n", MdText(SignedMs(c.count_effect_ms)),
                       MdText(SignedMs(c.speed_effect_ms)), MdText(SignedMs(c.idle_effect_ms)));
    const std::string evidence = MdEvidence("A", c.evidence_a) + MdEvidence("B", c.evidence_b);
    out += PartTable(c) + (evidence.empty() ? "" : evidence + "\n");
  }
  return out;
}

std::string MdTable(const std::vector<CompareTableRow>& rows, const char* heading) {
  if (rows.empty()) return "";
  TextTable table({{heading},
                   {"Calls", Align::kRight},
                   {"A", Align::kRight},
                   {"B", Align::kRight},
                   {"B - A", Align::kRight}});
  size_t shown = 0, equal = 0;
  for (const CompareTableRow& row : rows) {
    if (IsZeroMs(row.delta_ms)) {
      ++equal;
    } else if (shown < kTableRows) {
      ++shown;
      table.AddRow({MdCell(row.name), CallsText(row.count_a, row.count_b), HumanMs(row.a_ms),
                    HumanMs(row.b_ms), SignedMs(row.delta_ms)});
    }
  }
  std::string out = table.Markdown();
  if (rows.size() > shown + equal)
    out += fmt::format("\n{} more rows.\n", HumanCount(static_cast<int64_t>(rows.size() - shown - equal)));
  if (equal > 0)
    out += fmt::format("\n{} row{} without a difference left out.\n", HumanCount(static_cast<int64_t>(equal)),
                       equal == 1 ? "" : "s");
  return out;
}

std::string MdAcrossTable(const char* heading, const std::vector<AcrossRow>& rows) {
  if (rows.empty()) return "";
  TextTable table({{heading},
                   {"Calls", Align::kRight},
                   {"A", Align::kRight},
                   {"B", Align::kRight},
                   {"B/A", Align::kRight},
                   {"Roofline A", Align::kRight},
                   {"Roofline B", Align::kRight},
                   {"Nearer"}});
  const size_t shown = std::min(rows.size(), kTableRows);
  for (size_t i = 0; i < shown; ++i) {
    std::vector<std::string> cells = AcrossCells(rows[i]);
    cells.insert(cells.begin(), MdCell(AcrossName(rows[i])));
    table.AddRow(std::move(cells));
  }
  std::string out = table.Markdown() + "\n";
  if (rows.size() > shown)
    out += fmt::format("{} more rows.\n\n", HumanCount(static_cast<int64_t>(rows.size() - shown)));
  for (const std::string& reason : AcrossReasons(rows, shown))
    out += "Roofline not known in " + MdText(reason, 300) + ".\n\n";
  return out;
}

std::string MdAcross(const CompareFacts& c) {
  if (!c.across) return "";
  return MdAcrossTable("Kernel family", c.across->families) + MdAcrossTable("Operator", c.across->operators);
}

std::string MdShifts(const CompareFacts& facts) {
  std::string out;
  for (const CompareShift& s : facts.shifts) {
    out += fmt::format("- {} moved from {} to {}", HumanMs(s.ms), MdText(s.from, 100), MdText(s.to, 100));
    const std::string place = PlaceText(s);
    out += (place.empty() ? "" : " in " + MdText(place, 120)) + "\n";
  }
  return out.empty() ? "" : "Costs that moved but did not change in sum:\n\n" + out + "\n";
}

std::string MdRuns(const CompareFacts& facts) {
  TextTable table({{"Side"}, {"Run"}, {"Source"}, {"Model"}, {"Device"}});
  for (const auto& [side, runs] : {std::pair("A", &facts.runs.a), std::pair("B", &facts.runs.b)}) {
    for (const CompareRun& run : *runs)
      table.AddRow({side, MdCell(run.run_id), MdCell(run.name.value_or("")), MdCell(run.model.value_or("")),
                    MdCell(run.device.value_or(""))});
  }
  return table.rows() == 0 ? "" : table.Markdown();
}

}  // namespace

std::string CompareMarkdown(const CompareFacts& c) {
  std::string out =
      MdHeadline(c) + fmt::format("**{}**\n\n", MdText(c.verdict.text, 900)) + MdFacts(c) + MdDifferences(c);
  out += MdAcross(c) + WaterfallTable(c) + MdShifts(c);
  out += Folded("What each change consists of", MdDetails(c));
  out += Folded("By kernel", MdTable(c.by_kernel, "Kernel")) +
         Folded("By operator", MdTable(c.by_op, "Operator"));
  out +=
      Folded("By module", MdTable(c.by_module, "Module")) + Folded("By stage", MdTable(c.by_stage, "Stage"));
  out += Folded("Runs", MdRuns(c));
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace nl
