// SPDX-License-Identifier: Apache-2.0
// Counts per value below a limit with a branch that random data makes unpredictable.
#include <neurolens/bench.h>

class Branch final : public neurolens::Benchmark {
 public:
  void Setup(std::mt19937_64& random) override {
    values_.resize(kCount);
    for (int32_t& v : values_) v = static_cast<int32_t>(random() % 256);
  }
  void Run() override {
    count_ = 0;
    for (const int32_t v : values_) {
      if (v < 128) {
        count_ += 1;
        asm volatile("" ::: "memory");  // keeps the compiler from making it branchless
      }
    }
  }
  std::vector<double> Output() override { return {static_cast<double>(count_)}; }
  std::string OutputType() override { return "int64"; }
  std::vector<neurolens::Input> Inputs() override { return {neurolens::Input::Of(values_)}; }
  std::map<std::string, std::string> Signature() override {
    return {{"values", std::to_string(kCount)}, {"dtype", "int32"}};
  }

 private:
  static constexpr size_t kCount = 500'000;
  std::vector<int32_t> values_;
  int64_t count_ = 0;
};

NEUROLENS_BENCHMARK(Branch)
