// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_name.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "model/demangle.h"

namespace nl {
namespace {

constexpr int kMaxDepth = 200;
constexpr size_t kMaxStructuredBytes = 512 * 1024;
constexpr std::string_view kAnonymousSpellings[] = {"(anonymous namespace)", "<unnamed>", "{anonymous}",
                                                    "`anonymous namespace'", "(anonymous_namespace)"};
// Function names that say nothing without the namespace around them.
constexpr std::string_view kBareNames[] = {"kernel", "main", "run"};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsNameByte(char c) {
  const auto u = static_cast<unsigned char>(c);
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || u >= 0x80;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (IsSpace(text.front()) || text.front() == '\0')) text.remove_prefix(1);
  while (!text.empty() && (IsSpace(text.back()) || text.back() == '\0')) text.remove_suffix(1);
  return text;
}

// Rewrites one C++ function name in a single pass. Any surprise makes Run() return nullopt and the caller
// keeps the text as it is: a wrong guess would merge different kernels.
class Normalizer {
 public:
  explicit Normalizer(std::string_view in) : in_(in) { out_.reserve(in.size()); }

  std::optional<std::string> Run() {
    ParseItem('\0');
    if (failed_ || pos_ != in_.size() || out_.empty()) return std::nullopt;
    return std::move(out_);
  }

 private:
  // One template argument, parameter or the whole name, while it is being written to out_.
  struct Item {
    char close = '\0';
    bool top = false;
    size_t start = 0;            // where it begins in out_
    size_t word = 0;             // where its last space-separated word begins
    size_t component = 0;        // where the last component of a qualified name begins
    bool namespace_like = true;  // the component may still turn out to be a namespace
    bool spaced = false;         // white space before the coming token
    bool is_const = false;
    bool is_volatile = false;
    bool had_params = false;   // a parameter list was dropped: what precedes the word was a result type
    std::string_view dropped;  // the namespace dropped last
  };

  char Peek(size_t ahead = 0) const { return pos_ + ahead < in_.size() ? in_[pos_ + ahead] : '\0'; }
  bool At(std::string_view token) const { return in_.substr(pos_, token.size()) == token; }
  bool Eat(std::string_view token) {
    if (!At(token)) return false;
    pos_ += token.size();
    return true;
  }
  void SkipSpace() {
    while (pos_ < in_.size() && IsSpace(in_[pos_])) ++pos_;
  }
  void Fail() { failed_ = true; }

  // `close` ends the list this item is in; '\0' for the whole name.
  void ParseItem(char close) {
    if (++depth_ > kMaxDepth) Fail();
    Item item;
    item.close = close;
    item.top = close == '\0';
    item.start = item.word = item.component = out_.size();
    while (!failed_ && pos_ < in_.size() && !AtItemEnd(item)) Step(&item);
    if (!failed_) Finish(&item);
    --depth_;
  }

  bool AtItemEnd(const Item& item) const {
    const char c = Peek();
    return !item.top && (c == ',' || c == item.close);
  }

  void Step(Item* item) {
    const char c = Peek();
    if (IsSpace(c)) {
      SkipSpace();
      item->spaced = true;
      return;
    }
    for (std::string_view anonymous : kAnonymousSpellings) {
      if (!Eat(anonymous)) continue;
      BeginWord(item);
      out_ += "(anonymous namespace)";
      return;
    }
    if (At("{lambda(") || At("[lambda(") || At("'lambda") || At("{unnamed") || At("'unnamed"))
      return Closure(item);
    if (IsNameByte(c)) return Word(item);
    if (Eat("::")) return Scope(item);
    if (Eat("->")) return Operator(item, "->");
    if (c == '<') return Template(item);
    if (c == '(') return Parenthesis(item);
    if (c == '[') return Bracket(item);
    if (c == '*' || c == '&') return Pointer(item);
    if (c == '-' && out_.size() == item->start && IsDigit(Peek(1))) {
      ++pos_;
      return Number(item, "-");
    }
    if (c == ')' || c == ']' || c == '}' || (item->close != ')' && c == '>')) return Fail();
    Operator(item, in_.substr(pos_++, 1));
  }

