// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parser after DemangleItanium: names in demangle.cc, types and expressions in demangle_type.cc.
// Every Parse function returns a node index, or kFail and then the symbol is given up. Nesting is bounded;
// each input byte is read a bounded number of times. One instance per symbol, not shared.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/demangle_tree.h"

namespace nl::demangle {

inline constexpr int kMaxParseDepth = 256;

struct Code {
  std::string_view code;
  std::string_view text;
};

// clang-format off
inline constexpr Code kOperators[] = {
    {"nw", "new"}, {"na", "new[]"}, {"dl", "delete"}, {"da", "delete[]"}, {"ps", "+"}, {"ng", "-"},
    {"ad", "&"}, {"de", "*"}, {"co", "~"}, {"pl", "+"}, {"mi", "-"}, {"ml", "*"}, {"dv", "/"}, {"rm", "%"},
    {"an", "&"}, {"or", "|"}, {"eo", "^"}, {"aS", "="}, {"pL", "+="}, {"mI", "-="}, {"mL", "*="},
    {"dV", "/="}, {"rM", "%="}, {"aN", "&="}, {"oR", "|="}, {"eO", "^="}, {"ls", "<<"}, {"rs", ">>"},
    {"lS", "<<="}, {"rS", ">>="}, {"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"gt", ">"}, {"le", "<="},
    {"ge", ">="}, {"ss", "<=>"}, {"nt", "!"}, {"aa", "&&"}, {"oo", "||"}, {"pp", "++"}, {"mm", "--"},
    {"cm", ","}, {"pm", "->*"}, {"pt", "->"}, {"cl", "()"}, {"ix", "[]"},
};
// clang-format on

class Demangler {
 public:
  explicit Demangler(std::string_view in) : in_(in) { nodes_.reserve(in.size()); }

  std::optional<std::string> Run();

 private:
  // ---- input ----
  char Peek(size_t ahead = 0) const { return pos_ + ahead < in_.size() ? in_[pos_ + ahead] : '\0'; }
  bool Eat(std::string_view token);
  // A decimal number of at most nine digits; kFail when none.
  int EatNumber();
  // "_" is 0, "0_" is 1, ... in the given base (36 for substitutions, 10 for the others).
  int EatSequenceId(int base);

  // ---- tree ----
  int Add(Kind kind, std::string_view text, std::vector<int> kids = {}, std::string_view tail = {});
  int Remember(int node);
  bool TooDeep() const { return depth_ > kMaxParseDepth; }

  // What the name of an encoding gives about its type.
  struct NameTraits {
    bool ends_with_template = false;
    bool no_result = false;  // constructor, destructor, conversion
    std::string_view qualifiers;
  };

  // ---- grammar ----
  int ParseEncoding();
  int ParseEncodingBody();
  bool AtEncodingEnd() const;
  int ParseParameters();
  int ParseName(NameTraits* traits);
  int ParseLocalName(NameTraits* traits);
  void EatDiscriminator();
  int ParseNestedName(NameTraits* traits);
  int ParsePrefixPart(int prefix, NameTraits* traits);
  int ParseUnqualified(NameTraits* traits, int prefix);
  int BaseName(int node) const;
  int ParseSourceName();
  int ParseLambda();
  int ParseOperatorName(NameTraits* traits);
  int ParseTemplateArgs(bool declares_params);
  int ParseTemplateArg();
  int ParseLiteral();
  int ParseSubstitution();
  int ParseTags(int node);
  int ParseTemplateParam();
  int ParseDecltype();
  int ParseType();
  int ParseSuffixed(size_t skip, std::string_view suffix);
  int ParseTemplateParamType();
  int ParseSubstitutedType();
  int ParseVendorType();
  int ParseExtendedType();
  int ParseFunctionType();
  int ParseArrayType();
  int ParseExpression();
  int ParseFunctionParam();
  int ParseExpressionName();
  int ParseScopeResolution();
  int ParseConversion();
  int ParseCall();
  int ParseConditional();
  int ParseOperatorExpression();

  std::string_view in_;
  size_t pos_ = 0;
  int depth_ = 0;
  std::vector<Node> nodes_;
  std::vector<int> substitutions_;
  std::vector<int> template_params_;
};

}  // namespace nl::demangle
