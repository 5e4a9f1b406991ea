// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/verdict/explain.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"

namespace nl::compare {

namespace {

constexpr double kLeastRegression = 0.01;  // of the wall; below, one pair of runs says nothing

std::string Place(const Contribution& c) {
  std::string out;
  if (!c.module.empty()) out += " in " + c.module;
  if (!c.stage.empty()) out += " (" + c.stage + ")";
  return out;
}

std::string Counts(const Contribution& c, const char* noun) {
  if (c.count_a == 0) return fmt::format("{} {}", HumanCount(c.count_b), noun);
  if (c.count_b == 0) return fmt::format("{} {}", HumanCount(c.count_a), noun);
  return fmt::format("{} -> {} {}", HumanCount(c.count_a), HumanCount(c.count_b), noun);
}

std::string Signed(double ms) { return (ms < 0 ? "-" : "+") + HumanMs(std::abs(ms)); }

std::string Named(const std::string& text) { return text.empty() ? "device work" : text; }

}  // namespace

namespace {

// Device time beyond what the change does to the wall: the device had time for it.
double BesideMs(const Contribution& c) {
  const double busy = c.busy_b_ms - c.busy_a_ms, sign = busy < 0 ? -1 : 1;
  return std::max(0.0, sign * busy - std::max(0.0, sign * c.delta_ms()));
}

std::string Sentence(const Contribution& c, const CallSequence& a, const CallSequence& b,
                     const Comparable& comparable, double drift) {
  const std::string place = Place(c), delta = Signed(c.delta_ms());
  const std::string detail = c.detail.empty() ? "" : " (" + c.detail + ")";
  const std::string device = fmt::format("device time {} -> {}", HumanMs(c.busy_a_ms), HumanMs(c.busy_b_ms));
  switch (c.cause) {
    case Cause::kKernelSlower:
    case Cause::kKernelFaster:
      return fmt::format("{}{}: {}, the same kernel on the same shapes, {} calls",
                         Named(c.op.empty() ? c.kernel_b : c.op), place, device, HumanCount(c.count_b));
    case Cause::kKernelReplaced:
      return fmt::format("{}{} runs {} instead of {}: {}", Named(c.op), place, Named(c.kernel_b),
                         Named(c.kernel_a), device);
    case Cause::kKernelsAdded:
      return fmt::format("{} {}{}, most in {}: {}", Counts(c, "calls"), c.count_a == 0 ? "added" : "now",
                         place, Named(c.op.empty() ? c.kernel_b : c.op), delta);
    case Cause::kKernelsRemoved:
      return fmt::format("{} {}{}, most in {}: {}", Counts(c, "calls"), c.count_b == 0 ? "gone" : "left",
                         place, Named(c.op.empty() ? c.kernel_a : c.op), delta);
    case Cause::kShapeChanged:
      return fmt::format("{}{} works on other shapes, {} -> {}: {}", Named(c.op), place, c.shapes_a,
                         c.shapes_b, device);
    case Cause::kDtypeChanged: return fmt::format("other element types{}{}: {}", detail, place, device);
    case Cause::kPrecisionUpcast:
      return fmt::format("16-bit work is done in fp32{}: {} (most in {}), {}", place, Counts(c, "calls"),
                         Named(c.op), device);
    case Cause::kHostSlower:
    case Cause::kHostFaster:
      if (c.detail == "allocation")
        return fmt::format("memory is allocated or freed by the driver {}{}, most by {}: {}",
                           c.cause == Cause::kHostSlower ? "more often" : "less often", place, Named(c.op),
                           delta);
      return fmt::format(
          "the host takes {} before {}{} in each of {} calls: {}{}",
          c.cause == Cause::kHostSlower ? "longer" : "less time", Named(c.op), place, HumanCount(c.count_b),
          delta,
          c.host_work.empty()
              ? ""
              : (c.cause == Cause::kHostSlower ? "; it also runs " : "; it no longer runs ") + c.host_work);
    case Cause::kSyncAdded:
      return fmt::format("{} that wait for the device{}: {}", Counts(c, "calls"), place, delta);
    case Cause::kSyncRemoved:
      return fmt::format("{} that waited for the device are gone{}: {}", Counts(c, "calls"), place, delta);
    case Cause::kCopyAdded:
      return fmt::format("copies {} added{}, {}: {}", c.detail, place, Counts(c, "calls"), delta);
    case Cause::kCopyRemoved:
      return fmt::format("copies {} are gone{}, {}: {}", c.detail, place, Counts(c, "calls"), delta);
    case Cause::kFusionLost:
      return fmt::format("fused work was split up{}: {}, {}", place, Counts(c, "calls"), delta);
    case Cause::kFusionGained:
      return fmt::format("work was fused{}: {}, {}", place, Counts(c, "calls"), delta);
    case Cause::kLayoutCopyAdded:
      return fmt::format("copies that only move data{}, {} (most in {}): {}", place, Counts(c, "calls"),
                         Named(c.op), delta);
    case Cause::kLayoutCopyRemoved:
      return fmt::format("copies that only moved data are gone{}, {}: {}", place, Counts(c, "calls"), delta);
    case Cause::kAttentionImplChanged:
      return fmt::format("attention is computed another way{}: {} -> {}, {}", place, Named(c.kernel_a),
                         Named(c.kernel_b), device);
    case Cause::kGraphAdded: return fmt::format("work is launched as CUDA graphs{}: {}", place, delta);
    case Cause::kGraphRemoved:
      return fmt::format("work is no longer launched as CUDA graphs{}: {}", place, delta);
    case Cause::kContention: {
      const CallSequence& with = b.background_ns > 0 ? b : a;
      return fmt::format("other work {} the device at the same time ({}, {}): {}",
                         b.background_ns > 0 ? "uses" : "no longer uses", with.background_kernel,
                         HumanMs(static_cast<double>(with.background_ns) / 1e6), device);
    }
    case Cause::kClockChanged:
      return fmt::format("nearly every unchanged kernel is {} by a similar factor ({}): {}",
                         c.busy_b_ms > c.busy_a_ms ? "slower" : "faster",
                         comparable.no_verdict ? "another device" : "the clock, which was not recorded",
                         device);
    case Cause::kWorkChanged:
      return fmt::format("the work changed ({}): {}",
                         comparable.work_text.empty() ? Counts(c, "calls") : comparable.work_text, delta);
    case Cause::kNoise: {
      // A change may be given more of the idle time than was there.
      std::string out = c.a_ms < 0 || c.b_ms < 0
                            ? fmt::format("unchanged work and what the changes leave unexplained: {}", delta)
                            : fmt::format("unchanged work takes {} -> {}", HumanMs(c.a_ms), HumanMs(c.b_ms));
      if (drift != 1)
        out += fmt::format("; its operators ran {:.1f} % {} on the host", std::abs(drift - 1) * 100,
                           drift > 1 ? "slower" : "faster");
      return out;
    }
  }
  return "";
}

}  // namespace

std::string ExplainContribution(const Contribution& c, double hidden_ms, const CallSequence& a,
                                const CallSequence& b, const Comparable& comparable, double drift) {
  std::string out = Sentence(c, a, b, comparable, drift);
  const double hidden = hidden_ms != 0 ? std::abs(hidden_ms) : BesideMs(c),
               busy = std::abs(c.busy_b_ms - c.busy_a_ms);
  constexpr double kLeastHidden = 1e-3;  // of the wall
  if (c.cause == Cause::kNoise || hidden < 0.2 * busy ||
      hidden < kLeastHidden * static_cast<double>(a.wall_ns) / 1e6)
    return out;
  return out + fmt::format("; {} of device time is hidden, the device had time for it", HumanMs(hidden));
}

CompareVerdict JudgePair(const Comparison& c, const std::vector<double>& hidden_ms,
                         const Comparable& comparable) {
  CompareVerdict out;
  double real = 0, work = 0, hidden_work = 0, host = 0, drift_ms = 0;
  for (size_t i = 0; i < c.contributions.size(); ++i) {
    const Contribution& x = c.contributions[i];
    if (x.cause == Cause::kNoise) drift_ms += x.delta_ms();
    if (!x.significant) continue;
    drift_ms += hidden_ms[i];
    if (x.cause == Cause::kWorkChanged) hidden_work += hidden_ms[i];
    const bool host_only = !x.structural && (x.cause == Cause::kHostSlower || x.cause == Cause::kHostFaster);
    (x.cause == Cause::kWorkChanged ? work : host_only ? host : real) += x.delta_ms() - hidden_ms[i];
  }
  // Beside a large drift, a little more of it here or there is no change of the program.
  constexpr double kLeastOfDrift = 0.2;
  if (std::abs(host) >= kLeastOfDrift * std::abs(drift_ms)) real += host;
  const double base = std::max(c.wall_a_ms, 1e-9), share = real / base;
  const std::string drift = fmt::format(
      "{} of the difference is unchanged work being {}, which says nothing "
      "about the change",
      Signed(drift_ms), drift_ms > 0 ? "slower" : "faster");
  if (comparable.no_verdict) {
    out.text = fmt::format("No verdict: {} differs ({} against {}).", comparable.differences.front().what,
                           comparable.differences.front().a, comparable.differences.front().b);
    return out;
  }
  constexpr double kLeastShown = 0.1;  // of what is hidden
  const bool work_changed = comparable.work.work || work != 0;
  if (work_changed && std::abs(share) < kLeastRegression) {
    const bool unseen = std::abs(work) < kLeastShown * std::abs(hidden_work);
    out.text = fmt::format(
        "The work changed ({}): {}; the program did not. {}.", comparable.work_text,
        unseen ? fmt::format("{} of device time, which the wall does not show", Signed(hidden_work))
               : Signed(work),
        drift);
    return out;
  }
  if (std::abs(share) < kLeastRegression) {
    const double noise = std::abs(drift_ms) / base;
    out.verdict = noise < kLeastRegression ? "same" : "undecided";
    out.confidence = 0.5;
    if (out.verdict == "undecided") out.more_runs_needed = 4;
    const bool any = std::any_of(c.contributions.begin(), c.contributions.end(),
                                 [](const Contribution& x) { return x.significant; });
    out.text =
        any ? fmt::format(
                  "What changed costs {} ({:+.2f} % of A's wall), too little for a verdict; the rest of {} "
                  "is "
                  "unchanged work.",
                  Signed(real), share * 100, Signed(c.delta_ms()))
            : fmt::format(
                  "No real change found: {} of {} in unchanged work, nothing structural or consistent.",
                  Signed(c.delta_ms()), HumanMs(c.wall_a_ms));
    return out;
  }
  out.verdict = real > 0 ? "regressed" : "improved";
  out.confidence = 0.95;
  out.text = fmt::format("B is {} by {} ({:+.1f} % of A's wall) through what changed.",
                         real > 0 ? "slower" : "faster", HumanMs(std::abs(real)), share * 100);
  if (std::abs(drift_ms) > 0.02 * base) out.text += " " + drift + ".";
  if (comparable.work.work)
    out.text += fmt::format(" The work changed too ({}): {}.", comparable.work_text, Signed(work));
  return out;
}

}  // namespace nl::compare
