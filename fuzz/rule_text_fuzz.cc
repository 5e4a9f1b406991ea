// SPDX-License-Identifier: Apache-2.0
// The texts of rule files: any expression is parsed or refused with a column inside of it,
// evaluates without a crash, and gives a finite number or null; any template renders.

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "analyze/rules/rule.h"

namespace {

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  nl::TextProblem problem{0, ""};
  if (const auto parsed = nl::Expression::Parse(text, problem)) {
    for (const double value : {0.0, 1.0, -2.5, 1e300}) {
      const auto result = parsed->Evaluate([&](const std::string& name) {
        return name.size() % 3 == 0 ? std::nullopt : std::optional(value);
      });
      Require(!result || std::isfinite(*result), "a value that is not finite");
    }
  } else {
    Require(problem.column >= 1 && problem.column <= text.size() + 1, "column outside of the text");
    Require(!problem.message.empty(), "no message");
  }
  if (const auto parsed = nl::TextTemplate::Parse(text, problem)) {
    const nl::RuleNames names{[](const std::string&) { return std::optional(1e18); },
                              [](const std::string&) { return std::optional<std::string>(); }};
    parsed->Render(names);
  }
  return 0;
}
