// SPDX-License-Identifier: Apache-2.0
#include "deep/ncu_name.h"

#include <algorithm>

#include "base/ascii.h"
#include "model/kernel_name.h"

namespace nl::deep {

namespace {

constexpr size_t kMostWords = 12;    // identifiers that are asked for
constexpr size_t kShortestWord = 4;  // "int" and "T" distinguish nothing
constexpr char kPrefix[] = "^([^<(]|<unnamed>)*\\b";
// ncu prints the result of a function that is an argument: "void at::gpu_kernel_impl_nocast<...>".
constexpr char kScopes[] = "(void )?(([A-Za-z0-9_]+|<unnamed>)[^A-Za-z0-9_ ,<>(]{2})*";
// Words of C++ and of the spellings of closures, which the two programs write in different places.
constexpr std::string_view kOwnWords[] = {"lambda",    "operator", "const",   "unsigned", "anonymous",
                                          "namespace", "instance", "unnamed", "bool",     "long",
                                          "true",      "false",    "char",    "void",     "volatile"};

bool IsWordByte(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// What has a meaning in an expression stands in brackets; a colon, which ends a part of --kernel-id, and what
// is not ASCII match any character.
std::string Literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (IsWordByte(c) || c == ' ' || c == ',' || c == '<' || c == '>' || c == '=' || c == '-') {
      out += c;
    } else if (c == ':' || c == '^' || c == ']' || c == '\\' || u < 0x20 || u >= 0x7f) {
      out += '.';
    } else {
      out += '[';
      out += c;
      out += ']';
    }
  }
  return out;
}

std::vector<std::string> WordsOf(std::string_view arguments) {
  std::vector<std::string> out;
  for (size_t at = 0; at < arguments.size();) {
    if (!IsWordByte(arguments[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < arguments.size() && IsWordByte(arguments[end])) ++end;
    std::string word(arguments.substr(at, end - at));
    at = end;
    const bool own = std::find(std::begin(kOwnWords), std::end(kOwnWords), word) != std::end(kOwnWords);
    if (own || IsDigit(word[0]) || word.size() < kShortestWord ||
        std::find(out.begin(), out.end(), word) != out.end())
      continue;
    out.push_back(std::move(word));
    if (out.size() == kMostWords) break;
  }
  return out;
}

// A bool is 0 or 1 in a normalised name.
std::string NumberRegex(std::string_view number) {
  const std::string value = number == "0" ? "(0|false)" : number == "1" ? "(1|true)" : std::string(number);
  return "([(][^)]*[)])?" + value;
}

// The arguments up to the first that the two programs may spell in different ways: numbers, types and
// templates of them in order, each type with any namespaces. `at`: where they end.
std::string LeadingArguments(std::string_view arguments, size_t& at) {
  std::string out;
  const auto ends = [&](size_t end) {
    return end < arguments.size() &&
           (arguments[end] == ',' || arguments[end] == '>' || arguments[end] == '<');
  };
  while (at < arguments.size()) {
    const char c = arguments[at];
    size_t end = at;
    if (c == ',' || c == '<' || c == '>') {
      out += c == ',' ? ", ?" : c == '<' ? "<" : " ?>";
      for (++at; at < arguments.size() && arguments[at] == ' ';) ++at;
      continue;
    }
    if (IsDigit(c) || c == '-') {
      for (++end; end < arguments.size() && IsDigit(arguments[end]);) ++end;
      if (!ends(end)) return out;
      out += NumberRegex(arguments.substr(at, end - at));
    } else {
      while (end < arguments.size() && (IsWordByte(arguments[end]) || arguments[end] == ' ')) ++end;
      const std::string_view word = arguments.substr(at, end - at);
      if (!ends(end) || word.find("const") != std::string_view::npos) return out;
      out += kScopes + std::string(word);
    }
    at = end;
  }
  return out;
}

}  // namespace

std::string NcuRegex(std::string_view raw) {
  const std::string name = ParseKernelName(raw).normalized;
  const size_t open = name.find('<');
  const bool is_template = open != std::string::npos && open > 0 && name[open - 1] != ' ';
  std::string function = is_template ? name.substr(0, open) : name;
  // What the normalised name keeps of a namespace is not needed.
  if (const size_t scope = function.rfind("::"); scope != std::string::npos) function.erase(0, scope + 2);
  const std::string start = kPrefix + Literal(function);
  if (!is_template) return start + "($|[^A-Za-z0-9_])";
  const std::string_view arguments = std::string_view(name).substr(open + 1);
  size_t at = 0;
  std::string out = start + "<" + LeadingArguments(arguments, at);
  for (const std::string& word : WordsOf(arguments.substr(at))) out += "(?=.*\\b" + Literal(word) + "\\b)";
  return out;
}

std::string Alternation(const std::vector<std::string>& regexes) {
  std::vector<std::string> distinct(regexes);
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::string out;
  for (const std::string& regex : distinct) out += (out.empty() ? "(" : "|(") + regex + ")";
  return out;
}

}  // namespace nl::deep
