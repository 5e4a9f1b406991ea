// SPDX-License-Identifier: Apache-2.0
#include "report/report_value.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
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

std::string JoinedAt(const Json& object, const char* key) {
  std::string out = TextAt(object, key);
  for (const Json& item : ListAt(object, key)) {
    if (item.is_string()) out += (out.empty() ? "" : ", ") + item.get<std::string>();
  }
  return out;
}

std::string PlainWords(std::string word) {
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

std::string CostText(const Json& finding) {
  const std::optional<double> impact_ms = NumberAt(finding, "impact_ms");
  if (!impact_ms) return "";
  const std::string counted_in = JoinedAt(finding, "counted_in");
  if (*impact_ms <= 0) return counted_in.empty() ? "" : "this cost is counted in " + counted_in;
  return "could save up to " + HumanMs(*impact_ms);
}

std::string EvidenceText(const Json& evidence) {
  if (evidence.is_string()) return evidence.get<std::string>();
  std::string out = TextAt(evidence, "what");
  for (const char* scope : {"run.", "op.", "kernel.", "stage.", "features."}) {
    if (out.starts_with(scope)) out = PlainWords(out.substr(std::string_view(scope).size()));
  }
  const Json& value = ChildAt(evidence, "value");
  const std::string unit = TextAt(evidence, "unit");
  if (value.is_string()) out += " " + value.get<std::string>();
  if (value.is_number()) {
    const auto number = value.get<double>();
    out += unit == "ratio"                   ? fmt::format(" {:.1f} %", 100 * number)
           : unit == "ms"                    ? " " + HumanMs(number)
           : unit == "count" || unit.empty() ? fmt::format(" {:.6g}", number)
                                             : fmt::format(" {:.4g} {}", number, unit);
  }
  const std::string table = TextAt(evidence, "table");
  if (table.empty()) return out;
  const Json& row = ChildAt(evidence, "row");
  return out + " (" + table + (row.is_number() ? " row " + DumpJson(row) : "") + ")";
}

std::string MsAt(const Json& object, const char* key) {
  const std::optional<double> ms = NumberAt(object, key);
  return ms ? HumanMs(*ms) : "-";
}

std::string PercentAt(const Json& object, const char* key) {
  const std::optional<double> share = NumberAt(object, key);
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

std::string CountAt(const Json& object, const char* key) {
  const std::optional<double> count = NumberAt(object, key);
  return count && std::fabs(*count) < 9e18 ? HumanCount(std::llround(*count)) : "-";
}

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

std::string MdText(std::string_view text, int columns) {
  std::string out;
  for (const char c : MdCell(text, columns)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '|':
      case '\\':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '#':
      case '$':
      case '~': out += '\\'; [[fallthrough]];
      default: out += c;
    }
  }
  return out;
}

}  // namespace nl
