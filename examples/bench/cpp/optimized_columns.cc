// SPDX-License-Identifier: Apache-2.0
// The same sums row by row: accesses are contiguous.
#include <neurolens/bench.h>

class Columns final : public neurolens::Benchmark {
 public:
  void Setup(std::mt19937_64& random) override {
    std::uniform_real_distribution<double> value(0, 1);
    matrix_.resize(kSide * kSide);
    for (double& v : matrix_) v = value(random);
  }
  void Run() override {
    sums_.assign(kSide, 0);
    for (size_t r = 0; r < kSide; ++r) {
      for (size_t c = 0; c < kSide; ++c) sums_[c] += matrix_[r * kSide + c];
    }
  }
  std::vector<double> Output() override { return sums_; }
  std::pair<const void*, size_t> OutputMemory() override {
    return {sums_.data(), sums_.size() * sizeof(double)};
  }
  std::vector<neurolens::Input> Inputs() override { return {neurolens::Input::Of(matrix_)}; }
  std::map<std::string, std::string> Signature() override {
    return {{"side", std::to_string(kSide)}, {"dtype", "float64"}};
  }

 private:
  static constexpr size_t kSide = 1024;
  std::vector<double> matrix_, sums_;
};

NEUROLENS_BENCHMARK(Columns)
