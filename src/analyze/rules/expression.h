// SPDX-License-Identifier: Apache-2.0
#pragma once
// Expression: the small language of rule files. Names with dots, numbers, null, true,
// false, + - * /, comparisons, and/or/not, min(), max(), parentheses. It is parsed,
// never handed to an interpreter, and evaluated on a stack: no input makes it recurse
// deeper than kMaxDepth.
// Null is a value: arithmetic and comparison with null are null, so is a division by
// zero and a result that is not finite; `null and false` is false, `null or true` true.
// Thread rule: read-only once parsed. Ownership: plain value.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl {

// What went wrong in an expression or a template, and where: 1-based column in its text.
struct TextProblem {
  size_t column = 1;
  std::string message;
};

class Expression {
 public:
  static constexpr size_t kMaxBytes = 10'000;
  static constexpr int kMaxDepth = 100;

  struct Name {
    std::string text;
    size_t column;  // of its first use
  };
  // Value of a name; nullopt: null.
  using Lookup = std::function<std::optional<double>(const std::string& name)>;

  // Nullopt when the text is not an expression; `problem` has the reason.
  static std::optional<Expression> Parse(std::string_view text, TextProblem& problem);
  static Expression Number(double value);
  // True if all of `parts` are true, or any of them. Without parts: true for all, false for any.
  static Expression Join(const std::vector<Expression>& parts, bool all);

  std::optional<double> Evaluate(const Lookup& lookup) const;
  const std::vector<Name>& names() const { return names_; }  // each once, in order
  const std::string& text() const { return text_; }

 private:
  friend class ExpressionParser;
  enum class Code : uint8_t {
    kNumber,
    kName,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kNegate,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kEqual,
    kNotEqual,
    kAnd,
    kOr,
    kNot,
    kMin,
    kMax,
  };
  struct Step {  // in postfix order
    Code code;
    uint32_t index = 0;  // name, or how many arguments
    double number = 0;
  };
  static double Apply(Code code, double a, double b);
  uint32_t NameIndex(std::string_view name, size_t column);

  std::string text_;
  std::vector<Step> steps_;
  std::vector<Name> names_;
};

}  // namespace nl
