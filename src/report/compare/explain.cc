// SPDX-License-Identifier: Apache-2.0
#include "report/compare/explain.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"

namespace nl {

namespace {

std::string InPlace(const Contribution& c) {
  std::string out;
  if (!c.module.empty()) out += " in " + c.module;
  if (!c.stage.empty()) out += " (" + c.stage + ")";
  return out;
}

std::string CountChange(const Contribution& c, const char* noun) {
  if (c.count_a == 0) return fmt::format("{} {}", HumanCount(c.count_b), noun);
  if (c.count_b == 0) return fmt::format("{} {}", HumanCount(c.count_a), noun);
  return fmt::format("{} -> {} {}", HumanCount(c.count_a), HumanCount(c.count_b), noun);
}

std::string SignedTime(double ms) { return (ms < 0 ? "-" : "+") + HumanMs(std::abs(ms)); }

std::string NameOrDeviceWork(const std::string& text) { return text.empty() ? "device work" : text; }

// Device time that the change added beyond its effect on the wall.
double OverlappedMs(const Contribution& c) {
  const double busy = c.busy_b_ms - c.busy_a_ms, sign = busy < 0 ? -1 : 1;
  return std::max(0.0, sign * busy - std::max(0.0, sign * c.delta_ms()));
}

std::string DeviceTime(const Contribution& c) {
  return fmt::format("device time {} -> {}", HumanMs(c.busy_a_ms), HumanMs(c.busy_b_ms));
}

std::string KernelSentence(const Contribution& c) {
  const std::string place = InPlace(c), delta = SignedTime(c.delta_ms());
  switch (c.cause) {
    case Cause::kKernelSlower:
    case Cause::kKernelFaster:
      return fmt::format("{}{}: {}, same kernel and shapes, {} calls",
                         NameOrDeviceWork(c.op.empty() ? c.kernel_b : c.op), place, DeviceTime(c),
                         HumanCount(c.count_b));
    case Cause::kKernelReplaced:
      return fmt::format("{}{} runs {} instead of {}: {}", NameOrDeviceWork(c.op), place,
                         NameOrDeviceWork(c.kernel_b), NameOrDeviceWork(c.kernel_a), DeviceTime(c));
    case Cause::kKernelsAdded:
      return fmt::format("{}{}{}, mostly in {}: {}", CountChange(c, "calls"), c.count_a == 0 ? " added" : "",
                         place, NameOrDeviceWork(c.op.empty() ? c.kernel_b : c.op), delta);
    case Cause::kKernelsRemoved:
      return fmt::format("{}{}{}, mostly in {}: {}", CountChange(c, "calls"),
                         c.count_b == 0 ? " removed" : "", place,
                         NameOrDeviceWork(c.op.empty() ? c.kernel_a : c.op), delta);
    case Cause::kShapeChanged:
      return fmt::format("shapes of {}{} changed, {} -> {}: {}", NameOrDeviceWork(c.op), place, c.shapes_a,
                         c.shapes_b, DeviceTime(c));
    case Cause::kDtypeChanged:
      return fmt::format("data types changed{}{}: {}", c.detail.empty() ? "" : " (" + c.detail + ")", place,
                         DeviceTime(c));
    case Cause::kPrecisionUpcast:
      return fmt::format("16-bit work runs in fp32{}: {} (mostly in {}), {}", place, CountChange(c, "calls"),
                         NameOrDeviceWork(c.op), DeviceTime(c));
    case Cause::kFusionLost:
      return fmt::format("fused work was split{}: {}, {}", place, CountChange(c, "calls"), delta);
    case Cause::kFusionGained:
      return fmt::format("work was fused{}: {}, {}", place, CountChange(c, "calls"), delta);
    case Cause::kAttentionImplChanged:
      return fmt::format("different attention implementation{}: {} -> {}, {}", place,
                         NameOrDeviceWork(c.kernel_a), NameOrDeviceWork(c.kernel_b), DeviceTime(c));
    default: return "";
  }
}

std::string HostSentence(const Contribution& c) {
  const std::string place = InPlace(c), delta = SignedTime(c.delta_ms());
  const bool slower = c.cause == Cause::kHostSlower;
  if (c.in_every_run)
    return fmt::format("unchanged work takes {} in all runs of B", slower ? "longer" : "less time");
  if (c.detail == "allocation")
    return fmt::format("the driver allocates or frees memory {}{}, mostly for {}: {}",
                       slower ? "more often" : "less often", place, NameOrDeviceWork(c.op), delta);
  std::string out =
      fmt::format("the host takes {} before {}{} in each of {} calls: {}", slower ? "longer" : "less time",
                  NameOrDeviceWork(c.op), place, HumanCount(c.count_b), delta);
  if (!c.host_work.empty()) out += (slower ? "; it also runs " : "; it no longer runs ") + c.host_work;
  return out;
}

std::string CopySentence(const Contribution& c) {
  const std::string place = InPlace(c), delta = SignedTime(c.delta_ms()), calls = CountChange(c, "calls");
  switch (c.cause) {
    case Cause::kSyncAdded: return fmt::format("{} that wait for the device{}: {}", calls, place, delta);
    case Cause::kSyncRemoved:
      return fmt::format("{} that waited for the device removed{}: {}", calls, place, delta);
    case Cause::kCopyAdded: return fmt::format("copies {} added{}, {}: {}", c.detail, place, calls, delta);
    case Cause::kCopyRemoved:
      return fmt::format("copies {} removed{}, {}: {}", c.detail, place, calls, delta);
    case Cause::kLayoutCopyAdded:
      return fmt::format("layout copies added{}, {} (mostly in {}): {}", place, calls, NameOrDeviceWork(c.op),
                         delta);
    case Cause::kLayoutCopyRemoved:
      return fmt::format("layout copies removed{}, {}: {}", place, calls, delta);
    default: return "";
  }
}

std::string ContentionSentence(const Contribution& c) {
  const BackgroundWork other = c.background.value_or(BackgroundWork());
  return fmt::format("another program {} the device at the same time ({}, {}): {}",
                     other.in_b ? "uses" : "no longer uses", other.kernel, HumanMs(other.ms), DeviceTime(c));
}

std::string UnchangedSentence(const Contribution& c, double drift) {
  // Replay can give a change more idle time than was measured.
  std::string out =
      c.a_ms < 0 || c.b_ms < 0
          ? fmt::format("unchanged work and time not explained by the changes: {}", SignedTime(c.delta_ms()))
          : fmt::format("unchanged work takes {} -> {}", HumanMs(c.a_ms), HumanMs(c.b_ms));
  if (std::isfinite(drift) && drift != 1)
    out += fmt::format("; its operators ran {:.1f} % {} on the host", std::abs(drift - 1) * 100,
                       drift > 1 ? "slower" : "faster");
  return out;
}

std::string Sentence(const Contribution& c, const Comparison& comparison) {
  const std::string place = InPlace(c), delta = SignedTime(c.delta_ms());
  switch (c.cause) {
    case Cause::kHostSlower:
    case Cause::kHostFaster: return HostSentence(c);
    case Cause::kGraphAdded: return fmt::format("work is launched as CUDA graphs{}: {}", place, delta);
    case Cause::kGraphRemoved:
      return fmt::format("work is no longer launched as CUDA graphs{}: {}", place, delta);
    case Cause::kContention: return ContentionSentence(c);
    case Cause::kClockChanged:
      return fmt::format("nearly every unchanged kernel is {} by a similar factor ({}): {}",
                         c.busy_b_ms > c.busy_a_ms ? "slower" : "faster",
                         comparison.other_device ? "different device" : "the clock, which was not recorded",
                         DeviceTime(c));
    case Cause::kWorkChanged:
      return fmt::format("the work changed ({}): {}",
                         comparison.work_text.empty() ? CountChange(c, "calls") : comparison.work_text,
                         delta);
    case Cause::kNoise: return UnchangedSentence(c, comparison.drift);
    default: break;
  }
  const std::string kernels = KernelSentence(c);
  return kernels.empty() ? CopySentence(c) : kernels;
}

std::string UnchangedWorkText(double ms) {
  return fmt::format(
      "{} of the difference is unchanged work that ran {}, which is not a result of the change",
      SignedTime(ms), ms > 0 ? "slower" : "faster");
}

std::string OnlyWorkText(const Comparison& c) {
  constexpr double kLeastShown = 0.1;  // of the hidden device time
  const CompareVerdict& v = c.verdict;
  const bool hidden = std::abs(v.work_ms) < kLeastShown * std::abs(v.hidden_work_ms);
  return fmt::format(
      "The work changed ({}): {}; the program did not. {}.", c.work_text,
      hidden ? fmt::format("{} of device time, none of it in the wall time", SignedTime(v.hidden_work_ms))
             : SignedTime(v.work_ms),
      UnchangedWorkText(v.unchanged_ms));
}

std::string ChangeVerdictText(const Comparison& c) {
  const CompareVerdict& v = c.verdict;
  const double wall_ms = std::max(c.wall_a_ms, 1e-9);
  std::string out = fmt::format("B is {} by {} ({:+.1f} % of A's wall time) because of the changes below.",
                                v.change_ms > 0 ? "slower" : "faster", HumanMs(std::abs(v.change_ms)),
                                v.change_ms / wall_ms * 100);
  if (std::abs(v.unchanged_ms) > 0.02 * wall_ms) out += " " + UnchangedWorkText(v.unchanged_ms) + ".";
  if (c.work_changed)
    out += fmt::format(" The work changed too ({}): {}.", c.work_text, SignedTime(v.work_ms));
  return out;
}

std::string RunSetsText(const Comparison& c) {
  const Significance& s = c.verdict.over_runs;
  // With two runs on a side the interval may be so wide that it excludes nothing.
  constexpr double kWidestInterval = 1;
  const std::string interval =
      s.ci_high - s.ci_low <= kWidestInterval
          ? fmt::format("99 % interval {:+.2f} to {:+.2f} %", s.ci_low * 100, s.ci_high * 100)
          : "too few runs for a useful interval";
  std::string out = fmt::format("{} runs against {}: wall {:+.2f} % ({})", c.walls_a_ms.size(),
                                c.walls_b_ms.size(), (s.ratio - 1) * 100, interval);
  if (!s.reason.empty()) out += "; " + s.reason;
  if (s.verdict == VerdictClass::kUndecided && s.more_runs_needed)
    out += fmt::format("; about {} more on each side would decide", *s.more_runs_needed);
  return out + ".";
}

}  // namespace

std::string ContributionText(const Contribution& c, const Comparison& comparison) {
  const std::string out = Sentence(c, comparison);
  const double hidden_ms = c.hidden_ms != 0 ? std::abs(c.hidden_ms) : OverlappedMs(c);
  const double busy_ms = std::abs(c.busy_b_ms - c.busy_a_ms);
  constexpr double kLeastHidden = 1e-3;  // of the wall
  if (c.cause == Cause::kNoise || c.in_every_run || hidden_ms < 0.2 * busy_ms ||
      hidden_ms < kLeastHidden * comparison.wall_a_ms)
    return out;
  return out + fmt::format("; {} of device time is hidden behind other work", HumanMs(hidden_ms));
}

std::string VerdictText(const Comparison& c) {
  const CompareVerdict& v = c.verdict;
  switch (v.basis) {
    case CompareVerdict::Basis::kNotComparable: {
      if (c.comparability.empty()) return "No verdict: the runs are not comparable.";
      const Comparability& first = c.comparability.front();
      return fmt::format("No verdict: {} differs ({} and {}).", first.what, first.a, first.b);
    }
    case CompareVerdict::Basis::kOnlyWork: return OnlyWorkText(c);
    case CompareVerdict::Basis::kNothingChanged:
      return fmt::format(
          "No change found: the difference of {} on {} is in unchanged work; nothing was added, removed or "
          "consistently slower or faster.",
          SignedTime(c.delta_ms()), HumanMs(c.wall_a_ms));
    case CompareVerdict::Basis::kSmallChange:
      return fmt::format(
          "The changes cost {} ({:+.2f} % of A's wall time), too little for a verdict; the rest of the "
          "difference of {} is in unchanged work.",
          SignedTime(v.change_ms), v.change_ms / std::max(c.wall_a_ms, 1e-9) * 100, SignedTime(c.delta_ms()));
    case CompareVerdict::Basis::kChange: return ChangeVerdictText(c);
    case CompareVerdict::Basis::kRunSets: return RunSetsText(c);
  }
  return "";
}

}  // namespace nl
