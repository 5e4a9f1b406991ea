// SPDX-License-Identifier: Apache-2.0
#include "model/demangle.h"

#include <utility>

#include "base/ascii.h"
#include "model/demangle_parser.h"

namespace nl {
namespace demangle {
namespace {

// clang-format off
constexpr Code kStdNames[] = {
    {"Sa", "std::allocator"}, {"Sb", "std::basic_string"}, {"Ss", "std::string"}, {"Si", "std::istream"},
    {"So", "std::ostream"}, {"Sd", "std::iostream"},
};
// clang-format on

}  // namespace

std::optional<std::string> Demangler::Run() {
  const int root = ParseEncoding();
  if (root < 0) return std::nullopt;
  if (pos_ != in_.size() && Peek() != '.' && Peek() != '@') return std::nullopt;
  std::optional<std::string> out = PrintTree(nodes_, root);
  if (out && Peek() == '.') {
    *out += " [clone ";
    *out += in_.substr(pos_);
    *out += ']';
  }
  return out;
}

bool Demangler::Eat(std::string_view token) {
  if (in_.substr(pos_, token.size()) != token) return false;
  pos_ += token.size();
  return true;
}

int Demangler::EatNumber() {
  int value = 0;
  const size_t start = pos_;
  while (IsDigit(Peek())) {
    if (pos_ - start >= 9) return kFail;
    value = value * 10 + (in_[pos_++] - '0');
  }
  return pos_ == start ? kFail : value;
}

int Demangler::EatSequenceId(int base) {
  if (Eat("_")) return 0;
  int value = 0;
  while (true) {
    const char c = Peek();
    int digit = -1;
    if (IsDigit(c)) digit = c - '0';
    if (base == 36 && c >= 'A' && c <= 'Z') digit = c - 'A' + 10;
    if (digit < 0) break;
    ++pos_;
    value = value * base + digit;
    if (value > 1'000'000) return kFail;
  }
  return Eat("_") ? value + 1 : kFail;
}

int Demangler::Add(Kind kind, std::string_view text, std::vector<int> kids, std::string_view tail) {
  for (int kid : kids) {
    if (kid == kFail) return kFail;
  }
  nodes_.push_back(Node{kind, text, tail, std::move(kids)});
  return static_cast<int>(nodes_.size()) - 1;
}

int Demangler::Remember(int node) {
  if (node >= 0) substitutions_.push_back(node);
  return node;
}

int Demangler::ParseEncoding() {
  const Nesting nesting(&depth_);
  if (TooDeep()) return kFail;
  std::vector<int> outer_params = std::move(template_params_);
  template_params_.clear();
  const int node = ParseEncodingBody();
  template_params_ = std::move(outer_params);
  return node;
}

int Demangler::ParseEncodingBody() {
  NameTraits traits;
  const int name = ParseName(&traits);
  if (name < 0) return kFail;
  if (AtEncodingEnd()) return Add(Kind::kEncoding, traits.qualifiers, {name, kNone, kNone});
  int result = kNone;
  if (traits.ends_with_template && !traits.no_result) {
    result = ParseType();
    if (result < 0) return kFail;
  }
  const int parameters = ParseParameters();
  return Add(Kind::kEncoding, traits.qualifiers, {name, parameters, result});
}

bool Demangler::AtEncodingEnd() const {
  const char c = Peek();
  return c == '\0' || c == 'E' || c == '.' || c == '@';
}

int Demangler::ParseParameters() {
  std::vector<int> kids;
  if (Peek() == 'v' && (pos_ + 1 >= in_.size() || Peek(1) == 'E' || Peek(1) == '.' || Peek(1) == '@')) {
    ++pos_;
    return Add(Kind::kList, {});
  }
  while (!AtEncodingEnd()) {
    kids.push_back(ParseType());
    if (kids.back() < 0) return kFail;
  }
  return Add(Kind::kList, {}, std::move(kids));
}

int Demangler::ParseName(NameTraits* traits) {
  const Nesting nesting(&depth_);
  if (TooDeep()) return kFail;
  if (Peek() == 'N') return ParseNestedName(traits);
  if (Peek() == 'Z') return ParseLocalName(traits);
  int name = kFail;
  if (Peek() == 'S' && Peek(1) != 't') {
    name = ParseSubstitution();
    if (Peek() != 'I') return kFail;
  } else {
    const bool in_std = Eat("St");
    name = ParseUnqualified(traits, kNone);
    if (in_std) name = Add(Kind::kScope, {}, {Add(Kind::kText, "std"), name});
    if (Peek() == 'I') Remember(name);
  }
  if (Peek() != 'I') return name;
  const int args = ParseTemplateArgs(traits != nullptr);
  if (traits) traits->ends_with_template = true;
  return Add(Kind::kTemplate, {}, {name, args});
}

int Demangler::ParseLocalName(NameTraits* traits) {
  if (!Eat("Z")) return kFail;
  const int encoding = ParseEncoding();
  if (encoding < 0 || !Eat("E")) return kFail;
  if (Eat("s")) {
    EatDiscriminator();
    return Add(Kind::kLocal, {}, {encoding, Add(Kind::kText, "string literal")});
  }
  if (Eat("d")) {
    if (Peek() != '_') EatNumber();
    if (!Eat("_")) return kFail;
  }
  const int name = ParseName(traits);
  EatDiscriminator();
  return Add(Kind::kLocal, {}, {encoding, name});
}

void Demangler::EatDiscriminator() {
  if (Peek() != '_') return;
  if (IsDigit(Peek(1))) {
    pos_ += 2;
  } else if (Peek(1) == '_' && IsDigit(Peek(2))) {
    pos_ += 2;
    EatNumber();
    Eat("_");
  }
}

int Demangler::ParseNestedName(NameTraits* traits) {
  if (!Eat("N")) return kFail;
  const size_t qualifiers = pos_;
  while (Peek() == 'r' || Peek() == 'V' || Peek() == 'K') ++pos_;
  const bool is_const = pos_ > qualifiers && in_[pos_ - 1] == 'K';
  if (Peek() == 'R' || Peek() == 'O') ++pos_;
  if (traits) traits->qualifiers = is_const ? " const" : "";
  int prefix = kNone;
  while (!Eat("E")) {
    if (pos_ >= in_.size()) return kFail;
    prefix = ParsePrefixPart(prefix, traits);
    if (prefix < 0) return kFail;
  }
  // The whole name is no prefix; ParseType remembers it again when it is used as a type.
  if (prefix >= 0 && !substitutions_.empty() && substitutions_.back() == prefix) substitutions_.pop_back();
  return prefix == kNone ? kFail : prefix;
}

int Demangler::ParsePrefixPart(int prefix, NameTraits* traits) {
  const char c = Peek();
  if (c == 'I') {
    if (prefix == kNone) return kFail;
    const int args = ParseTemplateArgs(traits != nullptr);
    if (traits) traits->ends_with_template = true;
    return Remember(Add(Kind::kTemplate, {}, {prefix, args}));
  }
  if (traits) traits->ends_with_template = false;
  if (c == 'S' && Peek(1) != 't') return prefix == kNone ? ParseSubstitution() : kFail;
  if (c == 'T') return prefix == kNone ? Remember(ParseTemplateParam()) : kFail;
  if (c == 'D' && (Peek(1) == 't' || Peek(1) == 'T')) {
    return prefix == kNone ? Remember(ParseDecltype()) : kFail;
  }
  if (c == 'M') {  // data member prefix of a closure
    ++pos_;
    return prefix;
  }
  if (prefix == kNone && Eat("St")) {
    if (Peek() == 'E') return kFail;
    const int name = ParseUnqualified(traits, kNone);
    return Remember(Add(Kind::kScope, {}, {Add(Kind::kText, "std"), name}));
  }
  const int name = ParseUnqualified(traits, prefix);
  return Remember(prefix == kNone ? name : Add(Kind::kScope, {}, {prefix, name}));
}

int Demangler::ParseUnqualified(NameTraits* traits, int prefix) {
  int name = kFail;
  const char c = Peek();
  if (IsDigit(c)) {
    name = ParseSourceName();
  } else if (c == 'L') {
    ++pos_;
    name = ParseSourceName();
  } else if (c == 'U' && Peek(1) == 'l') {
    name = ParseLambda();
  } else if (c == 'U' && Peek(1) == 't') {
    pos_ += 2;
    const size_t start = pos_;
    if (EatSequenceId(10) < 0) return kFail;
    name = Add(Kind::kLambda, in_.substr(start, pos_ - start - 1), {kNone});
  } else if (c == 'C' || (c == 'D' && Peek(1) != 'C')) {
    if (!IsDigit(Peek(1)) || prefix == kNone) return kFail;
    pos_ += 2;
    if (traits) traits->no_result = true;
    name = Add(Kind::kText, c == 'C' ? "" : "~", {BaseName(prefix)});
  } else {
    name = ParseOperatorName(traits);
  }
  while (Eat("B")) {
    const int tag = ParseSourceName();
    if (tag < 0) return kFail;
    name = Add(Kind::kTag, nodes_[tag].text, {name});
  }
  return name;
}

int Demangler::BaseName(int node) const {
  while (node >= 0) {
    const Node& n = nodes_[node];
    if (n.kind == Kind::kScope || n.kind == Kind::kLocal) {
      node = n.kids[1];
    } else if (n.kind == Kind::kTemplate || n.kind == Kind::kTag) {
      node = n.kids[0];
    } else {
      return node;
    }
  }
  return kFail;
}

int Demangler::ParseSourceName() {
  const int length = EatNumber();
  if (length <= 0 || pos_ + length > in_.size()) return kFail;
  const std::string_view text = in_.substr(pos_, length);
  pos_ += length;
  const bool anonymous = text.size() >= 10 && text.substr(0, 8) == "_GLOBAL_" && text[9] == 'N' &&
                         (text[8] == '_' || text[8] == '.' || text[8] == '$');
  return Add(Kind::kText, anonymous ? "(anonymous namespace)" : text);
}

int Demangler::ParseLambda() {
  if (!Eat("Ul")) return kFail;
  const int parameters = ParseParameters();
  if (!Eat("E")) return kFail;
  const size_t start = pos_;
  if (EatSequenceId(10) < 0) return kFail;
  return Add(Kind::kLambda, in_.substr(start, pos_ - start - 1), {parameters});
}

int Demangler::ParseOperatorName(NameTraits* traits) {
  if (Eat("cv")) {
    if (traits) traits->no_result = true;
    return Add(Kind::kWrapped, "operator ", {ParseType()});
  }
  if (Eat("li")) return Add(Kind::kWrapped, "operator\"\" ", {ParseSourceName()});
  for (const Code& op : kOperators) {
    if (!Eat(op.code)) continue;
    const bool word = op.text[0] == 'n' || op.text[0] == 'd';
    return Add(Kind::kWrapped, word ? "operator " : "operator", {Add(Kind::kText, op.text)});
  }
  return kFail;
}

int Demangler::ParseTemplateArgs(bool declares_params) {
  const Nesting nesting(&depth_);
  if (TooDeep() || !Eat("I")) return kFail;
  if (declares_params) template_params_.clear();
  std::vector<int> kids;
  while (!Eat("E")) {
    if (pos_ >= in_.size()) return kFail;
    kids.push_back(ParseTemplateArg());
    if (kids.back() < 0) return kFail;
    if (declares_params) template_params_.push_back(kids.back());
  }
  return Add(Kind::kList, {}, std::move(kids));
}

int Demangler::ParseTemplateArg() {
  const Nesting nesting(&depth_);
  if (TooDeep()) return kFail;
  if (Peek() == 'L') return ParseLiteral();
  if (Eat("X")) {
    const int expression = ParseExpression();
    return Eat("E") ? expression : kFail;
  }
  if (Eat("J")) {
    std::vector<int> kids;
    while (!Eat("E")) {
      if (pos_ >= in_.size()) return kFail;
      kids.push_back(ParseTemplateArg());
      if (kids.back() < 0) return kFail;
    }
    return Add(Kind::kList, {}, std::move(kids));
  }
  return ParseType();
}

int Demangler::ParseSubstitution() {
  if (Peek() != 'S') return kFail;
  for (const Code& entry : kStdNames) {
    if (Eat(entry.code)) return ParseTags(Add(Kind::kText, entry.text));
  }
  ++pos_;
  const int index = EatSequenceId(36);
  if (index < 0 || index >= static_cast<int>(substitutions_.size())) return kFail;
  return substitutions_[index];
}

int Demangler::ParseTags(int node) {
  while (Eat("B")) {
    const int tag = ParseSourceName();
    if (tag < 0) return kFail;
    node = Remember(Add(Kind::kTag, nodes_[tag].text, {node}));
  }
  return node;
}

}  // namespace demangle

std::optional<std::string> DemangleItanium(std::string_view mangled) {
  if (mangled.size() > kMaxMangledBytes || mangled.substr(0, 2) != "_Z") return std::nullopt;
  return demangle::Demangler(mangled.substr(2)).Run();
}

}  // namespace nl
