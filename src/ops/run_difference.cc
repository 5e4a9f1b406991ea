// SPDX-License-Identifier: Apache-2.0
#include "ops/run_difference.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "analyze/compare/compare.h"
#include "analyze/facts/samples.h"
#include "base/human.h"
#include "base/plural.h"
#include "model/sampled_frame.h"
#include "ops/open_analysis.h"

namespace nl {

namespace {

constexpr size_t kMostCauses = 5;
constexpr double kLeastShare = 0.05;   // of the difference: smaller causes explain nothing
constexpr double kSamplingErrors = 2;  // standard errors that a difference must exceed
constexpr double kFewSamples = 20;     // on the slower side: too few to divide its time

std::string PartName(const SampledPart& part) {
  // Without the line: an edit above a function must not make it another one.
  return part.place.empty() ? part.name : fmt::format("{} ({})", part.name, part.place);
}

// The self time of Python functions includes the native code that they call: one of the two, never both.
std::vector<SampledPart> PartsOf(const SamplesFacts& facts, bool python) {
  std::map<std::pair<std::string, std::string>, SampledPart> parts;
  double listed_ms = 0;
  for (const SampledFunction& function : facts.functions) {
    if ((function.language == FrameLanguage::kPython) != python || !function.self_ms ||
        *function.self_ms <= 0)
      continue;
    SampledPart& part = parts[{function.name, function.file.value_or("")}];
    part.name = function.name;
    part.place = function.file.value_or("");
    part.ms += *function.self_ms;
    part.samples += static_cast<double>(function.samples);
    listed_ms += *function.self_ms;
  }
  const double rest_ms = facts.running_ms.value_or(0) - listed_ms;
  if (rest_ms > 0) {
    const std::string name = python ? "code outside Python functions" : "functions that are not listed";
    parts[{name, ""}] = {name, "", false, rest_ms, rest_ms};
  }
  if (facts.time) {
    for (const SampledWait& wait : facts.time->waits) {
      const std::string name = fmt::format("waiting for {}", wait.what);
      SampledPart& part = parts[{name, ""}];
      part.name = name;
      part.waits = true;
      part.for_core = wait.what == kWaitsForCore.wait;
      part.ms += wait.ms;
      part.samples += static_cast<double>(wait.samples);
    }
  }
  std::vector<SampledPart> out;
  for (auto& [key, part] : parts) out.push_back(std::move(part));
  return out;
}

bool HasPython(const SamplesFacts& facts) {
  return std::any_of(facts.functions.begin(), facts.functions.end(), [](const SampledFunction& f) {
    return f.language == FrameLanguage::kPython && f.self_ms.value_or(0) > 0;
  });
}

double TotalMs(const std::vector<SampledPart>& parts) {
  double ms = 0;
  for (const SampledPart& part : parts) ms += part.ms;
  return ms;
}

std::string CauseText(const SampledPart& part, double a_ms, double b_ms) {
  const char* verb = part.waits ? "takes" : "runs";
  if (a_ms <= 0) return fmt::format("{} {} {} in B only", PartName(part), verb, HumanMs(b_ms));
  if (b_ms <= 0) return fmt::format("{}, {}, is gone", PartName(part), HumanMs(a_ms));
  return fmt::format("{} {} {} instead of {}", PartName(part), verb, HumanMs(b_ms), HumanMs(a_ms));
}

Status FromSamples(Analysis& a, Analysis& b, std::optional<bool> measured_faster, ProveWhy& why) {
  NL_ASSIGN(const SamplesFacts* facts_a, a.Need<SamplesFacts>());
  NL_ASSIGN(const SamplesFacts* facts_b, b.Need<SamplesFacts>());
  const bool faster = measured_faster.value_or(facts_a->samples > facts_b->samples);
  const SamplesFacts& slower_side = faster ? *facts_a : *facts_b;
  if (static_cast<double>(slower_side.samples) < kFewSamples) {
    why.reason = fmt::format("only {} of {}: the command is too short, or sampling is not permitted",
                             Counted(slower_side.samples, "CPU sample"), faster ? "A" : "B");
    return {};
  }
  const bool python = HasPython(*facts_a) || HasPython(*facts_b);
  std::vector<SampledPart> parts_a = PartsOf(*facts_a, python);
  std::vector<SampledPart> parts_b = PartsOf(*facts_b, python);
  LeaveOutWaitsOfWork(parts_a, parts_b);
  why.basis = "cpu samples";
  why.recorded_a_ms = TotalMs(parts_a);
  why.recorded_b_ms = TotalMs(parts_b);
  if (measured_faster && (*why.recorded_a_ms > *why.recorded_b_ms) != faster) {
    why.reason = fmt::format("the recordings do not show the difference (A {}, B {})",
                             HumanMs(*why.recorded_a_ms), HumanMs(*why.recorded_b_ms));
    return {};
  }
  why.causes = SampledCauses(parts_a, parts_b, kMostCauses);
  if (why.causes.empty()) why.reason = "no function or wait differs by more than the error of sampling";
  return {};
}

double RunningMs(const std::vector<SampledPart>& parts) {
  double ms = 0;
  for (const SampledPart& part : parts) ms += part.waits ? 0 : part.ms;
  return ms;
}

using PartPairs = std::vector<std::pair<SampledPart, SampledPart>>;

// By name and place; what is left by its name alone, where that is clear: the changed program may be another
// file.
PartPairs MatchParts(const std::vector<SampledPart>& a, std::vector<SampledPart> b) {
  PartPairs out;
  for (const SampledPart& part : a) out.emplace_back(part, SampledPart{});
  const auto match = [&](const auto& same) {
    for (auto& [in_a, in_b] : out) {
      if (!in_b.name.empty()) continue;
      const auto is_same = [&, &wanted = in_a](const SampledPart& part) { return same(wanted, part); };
      const auto also = [&, &wanted = in_a](const auto& pair) {
        return pair.second.name.empty() && same(pair.first, wanted);
      };
      if (std::count_if(b.begin(), b.end(), is_same) != 1 || std::count_if(out.begin(), out.end(), also) != 1)
        continue;
      const auto found = std::find_if(b.begin(), b.end(), is_same);
      in_b = *found;
      b.erase(found);
    }
  };
  match([](const SampledPart& x, const SampledPart& y) { return x.name == y.name && x.place == y.place; });
  match([](const SampledPart& x, const SampledPart& y) { return x.name == y.name; });
  for (const SampledPart& part : b) out.emplace_back(SampledPart{}, part);
  return out;
}

}  // namespace

void LeaveOutWaitsOfWork(std::vector<SampledPart>& a, std::vector<SampledPart>& b) {
  const double runs_a = RunningMs(a), runs_b = RunningMs(b), common = std::min(runs_a, runs_b);
  if (common <= 0) return;
  const auto keep = [](double share, std::vector<SampledPart>& parts) {
    for (SampledPart& part : parts) {
      if (!part.for_core) continue;
      part.ms *= share;
      part.samples *= share;
    }
  };
  keep(common / runs_a, a);
  keep(common / runs_b, b);
}

std::vector<ProveCause> SampledCauses(const std::vector<SampledPart>& a, const std::vector<SampledPart>& b,
                                      size_t most) {
  const double delta_ms = TotalMs(b) - TotalMs(a);
  std::vector<ProveCause> out, for_core;
  if (delta_ms == 0) return out;
  for (const auto& [in_a, in_b] : MatchParts(a, b)) {
    const double difference = in_b.ms - in_a.ms;
    const double share = difference / delta_ms;
    // The number of samples of a function varies with its root.
    const double samples = in_a.samples + in_b.samples;
    const double per_sample_ms = samples > 0 ? (in_a.ms + in_b.ms) / samples : 0;
    if (share < kLeastShare || std::fabs(difference) < kSamplingErrors * std::sqrt(samples) * per_sample_ms)
      continue;
    auto& list = in_a.for_core || in_b.for_core ? for_core : out;
    list.push_back({CauseText(in_a.name.empty() ? in_b : in_a, in_a.ms, in_b.ms), in_a.ms, in_b.ms, share});
  }
  std::sort(out.begin(), out.end(),
            [](const ProveCause& x, const ProveCause& y) { return x.share > y.share; });
  // Who waits for a core waits for other programs, or for its own threads: last, unless no work differs.
  out.insert(out.end(), for_core.begin(), for_core.end());
  if (out.size() > most) out.resize(most);
  return out;
}

namespace {

// Programs that have too little in common to align call by call: what each kernel takes in each of them is
// known nevertheless.
void AddKernels(const CompareFacts& facts, ProveWhy& why) {
  std::vector<CompareTableRow> rows = facts.by_kernel;
  const auto share_of = [&](const CompareTableRow& row) { return (row.b_ms - row.a_ms) / facts.delta_ms; };
  std::stable_sort(rows.begin(), rows.end(), [&](const CompareTableRow& x, const CompareTableRow& y) {
    return share_of(x) > share_of(y);
  });
  for (const CompareTableRow& row : rows) {
    if (share_of(row) < kLeastShare || why.causes.size() == kMostCauses) break;
    const std::string text =
        row.count_b == 0
            ? fmt::format("{}, {} in {}, is gone", row.name, HumanMs(row.a_ms), Counted(row.count_a, "call"))
        : row.count_a == 0
            ? fmt::format("{} takes {} in {} in B only", row.name, HumanMs(row.b_ms),
                          Counted(row.count_b, "call"))
            : fmt::format("{} takes {} instead of {} ({} instead of {})", row.name, HumanMs(row.b_ms),
                          HumanMs(row.a_ms), Counted(row.count_b, "call"), HumanCount(row.count_a));
    why.causes.push_back({text, row.a_ms, row.b_ms, share_of(row)});
  }
}

}  // namespace

void ExplainDeviceWork(const CompareFacts& facts, bool by_kernel, ProveWhy& why) {
  why.basis = "device work";
  why.recorded_a_ms = facts.wall_a_ms;
  why.recorded_b_ms = facts.wall_b_ms;
  if (facts.delta_ms == 0) {
    why.reason = "the recordings take the same time";
    return;
  }
  for (const CompareContribution& change : facts.contributions) {
    const double share = change.delta_ms / facts.delta_ms;
    if (share < kLeastShare || !change.significant || why.causes.size() == kMostCauses) continue;
    why.causes.push_back({change.text, change.a_ms, change.b_ms, share});
  }
  if (why.causes.empty() && by_kernel) AddKernels(facts, why);
  if (why.causes.empty()) why.reason = "no single change of the program stands out";
}

Status ExplainRuns(OpContext& context, const std::string& run_a, const std::string& run_b,
                   std::optional<bool> faster, ProveWhy& why) {
  AnalysisParams params;
  params.run = run_a;
  NL_ASSIGN(const OpenAnalysis a, Analyze(context, params));
  params.run = run_b;
  NL_ASSIGN(const OpenAnalysis b, Analyze(context, params));
  NL_ASSIGN(const Comparison comparison, CompareRuns(*a.analysis, *b.analysis, {}));
  if (comparison.busy_a_ms + comparison.busy_b_ms > 0) {
    ExplainDeviceWork(CompareFactsOf(comparison), comparison.other_program, why);
    // Both are known to do the same work here, so that programs which share few calls can be explained too.
    if (!comparison.no_verdict_reason.empty() && !comparison.other_program) {
      why.causes.clear();
      why.reason = comparison.no_verdict_reason;
    }
    return {};
  }
  return FromSamples(*a.analysis, *b.analysis, faster, why);
}

}  // namespace nl
