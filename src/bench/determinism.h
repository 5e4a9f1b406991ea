// SPDX-License-Identifier: Apache-2.0
#pragma once
// Static audit: switches of seeds and determinism inside the timed function of a benchmark, which make the
// two sides of a pair different programs. A line with a comment "allow_determinism: REASON" is left out.
// Thread rule: pure function.

#include <string>
#include <string_view>
#include <vector>

namespace nl::bench {

struct Toggle {
  int64_t line = 0;  // of the file, from 1
  std::string name;  // "manual_seed"
};

// In benchmark_fn() of a Python file, in Run() of a C++ one.
std::vector<Toggle> FindToggles(std::string_view text, bool is_python);

}  // namespace nl::bench
