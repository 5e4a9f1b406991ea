// SPDX-License-Identifier: Apache-2.0
#include "model/labels/step_label.h"

#include <charconv>

namespace nl {

bool IsStepLabel(std::string_view name) {
  return name.starts_with("ProfilerStep#") || name == "LLM@decode_step";
}

int64_t StepNumber(std::string_view name, int64_t otherwise) {
  const size_t hash = name.find('#');
  if (hash == std::string_view::npos) return otherwise;
  int64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [at, code] = std::from_chars(name.data() + hash + 1, end, number);
  return code == std::errc() && at == end ? number : otherwise;
}

}  // namespace nl
