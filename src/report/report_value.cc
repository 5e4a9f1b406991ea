// SPDX-License-Identifier: Apache-2.0
#include "report/report_value.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
#include "base/markdown.h"
#include "base/terminal.h"

namespace nl {

namespace {
// What is cut anyway need not be made printable first.
constexpr size_t kLongestName = 8192;
}  // namespace

const Json& ChildAt(const Json& object, const char* key) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto it = object.find(key);
  return it == object.end() ? null : *it;
}

const Json& ListAt(const Json& object, const char* key) {
  static const Json empty = Json::array();
  const Json& child = ChildAt(object, key);
  return child.is_array() ? child : empty;
}

std::string TextAt(const Json& object, const char* key) {
  const Json& child = ChildAt(object, key);
  return child.is_string() ? child.get<std::string>() : "";
}

std::optional<double> NumberAt(const Json& object, const char* key) {
  const Json& child = ChildAt(object, key);
  if (!child.is_number() || !std::isfinite(child.get<double>())) return std::nullopt;
  return child.get<double>();
}

std::string PlainWords(std::string_view word) {
  std::string out(word);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string GainShareText(double share) {
  if (share < 0.001) return "below 0.1 %";
  return fmt::format("{:.{}f} %", 100 * share, share < 0.01 ? 1 : 0);
}

std::string CostText(const Finding& finding) {
  if (finding.gain_ms && finding.gain_share.value_or(0) > 0) {
    const Gain& gain = *finding.gain_ms;
    return fmt::format("saves about {} of {} of {}, or {}; between {} and {}", HumanMs(gain.expected),
                       finding.phase == "whole" ? "the run" : "a step",
                       HumanMs(gain.expected / *finding.gain_share), GainShareText(*finding.gain_share),
                       HumanMs(gain.low), HumanMs(gain.high));
  }
  if (!finding.impact_ms) return "";
  if (*finding.impact_ms > 0) return "could save up to " + HumanMs(*finding.impact_ms);
  if (finding.counted_in.empty()) return "";
  return fmt::format("this cost is counted in {}", fmt::join(finding.counted_in, ", "));
}

namespace {

std::string ValueText(const Evidence& e) {
  if (!e.value) return "unknown";
  const double value = *e.value;
  if (e.unit == "ms") return HumanMs(value);
  if (e.unit == "us") return HumanMs(value / 1e3);
  if (e.unit == "ratio") return fmt::format("{:.1f} %", 100 * value);
  if (e.unit == "bytes") return HumanBytes(static_cast<int64_t>(value));
  if (e.unit == "count" && value == static_cast<double>(static_cast<int64_t>(value)))
    return HumanCount(static_cast<int64_t>(value));
  return fmt::format("{:.4g}", value);
}

// "idle_startup_ms": its value has the unit.
std::string NameOf(std::string_view what) {
  for (const char* scope : {"run.", "op.", "kernel.", "stage.", "gap.", "features."}) {
    if (!what.starts_with(scope)) continue;
    what.remove_prefix(std::string_view(scope).size());
    for (const std::string_view unit : {"_ms", "_us", "_bytes"}) {
      if (what.ends_with(unit)) what.remove_suffix(unit.size());
    }
    return PlainWords(what);
  }
  return std::string(what);
}

}  // namespace

std::string EvidenceText(const Evidence& evidence) {
  std::string out = NameOf(evidence.what);
  if (evidence.value) out += " " + ValueText(evidence);
  if (!evidence.table) return out;
  return out + " (" + *evidence.table + (evidence.row ? fmt::format(" row {}", *evidence.row) : "") + ")";
}

std::string MsOrDash(std::optional<double> ms) { return ms ? HumanMs(*ms) : "-"; }

std::string PercentOrDash(std::optional<double> share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

std::string CountOrDash(std::optional<int64_t> count) { return count ? HumanCount(*count) : "-"; }

std::string MsNumber(std::optional<double> ms) {
  if (!ms) return "-";
  const double size = std::fabs(*ms);
  if (size == 0) return "0";
  // Four digits that mean something, and the nanosecond at least.
  const int digits = std::clamp(3 - static_cast<int>(std::floor(std::log10(size))), 0, 6);
  return fmt::format("{:.{}f}", *ms, digits);
}

std::string MdCell(std::string_view text, int columns) {
  return CutMiddle(PrintableText(text.substr(0, kLongestName)), columns);
}

std::string MdText(std::string_view text, int columns) { return MarkdownText(MdCell(text, columns)); }

}  // namespace nl
