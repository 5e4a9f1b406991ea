// SPDX-License-Identifier: Apache-2.0
#include "base/plural.h"

#include "base/human.h"

namespace nl {

std::string Plural(int64_t count, std::string_view noun) {
  std::string out(noun);
  if (count == 1 || noun.empty()) return out;
  const auto ends = [noun](std::string_view ending) { return noun.ends_with(ending); };
  if (ends("s") || ends("x") || ends("ch") || ends("sh")) return out + "es";
  const bool vowel_before_y =
      noun.size() > 1 && std::string_view("aeiou").find(noun[noun.size() - 2]) != std::string_view::npos;
  if (ends("y") && !vowel_before_y) {
    out.pop_back();
    return out + "ies";
  }
  return out + "s";
}

std::string Counted(int64_t count, std::string_view noun) {
  return HumanCount(count) + " " + Plural(count, noun);
}

}  // namespace nl
