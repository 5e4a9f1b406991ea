// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/ascii.h"

namespace nl {

namespace {

constexpr double kNull = std::numeric_limits<double>::quiet_NaN();

bool IsWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsWord(char c) { return IsWordStart(c) || IsDigit(c); }

double And(double a, double b) {
  if (a == 0 || b == 0) return 0;  // false wins over null
  return std::isnan(a) || std::isnan(b) ? kNull : 1;
}
double Or(double a, double b) {
  if ((!std::isnan(a) && a != 0) || (!std::isnan(b) && b != 0)) return 1;
  return std::isnan(a) || std::isnan(b) ? kNull : 0;
}

}  // namespace

// Precedence climbing. Steps are emitted in postfix order, so that a long chain of additions
// needs no depth; only parentheses, calls, `not` and minus signs do.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, Expression& out, TextProblem& problem)
      : text_(text), out_(out), problem_(problem) {}

  bool Run() {
    Next();
    if (kind_ == Kind::kEnd) return Fail("expected an expression");
    if (!Parse(0)) return false;
    return kind_ == Kind::kEnd || Fail(fmt::format("unexpected {}", Shown()));
  }

 private:
  using Code = Expression::Code;
  enum class Kind : uint8_t { kEnd, kNumber, kWord, kSign, kBad };
  struct Infix {
    std::string_view sign;
    int power;
    Code code;
  };
  static constexpr int kCompare = 4, kNot = 3, kNegate = 7;
  static constexpr Infix kInfix[] = {
      {"or", 1, Code::kOr},
      {"and", 2, Code::kAnd},
      {"<", kCompare, Code::kLess},
      {"<=", kCompare, Code::kLessEqual},
      {">", kCompare, Code::kGreater},
      {">=", kCompare, Code::kGreaterEqual},
      {"==", kCompare, Code::kEqual},
      {"!=", kCompare, Code::kNotEqual},
      {"+", 5, Code::kAdd},
      {"-", 5, Code::kSubtract},
      {"*", 6, Code::kMultiply},
      {"/", 6, Code::kDivide},
  };

  bool Fail(std::string message) { return FailAt(token_at_, std::move(message)); }
  bool FailAt(size_t at, std::string message) {
    problem_ = {at + 1, std::move(message)};
    return false;
  }
  std::string Shown() const {
    if (kind_ == Kind::kEnd) return "end of the expression";
    return fmt::format("'{}'", token_.substr(0, 40));
  }

  void Next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
    token_at_ = at_;
    if (at_ >= text_.size()) return Take(Kind::kEnd, 0);
    const char c = text_[at_];
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (IsDigit(c) || (c == '.' && IsDigit(next))) return NextNumber();
    if (IsWordStart(c)) {
      size_t end = at_;
      while (end < text_.size() && (IsWord(text_[end]) || (text_[end] == '.' && end + 1 < text_.size() &&
                                                           IsWordStart(text_[end + 1])))) {
        ++end;
      }
      return Take(Kind::kWord, end - at_);
    }
    if ((c == '<' || c == '>' || c == '=' || c == '!') && next == '=') return Take(Kind::kSign, 2);
    if (std::string_view("<>+-*/(),").find(c) != std::string_view::npos) return Take(Kind::kSign, 1);
    Take(Kind::kBad, 1);
  }
  void Take(Kind kind, size_t length) {
    kind_ = kind;
    token_ = text_.substr(at_, length);
    at_ += length;
  }
  void NextNumber() {
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), number_);
    const auto length = static_cast<size_t>(end - first);
    const bool good = error == std::errc() && std::isfinite(number_);
    const bool runs_on = end != text_.data() + text_.size() && (IsWord(*end) || *end == '.');
    Take(good && !runs_on ? Kind::kNumber : Kind::kBad, std::max<size_t>(length, 1));
  }

  const Infix* InfixHere() const {
    if (kind_ != Kind::kSign && kind_ != Kind::kWord) return nullptr;
    for (const Infix& infix : kInfix) {
      if (infix.sign == token_) return &infix;
    }
    return nullptr;
  }
  void Emit(Code code, uint32_t index = 0, double number = 0) {
    out_.steps_.push_back({code, index, number});
  }

  bool Parse(int power) {
    if (depth_ >= Expression::kMaxDepth) return Fail("nested too deeply");
    ++depth_;
    const bool good = ParseOperand() && ParseInfix(power);
    --depth_;
    return good;
  }

  bool ParseInfix(int power) {
    for (const Infix* infix = InfixHere(); infix != nullptr && infix->power > power; infix = InfixHere()) {
      Next();
      if (!Parse(infix->power)) return false;
      Emit(infix->code);
      const Infix* again = InfixHere();
      if (infix->power == kCompare && again != nullptr && again->power == kCompare)
        return Fail("comparisons do not chain; join two with 'and'");
    }
    return true;
  }

  bool ParseOperand() {
    switch (kind_) {
      case Kind::kNumber:
        Emit(Code::kNumber, 0, number_);
        Next();
        return true;
      case Kind::kWord: return ParseWord();
      case Kind::kSign: return ParseSign();
      case Kind::kBad:
        return Fail(Shown() +
                    (IsDigit(token_[0]) || token_[0] == '.' ? " is not a number" : " is not allowed here"));
      case Kind::kEnd: break;
    }
    return Fail("expected a value, found the end of the expression");
  }

  bool ParseSign() {
    if (token_ == "(") {
      const size_t open = token_at_;
      Next();
      return Parse(0) && Close(open);
    }
    if (token_ == "-") {
      Next();
      if (!Parse(kNegate)) return false;
      Emit(Code::kNegate);
      return true;
    }
    return Fail(fmt::format("expected a value, found {}", Shown()));
  }
  bool Close(size_t open) {
    if (kind_ != Kind::kSign || token_ != ")")
      return Fail(fmt::format("expected ')' for the '(' in column {}, found {}", open + 1, Shown()));
    Next();
    return true;
  }

  bool ParseWord() {
    const std::string_view word = token_;
    const size_t at = token_at_;
    if (word == "and" || word == "or") return Fail(fmt::format("expected a value, found {}", Shown()));
    Next();
    if (word == "not") {
      if (!Parse(kNot - 1)) return false;
      Emit(Code::kNot);
      return true;
    }
    if (kind_ == Kind::kSign && token_ == "(") return ParseCall(word, at);
    if (word == "null" || word == "true" || word == "false") {
      Emit(Code::kNumber, 0, word == "null" ? kNull : word == "true" ? 1 : 0);
    } else if (word == "min" || word == "max") {
      return FailAt(at, fmt::format("'{}' needs arguments in parentheses", word));
    } else {
      Emit(Code::kName, out_.NameIndex(word, at + 1));
    }
    return true;
  }

  bool ParseCall(std::string_view name, size_t at) {
    if (name != "min" && name != "max")
      return FailAt(at, fmt::format("unknown function '{}'; use min() or max()", name));
    const size_t open = token_at_;
    uint32_t count = 0;
    do {
      Next();
      if (!Parse(0)) return false;
      ++count;
    } while (kind_ == Kind::kSign && token_ == ",");
    Emit(name == "min" ? Code::kMin : Code::kMax, count);
    return Close(open);
  }

  std::string_view text_;
  Expression& out_;
  TextProblem& problem_;
  size_t at_ = 0, token_at_ = 0;
  Kind kind_ = Kind::kEnd;
  std::string_view token_;
  double number_ = 0;
  int depth_ = 0;
};

