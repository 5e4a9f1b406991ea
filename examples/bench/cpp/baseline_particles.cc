// SPDX-License-Identifier: Apache-2.0
// Particles as an array of structs: the sum reads one field of each, and the cache loads all of them.
#include <neurolens/bench.h>

struct Particle {
  double x = 0, y = 0, z = 0, vx = 0, vy = 0, vz = 0, mass = 0, charge = 0;
};

class Particles final : public neurolens::Benchmark {
 public:
  void Setup(std::mt19937_64& random) override {
    std::uniform_real_distribution<double> value(0, 1);
    particles_.resize(kCount);
    for (Particle& p : particles_) p.x = value(random);
  }
  void Run() override {
    sum_ = 0;
    for (const Particle& p : particles_) sum_ += p.x;
  }
  std::vector<double> Output() override { return {sum_}; }
  std::vector<neurolens::Input> Inputs() override {
    return {{particles_.data(), particles_.size() * sizeof(Particle), particles_.size(),
             [](void* data, size_t i, double value) { static_cast<Particle*>(data)[i].x += value; }}};
  }
  std::map<std::string, std::string> Signature() override {
    return {{"particles", std::to_string(kCount)}, {"dtype", "float64"}};
  }

 private:
  static constexpr size_t kCount = 200'000;
  std::vector<Particle> particles_;
  double sum_ = 0;
};

NEUROLENS_BENCHMARK(Particles)
