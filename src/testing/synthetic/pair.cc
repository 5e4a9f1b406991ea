// SPDX-License-Identifier: Apache-2.0
#include "testing/synthetic/pair.h"

namespace nl::synthetic {

Scenario With(const Scenario& base, const std::vector<Plant>& plants, size_t except) {
  Scenario out = base;
  for (size_t i = 0; i < plants.size(); ++i) {
    if (i != except) plants[i].apply(out);
  }
  return out;
}

double WallMs(const Scenario& scenario, const NoiseLevel& noise) {
  const Program program = MakeProgram(scenario);
  return static_cast<double>(Simulate(program, noise, nullptr).wall_ns) / 1e6;
}

std::vector<Truth> TruthOf(const PairCase& pair, const NoiseLevel& noise_a, const NoiseLevel& noise_b) {
  std::vector<Truth> out;
  const Scenario all = With(pair.base, pair.plants);
  const double with_a = WallMs(all, noise_a), with_b = WallMs(all, noise_b), sign = pair.undo ? -1 : 1;
  for (size_t i = 0; i < pair.plants.size(); ++i) {
    const Scenario others = With(pair.base, pair.plants, i);
    const double in_a = sign * (with_a - WallMs(others, noise_a)),
                 in_b = sign * (with_b - WallMs(others, noise_b));
    out.push_back({pair.plants[i], std::min(in_a, in_b), std::max(in_a, in_b)});
  }
  return out;
}

bool Names(const Contribution& c, const Plant& plant, bool undo) {
  if (c.cause == (undo ? plant.undone : plant.cause)) return true;
  return std::find(plant.also.begin(), plant.also.end(), c.cause) != plant.also.end();
}

bool Placed(const Contribution& c, const Plant& plant, const Scenario& scenario) {
  const std::string stage = StageLabel(scenario, plant.stage);
  if (!stage.empty() && c.stage.find(stage) == std::string::npos) return false;
  if (scenario.recording.modules && !plant.module.empty() && c.module.find(plant.module) == std::string::npos)
    return false;
  if (!scenario.recording.ops || plant.op.empty()) return true;
  for (const Contribution::Part& part : c.parts) {
    if (part.op == plant.op) return true;
  }
  return false;
}

Told Judge(const Comparison& c, const Truth& truth, const PairCase& pair) {
  Told out;
  for (size_t i = 0; i < c.contributions.size(); ++i) {
    const Contribution& x = c.contributions[i];
    if (!Names(x, truth.plant, pair.undo)) continue;
    const bool placed = Placed(x, truth.plant, pair.base);
    if (out.rank >= 0 && !placed) continue;
    if (out.rank < 0 || !out.placed) {
      out.rank = static_cast<int>(i);
      out.placed = placed;
      out.delta_ms = 0;
      out.pieces = 0;
    }
    out.delta_ms += x.delta_ms();
    ++out.pieces;
  }
  out.first = out.rank == 0;
  out.truth_ms = std::clamp(out.delta_ms, truth.low_ms, truth.high_ms);
  out.off_ms = std::abs(out.delta_ms - out.truth_ms);
  return out;
}

PairResult RunPair(const PairCase& pair, const NoiseLevel& noise_a, const NoiseLevel& noise_b) {
  PairResult out;
  out.pair = &pair;
  const Scenario planted = With(pair.base, pair.plants);
  const Program a = MakeProgram(pair.undo ? planted : pair.base),
                b = MakeProgram(pair.undo ? pair.base : planted);
  testing_analyze::RunBuilder builder_a, builder_b;
  Simulate(a, noise_a, &builder_a);
  Simulate(b, noise_b, &builder_b);
  Analysis run_a = builder_a.Finish(), run_b = builder_b.Finish();
  Result<Comparison> comparison = CompareRuns(run_a, run_b, {});
  if (!comparison.ok()) {
    out.error = comparison.error().ToString();
    out.told.resize(pair.plants.size());
    return out;
  }
  out.comparison = std::move(*comparison);
  for (const Truth& truth : TruthOf(pair, noise_a, noise_b))
    out.told.push_back(Judge(out.comparison, truth, pair));
  return out;
}

}  // namespace nl::synthetic
