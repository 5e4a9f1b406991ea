// SPDX-License-Identifier: Apache-2.0
// Start-up and warm-up as reports give them.
#include <array>

#include "analyze/facts/startup.h"
#include "base/units.h"

namespace nl {

namespace {

struct KindText {
  std::string_view name, label;
};
constexpr std::array<KindText, 21> kKinds = {{{"import", "Python imports"},
                                              {"library_loading", "Library loading (dlopen)"},
                                              {"interpreter", "Python interpreter, start and end"},
                                              {"cuda_context", "CUDA context and devices"},
                                              {"module_loading", "Kernel and module loading"},
                                              {"graph_capture", "CUDA graph capture"},
                                              {"compile", "Compilation (torch.compile, Triton, JIT)"},
                                              {"allocation", "Memory allocation"},
                                              {"copy", "Copies"},
                                              {"launch", "Kernel launches"},
                                              {"device_wait", "Waiting for the device"},
                                              {"call", "Other CUDA calls"},
                                              {"operator", "Operators"},
                                              {"python", "Python functions"},
                                              {"native", "Native functions"},
                                              {"wait", "Waiting"},
                                              {"range", "Labelled ranges"},
                                              {"warmup_kernels", "Kernels that only warm-up runs"},
                                              {"paused", "Recording paused"},
                                              {"unknown", "Nothing recorded"},
                                              {"other", "Other"}}};

std::vector<StartupPart> PartsOf(const std::vector<StartupFacts::Part>& parts, int64_t whole_ns) {
  std::vector<StartupPart> out;
  for (const StartupFacts::Part& part : parts) {
    StartupPart row{part.kind, part.depth, part.name, Ms(part.ns), {}};
    if (whole_ns > 0) row.share = static_cast<double>(part.ns) / static_cast<double>(whole_ns);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

std::span<const std::string_view> NamesOf(StartupKind) {
  static constexpr auto kNames = [] {
    std::array<std::string_view, kKinds.size()> out{};
    for (size_t i = 0; i < out.size(); ++i) out[i] = kKinds[i].name;
    return out;
  }();
  return kNames;
}

std::string_view LabelOf(StartupKind kind) { return kKinds[static_cast<size_t>(kind)].label; }

void Describe(Record<StartupPart>& r) {
  using T = StartupPart;
  r.Name("StartupPart", "A part of start-up or warm-up");
  r.Field("kind", &T::kind, "What the thread did");
  r.Field("depth", &T::depth,
          "0: a kind of activity; 1 and 2: what the row of smaller depth above consists of");
  r.Field("name", &T::name, "Activity, package, function, call or operator; \"others\": the rest");
  r.Field("ms", &T::ms, Unit::kMs, "Time; that of a row includes the rows of larger depth below it");
  r.Field("share", &T::share, Unit::kShare, "Part of the time explained");
}

void Describe(Record<WarmupSection>& r) {
  using T = WarmupSection;
  r.Name("WarmupSection", "Why the warm-up steps took longer than steady ones");
  r.Field("steps", &T::steps, "Warm-up steps");
  r.Field("ms", &T::ms, Unit::kMs, "Time of the warm-up phase");
  r.Field("extra_ms", &T::extra_ms, Unit::kMs, "Beyond the time of as many steady steps");
  r.Field("reason", &T::reason, "Why it is not explained; null when it is");
  r.Field(
      "parts", &T::parts,
      "What the launching thread did more than in steady steps; depth 0 sums to `extra_ms`, and `other` is "
      "negative where it did less");
}

void Describe(Record<StartupSection>& r) {
  using T = StartupSection;
  r.Name("StartupSection", "Where the time before the steady steps went");
  r.Field("explains", &T::explains, "startup, or whole for a run without steps");
  r.Field("reason", &T::reason, "Why it is not explained; null when it is");
  r.Field("ms", &T::ms, Unit::kMs, "Time explained, from the start of the program; null when it is not");
  r.Field("before_ms", &T::before_ms, Unit::kMs,
          "The part of it before the first recorded event, which is not in the wall time of the run");
  r.Field("share", &T::share, Unit::kShare, "Part of `run_ms`");
  r.Field("imports_ms", &T::imports_ms, Unit::kMs, "Time in Python imports; null when not known");
  r.Field("imports_reason", &T::imports_reason, "Why imports are not known; null when they are");
  r.Field("run_ms", &T::run_ms, Unit::kMs, "From the start of the program, where known, to the last event");
  r.Field("parts", &T::parts,
          "What the launching thread did, as a tree in order of a walk; depth 0 sums to `ms`");
  r.Field("warmup", &T::warmup, "Why the warm-up steps took longer than steady ones");
}

StartupSection SectionOf(const StartupFacts& facts) {
  StartupSection out;
  out.explains = facts.explains;
  out.reason = KnownText(facts.reason);
  out.imports_reason = KnownText(facts.imports_reason);
  out.run_ms = Ms(facts.run_ns);
  const int64_t whole_ns = facts.end_ns - facts.start_ns;
  if (facts.reason.empty()) {
    out.ms = Ms(whole_ns);
    out.before_ms = Ms(facts.before_ns);
    if (facts.run_ns > 0) out.share = static_cast<double>(whole_ns) / static_cast<double>(facts.run_ns);
    out.parts = PartsOf(facts.parts, whole_ns);
    if (facts.imports_reason.empty()) out.imports_ms = 0;
    for (const StartupPart& part : out.parts) {
      if (part.depth == 0 && part.kind == StartupKind::kImport) out.imports_ms = part.ms;
    }
  }
  out.warmup = {facts.warmup_steps, Ms(facts.warmup_ns), Ms(facts.warmup_extra_ns),
                KnownText(facts.warmup_reason), PartsOf(facts.warmup_parts, facts.warmup_extra_ns)};
  return out;
}

}  // namespace nl
