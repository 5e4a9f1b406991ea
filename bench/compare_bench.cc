// SPDX-License-Identifier: Apache-2.0
// compare_bench STORE A B: how long aligning and attributing two stored runs takes once their columns are
// loaded, what it adds to the memory of the columns, and how it ranks what changed.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "analyze/compare/compare.h"
#include "ops/open_analysis.h"
#include "ops/settings.h"
#include "report/compare/explain.h"

namespace {

double SecondsSince(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

double MemoryMb(const char* what) {
  double mb = 0;
  if (std::FILE* file = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file)) {
      if (std::strncmp(line, what, std::strlen(what)) == 0)
        mb = std::atof(line + std::strlen(what) + 1) / 1e3;
    }
    std::fclose(file);
  }
  return mb;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: compare_bench STORE A B\n");
    return 2;
  }
  nl::SettingsInput input;
  input.flags = {{"store", argv[1]}};
  const auto settings = nl::Settings::Load(input);
  if (!settings.ok()) return 2;
  nl::OpContext context;
  context.settings = &*settings;
  nl::AnalysisParams of_a, of_b;
  of_a.run = argv[2], of_b.run = argv[3];
  const auto load = std::chrono::steady_clock::now();
  auto a = nl::Analyze(context, of_a);
  auto b = nl::Analyze(context, of_b);
  if (!a.ok() || !b.ok()) {
    fmt::print(stderr, "compare_bench: {}\n", (a.ok() ? b : a).error().ToString());
    return 3;
  }
  const double load_s = SecondsSince(load), loaded_mb = MemoryMb("VmRSS:");
  const auto began = std::chrono::steady_clock::now();
  const auto result = nl::CompareRuns(*a->analysis, *b->analysis, {});
  const double compare_s = SecondsSince(began);
  if (!result.ok()) {
    fmt::print(stderr, "compare_bench: {}\n", result.error().ToString());
    return 3;
  }
  fmt::print("load {:.3f} s, compare {:.3f} s; {:.0f} MB loaded, {:.0f} MB at most\n", load_s, compare_s,
             loaded_mb, MemoryMb("VmHWM:"));
  fmt::print("{}: {}\n", nl::VerdictName(result->verdict.verdict), nl::VerdictText(*result));
  fmt::print("wall {:.3f} -> {:.3f} ms ({:+.3f}), residual {:.6f}, drift {:.3f}, matched {:.3f} {:.3f}\n",
             result->wall_a_ms, result->wall_b_ms, result->delta_ms(), result->residual_ms, result->drift,
             result->matched_share_a, result->matched_share_b);
  for (const nl::Comparability& c : result->comparability) fmt::print("  {}: {} -> {}\n", c.what, c.a, c.b);
  for (const nl::Contribution& c : result->contributions) {
    fmt::print("{:+9.3f} ms {} {} [{}] [{}] [{}] n {}->{} busy {:.3f}->{:.3f}{}\n    {}\n", c.delta_ms(),
               nl::CauseName(c.cause), c.detail, c.stage, c.module, c.op, c.count_a, c.count_b, c.busy_a_ms,
               c.busy_b_ms, c.significant ? "" : " (not significant)", nl::ContributionText(c, *result));
    for (size_t i = 0; i < c.parts.size() && i < (getenv("NOISE") ? 12 : 3) &&
                       (c.cause != nl::Cause::kNoise || getenv("NOISE"));
         ++i) {
      const auto& p = c.parts[i];
      fmt::print("        {:+.3f} {} {} {}->{} {} -> {}\n", p.b_ms - p.a_ms, p.change, p.op, p.count_a,
                 p.count_b, p.kernel_a, p.kernel_b);
    }
  }
  return 0;
}
