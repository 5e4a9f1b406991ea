// SPDX-License-Identifier: Apache-2.0
#include "report/compare_value.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
#include "report/compare_forms.h"
#include "report/report_value.h"

namespace nl {

namespace {

constexpr double kShownShare = 9.995;  // beyond this a share of a tiny difference says nothing

}  // namespace

DeltaScale DeltaScale::For(double largest_ms) {
  DeltaScale out;
  const double size = std::fabs(largest_ms);
  if (size >= 1e5) {
    out.factor = 1e-3;
    out.unit = "s";
  } else if (size < 0.1 && size > 0) {
    out.factor = 1e3;
    out.unit = "µs";
  }
  const double shown = size * out.factor;
  out.digits = shown >= 1000 ? 1 : 2;
  return out;
}

std::string DeltaScale::Plain(std::optional<double> ms) const {
  if (!ms) return "-";
  const std::string text = fmt::format("{:.{}f}", *ms * factor, digits);
  // A negative number that rounds to nothing.
  return text.find_first_not_of("-0.") == std::string::npos ? fmt::format("{:.{}f}", 0.0, digits) : text;
}

std::string DeltaScale::Signed(std::optional<double> ms) const {
  const std::string text = Plain(ms);
  if (!ms || text[0] == '-' || text.find_first_not_of("0.") == std::string::npos) return text;
  return "+" + text;
}

DeltaScale ScaleOf(const Json& comparison) {
  double largest = std::fabs(NumberAt(comparison, "delta_ms").value_or(0));
  for (const Json& c : ListAt(comparison, "contributions"))
    largest = std::max(largest, std::fabs(NumberAt(c, "delta_ms").value_or(0)));
  return DeltaScale::For(largest);
}

std::string SignedMs(std::optional<double> ms) {
  if (!ms) return "-";
  return (*ms > 0 ? "+" : "") + HumanMs(*ms);
}

std::string ShareText(std::optional<double> share) {
  if (!share) return "-";
  if (*share > kShownShare) return ">999 %";
  if (*share < -kShownShare) return "<-999 %";
  const std::string text = fmt::format("{:.1f} %", 100 * *share);
  if (text.size() > std::string_view("<-999 %").size()) return fmt::format("{:.0f} %", 100 * *share);
  return text == "-0.0 %" ? "0.0 %" : text;
}

std::string SignedPercent(std::optional<double> part) {
  const std::string text = ShareText(part);
  return part && *part > 0 && text[0] != '>' && text != "0.0 %" ? "+" + text : text;
}

std::string ConfidenceText(std::optional<double> confidence) {
  if (!confidence) return "-";
  if (*confidence > 0.995 && *confidence < 1) return ">99 %";
  return fmt::format("{:.0f} %", 100 * *confidence);
}

std::string CauseText(const Json& contribution) {
  const std::string detail = TextAt(contribution, "detail");
  const std::string cause = PlainWords(TextAt(contribution, "cause"));
  return detail.empty() ? cause : fmt::format("{} ({})", cause, detail);
}

std::string SureText(const Json& contribution) {
  if (TextAt(contribution, "cause") == "noise") return "-";
  return ConfidenceText(NumberAt(contribution, "confidence"));
}

std::string ComparePlace(const Json& contribution) {
  std::string out;
  for (const char* key : {"stage", "module", "op"}) {
    const std::string part = TextAt(contribution, key);
    if (!part.empty()) out += (out.empty() ? "" : " · ") + part;
  }
  return out;
}

std::string ChangeText(const Json& c) {
  std::string out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  const auto a = NumberAt(c, "count_a"), b = NumberAt(c, "count_b");
  if (a && b && *a != *b) add(fmt::format("{} -> {} calls", CountAt(c, "count_a"), CountAt(c, "count_b")));
  const auto pair = [&](const char* what, const char* key_a, const char* key_b) {
    const std::string from = TextAt(c, key_a), to = TextAt(c, key_b);
    if (from != to)
      add(fmt::format("{} {} -> {}", what, from.empty() ? "none" : from, to.empty() ? "none" : to));
  };
  pair("kernel", "kernel_a", "kernel_b");
  pair("shapes", "shapes_a", "shapes_b");
  return out;
}

std::string SideName(const Json& comparison, const char* side) {
  const Json& runs = ListAt(ChildAt(comparison, "runs"), side);
  // Of several, the one that is told about.
  const std::string told = TextAt(comparison, side[0] == 'a' ? "run_a" : "run_b");
  std::string out;
  for (const Json& run : runs) {
    const std::string name = TextAt(run, "name").empty() ? TextAt(run, "run_id") : TextAt(run, "name");
    if (out.empty() || TextAt(run, "run_id") == told) out = name;
  }
  if (runs.size() > 1) out += fmt::format(" and {} more", runs.size() - 1);
  return out.empty() ? told : out;
}

std::string CompareVerdictText(const Json& comparison) {
  const Json& verdict = ChildAt(comparison, "verdict");
  const std::string own = TextAt(verdict, "text");
  if (!own.empty()) return own;
  const auto a = NumberAt(comparison, "wall_a_ms"), b = NumberAt(comparison, "wall_b_ms");
  std::string kind = TextAt(verdict, "class");
  if (kind.empty()) kind = "undecided";
  kind[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(kind[0])));
  if (!a || !b) return kind + ": the walls of the two runs are not known.";
  const double delta = *b - *a;
  std::string out = fmt::format("{}: {} -> {}, {}", kind, HumanMs(*a), HumanMs(*b), SignedMs(delta));
  if (*a > 0) out += fmt::format(" ({})", SignedPercent(delta / *a));
  return out + ".";
}

