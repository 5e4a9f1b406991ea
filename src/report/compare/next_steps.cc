// SPDX-License-Identifier: Apache-2.0
// Commands that show more about a comparison.
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
#include "report/compare/compare_reply.h"

namespace nl {

namespace {

constexpr double kLeastDrift = 0.03;

// "neurolens OPERATION RUN FLAGS" about one run.
NextStep AboutRun(const std::string& operation, const std::string& run, const std::string& why) {
  return {fmt::format("neurolens {} {}", operation, run), why, operation, {{"run", run}}};
}

// The command about one cause; empty command: none.
NextStep StepFor(Cause cause, bool slower, const std::string& run) {
  switch (cause) {
    case Cause::kSyncAdded:
    case Cause::kSyncRemoved:
    case Cause::kHostSlower:
    case Cause::kHostFaster: return AboutRun("idle", run, "what the host did while the device waited");
    case Cause::kKernelSlower:
    case Cause::kKernelFaster:
    case Cause::kKernelReplaced:
    case Cause::kKernelsAdded:
    case Cause::kKernelsRemoved:
    case Cause::kAttentionImplChanged:
    case Cause::kPrecisionUpcast: {
      NextStep out = AboutRun("kernels", run,
                              fmt::format("kernels of the {} run by shape", slower ? "slower" : "faster"));
      out.command += " --by-shape";
      out.arguments["by_shape"] = true;
      return out;
    }
    case Cause::kGraphAdded:
    case Cause::kGraphRemoved:
    case Cause::kFusionLost:
    case Cause::kFusionGained: return AboutRun("launch", run, "the cost of the launches");
    case Cause::kContention: return AboutRun("overlap", run, "what ran at the same time");
    default: return {};
  }
}

}  // namespace

std::vector<NextStep> NextSteps(const CompareFacts& c, const std::string& a, const std::string& b) {
  std::vector<NextStep> out;
  if (c.verdict.verdict == VerdictClass::kUndecided && c.verdict.more_runs_needed) {
    const int64_t more = *c.verdict.more_runs_needed;
    out.push_back(
        {fmt::format("neurolens compare {} A2 ... -- {} B2 ...", a, b),
         fmt::format("{} more run{} on each side would decide", HumanCount(more), more == 1 ? "" : "s"),
         std::nullopt});
  }
  if (c.options.time != "device" && c.drift && std::fabs(*c.drift - 1) > kLeastDrift && c.busy_a_ms > 0) {
    out.push_back({fmt::format("neurolens compare {} {} --time device", a, b),
                   fmt::format("the host was {:.1f} % {} in unchanged work; device time hardly varies",
                               100 * std::fabs(*c.drift - 1), *c.drift > 1 ? "slower" : "faster"),
                   "compare",
                   {{"a", Json::array({a})}, {"b", Json::array({b})}, {"time", "device"}}});
  }
  for (const CompareContribution& x : c.contributions) {
    if (!x.significant) continue;
    const bool slower = x.delta_ms > 0;
    NextStep step = StepFor(x.cause, slower, slower ? b : a);
    if (step.command.empty()) continue;
    out.push_back(std::move(step));
    break;  // only for the largest
  }
  out.push_back({fmt::format("neurolens compare {} {} --html compare.html", a, b),
                 "both timelines side by side, the flame graph of the difference, and all tables",
                 std::nullopt});
  return out;
}

}  // namespace nl
