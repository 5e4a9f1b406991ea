// SPDX-License-Identifier: Apache-2.0
#include "report/compare/explain.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"

namespace nl {

namespace {

std::string InPlace(const Contribution& c) {
  std::string out;
  if (!c.module.empty()) out += " in " + c.module;
  if (!c.stage.empty()) out += " (" + c.stage + ")";
  return out;
}

std::string CountChange(const Contribution& c, const char* noun) {
  const auto counted = [noun](int64_t count) {
    const std::string_view words = noun;
    return Counted(count, words.ends_with('s') ? words.substr(0, words.size() - 1) : words);
  };
  if (c.count_a == 0) return counted(c.count_b);
  if (c.count_b == 0) return counted(c.count_a);
  return fmt::format("{} -> {} {}", HumanCount(c.count_a), HumanCount(c.count_b), noun);
}

std::string SignedTime(double ms) { return (ms < 0 ? "-" : "+") + HumanMs(std::abs(ms)); }

std::string NameOrDeviceWork(const std::string& text) { return text.empty() ? "device work" : text; }

// Device time that the change added beyond its effect on the wall.
double OverlappedMs(const Contribution& c) {
  const double busy = c.busy_b_ms - c.busy_a_ms, sign = busy < 0 ? -1 : 1;
  return std::max(0.0, sign * busy - std::max(0.0, sign * c.delta_ms()));
}

// Of a contribution or a part of one; of runs without device work, the host time.
template <class T>
std::string DeviceTimeText(const T& c) {
  if (c.busy_a_ms == 0 && c.busy_b_ms == 0)
    return fmt::format("time {} -> {}", HumanMs(c.a_ms), HumanMs(c.b_ms));
  return fmt::format("device time {} -> {}", HumanMs(c.busy_a_ms), HumanMs(c.busy_b_ms));
}

// Of several kinds of calls, the one whose time differs most, of those that both runs make where there are
// such; null: there is only one.
const Contribution::Part* LargestOfSeveral(const Contribution& c) {
  if (c.parts.size() < 2) return nullptr;
  const auto better = [](const Contribution::Part& x, const Contribution::Part& y) {
    const auto rank = [](const Contribution::Part& part) {
      const bool both = part.count_a > 0 && part.count_b > 0;
      return std::tuple(part.change != "same", both, std::abs(part.busy_b_ms - part.busy_a_ms),
                        std::abs(part.b_ms - part.a_ms));
    };
    return rank(x) > rank(y);
  };
  return &*std::min_element(c.parts.begin(), c.parts.end(), better);
}

std::string KindsOfCalls(const Contribution& c) {
  return fmt::format("{} kinds of calls", HumanCount(static_cast<int64_t>(c.parts.size())));
}

// "aten::mm runs x instead of y"; of runs without device work, the operator alone.
std::string ReplacedText(const std::string& op, const std::string& kernel_a, const std::string& kernel_b,
                         const std::string& place) {
  if (kernel_a.empty() && kernel_b.empty()) return op + place + " is computed differently";
  return fmt::format("{}{} runs {} instead of {}", NameOrDeviceWork(op), place, NameOrDeviceWork(kernel_b),
                     NameOrDeviceWork(kernel_a));
}

std::string ReplacedSentence(const Contribution& c) {
  const std::string place = InPlace(c);
  const Contribution::Part* part = LargestOfSeveral(c);
  if (part == nullptr)
    return fmt::format("{}: {}", ReplacedText(c.op, c.kernel_a, c.kernel_b, place), DeviceTimeText(c));
  const bool whole = c.busy_a_ms == 0 && c.busy_b_ms == 0;
  // A kind of call that only one run makes has nothing to be replaced by.
  const bool both = !part->kernel_a.empty() && !part->kernel_b.empty();
  return fmt::format("{}{} run different {}: {}; largest: {}, {}", KindsOfCalls(c), place,
                     whole ? "operators" : "kernels", DeviceTimeText(c),
                     both ? ReplacedText(part->op, part->kernel_a, part->kernel_b, "")
                          : NameOrDeviceWork(!part->op.empty()         ? part->op
                                             : !part->kernel_b.empty() ? part->kernel_b
                                                                       : part->kernel_a),
                     DeviceTimeText(*part));
}

std::string SameKernelSentence(const Contribution& c) {
  const std::string place = InPlace(c);
  const Contribution::Part* part = LargestOfSeveral(c);
  const std::string name = NameOrDeviceWork(c.op.empty() ? c.kernel_b : c.op);
  if (part == nullptr)
    return fmt::format("{}{}: {}, same kernel and shapes, {}", name, place, DeviceTimeText(c),
                       HumanCount(c.count_b) + (c.count_b == 1 ? " call" : " calls"));
  return fmt::format("{}{} with the same kernels and shapes: {}; largest: {}, {}", KindsOfCalls(c), place,
                     DeviceTimeText(c), NameOrDeviceWork(part->op.empty() ? part->kernel_b : part->op),
                     DeviceTimeText(*part));
}

std::string KernelSentence(const Contribution& c) {
  const std::string place = InPlace(c), delta = SignedTime(c.delta_ms());
  switch (c.cause) {
    case Cause::kKernelSlower:
    case Cause::kKernelFaster: return SameKernelSentence(c);
    case Cause::kKernelReplaced: return ReplacedSentence(c);
    case Cause::kKernelsAdded:
      return fmt::format("{}{}{}, mostly in {}: {}", CountChange(c, "calls"), c.count_a == 0 ? " added" : "",
                         place, NameOrDeviceWork(c.op.empty() ? c.kernel_b : c.op), delta);
    case Cause::kKernelsRemoved:
      return fmt::format("{}{}{}, mostly in {}: {}", CountChange(c, "calls"),
                         c.count_b == 0 ? " removed" : "", place,
                         NameOrDeviceWork(c.op.empty() ? c.kernel_a : c.op), delta);
    case Cause::kShapeChanged:
      return fmt::format("shapes of {}{} changed, {} -> {}: {}", NameOrDeviceWork(c.op), place, c.shapes_a,
                         c.shapes_b, DeviceTimeText(c));
    case Cause::kDtypeChanged:
      return fmt::format("data types changed{}{}: {}", c.detail.empty() ? "" : " (" + c.detail + ")", place,
                         DeviceTimeText(c));
    case Cause::kPrecisionUpcast:
      return fmt::format("16-bit work runs in fp32{}: {} (mostly in {}), {}", place, CountChange(c, "calls"),
                         NameOrDeviceWork(c.op), DeviceTimeText(c));
    case Cause::kFusionLost:
      return fmt::format("fused work was split{}: {}, {}", place, CountChange(c, "calls"), delta);
    case Cause::kFusionGained:
      return fmt::format("work was fused{}: {}, {}", place, CountChange(c, "calls"), delta);
    case Cause::kAttentionImplChanged:
      return fmt::format("different attention implementation{}: {} -> {}, {}", place,
                         NameOrDeviceWork(c.kernel_a), NameOrDeviceWork(c.kernel_b), DeviceTimeText(c));
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
      fmt::format("the host takes {} before {}{} in each of {}: {}", slower ? "longer" : "less time",
                  NameOrDeviceWork(c.op), place, Counted(c.count_b, "call"), delta);
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
                     other.in_b ? "uses" : "no longer uses", other.kernel, HumanMs(other.ms),
                     DeviceTimeText(c));
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
                         c.busy_b_ms > c.busy_a_ms ? "slower" : "faster", "the clock, which was not recorded",
                         DeviceTimeText(c));
    case Cause::kWorkChanged:
      return fmt::format("the work changed ({}): {}",
                         comparison.work_text.empty() ? CountChange(c, "calls") : comparison.work_text,
                         delta);
    case Cause::kRecording:
      return fmt::format(
          "idle time before the first and after the last device work, with nothing recorded: {} -> {}; a "
          "matter of the recording, not of the program",
          HumanMs(c.a_ms), HumanMs(c.b_ms));
    case Cause::kNoise: return UnchangedSentence(c, comparison.drift);
    default: break;
  }
  const std::string kernels = KernelSentence(c);
  return kernels.empty() ? CopySentence(c) : kernels;
}

