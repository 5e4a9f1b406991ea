// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: how measured times wander. Modelled on two recordings of one eager program
// (Llama shaped, H200, torch 2.11): time between launches has a lognormal part of its own
// for each call (0.15), one that neighbours share (0.18; correlation 0.4 over 20 launches,
// 0.15 over 100), about one stall of half a millisecond in a thousand calls, and the whole
// run is faster or slower; kernels differ by 1 %, short ones by the clock's resolution.
// A number belongs to a call of the program, not to its place in a sequence.
// Thread rule: one thread. Ownership: plain values.

#include <cmath>
#include <vector>

#include "analyze/compare/sequence/call_sequence.h"
#include "analyze/statistics/seeded_random.h"

namespace nl::synthetic {

struct NoiseLevel {
  uint64_t seed = 0;
  bool on = false;
  double host_drift = 1;    // of the whole run
  double device_drift = 1;  // of the whole run
  double host_sigma = 0.15, slow_sigma = 0.18, slow_keeps = 0.6;
  double stall_rate = 0.001, stall_us = 500;
  double device_sigma = 0.01, device_jitter_us = 0.04;
};

inline NoiseLevel NoNoise() { return {}; }
// Drift of -20 to +25 % of the host and 0.3 % of the device, drawn from the seed.
inline NoiseLevel RunNoise(uint64_t seed) {
  NoiseLevel out;
  out.seed = seed;
  out.on = true;
  SeededRandom random(compare::HashPair(seed, 0xd51f7));
  out.host_drift = 0.8 + 0.45 * random.Unit();
  out.device_drift = std::exp(0.003 * random.Normal());
  return out;
}

class Noise {
 public:
  explicit Noise(const NoiseLevel& level) : level_(level) {}

  int64_t HostNs(uint64_t key, uint32_t block, double us) {
    if (!level_.on) return Ns(us * level_.host_drift);
    SeededRandom random(compare::HashPair(level_.seed, key));
    const double own = level_.host_sigma * random.Normal();
    double out = us * level_.host_drift * std::exp(own + Slow(block));
    if (random.Unit() < level_.stall_rate) out += level_.stall_us * random.Exponential();
    return Ns(out);
  }
  double DeviceNs(uint64_t key, double us) const {
    if (!level_.on) return 1e3 * us * level_.device_drift;
    SeededRandom random(compare::HashPair(level_.seed ^ 0xdef1ce, key));
    const double out = us * level_.device_drift * std::exp(level_.device_sigma * random.Normal()) +
                       level_.device_jitter_us * random.Normal();
    return 1e3 * std::max(out, 0.3 * us);
  }

 private:
  static int64_t Ns(double us) { return std::max<int64_t>(1, std::llround(us * 1e3)); }
  double Slow(uint32_t block) {
    while (slow_.size() <= block) {
      SeededRandom random(compare::HashPair(level_.seed ^ 0x510e, slow_.size()));
      const double keeps = slow_.empty() ? 0 : level_.slow_keeps;
      const double before = slow_.empty() ? 0 : slow_.back();
      slow_.push_back(keeps * before + std::sqrt(1 - keeps * keeps) * level_.slow_sigma * random.Normal());
    }
    return slow_[block];
  }

  NoiseLevel level_;
  std::vector<double> slow_;  // by block
};

}  // namespace nl::synthetic
