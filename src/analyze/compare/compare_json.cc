// SPDX-License-Identifier: Apache-2.0
// Comparison as JSON. The names are documented in docs/compare.md and stay.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "analyze/compare/compare.h"
#include "analyze/compare/compare_timeline.h"
#include "base/human.h"

namespace nl {

namespace {

constexpr size_t kMaxTableRows = 1000;
constexpr size_t kMaxParts = 50;
constexpr size_t kMaxEvidence = 50;

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(); }
Json Number(const std::optional<double>& value) { return value ? Number(*value) : Json(); }

Json EvidenceRows(const std::vector<EvidenceRow>& rows) {
  Json out = Json::array();
  for (const EvidenceRow& row : rows) {
    if (out.size() == kMaxEvidence) break;
    out.push_back({{"table", row.table},
                   {"row", row.row},
                   {"what", row.what},
                   {"value", Number(row.value)},
                   {"unit", TextOrNull(row.unit)}});
  }
  return out;
}

Json PartJson(const Contribution::Part& part) {
  return {{"op", TextOrNull(part.op)},
          {"kernel_a", TextOrNull(part.kernel_a)},
          {"kernel_b", TextOrNull(part.kernel_b)},
          {"shapes_a", TextOrNull(part.shapes_a)},
          {"shapes_b", TextOrNull(part.shapes_b)},
          {"change", TextOrNull(part.change)},
          {"count_a", part.count_a},
          {"count_b", part.count_b},
          {"a_ms", Number(part.a_ms)},
          {"b_ms", Number(part.b_ms)},
          {"delta_ms", Number(part.b_ms - part.a_ms)}};
}

// At most kMaxParts; the rest is one more, so that they still sum.
Json PartsJson(const std::vector<Contribution::Part>& parts) {
  Json out = Json::array();
  const size_t shown = std::min(parts.size(), kMaxParts);
  for (size_t i = 0; i < shown; ++i) out.push_back(PartJson(parts[i]));
  if (shown == parts.size()) return out;
  Contribution::Part rest;
  rest.change = fmt::format("{} more", HumanCount(static_cast<int64_t>(parts.size() - shown)));
  for (size_t i = shown; i < parts.size(); ++i) {
    rest.count_a += parts[i].count_a;
    rest.count_b += parts[i].count_b;
    rest.a_ms += parts[i].a_ms;
    rest.b_ms += parts[i].b_ms;
  }
  out.push_back(PartJson(rest));
  return out;
}

Json ContributionJson(const Contribution& c, size_t rank, double delta_ms, size_t merged) {
  return {{"rank", rank},
          {"cause", CauseName(c.cause)},
          {"detail", TextOrNull(c.detail)},
          {"stage", TextOrNull(c.stage)},
          {"module", TextOrNull(c.module)},
          {"op", TextOrNull(c.op)},
          {"kernel_a", TextOrNull(c.kernel_a)},
          {"kernel_b", TextOrNull(c.kernel_b)},
          {"shapes_a", TextOrNull(c.shapes_a)},
          {"shapes_b", TextOrNull(c.shapes_b)},
          {"count_a", c.count_a},
          {"count_b", c.count_b},
          {"a_ms", Number(c.a_ms)},
          {"b_ms", Number(c.b_ms)},
          {"delta_ms", Number(c.delta_ms())},
          {"share", Number(c.delta_ms() / delta_ms)},  // null when the walls are equal
          {"count_effect_ms", Number(c.count_effect_ms)},
          {"speed_effect_ms", Number(c.speed_effect_ms)},
          {"idle_effect_ms", Number(c.idle_effect_ms)},
          {"busy_a_ms", Number(c.busy_a_ms)},
          {"busy_b_ms", Number(c.busy_b_ms)},
          {"structural", c.structural},
          {"significant", c.significant},
          {"confidence", Number(c.confidence)},
          {"p_value", Number(c.p_value)},
          {"merged", merged},
          {"evidence_a", EvidenceRows(c.evidence_a)},
          {"evidence_b", EvidenceRows(c.evidence_b)},
          {"text", c.text},
          {"parts", PartsJson(c.parts)}};
}

Contribution::Part AsPart(const Contribution& c) {
  return {c.op, c.kernel_a, c.kernel_b, c.shapes_a, c.shapes_b, c.text, c.count_a, c.count_b, c.a_ms, c.b_ms};
}

// Everything from `first` on as one contribution.
Contribution Merged(const std::vector<Contribution>& all, size_t first) {
  Contribution out;
  for (size_t i = first; i < all.size(); ++i) {
    const Contribution& c = all[i];
    out.count_a += c.count_a;
    out.count_b += c.count_b;
    out.a_ms += c.a_ms;
    out.b_ms += c.b_ms;
    out.count_effect_ms += c.count_effect_ms;
    out.speed_effect_ms += c.speed_effect_ms;
    out.idle_effect_ms += c.idle_effect_ms;
    out.busy_a_ms += c.busy_a_ms;
    out.busy_b_ms += c.busy_b_ms;
    out.parts.push_back(AsPart(c));
  }
  const size_t count = all.size() - first;
  out.text =
      fmt::format("{} smaller change{}", HumanCount(static_cast<int64_t>(count)), count == 1 ? "" : "s");
  return out;
}

Json ContributionsJson(const Comparison& comparison, size_t top) {
  const std::vector<Contribution>& all = comparison.contributions;
  const size_t shown = std::min(top, all.size());
  Json out = Json::array();
  for (size_t i = 0; i < shown; ++i) out.push_back(ContributionJson(all[i], i + 1, comparison.delta_ms(), 0));
  if (shown < all.size())
    out.push_back(ContributionJson(Merged(all, shown), shown + 1, comparison.delta_ms(), all.size() - shown));
  return out;
}

Json RowJson(const CompareRow& row) {
  return {{"name", row.name},
          {"count_a", row.count_a},
          {"count_b", row.count_b},
          {"a_ms", Number(row.a_ms)},
          {"b_ms", Number(row.b_ms)},
          {"delta_ms", Number(row.b_ms - row.a_ms)},
          {"busy_a_ms", Number(row.busy_a_ms)},
          {"busy_b_ms", Number(row.busy_b_ms)}};
}

// The rows that changed most first; beyond kMaxTableRows they are one, so that the table sums.
Json TableJson(std::vector<CompareRow> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const CompareRow& x, const CompareRow& y) {
    return std::fabs(x.b_ms - x.a_ms) > std::fabs(y.b_ms - y.a_ms);
  });
  Json out = Json::array();
  CompareRow rest;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i < kMaxTableRows) {
      out.push_back(RowJson(rows[i]));
      continue;
    }
    rest.count_a += rows[i].count_a;
    rest.count_b += rows[i].count_b;
    rest.a_ms += rows[i].a_ms;
    rest.b_ms += rows[i].b_ms;
    rest.busy_a_ms += rows[i].busy_a_ms;
    rest.busy_b_ms += rows[i].busy_b_ms;
  }
  if (rows.size() <= kMaxTableRows) return out;
  rest.name = fmt::format("({} more)", HumanCount(static_cast<int64_t>(rows.size() - kMaxTableRows)));
  out.push_back(RowJson(rest));
  return out;
}

