// SPDX-License-Identifier: Apache-2.0
// A comparison as Markdown for a pull request: the verdict and the waterfall in sight, the rest folded.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
#include "report/compare_forms.h"
#include "report/compare_value.h"
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

std::string Headline(const Json& json) {
  std::string kind = TextAt(ChildAt(json, "verdict"), "class");
  if (kind.empty()) kind = "undecided";
  kind[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(kind[0])));
  const auto a = NumberAt(json, "wall_a_ms"), delta = NumberAt(json, "delta_ms");
  std::string out =
      fmt::format("## {}: {} -> {}", MdText(kind), MsAt(json, "wall_a_ms"), MsAt(json, "wall_b_ms"));
  if (a && delta && *a > 0) out += fmt::format(" ({})", SignedPercent(*delta / *a));
  return out + "\n\n";
}

std::string Facts(const Json& json) {
  std::string out =
      fmt::format("A is {}, B is {}. ", MdText(SideName(json, "a"), 80), MdText(SideName(json, "b"), 80));
  const auto similarity = NumberAt(json, "similarity");
  out += fmt::format("Similarity {}; {} of A's and {} of B's time matched.",
                     similarity ? fmt::format("{:.4f}", *similarity) : "-",
                     PercentAt(json, "matched_share_a"), PercentAt(json, "matched_share_b"));
  const std::string per = TextAt(json, "normalised_by");
  if (!per.empty())
    out += fmt::format(" Per {}: {} -> {}.", MdText(per, 60), MsAt(json, "normal_a_ms"),
                       MsAt(json, "normal_b_ms"));
  return out + "\n\n";
}

std::string Notes(const Json& json) {
  std::string out;
  for (const Json& note : ListAt(json, "comparability")) {
    const auto side = [&note](const char* key) {
      return TextAt(note, key).empty() ? std::string("-") : MdText(TextAt(note, key), 80);
    };
    out += fmt::format("> **{}**: {} -> {}", MdText(TextAt(note, "what"), 80), side("a"), side("b"));
    const std::string consequence = TextAt(note, "consequence");
    out += (consequence.empty() ? "" : ". " + MdText(consequence, 300)) + "\n>\n";
  }
  return out.empty() ? "" : "> Not the same in both runs:\n>\n" + out + "\n";
}

std::string WaterfallTable(const Json& json) {
  const DeltaScale scale = ScaleOf(json);
  const std::string unit = fmt::format(", {}", scale.unit);
  TextTable table({{"#", Align::kRight},
                   {"Cause"},
                   {"Where"},
                   {"A" + unit, Align::kRight},
                   {"B" + unit, Align::kRight},
                   {"B - A" + unit, Align::kRight},
                   {"Share", Align::kRight},
                   {"Confidence", Align::kRight}});
  for (const Json& c : ListAt(json, "contributions")) {
    const bool merged = NumberAt(c, "merged").value_or(0) > 0;
    std::string cause = merged ? TextAt(c, "text") : CauseText(c);
    if (!merged && ChildAt(c, "significant") != Json(true)) cause += " (not significant)";
    table.AddRow({merged ? "" : CountAt(c, "rank"), MdCell(cause), MdCell(ComparePlace(c), 100),
                  scale.Plain(NumberAt(c, "a_ms")), scale.Plain(NumberAt(c, "b_ms")),
                  scale.Signed(NumberAt(c, "delta_ms")), ShareText(NumberAt(c, "share")),
                  merged ? "" : SureText(c)});
  }
  const auto delta = NumberAt(json, "delta_ms"), left = NumberAt(json, "residual_ms");
  const bool some = delta && *delta != 0;
  if (!left || *left != 0) {
    table.AddRow({"", "not explained", "", "", "", scale.Signed(left),
                  left && some ? ShareText(*left / *delta) : "-", ""});
  }
  table.AddRow({"", "total", "", scale.Plain(NumberAt(json, "wall_a_ms")),
                scale.Plain(NumberAt(json, "wall_b_ms")), scale.Signed(delta), some ? "100.0 %" : "-", ""});
  return table.Markdown() + "\n";
}

std::string PartTable(const Json& c) {
  const Json& parts = ListAt(c, "parts");
  if (parts.empty()) return "";
  TextTable table({{"Op"},
                   {"Kernel"},
                   {"Shapes"},
                   {"Calls", Align::kRight},
                   {"A", Align::kRight},
                   {"B", Align::kRight},
                   {"B - A", Align::kRight}});
  const auto pair = [](const Json& p, const char* a, const char* b) {
    const std::string from = TextAt(p, a), to = TextAt(p, b);
    if (from == to || to.empty()) return from;
    return from.empty() ? to : from + " -> " + to;
  };
  for (size_t i = 0; i < std::min(parts.size(), kParts); ++i) {
    const Json& p = parts[i];
    const std::string a = CountAt(p, "count_a"), b = CountAt(p, "count_b");
    const std::string name = TextAt(p, "op").empty() ? TextAt(p, "change") : TextAt(p, "op");
    table.AddRow({MdCell(name, 80), MdCell(pair(p, "kernel_a", "kernel_b")),
                  MdCell(pair(p, "shapes_a", "shapes_b"), 80), a == b ? a : a + " -> " + b, MsAt(p, "a_ms"),
                  MsAt(p, "b_ms"), SignedMs(NumberAt(p, "delta_ms"))});
  }
  std::string out = table.Markdown();
  if (parts.size() > kParts)
    out +=
        fmt::format("\n{} more kinds of calls.\n", HumanCount(static_cast<int64_t>(parts.size() - kParts)));
  return out + "\n";
}

