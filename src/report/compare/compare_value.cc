// SPDX-License-Identifier: Apache-2.0
#include "report/compare/compare_value.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/human.h"
#include "report/report_value.h"

namespace nl {

namespace {

constexpr double kShownShare = 9.995;  // larger shares are of a tiny difference and mean nothing

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

std::string DeltaScale::Plain(double ms) const {
  const std::string text = fmt::format("{:.{}f}", ms * factor, digits);
  // A negative number that rounds to zero has no sign.
  return text.find_first_not_of("-0.") == std::string::npos ? fmt::format("{:.{}f}", 0.0, digits) : text;
}

std::string DeltaScale::Signed(double ms) const {
  const std::string text = Plain(ms);
  if (text[0] == '-' || text.find_first_not_of("0.") == std::string::npos) return text;
  return "+" + text;
}

DeltaScale ScaleOf(const CompareFacts& comparison) {
  double largest_ms = std::fabs(comparison.delta_ms);
  for (const CompareContribution& c : comparison.contributions)
    largest_ms = std::max(largest_ms, std::fabs(c.delta_ms));
  return DeltaScale::For(largest_ms);
}

std::string SignedMs(double ms) { return (ms > 0 ? "+" : "") + HumanMs(ms); }

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

std::string ConfidenceText(double confidence) {
  if (confidence > 0.995 && confidence < 1) return ">99 %";
  return fmt::format("{:.0f} %", 100 * confidence);
}

std::string CallsText(int64_t a, int64_t b) {
  return a == b ? HumanCount(a) : HumanCount(a) + " -> " + HumanCount(b);
}

std::string CauseText(const CompareContribution& c) {
  const std::string cause = PlainWords(CauseName(c.cause));
  return c.detail ? fmt::format("{} ({})", cause, *c.detail) : cause;
}

std::vector<std::string> AcrossCells(const AcrossRow& row) {
  const auto ms = [](const std::optional<double>& value) {
    return value ? HumanMs(*value) : std::string("-");
  };
  const auto share = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.0f} %", 100 * *value) : std::string("-");
  };
  const int64_t a = row.calls_a.value_or(0), b = row.calls_b.value_or(0);
  return {CallsText(a, b),
          ms(row.a_ms),
          ms(row.b_ms),
          row.ratio ? fmt::format("{:.2f}", *row.ratio) : "-",
          share(row.efficiency_a),
          share(row.efficiency_b),
          !row.nearer                            ? "-"
          : *row.nearer == NearerRoofline::kSame ? "same"
          : *row.nearer == NearerRoofline::kA    ? "A"
                                                 : "B"};
}

std::string AcrossName(const AcrossRow& row) {
  return row.name_b ? fmt::format("{} -> {}", row.name, *row.name_b) : row.name;
}

std::vector<std::string> AcrossReasons(const std::vector<AcrossRow>& rows, size_t shown) {
  std::map<std::string, int64_t> counts;
  for (size_t i = 0; i < std::min(shown, rows.size()); ++i) {
    if (rows[i].reason) ++counts[*rows[i].reason];
  }
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [reason, count] : counts) order.push_back({-count, reason});
  std::sort(order.begin(), order.end());
  constexpr size_t kMostReasons = 3;
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(kMostReasons, order.size()); ++i)
    out.push_back(
        fmt::format("{} row{}: {}", -order[i].first, order[i].first == -1 ? "" : "s", order[i].second));
  return out;
}

bool IsZeroMs(double ms) { return std::fabs(ms) < 5e-7; }

std::string ConfidenceOf(const CompareContribution& c) {
  return c.cause == Cause::kNoise || c.cause == Cause::kRecording ? "-" : ConfidenceText(c.confidence);
}

namespace {

std::string Joined(std::initializer_list<const std::optional<std::string>*> parts) {
  std::string out;
  for (const auto* part : parts) {
    if (*part) out += (out.empty() ? "" : " · ") + **part;
  }
  return out;
}

}  // namespace

std::string PlaceText(const CompareContribution& c) { return Joined({&c.stage, &c.module, &c.op}); }

std::string PlaceText(const CompareShift& shift) { return Joined({&shift.stage, &shift.module}); }

std::optional<double> RelativeDelta(const CompareFacts& c) {
  return c.wall_a_ms > 0 ? std::optional(c.delta_ms / c.wall_a_ms) : std::nullopt;
}

std::string SideName(const CompareFacts& comparison, bool b) {
  const std::vector<CompareRun>& runs = b ? comparison.runs.b : comparison.runs.a;
  const std::string& compared = b ? comparison.run_b : comparison.run_a;
  std::string out;
  for (const CompareRun& run : runs) {
    if (out.empty() || run.run_id == compared) out = run.name.value_or(run.run_id);
  }
  if (runs.size() > 1) out += fmt::format(" and {} more", runs.size() - 1);
  return out.empty() ? compared : out;
}

std::string EvidenceText(const CompareEvidence& e) {
  std::string out = e.what;
  if (e.value && e.unit == "ms") out += " " + HumanMs(*e.value);
  if (e.value && e.unit != "ms") out += fmt::format(" {:.4g} {}", *e.value, e.unit.value_or(""));
  return e.table.empty() ? out : fmt::format("{} ({} row {})", out, e.table, e.row);
}

}  // namespace nl
