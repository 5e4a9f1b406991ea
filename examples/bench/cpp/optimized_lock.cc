// SPDX-License-Identifier: Apache-2.0
// Two threads add to sums of their own and take the lock once.
#include <neurolens/bench.h>

#include <mutex>
#include <thread>

class Lock final : public neurolens::Benchmark {
 public:
  void Setup(std::mt19937_64& random) override {
    values_.resize(kCount);
    for (int64_t& v : values_) v = static_cast<int64_t>(random() % 1000);
  }
  void Run() override {
    sum_ = 0;
    std::thread other([this] { Add(0, kCount / 2); });
    Add(kCount / 2, kCount);
    other.join();
  }
  std::vector<double> Output() override { return {static_cast<double>(sum_)}; }
  std::string OutputType() override { return "int64"; }
  std::vector<neurolens::Input> Inputs() override { return {neurolens::Input::Of(values_)}; }
  std::map<std::string, std::string> Signature() override {
    return {{"values", std::to_string(kCount)}, {"threads", "2"}};
  }

 private:
  void Add(size_t from, size_t to) {
    int64_t mine = 0;
    for (size_t i = from; i < to; ++i) {
      mine += values_[i];
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    sum_ += mine;
  }

  static constexpr size_t kCount = 100'000;
  std::vector<int64_t> values_;
  std::mutex mutex_;
  int64_t sum_ = 0;
};

NEUROLENS_BENCHMARK(Lock)
