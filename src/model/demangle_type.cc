// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/ascii.h"
#include "model/demangle_parser.h"

namespace nl::demangle {
namespace {

// clang-format off
constexpr Code kBuiltins[] = {
    {"v", "void"}, {"w", "wchar_t"}, {"b", "bool"}, {"c", "char"}, {"a", "signed char"},
    {"h", "unsigned char"}, {"s", "short"}, {"t", "unsigned short"}, {"i", "int"}, {"j", "unsigned int"},
    {"l", "long"}, {"m", "unsigned long"}, {"x", "long long"}, {"n", "__int128"}, {"f", "float"},
    {"y", "unsigned long long"}, {"d", "double"}, {"e", "long double"}, {"g", "__float128"},
    {"o", "unsigned __int128"}, {"z", "..."}, {"Dn", "decltype(nullptr)"}, {"Da", "auto"},
    {"Dc", "decltype(auto)"}, {"Di", "char32_t"}, {"Ds", "char16_t"}, {"Du", "char8_t"}, {"Dh", "half"},
    {"Dd", "decimal64"}, {"De", "decimal128"}, {"Df", "decimal32"}, {"DF16_", "_Float16"},
    {"DF16b", "std::bfloat16_t"}, {"DF32_", "_Float32"}, {"DF64_", "_Float64"},
};
// clang-format on

constexpr std::string_view kUnaryCodes[] = {"ps", "ng", "ad", "de", "co", "nt", "pp", "mm"};

}  // namespace

int Demangler::ParseLiteral() {
  if (!Eat("L")) return kFail;
  if (Eat("_Z") || Eat("Z")) {
    const int encoding = ParseEncoding();
    return encoding >= 0 && Eat("E") ? nodes_[encoding].kids[0] : kFail;
  }
  const char code = Peek();
  const int type = ParseType();
  if (type < 0) return kFail;
  const size_t start = pos_;
  while (pos_ < in_.size() && Peek() != 'E') ++pos_;
  const std::string_view value = in_.substr(start, pos_ - start);
  if (!Eat("E")) return kFail;
  if (nodes_[type].text == "decltype(nullptr)") return Add(Kind::kText, "nullptr");
  if (code == 'b' && value == "0") return Add(Kind::kText, "false");
  if (code == 'b' && value == "1") return Add(Kind::kText, "true");
  std::string_view suffix = "?";
  switch (code) {
    case 'i': suffix = ""; break;
    case 'j': suffix = "u"; break;
    case 'l': suffix = "l"; break;
    case 'm': suffix = "ul"; break;
    case 'x': suffix = "ll"; break;
    case 'y': suffix = "ull"; break;
    default: break;
  }
  if (suffix != "?") return Add(Kind::kCast, value, {kNone}, suffix);
  return Add(Kind::kCast, value, {type});
}

int Demangler::ParseTemplateParam() {
  if (!Eat("T")) return kFail;
  const int index = EatSequenceId(10);
  if (index < 0) return kFail;
  // Generic lambdas refer to parameters that have no argument in the symbol.
  if (index >= static_cast<int>(template_params_.size())) return Add(Kind::kText, "auto");
  return template_params_[index];
}

int Demangler::ParseDecltype() {
  pos_ += 2;
  const int expression = ParseExpression();
  return Eat("E") ? Add(Kind::kWrapped, "decltype (", {expression}, ")") : kFail;
}

int Demangler::ParseType() {
  const Nesting nesting(&depth_);
  if (TooDeep()) return kFail;
  for (const Code& builtin : kBuiltins) {
    if (Eat(builtin.code)) return Add(Kind::kText, builtin.text);
  }
  switch (Peek()) {
    case 'P': return ParseSuffixed(1, "*");
    case 'R': return ParseSuffixed(1, "&");
    case 'O': return ParseSuffixed(1, "&&");
    case 'K': return ParseSuffixed(1, " const");
    case 'V': return ParseSuffixed(1, " volatile");
    case 'r': return ParseSuffixed(1, " restrict");
    case 'C': return ParseSuffixed(1, " _Complex");
    case 'F': return Remember(ParseFunctionType());
    case 'A': return Remember(ParseArrayType());
    case 'M': {
      ++pos_;
      const int owner = ParseType();
      return Remember(owner < 0 ? kFail : Add(Kind::kMember, {}, {owner, ParseType()}));
    }
    case 'T': return ParseTemplateParamType();
    case 'D': return ParseExtendedType();
    case 'U': return Peek(1) == 'l' || Peek(1) == 't' ? Remember(ParseName(nullptr)) : ParseVendorType();
    case 'u': ++pos_; return Remember(ParseSourceName());
    case 'S':
      if (Peek(1) != 't') return ParseSubstitutedType();
      break;
    default: break;
  }
  return Remember(ParseName(nullptr));
}

int Demangler::ParseSuffixed(size_t skip, std::string_view suffix) {
  pos_ += skip;
  const int type = ParseType();
  if (type < 0) return kFail;
  const Node& n = nodes_[type];
  if (suffix[0] == '&' && n.kind == Kind::kSuffix && n.text[0] == '&') {  // references collapse
    if (n.text == "&" || suffix == "&&") return Remember(type);
    return Remember(Add(Kind::kSuffix, "&", {n.kids[0]}));
  }
  return Remember(Add(Kind::kSuffix, suffix, {type}));
}

int Demangler::ParseTemplateParamType() {
  const int param = Remember(ParseTemplateParam());
  if (param < 0 || Peek() != 'I') return param;
  return Remember(Add(Kind::kTemplate, {}, {param, ParseTemplateArgs(false)}));
}

int Demangler::ParseSubstitutedType() {
  const int base = ParseSubstitution();
  if (base < 0 || Peek() != 'I') return base;
  return Remember(Add(Kind::kTemplate, {}, {base, ParseTemplateArgs(false)}));
}

int Demangler::ParseVendorType() {
  ++pos_;
  const int qualifier = ParseSourceName();
  if (qualifier < 0) return kFail;
  if (Peek() == 'I' && ParseTemplateArgs(false) < 0) return kFail;
  const int type = ParseType();
  return Remember(type < 0 ? kFail : Add(Kind::kWrapped, {}, {type, qualifier}));
}

int Demangler::ParseExtendedType() {
  if (Peek(1) == 't' || Peek(1) == 'T') return Remember(ParseDecltype());
  if (Eat("Dp")) return Remember(ParseType());
  if (Eat("Dv")) {
    const size_t start = pos_;
    if (EatNumber() < 0 || !Eat("_")) return kFail;
    const std::string_view size = in_.substr(start, pos_ - start - 1);
    const int type = ParseType();
    return Remember(Add(Kind::kArray, " __vector(", {type, Add(Kind::kText, size)}, ")"));
  }
  if (Eat("Do")) return Remember(ParseFunctionType());
  return kFail;
}

int Demangler::ParseFunctionType() {
  const Nesting nesting(&depth_);
  if (TooDeep() || !Eat("F")) return kFail;
  Eat("Y");
  const int result = ParseType();
  if (result < 0) return kFail;
  std::vector<int> kids;
  if (!Eat("vE")) {
    while (!Eat("E")) {
      if (Eat("RE") || Eat("OE")) break;
      if (pos_ >= in_.size()) return kFail;
      kids.push_back(ParseType());
      if (kids.back() < 0) return kFail;
    }
  }
  const int parameters = Add(Kind::kList, {}, std::move(kids));
  return Add(Kind::kFunction, {}, {result, parameters});
}

int Demangler::ParseArrayType() {
  if (!Eat("A")) return kFail;
  int size = kNone;
  const size_t start = pos_;
  if (EatNumber() >= 0) {
    size = Add(Kind::kText, in_.substr(start, pos_ - start));
  } else if (Peek() != '_') {
    size = ParseExpression();
    if (size < 0) return kFail;
  }
  if (!Eat("_")) return kFail;
  const int type = ParseType();
  return Add(Kind::kArray, " [", {type, size}, "]");
}

int Demangler::ParseExpression() {
  const Nesting nesting(&depth_);
  if (TooDeep()) return kFail;
  if (Peek() == 'L') return ParseLiteral();
  if (Peek() == 'T') return ParseTemplateParam();
  if (Peek() == 'f' && (Peek(1) == 'p' || Peek(1) == 'L')) return ParseFunctionParam();
  if (Eat("sr")) return ParseScopeResolution();
  if (Eat("cv")) return ParseConversion();
  if (Eat("sZ")) return Add(Kind::kWrapped, "sizeof...(", {ParseExpression()}, ")");
  if (Eat("st")) return Add(Kind::kWrapped, "sizeof (", {ParseType()}, ")");
  if (Eat("sz")) return Add(Kind::kWrapped, "sizeof (", {ParseExpression()}, ")");
  if (Eat("sp")) return Add(Kind::kWrapped, "", {ParseExpression()}, "...");
  if (Eat("cl")) return ParseCall();
  if (Eat("qu")) return ParseConditional();
  if (Eat("dt")) {
    const int object = ParseExpression();
    return Add(Kind::kBinary, ".", {object, ParseExpression()});
  }
  if (Eat("on")) return ParseOperatorName(nullptr);
  if (IsDigit(Peek())) return ParseExpressionName();
  return ParseOperatorExpression();
}

int Demangler::ParseFunctionParam() {
  ++pos_;
  if (Eat("L") && (EatNumber() < 0)) return kFail;
  if (!Eat("p")) return kFail;
  if (Eat("T")) return Add(Kind::kText, "this");
  while (Peek() == 'K' || Peek() == 'V' || Peek() == 'r') ++pos_;
  const size_t start = pos_;
  if (EatSequenceId(10) < 0) return kFail;
  return Add(Kind::kWrapped, "{parm#", {Add(Kind::kText, in_.substr(start, pos_ - start - 1))}, "}");
}

int Demangler::ParseExpressionName() {
  const int name = ParseSourceName();
  return Peek() == 'I' ? Add(Kind::kTemplate, {}, {name, ParseTemplateArgs(false)}) : name;
}

int Demangler::ParseScopeResolution() {
  const int scope = ParseType();
  if (scope < 0) return kFail;
  const int name = Eat("on") ? ParseOperatorName(nullptr) : ParseExpressionName();
  return Add(Kind::kScope, {}, {scope, name});
}

int Demangler::ParseConversion() {
  const int type = ParseType();
  if (type < 0) return kFail;
  int value = kFail;
  if (Eat("_")) {
    std::vector<int> kids;
    while (!Eat("E")) {
      if (pos_ >= in_.size()) return kFail;
      kids.push_back(ParseExpression());
      if (kids.back() < 0) return kFail;
    }
    value = Add(Kind::kList, {}, std::move(kids));
  } else {
    value = ParseExpression();
  }
  return Add(Kind::kFunction, {}, {Add(Kind::kWrapped, "(", {type}, ")"), value});
}

int Demangler::ParseCall() {
  const int callee = ParseExpression();
  if (callee < 0) return kFail;
  std::vector<int> kids;
  while (!Eat("E")) {
    if (pos_ >= in_.size()) return kFail;
    kids.push_back(ParseExpression());
    if (kids.back() < 0) return kFail;
  }
  return Add(Kind::kEncoding, {}, {callee, Add(Kind::kList, {}, std::move(kids)), kNone});
}

int Demangler::ParseConditional() {
  const int condition = ParseExpression();
  const int yes = condition < 0 ? kFail : ParseExpression();
  const int no = yes < 0 ? kFail : ParseExpression();
  return Add(Kind::kBinary, "?", {condition, Add(Kind::kBinary, ":", {yes, no})});
}

int Demangler::ParseOperatorExpression() {
  for (const Code& op : kOperators) {
    if (!Eat(op.code)) continue;
    bool unary = false;
    for (std::string_view code : kUnaryCodes) unary = unary || code == op.code;
    if (unary) {
      Eat("_");
      const int operand = ParseExpression();
      if (op.code == "ad") return Add(Kind::kWrapped, "&", {operand});
      return Add(Kind::kWrapped, op.text, {Add(Kind::kWrapped, "(", {operand}, ")")});
    }
    const int left = ParseExpression();
    return left < 0 ? kFail : Add(Kind::kBinary, op.text, {left, ParseExpression()});
  }
  return kFail;
}

}  // namespace nl::demangle