std::string Evidence(const Json& c) {
  std::string out;
  for (const char* side : {"a", "b"}) {
    const Json& rows = ListAt(c, side[0] == 'a' ? "evidence_a" : "evidence_b");
    std::string list;
    for (size_t i = 0; i < std::min(rows.size(), kEvidence); ++i)
      list += (list.empty() ? "" : "; ") + MdText(EvidenceText(rows[i]), 200);
    if (!list.empty()) out += fmt::format("- {}: {}\n", side[0] == 'a' ? "A" : "B", list);
  }
  return out.empty() ? "" : out + "\n";
}

std::string Details(const Json& json) {
  std::string out;
  for (const Json& c : ListAt(json, "contributions")) {
    if (NumberAt(c, "merged").value_or(0) > 0) continue;
    out += fmt::format("**{}. {}**, {}. {}\n\n", CountAt(c, "rank"), MdText(CauseText(c)),
                       MdText(SignedMs(NumberAt(c, "delta_ms"))), MdText(TextAt(c, "text"), 600));
    out += fmt::format(
        "Number of calls {}, speed {}, idle {}.\n\n", MdText(SignedMs(NumberAt(c, "count_effect_ms"))),
        MdText(SignedMs(NumberAt(c, "speed_effect_ms"))), MdText(SignedMs(NumberAt(c, "idle_effect_ms"))));
    out += PartTable(c) + Evidence(c);
  }
  return out;
}

std::string Table(const Json& json, const char* key, const char* heading) {
  const Json& rows = ListAt(json, key);
  if (rows.empty()) return "";
  TextTable table({{heading},
                   {"Calls", Align::kRight},
                   {"A", Align::kRight},
                   {"B", Align::kRight},
                   {"B - A", Align::kRight}});
  for (size_t i = 0; i < std::min(rows.size(), kTableRows); ++i) {
    const std::string a = CountAt(rows[i], "count_a"), b = CountAt(rows[i], "count_b");
    table.AddRow({MdCell(TextAt(rows[i], "name")), a == b ? a : a + " -> " + b, MsAt(rows[i], "a_ms"),
                  MsAt(rows[i], "b_ms"), SignedMs(NumberAt(rows[i], "delta_ms"))});
  }
  std::string out = table.Markdown();
  if (rows.size() > kTableRows)
    out += fmt::format("\n{} more rows.\n", HumanCount(static_cast<int64_t>(rows.size() - kTableRows)));
  return out;
}

std::string Shifts(const Json& json) {
  std::string out;
  for (const Json& s : ListAt(json, "shifts")) {
    out += fmt::format("- {} moved from {} to {}", MsAt(s, "ms"), MdText(TextAt(s, "from"), 100),
                       MdText(TextAt(s, "to"), 100));
    const std::string place = ComparePlace(s);
    out += (place.empty() ? "" : " in " + MdText(place, 120)) + "\n";
  }
  return out.empty() ? "" : "Costs that moved while their sum stayed:\n\n" + out + "\n";
}

std::string Runs(const Json& json) {
  TextTable table({{"Side"}, {"Run"}, {"Source"}, {"Model"}, {"Device"}});
  for (const char* side : {"a", "b"}) {
    for (const Json& run : ListAt(ChildAt(json, "runs"), side))
      table.AddRow({side[0] == 'a' ? "A" : "B", MdCell(TextAt(run, "run_id")), MdCell(TextAt(run, "name")),
                    MdCell(TextAt(run, "model")), MdCell(TextAt(run, "device"))});
  }
  return table.rows() == 0 ? "" : table.Markdown();
}

}  // namespace

std::string CompareMarkdown(const Json& json) {
  std::string out = Headline(json) + fmt::format("**{}**\n\n", MdText(CompareVerdictText(json), 900)) +
                    Facts(json) + Notes(json);
  out += WaterfallTable(json) + Shifts(json);
  out += Folded("What each change is made of", Details(json));
  out += Folded("By kernel", Table(json, "by_kernel", "Kernel")) +
         Folded("By operator", Table(json, "by_op", "Operator"));
  out += Folded("By module", Table(json, "by_module", "Module")) +
         Folded("By stage", Table(json, "by_stage", "Stage"));
  out += Folded("The runs", Runs(json));
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace nl