  // Starts a new word when white space separated it from the one before.
  void BeginWord(Item* item) {
    if (item->spaced && out_.size() > item->start && out_.compare(out_.size() - 1, 1, " ") != 0) {
      if (item->is_const || item->is_volatile) FlushQualifiers(item);
      out_ += ' ';
      item->word = item->component = out_.size();
      item->namespace_like = true;
      item->dropped = {};
    }
    item->spaced = false;
  }

  void Operator(Item* item, std::string_view text) {
    if (item->top && text[0] != '.' && text[0] != '~') return Fail();
    item->spaced = false;
    item->namespace_like = false;
    out_ += text;
  }

  void Word(Item* item) {
    size_t end = pos_;
    while (end < in_.size() && (IsNameByte(in_[end]) || (in_[end] == '.' && item->top))) ++end;
    const std::string_view word = in_.substr(pos_, end - pos_);
    if (word == "const" || word == "volatile") {
      (word == "const" ? item->is_const : item->is_volatile) = true;
      pos_ = end;
      item->spaced = true;
      return;
    }
    if (IsDigit(word[0]) && out_.size() == item->start) return Number(item, "");
    if ((word == "true" || word == "false") && !item->top && out_.size() == item->start) {
      pos_ = end;  // ncu prints a bool without its cast, as 0 or 1
      out_ += word == "true" ? '1' : '0';
      item->namespace_like = false;
      return;
    }
    BeginWord(item);
    pos_ = end;
    if (word == "operator") return OperatorName(item);
    const bool anonymous = word.substr(0, 11) == "_GLOBAL__N_";
    out_ += anonymous ? std::string_view("(anonymous namespace)") : word;
  }

  void OperatorName(Item* item) {
    out_ += "operator";
    item->namespace_like = false;
    SkipSpace();
    if (Eat("()")) {
      out_ += "()";
    } else if (Eat("[]")) {
      out_ += "[]";
    } else if (IsNameByte(Peek())) {
      out_ += ' ';
      while (IsNameByte(Peek())) out_ += in_[pos_++];
    } else {
      // "operator<" followed by template arguments reads the same as "operator<<": take the shorter.
      while (pos_ < in_.size() && std::string_view("+-*/%^|&~!=").find(Peek()) != std::string_view::npos) {
        out_ += in_[pos_++];
      }
      if (Peek() == '<' || Peek() == '>') out_ += in_[pos_++];
    }
  }

  // 128, 128u, 4ul, 0x10, 1.5f: integer suffixes go.
  void Number(Item* item, std::string_view sign) {
    BeginWord(item);
    const size_t start = pos_;
    while (IsNameByte(Peek()) || Peek() == '.') ++pos_;
    std::string_view text = in_.substr(start, pos_ - start);
    if (std::all_of(text.begin(), text.end(),
                    [](char c) { return IsDigit(c) || c == 'u' || c == 'l' || c == 'U' || c == 'L'; })) {
      while (!text.empty() && !IsDigit(text.back())) text.remove_suffix(1);
    }
    out_ += sign;
    out_ += text;
    item->namespace_like = false;
  }

  // "::" ends a component: a namespace is dropped, a function, template or closure stays.
  void Scope(Item* item) {
    item->spaced = false;
    if (item->namespace_like) {
      item->dropped = NamespaceBefore(*item);
      out_.resize(item->component);
    } else {
      out_ += "::";
      item->component = out_.size();
      item->namespace_like = true;
      item->dropped = {};
    }
  }

  // The dropped text survives in the input, right before "::".
  std::string_view NamespaceBefore(const Item& item) const {
    const size_t length = out_.size() - item.component;
    const size_t end = pos_ - 2;
    if (length == 0 || length > end) return {};
    const std::string_view text = in_.substr(end - length, length);
    return IsNameByte(text[0]) ? text : std::string_view();
  }

  void Template(Item* item) {
    KeepBareName(item);
    item->namespace_like = false;
    item->spaced = false;
    ParseList('<', '>');
  }

