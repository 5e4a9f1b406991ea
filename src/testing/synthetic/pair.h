// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: two recordings that differ by a known cause, and how the comparison of them
// does. The true size of a cause is the wall of the simulation with it minus that without
// it, under the very same noise: in the conditions of run A and in those of run B (a slower
// host makes added host work dearer; both are right, and what lies between).
// Thread rule: one thread. Ownership: plain values.

#include "testing/synthetic/run_plants.h"

namespace nl::synthetic {

struct PairCase {
  std::string name;
  Scenario base;
  std::vector<Plant> plants;  // one, or several at once
  bool undo = false;          // A has the plants, B does not
};

struct Truth {
  Plant plant;
  double low_ms = 0, high_ms = 0;  // of the difference that it makes
};

struct Told {  // what became of one planted cause
  bool first = false, placed = false;
  int rank = -1;        // of the right cause; -1: not given
  int pieces = 0;       // contributions that it was reported in
  double delta_ms = 0;  // that it was given
  double off_ms = 0;    // beyond the truth
  double truth_ms = 0;  // the end of the truth that is nearer
  bool Within(double share, double least_ms) const {
    return rank >= 0 && off_ms <= std::max(share * std::abs(truth_ms), least_ms);
  }
};

struct PairResult {
  const PairCase* pair = nullptr;
  Comparison comparison;
  std::vector<Told> told;  // by plant
  std::string error;
};

Scenario With(const Scenario& base, const std::vector<Plant>& plants, size_t except = SIZE_MAX);

double WallMs(const Scenario& scenario, const NoiseLevel& noise);

std::vector<Truth> TruthOf(const PairCase& pair, const NoiseLevel& noise_a, const NoiseLevel& noise_b);

bool Names(const Contribution& c, const Plant& plant, bool undo);

// Stage, module and operator, each where it was recorded and is somewhere in particular.
bool Placed(const Contribution& c, const Plant& plant, const Scenario& scenario);

// A cause may be reported in pieces (the kernels of two stages are two): they count together when each has
// the right place.
Told Judge(const Comparison& c, const Truth& truth, const PairCase& pair);

PairResult RunPair(const PairCase& pair, const NoiseLevel& noise_a, const NoiseLevel& noise_b);

}  // namespace nl::synthetic