// What shares of the verdict are parts of.
double BaseMs(const Comparison& c) {
  return std::max(c.verdict.base_ms > 0 ? c.verdict.base_ms : c.wall_a_ms, 1e-9);
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
  const double wall_ms = BaseMs(c);
  std::string out = fmt::format("B is {} by {} ({:+.1f} % of A's {}) because of the changes below.",
                                v.change_ms > 0 ? "slower" : "faster", HumanMs(std::abs(v.change_ms)),
                                v.change_ms / wall_ms * 100,
                                v.recording_ms != 0 ? "time from its first to its last work" : "wall time");
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
  std::string out = fmt::format("{} against {}: wall {:+.2f} % ({})",
                                Counted(static_cast<int64_t>(c.walls_a_ms.size()), "run"),
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

namespace {

std::string PairVerdictText(const Comparison& c) {
  const CompareVerdict& v = c.verdict;
  switch (v.basis) {
    case CompareVerdict::Basis::kNotComparable:
      return fmt::format("No verdict about the program: {}.",
                         c.no_verdict_reason.empty() ? "the runs are not comparable" : c.no_verdict_reason);
    case CompareVerdict::Basis::kOnlyWork: return OnlyWorkText(c);
    case CompareVerdict::Basis::kNothingChanged:
      return fmt::format(
          "No change found: the difference of {} on {} is in unchanged work; nothing was added, removed or "
          "consistently slower or faster.",
          SignedTime(c.delta_ms() - v.recording_ms), HumanMs(BaseMs(c)));
    case CompareVerdict::Basis::kSmallChange:
      return fmt::format(
          "The changes cost {} ({:+.2f} % of A's wall time), too little for a verdict; the rest of the "
          "difference of {} is in unchanged work.",
          SignedTime(v.change_ms), v.change_ms / BaseMs(c) * 100, SignedTime(c.delta_ms() - v.recording_ms));
    case CompareVerdict::Basis::kChange: return ChangeVerdictText(c);
    case CompareVerdict::Basis::kRunSets: return RunSetsText(c);
  }
  return "";
}

// The kernel family with most of the difference in device time.
const AcrossRow* MostOfDifference(const AcrossSetups& across) {
  const double sign = across.device_b_ms < across.device_a_ms ? -1 : 1;
  const auto delta = [&](const AcrossRow& row) {
    return sign * (row.b_ms.value_or(0) - row.a_ms.value_or(0));
  };
  const AcrossRow* most = nullptr;
  for (const AcrossRow& row : across.families) {
    if (delta(row) > 0 && (most == nullptr || delta(row) > delta(*most))) most = &row;
  }
  return most;
}

std::string SetupName(const std::string& name, int64_t devices) {
  const std::string known = name.empty() ? "device not named" : name;
  return devices == 1 ? known : fmt::format("{} x {}", devices, known);
}

// "NVIDIA H100 -> AMD MI300X: 1.32 times slower in device time (1.2 ms -> 1.6 ms), mostly in gemm (...)."
std::string AcrossText(const Comparison& c) {
  const AcrossSetups& across = *c.across;
  std::string out;
  if (across.setup_a != across.setup_b || across.devices_a != across.devices_b)
    out = fmt::format("{} -> {}: ", SetupName(across.setup_a, across.devices_a),
                      SetupName(across.setup_b, across.devices_b));
  const std::string times =
      fmt::format("{} -> {}{}", HumanMs(across.device_a_ms), HumanMs(across.device_b_ms),
                  across.devices_a == 1 && across.devices_b == 1 ? "" : " on the mean device");
  if (!across.ratio || *across.ratio <= 0) return out + fmt::format("device time {}.", times);
  constexpr double kSame = 0.01;
  const double ratio = *across.ratio;
  if (std::abs(ratio - 1) < kSame) return out + fmt::format("the same device time ({}).", times);
  out += fmt::format("{:.2f} times {} in device time ({})", ratio > 1 ? ratio : 1 / ratio,
                     ratio > 1 ? "slower" : "faster", times);
  if (const AcrossRow* most = MostOfDifference(across))
    out += fmt::format(", mostly in {} ({} -> {})", most->name == "other" ? "other kernels" : most->name,
                       HumanMs(most->a_ms.value_or(0)), HumanMs(most->b_ms.value_or(0)));
  if (!c.work_text.empty()) out += fmt::format("; the work differs too: {}", c.work_text);
  return out + ".";
}

}  // namespace

std::string VerdictText(const Comparison& c) {
  std::string out = PairVerdictText(c);
  // Different programs have no device time in common to compare.
  if (c.across && c.verdict.basis == CompareVerdict::Basis::kNotComparable && !c.other_program)
    out = AcrossText(c) + " " + out;
  if (c.verdict.recording_ms != 0 && c.verdict.basis != CompareVerdict::Basis::kRunSets)
    out += fmt::format(
        " {} of the difference of the walls is idle time around the work: recording, not the program.",
        SignedTime(c.verdict.recording_ms));
  return out;
}

}  // namespace nl
