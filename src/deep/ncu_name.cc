// SPDX-License-Identifier: Apache-2.0
#include "deep/ncu_name.h"

#include <algorithm>

#include "base/ascii.h"
#include "model/kernel_name.h"

namespace nl::deep {

namespace {

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

}  // namespace

std::string NcuRegex(std::string_view raw) {
  std::string function = ParseKernelName(raw).normalized;
  const size_t open = function.find('<');
  if (open != std::string::npos && open > 0 && function[open - 1] != ' ') function.resize(open);
  // What the normalised name keeps of a namespace is not needed.
  if (const size_t scope = function.rfind("::"); scope != std::string::npos) function.erase(0, scope + 2);
  return Literal(function);
}

std::string Alternation(const std::vector<std::string>& regexes) {
  std::vector<std::string> distinct(regexes);
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::string words, others;
  for (const std::string& regex : distinct) {
    if (std::all_of(regex.begin(), regex.end(), IsWordByte))
      words += (words.empty() ? "" : "|") + regex;
    else
      others += "|" + regex;
  }
  if (words.empty()) return others.empty() ? "" : others.substr(1);
  return "\\b(" + words + ")\\b" + others;
}

}  // namespace nl::deep
