// SPDX-License-Identifier: Apache-2.0
// A benchmark that does nothing: what is left is the harness.
#include <neurolens/bench.h>

class Empty final : public neurolens::Benchmark {
 public:
  void Setup(std::mt19937_64&) override {}
  void Run() override {}
  std::vector<double> Output() override { return {0}; }
  std::vector<neurolens::Input> Inputs() override { return {}; }
  std::map<std::string, std::string> Signature() override { return {{"n", "0"}}; }
};

NEUROLENS_BENCHMARK(Empty)
