// SPDX-License-Identifier: Apache-2.0
#include "testing/synthetic/noise.h"

namespace nl::synthetic {

NoiseLevel NoNoise() { return {}; }

NoiseLevel RunNoise(uint64_t seed) {
  NoiseLevel out;
  out.seed = seed;
  out.on = true;
  SeededRandom random(compare::HashPair(seed, 0xd51f7));
  out.host_drift = 0.8 + 0.45 * random.Unit();
  out.device_drift = std::exp(0.003 * random.Normal());
  return out;
}

int64_t Noise::HostNs(uint64_t key, uint32_t block, double us) {
  if (!level_.on) return Ns(us * level_.host_drift);
  SeededRandom random(compare::HashPair(level_.seed, key));
  const double own = level_.host_sigma * random.Normal();
  double out = us * level_.host_drift * std::exp(own + Slow(block));
  if (random.Unit() < level_.stall_rate) out += level_.stall_us * random.Exponential();
  return Ns(out);
}

double Noise::DeviceNs(uint64_t key, double us) const {
  if (!level_.on) return 1e3 * us * level_.device_drift;
  SeededRandom random(compare::HashPair(level_.seed ^ 0xdef1ce, key));
  const double out = us * level_.device_drift * std::exp(level_.device_sigma * random.Normal()) +
                     level_.device_jitter_us * random.Normal();
  return 1e3 * std::max(out, 0.3 * us);
}

double Noise::Slow(uint32_t block) {
  while (slow_.size() <= block) {
    SeededRandom random(compare::HashPair(level_.seed ^ 0x510e, slow_.size()));
    const double keeps = slow_.empty() ? 0 : level_.slow_keeps;
    const double before = slow_.empty() ? 0 : slow_.back();
    slow_.push_back(keeps * before + std::sqrt(1 - keeps * keeps) * level_.slow_sigma * random.Normal());
  }
  return slow_[block];
}

}  // namespace nl::synthetic
