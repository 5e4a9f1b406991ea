// SPDX-License-Identifier: Apache-2.0
#include "report/compare/compare_reply.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
#include "report/compare/explain.h"

namespace nl {

namespace {

constexpr size_t kMaxTableRows = 1000;
constexpr size_t kMaxParts = 50;
constexpr size_t kMaxEvidence = 50;

std::optional<std::string> TextIfAny(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::optional<double> FiniteOrNull(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::vector<CompareEvidence> EvidenceOf(const std::vector<EvidenceRow>& rows) {
  std::vector<CompareEvidence> out;
  for (const EvidenceRow& row : rows) {
    if (out.size() == kMaxEvidence) break;
    out.push_back({row.table, row.row, row.what, FiniteOrNull(row.value), TextIfAny(row.unit)});
  }
  return out;
}

// Of a Contribution or one of its parts.
template <class T>
void SetCost(const T& from, CompareCost& to) {
  to.op = TextIfAny(from.op);
  to.kernel_a = TextIfAny(from.kernel_a);
  to.kernel_b = TextIfAny(from.kernel_b);
  to.shapes_a = TextIfAny(from.shapes_a);
  to.shapes_b = TextIfAny(from.shapes_b);
  to.count_a = from.count_a;
  to.count_b = from.count_b;
  to.a_ms = from.a_ms;
  to.b_ms = from.b_ms;
  to.delta_ms = from.b_ms - from.a_ms;
}

void AddCost(const CompareCost& from, CompareCost& to) {
  to.count_a += from.count_a;
  to.count_b += from.count_b;
  to.a_ms += from.a_ms;
  to.b_ms += from.b_ms;
  to.delta_ms = to.b_ms - to.a_ms;
}

// At most kMaxParts; the rest becomes one more, so that they still sum.
void LimitParts(std::vector<ComparePart>& parts) {
  if (parts.size() <= kMaxParts) return;
  ComparePart rest;
  rest.change = fmt::format("{} more", HumanCount(static_cast<int64_t>(parts.size() - kMaxParts)));
  for (size_t i = kMaxParts; i < parts.size(); ++i) AddCost(parts[i], rest);
  parts.resize(kMaxParts);
  parts.push_back(std::move(rest));
}

std::vector<ComparePart> PartsOf(const std::vector<Contribution::Part>& parts) {
  std::vector<ComparePart> out;
  for (const Contribution::Part& part : parts) {
    SetCost(part, out.emplace_back());
    out.back().change = TextIfAny(part.change);
  }
  LimitParts(out);
  return out;
}

CompareContribution ContributionOf(const Contribution& c, const Comparison& comparison) {
  CompareContribution out;
  SetCost(c, out);
  out.cause = c.cause;
  out.detail = TextIfAny(c.detail);
  out.stage = TextIfAny(c.stage);
  out.module = TextIfAny(c.module);
  out.share = FiniteOrNull(c.delta_ms() / comparison.delta_ms());
  out.count_effect_ms = c.count_effect_ms;
  out.speed_effect_ms = c.speed_effect_ms;
  out.idle_effect_ms = c.idle_effect_ms;
  out.busy_a_ms = c.busy_a_ms;
  out.busy_b_ms = c.busy_b_ms;
  out.structural = c.structural;
  out.significant = c.significant;
  out.confidence = c.confidence;
  out.p_value = c.p_value;
  out.evidence_a = EvidenceOf(c.evidence_a);
  out.evidence_b = EvidenceOf(c.evidence_b);
  out.text = ContributionText(c, comparison);
  out.parts = PartsOf(c.parts);
  return out;
}

constexpr double kZeroMs = 5e-7;  // shown as 0 ns

// Changes that cost the same in both runs say nothing; unchanged work stays, so that the list is not empty.
std::vector<const Contribution*> Listed(const Comparison& comparison) {
  std::vector<const Contribution*> out;
  for (const Contribution& c : comparison.contributions) {
    if (c.cause == Cause::kNoise || std::fabs(c.delta_ms()) >= kZeroMs) out.push_back(&c);
  }
  return out;
}

// All contributions from `first` on as one.
CompareContribution MergedOf(const Comparison& comparison, const std::vector<const Contribution*>& all,
                             size_t first) {
  CompareContribution out;
  for (size_t i = first; i < all.size(); ++i) {
    const Contribution& c = *all[i];
    ComparePart part;
    SetCost(c, part);
    part.change = ContributionText(c, comparison);
    AddCost(part, out);
    out.count_effect_ms += c.count_effect_ms;
    out.speed_effect_ms += c.speed_effect_ms;
    out.idle_effect_ms += c.idle_effect_ms;
    out.busy_a_ms += c.busy_a_ms;
    out.busy_b_ms += c.busy_b_ms;
    out.parts.push_back(std::move(part));
  }
  LimitParts(out.parts);
  out.share = FiniteOrNull(out.delta_ms / comparison.delta_ms());
  out.merged = static_cast<int64_t>(all.size() - first);
  out.text = fmt::format("{} smaller change{}", HumanCount(out.merged), out.merged == 1 ? "" : "s");
  return out;
}

CompareTableRow RowOf(const CompareRow& row) {
  return {row.name, row.count_a,         row.count_b,   row.a_ms,
          row.b_ms, row.b_ms - row.a_ms, row.busy_a_ms, row.busy_b_ms};
}

// Largest difference first; the rows after kMaxTableRows become one, so that the table sums.
std::vector<CompareTableRow> TableOf(const std::vector<CompareRow>& rows) {
  std::vector<CompareTableRow> out;
  out.reserve(rows.size());
  for (const CompareRow& row : rows) out.push_back(RowOf(row));
  std::stable_sort(out.begin(), out.end(), [](const CompareTableRow& x, const CompareTableRow& y) {
    return std::fabs(x.delta_ms) > std::fabs(y.delta_ms);
  });
  if (out.size() <= kMaxTableRows) return out;
  CompareTableRow rest;
  rest.name = fmt::format("({} more)", HumanCount(static_cast<int64_t>(out.size() - kMaxTableRows)));
  for (size_t i = kMaxTableRows; i < out.size(); ++i) {
    rest.count_a += out[i].count_a;
    rest.count_b += out[i].count_b;
    rest.a_ms += out[i].a_ms;
    rest.b_ms += out[i].b_ms;
    rest.busy_a_ms += out[i].busy_a_ms;
    rest.busy_b_ms += out[i].busy_b_ms;
  }
  rest.delta_ms = rest.b_ms - rest.a_ms;
  out.resize(kMaxTableRows);
  out.push_back(std::move(rest));
  return out;
}

}  // namespace

CompareFacts CompareFactsOf(const Comparison& c, size_t top) {
  CompareFacts out;
  out.run_a = c.run_a;
  out.run_b = c.run_b;
  out.similarity = FiniteOrNull(c.similarity);
  out.matched_share_a = c.matched_share_a;
  out.matched_share_b = c.matched_share_b;
  out.fingerprint = c.fingerprint;
  out.wall_a_ms = c.wall_a_ms;
  out.wall_b_ms = c.wall_b_ms;
  out.delta_ms = c.delta_ms();
  out.residual_ms = c.residual_ms;
  out.busy_a_ms = c.busy_a_ms;
  out.busy_b_ms = c.busy_b_ms;
  out.walls_a_ms = c.walls_a_ms;
  out.walls_b_ms = c.walls_b_ms;
  out.verdict = {c.verdict.verdict, c.verdict.confidence, c.verdict.p_value, c.verdict.more_runs_needed,
                 VerdictText(c)};
  for (const Comparability& d : c.comparability)
    out.comparability.push_back({d.what, TextIfAny(d.a), TextIfAny(d.b), TextIfAny(d.consequence)});
  out.normalised_by = TextIfAny(c.normalised_by);
  out.normal_a_ms = c.normal_a_ms;
  out.normal_b_ms = c.normal_b_ms;
  out.drift = FiniteOrNull(c.drift);
  out.on_host = c.on_host;
  const std::vector<const Contribution*> listed = Listed(c);
  out.equal_changes = static_cast<int64_t>(c.contributions.size() - listed.size());
  const size_t shown = std::min(top, listed.size());
  for (size_t i = 0; i < shown; ++i) out.contributions.push_back(ContributionOf(*listed[i], c));
  if (shown < listed.size()) out.contributions.push_back(MergedOf(c, listed, shown));
  for (size_t i = 0; i < out.contributions.size(); ++i)
    out.contributions[i].rank = static_cast<int64_t>(i + 1);
  for (const CostShift& s : c.shifts)
    out.shifts.push_back({TextIfAny(s.stage), TextIfAny(s.module), s.from, s.to, s.ms});
  out.by_kernel = TableOf(c.by_kernel);
  out.by_op = TableOf(c.by_op);
  out.by_module = TableOf(c.by_module);
  out.by_stage = TableOf(c.by_stage);
  out.across = c.across;
  out.counters = c.counters;
  return out;
}

}  // namespace nl