  void ParseList(char open, char close) {
    if (!Eat(std::string_view(&open, 1))) return Fail();
    out_ += open;
    SkipSpace();
    while (!failed_ && Peek() != close) {
      ParseItem(close);
      if (Peek() == ',') {
        ++pos_;
        out_ += ", ";
        SkipSpace();
      } else if (Peek() != close) {
        Fail();
      }
    }
    if (failed_ || !Eat(std::string_view(&close, 1))) return Fail();
    out_ += close;
  }

  void Parenthesis(Item* item) {
    if (out_.size() == item->start && !item->top) return CastOrGroup(item);
    if (item->top && item->spaced) return Fail();  // "Memcpy HtoD (Pageable -> Device)" is no C++ name
    const bool was_spaced = item->spaced;
    const size_t before = out_.size();
    KeepBareName(item);
    const size_t after_name = out_.size();
    ParseList('(', ')');
    if (failed_) return;
    const size_t resume = pos_;
    SkipFunctionQualifiers();
    const bool scope_follows = At("::");
    if (!was_spaced && (scope_follows || (item->top && AtNameEnd()))) {
      out_.resize(after_name);
      DropResultType(item);
      item->namespace_like = false;
      if (scope_follows) {
        out_ += "()";  // marks a function, so that no second pass takes it for a namespace
      } else {
        pos_ = in_.size();
      }
      return;
    }
    if (item->top) return Fail();
    // A function type, "void (int)" or "void (*)(int)": its parameters are part of the type.
    pos_ = resume;
    if (was_spaced) out_.insert(before, 1, ' ');
    item->spaced = false;
    item->namespace_like = false;
  }

  void SkipFunctionQualifiers() {
    SkipSpace();
    while (Eat("const") || Eat("volatile") || Eat("noexcept") || (Peek() == '&' && Eat("&"))) SkipSpace();
  }

  bool AtNameEnd() const {
    const std::string_view rest = in_.substr(pos_);
    return rest.empty() || rest.substr(0, 6) == "[clone" || rest.substr(0, 3) == "(.v" || rest[0] == '.';
  }

  void DropResultType(Item* item) {
    const size_t removed = item->word - item->start;
    out_.erase(item->start, removed);
    item->word -= removed;
    item->component -= std::min(item->component, removed);
    item->is_const = item->is_volatile = false;
    item->had_params = true;
  }

  // (int)4, (bool)1, (cudnnKernelDataType_t)0 lose the type; other groups are copied.
  void CastOrGroup(Item* item) {
    const size_t start = out_.size();
    ParseList('(', ')');
    if (failed_) return;
    item->namespace_like = false;
    const bool negative = Peek() == '-' && IsDigit(Peek(1));
    if (!IsDigit(Peek()) && !negative) return;
    out_.resize(start);
    if (negative) ++pos_;
    Number(item, negative ? "-" : "");
  }

  void Bracket(Item* item) {
    if (Eat("[abi:")) {
      while (pos_ < in_.size() && Peek() != ']') ++pos_;
      if (!Eat("]")) Fail();
      return;
    }
    if (item->top) {
      if (!At("[clone")) return Fail();
      pos_ = in_.size();
      return;
    }
    FlushQualifiers(item);
    item->spaced = false;
    item->namespace_like = false;
    ParseList('[', ']');
  }

  void Pointer(Item* item) {
    if (item->top) return Fail();
    FlushQualifiers(item);
    item->spaced = false;
    item->namespace_like = false;
    out_ += in_[pos_++];
  }

  // {lambda(int)#1}, [lambda(int) (instance 1)] and 'lambda0'(int) become the first form.
  void Closure(Item* item) {
    BeginWord(item);
    item->namespace_like = false;
    if (Eat("{unnamed type#") || Eat("{unnamed#") || Eat("{unnamed type-#"))
      return ClosureNumber("{unnamed", "}");
    if (Eat("'unnamed") || Eat("'lambda")) {
      const bool lambda = in_[pos_ - 1] == 'a';
      return LlvmClosure(lambda);
    }
    pos_ += 7;
    if (!At("(")) return Fail();
    out_ += "{lambda";
    ParseList('(', ')');
    SkipSpace();
    if (Eat("#")) return ClosureNumber("", "}");
    if (Eat("(instance ")) return ClosureNumber("", ")]");
    Fail();
  }

