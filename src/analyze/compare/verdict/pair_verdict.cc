// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/verdict/pair_verdict.h"

#include <algorithm>
#include <cmath>

namespace nl::compare {

namespace {

constexpr double kLeastChange = 0.01;  // of the wall; a single pair of runs cannot show less
constexpr double kLeastShareOfDrift =
    0.2;                              // a host change below this share of the drift may be part of the drift
constexpr int64_t kRunsToDecide = 4;  // with one run on each side: enough for most changes
constexpr double kNoChangeConfidence = 0.5, kChangeConfidence = 0.95;

void SumContributions(const Comparison& c, CompareVerdict& out) {
  double host_ms = 0;
  out.base_ms = c.wall_a_ms;
  for (const Contribution& x : c.contributions) {
    if (x.cause == Cause::kNoise) out.unchanged_ms += x.delta_ms();
    if (x.cause == Cause::kRecording) {
      out.recording_ms += x.delta_ms();
      out.base_ms -= x.a_ms;
    }
    if (!x.significant) continue;
    out.unchanged_ms += x.hidden_ms;
    if (x.cause == Cause::kWorkChanged) out.hidden_work_ms += x.hidden_ms;
    const bool host_only = !x.structural && (x.cause == Cause::kHostSlower || x.cause == Cause::kHostFaster);
    double& to = x.cause == Cause::kWorkChanged ? out.work_ms : host_only ? host_ms : out.change_ms;
    to += x.delta_ms() - x.hidden_ms;
  }
  if (std::abs(host_ms) >= kLeastShareOfDrift * std::abs(out.unchanged_ms)) out.change_ms += host_ms;
}

}  // namespace

CompareVerdict JudgePair(const Comparison& c, bool comparable) {
  using Basis = CompareVerdict::Basis;
  CompareVerdict out;
  SumContributions(c, out);
  if (!comparable) {
    out.basis = Basis::kNotComparable;
    return out;
  }
  const double wall_ms = std::max(out.base_ms, 1e-9);
  const bool small = std::abs(out.change_ms) < kLeastChange * wall_ms;
  if (small && (c.work_changed || out.work_ms != 0)) {
    out.basis = Basis::kOnlyWork;
    return out;
  }
  if (small) {
    const bool same = std::abs(out.unchanged_ms) < kLeastChange * wall_ms;
    const bool any = std::any_of(c.contributions.begin(), c.contributions.end(),
                                 [](const Contribution& x) { return x.significant; });
    out.verdict = same ? VerdictClass::kSame : VerdictClass::kUndecided;
    out.confidence = kNoChangeConfidence;
    if (!same) out.more_runs_needed = kRunsToDecide;
    out.basis = any ? Basis::kSmallChange : Basis::kNothingChanged;
    return out;
  }
  out.verdict = out.change_ms > 0 ? VerdictClass::kRegressed : VerdictClass::kImproved;
  out.confidence = kChangeConfidence;
  out.basis = Basis::kChange;
  return out;
}

}  // namespace nl::compare