Json VerdictJson(const CompareVerdict& v) {
  return {{"class", v.verdict},
          {"confidence", Number(v.confidence)},
          {"p_value", Number(v.p_value)},
          {"more_runs_needed", v.more_runs_needed ? Json(*v.more_runs_needed) : Json()},
          {"text", v.text}};
}

}  // namespace

Json ToJson(const Comparison& c, size_t top) {
  Json out{{"run_a", c.run_a},
           {"run_b", c.run_b},
           {"similarity", Number(c.similarity)},
           {"matched_share_a", Number(c.matched_share_a)},
           {"matched_share_b", Number(c.matched_share_b)},
           {"fingerprint", ToJson(c.fingerprint)},
           {"wall_a_ms", Number(c.wall_a_ms)},
           {"wall_b_ms", Number(c.wall_b_ms)},
           {"delta_ms", Number(c.delta_ms())},
           {"residual_ms", Number(c.residual_ms)},
           {"busy_a_ms", Number(c.busy_a_ms)},
           {"busy_b_ms", Number(c.busy_b_ms)},
           {"verdict", VerdictJson(c.verdict)},
           {"comparability", Json::array()},
           {"normalised_by", TextOrNull(c.normalised_by)},
           {"normal_a_ms", Number(c.normal_a_ms)},
           {"normal_b_ms", Number(c.normal_b_ms)},
           {"drift", Number(c.drift)},
           {"on_host", c.on_host},
           {"contributions", ContributionsJson(c, top)},
           {"shifts", Json::array()}};
  if (!c.walls_a_ms.empty() || !c.walls_b_ms.empty()) {
    out["walls_a_ms"] = c.walls_a_ms;
    out["walls_b_ms"] = c.walls_b_ms;
  }
  for (const Comparability& note : c.comparability) {
    out["comparability"].push_back({{"what", note.what},
                                    {"a", TextOrNull(note.a)},
                                    {"b", TextOrNull(note.b)},
                                    {"consequence", TextOrNull(note.consequence)}});
  }
  for (const CostShift& shift : c.shifts) {
    out["shifts"].push_back({{"stage", TextOrNull(shift.stage)},
                             {"module", TextOrNull(shift.module)},
                             {"from", shift.from},
                             {"to", shift.to},
                             {"ms", Number(shift.ms)}});
  }
  out["by_kernel"] = TableJson(c.by_kernel);
  out["by_op"] = TableJson(c.by_op);
  out["by_module"] = TableJson(c.by_module);
  out["by_stage"] = TableJson(c.by_stage);
  out["counters"] = c.counters;
  out["timeline"] = CompareTimelineJson(c.timeline);
  return out;
}

}  // namespace nl
