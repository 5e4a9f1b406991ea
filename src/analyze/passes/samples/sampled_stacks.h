// SPDX-License-Identifier: Apache-2.0
#pragma once
// SampledStacks: the stacks of a run taken apart, each once: its functions, the one that runs, and for a
// thread that waits, what it waits for and from where.
// Thread rule: one thread. Ownership: refers to the run's strings.

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/facts/samples.h"
#include "model/string_pool.h"

namespace nl::passes::samples {

inline constexpr uint32_t kNoFunction = 0xffffffffu;

struct SampledStack {
  std::vector<std::pair<uint32_t, int64_t>> functions;  // each once, with its innermost line or -1
  uint32_t leaf = kNoFunction;                          // innermost function, when it is not Python's
  uint32_t python_leaf = kNoFunction;                   // innermost Python function
  FrameLanguage runs_in = FrameLanguage::kNative;       // code of the interpreter counts as Python
  bool waits = false;
  std::string what, where;  // of a wait
};

class SampledStacks {
 public:
  struct Function {
    std::string name, place;
    FrameLanguage language;
  };
  explicit SampledStacks(const StringPool& strings) : strings_(strings) {}

  const SampledStack& Of(StringId stack);
  const std::vector<Function>& functions() const { return functions_; }

 private:
  SampledStack Parse(std::string_view text);
  uint32_t FunctionOf(const SampledFrame& frame);

  const StringPool& strings_;
  std::unordered_map<uint32_t, SampledStack> stacks_;
  std::vector<Function> functions_;
  std::unordered_map<std::string, uint32_t> function_of_;
};

}  // namespace nl::passes::samples
