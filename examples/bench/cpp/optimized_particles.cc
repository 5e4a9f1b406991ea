// SPDX-License-Identifier: Apache-2.0
// Particles as a struct of arrays: what the sum reads is contiguous.
#include <neurolens/bench.h>

class Particles final : public neurolens::Benchmark {
 public:
  void Setup(std::mt19937_64& random) override {
    std::uniform_real_distribution<double> value(0, 1);
    x_.resize(kCount);
    for (double& x : x_) x = value(random);
  }
  void Run() override {
    sum_ = 0;
    for (const double x : x_) sum_ += x;
  }
  std::vector<double> Output() override { return {sum_}; }
  std::vector<neurolens::Input> Inputs() override { return {neurolens::Input::Of(x_)}; }
  std::map<std::string, std::string> Signature() override {
    return {{"particles", std::to_string(kCount)}, {"dtype", "float64"}};
  }

 private:
  static constexpr size_t kCount = 200'000;
  std::vector<double> x_;
  double sum_ = 0;
};

NEUROLENS_BENCHMARK(Particles)