  void ClosureNumber(std::string_view head, std::string_view close) {
    out_ += head;
    out_ += '#';
    while (IsDigit(Peek())) out_ += in_[pos_++];
    if (!Eat(close)) return Fail();
    out_ += '}';
  }

  // LLVM numbers the second closure of a scope 0.
  void LlvmClosure(bool lambda) {
    int number = 1;
    if (IsDigit(Peek())) {
      number = 0;
      while (IsDigit(Peek())) number = (number * 10 + (in_[pos_++] - '0')) % 100'000'000;
      number += 2;
    }
    if (!Eat("'")) return Fail();
    out_ += lambda ? "{lambda" : "{unnamed";
    if (lambda) {
      if (Peek() != '(') return Fail();
      ParseList('(', ')');
    }
    out_ += '#';
    out_ += std::to_string(number);
    out_ += '}';
  }

  // "const T*" and "T const*" both come out as "T const*".
  void FlushQualifiers(Item* item) {
    if (out_.size() > item->start) {
      const bool after_pointer = out_.back() == '*' || out_.back() == '&';
      if (item->is_const) out_ += after_pointer ? "const" : " const";
      if (item->is_volatile) out_ += after_pointer ? "volatile" : " volatile";
    }
    item->is_const = item->is_volatile = false;
  }

  // gemvx::kernel<...> keeps its last namespace; only the function's own name matters here.
  void KeepBareName(Item* item) {
    if (!item->top || !item->namespace_like || item->dropped.empty()) return;
    const std::string_view name = std::string_view(out_).substr(item->component);
    if (std::find(std::begin(kBareNames), std::end(kBareNames), name) == std::end(kBareNames)) return;
    std::string qualified(item->dropped);
    qualified += "::";
    out_.insert(item->component, qualified);
    item->dropped = {};
  }

  void Finish(Item* item) {
    if (!item->top) return FlushQualifiers(item);
    if (!item->had_params) {
      if (item->word != item->start && !DropVoid(item)) return Fail();
      KeepBareName(item);
    }
    constexpr std::string_view kAmdSuffix = ".kd";
    if (out_.size() > kAmdSuffix.size() &&
        out_.compare(out_.size() - kAmdSuffix.size(), std::string::npos, kAmdSuffix) == 0) {
      out_.resize(out_.size() - kAmdSuffix.size());
    }
  }

  // Without parameters several words are a C++ name only when the first is its result type.
  bool DropVoid(Item* item) {
    constexpr std::string_view kVoid = "void ";
    const std::string_view before = std::string_view(out_).substr(item->start, item->word - item->start);
    const bool typed = before == kVoid || (before.find('>') != std::string_view::npos &&
                                           before.find("::type ") != std::string_view::npos);
    if (!typed) return false;
    DropResultType(item);
    return true;
  }

  std::string_view in_;
  size_t pos_ = 0;
  std::string out_;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

std::string NormalizeKernelName(std::string_view demangled) {
  const std::string_view text = Trim(demangled);
  if (text.size() <= kMaxStructuredBytes) {
    if (std::optional<std::string> name = Normalizer(text).Run()) return *std::move(name);
  }
  return std::string(text);
}

KernelName ParseKernelName(std::string_view raw) {
  KernelName name;
  const std::string_view text = Trim(raw);
  std::optional<std::string> demangled;
  if (text.substr(0, 2) == "_Z") demangled = DemangleItanium(text);
  name.demangled = demangled ? *std::move(demangled) : std::string(text);
  name.normalized = NormalizeKernelName(name.demangled);
  name.short_name = ShortKernelName(name.normalized);
  name.family = ClassifyKernel(name.normalized, name.demangled);
  return name;
}

}  // namespace nl
