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

NoiseLevel NoNoise();
// Drift of -20 to +25 % of the host and 0.3 % of the device, drawn from the seed.
NoiseLevel RunNoise(uint64_t seed);

class Noise {
 public:
  explicit Noise(const NoiseLevel& level) : level_(level) {}

  int64_t HostNs(uint64_t key, uint32_t block, double us);
  double DeviceNs(uint64_t key, double us) const;

 private:
  static int64_t Ns(double us) { return std::max<int64_t>(1, std::llround(us * 1e3)); }
  double Slow(uint32_t block);

  NoiseLevel level_;
  std::vector<double> slow_;  // by block
};

}  // namespace nl::synthetic