Json CompareNext(const Json& comparison, const std::string& a, const std::string& b) {
  Json out = Json::array();
  const auto add = [&out](const std::string& command, const std::string& why) {
    out.push_back({{"command", command}, {"why", why}});
  };
  const Json& verdict = ChildAt(comparison, "verdict");
  const auto more = NumberAt(verdict, "more_runs_needed");
  if (TextAt(verdict, "class") == "undecided" && more) {
    add(fmt::format("neurolens compare {} A2 ... -- {} B2 ...", a, b),
        fmt::format("{} more run{} of each side would decide", CountAt(verdict, "more_runs_needed"),
                    *more == 1 ? "" : "s"));
  }
  const auto drift = NumberAt(comparison, "drift");
  const auto busy = NumberAt(comparison, "busy_a_ms");
  if (drift && std::fabs(*drift - 1) > 0.03 && busy && *busy > 0) {
    add(fmt::format("neurolens compare {} {} --time device", a, b),
        fmt::format("the host was {:.1f} % {} in work that did not change; device time hardly drifts",
                    100 * std::fabs(*drift - 1), *drift > 1 ? "slower" : "faster"));
  }
  for (const Json& c : ListAt(comparison, "contributions")) {
    if (ChildAt(c, "significant") != Json(true)) continue;
    const std::string cause = TextAt(c, "cause");
    const bool slower = NumberAt(c, "delta_ms").value_or(0) > 0;
    const std::string& run = slower ? b : a;
    if (cause.starts_with("sync_") || cause.starts_with("host_"))
      add("neurolens idle " + run, "what the host did while the device waited");
    else if (cause.starts_with("kernel") || cause.starts_with("attention") || cause.starts_with("precision"))
      add("neurolens kernels " + run + " --by-shape",
          "the kernels of the " + std::string(slower ? "slower" : "faster") + " run by shape");
    else if (cause.starts_with("graph_") || cause.starts_with("fusion_"))
      add("neurolens launch " + run, "what the launches cost");
    else if (cause == "contention")
      add("neurolens overlap " + run, "what ran at the same time");
    else
      continue;
    break;  // of the first one only
  }
  add(fmt::format("neurolens compare {} {} --html compare.html", a, b),
      "both timelines side by side, the flame graph of the difference, every table");
  return out;
}

}  // namespace nl