uint32_t Expression::NameIndex(std::string_view name, size_t column) {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].text == name) return static_cast<uint32_t>(i);
  }
  names_.push_back({std::string(name), column});
  return static_cast<uint32_t>(names_.size() - 1);
}

std::optional<Expression> Expression::Parse(std::string_view text, TextProblem& problem) {
  if (text.size() > kMaxBytes) {
    problem = {kMaxBytes + 1, fmt::format("longer than {} bytes", kMaxBytes)};
    return std::nullopt;
  }
  Expression out;
  out.text_ = std::string(text);
  if (!ExpressionParser(text, out, problem).Run()) return std::nullopt;
  return out;
}

Expression Expression::Number(double value) {
  Expression out;
  out.text_ = fmt::format("{}", value);
  out.steps_.push_back({Code::kNumber, 0, value});
  return out;
}

Expression Expression::Join(const std::vector<Expression>& parts, bool all) {
  if (parts.size() == 1) return parts[0];
  Expression out;
  for (const Expression& part : parts) {
    if (!out.text_.empty()) out.text_ += all ? " and " : " or ";
    out.text_ += "(" + part.text_ + ")";
    for (Step step : part.steps_) {
      if (step.code == Code::kName) {
        const Name& name = part.names_[step.index];
        step.index = out.NameIndex(name.text, name.column);
      }
      out.steps_.push_back(step);
    }
    if (&part != &parts[0]) out.steps_.push_back({all ? Code::kAnd : Code::kOr});
  }
  if (parts.empty()) out = Number(all ? 1 : 0);
  return out;
}

double Expression::Apply(Code code, double a, double b) {
  if (code == Code::kAnd) return And(a, b);
  if (code == Code::kOr) return Or(a, b);
  if (std::isnan(a) || std::isnan(b)) return kNull;
  switch (code) {
    case Code::kAdd: return a + b;
    case Code::kSubtract: return a - b;
    case Code::kMultiply: return a * b;
    case Code::kDivide: return b == 0 ? kNull : a / b;
    case Code::kLess: return a < b;
    case Code::kLessEqual: return a <= b;
    case Code::kGreater: return a > b;
    case Code::kGreaterEqual: return a >= b;
    case Code::kEqual: return a == b;
    case Code::kNotEqual: return a != b;
    case Code::kMin: return std::min(a, b);
    case Code::kMax: return std::max(a, b);
    default: return kNull;
  }
}

std::optional<double> Expression::Evaluate(const Lookup& lookup) const {
  std::vector<double> stack;
  for (const Step& step : steps_) {
    switch (step.code) {
      case Code::kNumber: stack.push_back(step.number); break;
      case Code::kName: stack.push_back(lookup(names_[step.index].text).value_or(kNull)); break;
      case Code::kNegate: stack.back() = -stack.back(); break;
      case Code::kNot: stack.back() = std::isnan(stack.back()) ? kNull : stack.back() == 0; break;
      default: {
        const bool call = step.code == Code::kMin || step.code == Code::kMax;
        for (uint32_t left = call ? step.index : 2; left > 1; --left) {
          const double b = stack.back();
          stack.pop_back();
          stack.back() = Apply(step.code, stack.back(), b);
        }
      }
    }
    if (!std::isfinite(stack.back())) stack.back() = kNull;
  }
  if (stack.empty() || std::isnan(stack.back())) return std::nullopt;
  return stack.back();
}

}  // namespace nl
