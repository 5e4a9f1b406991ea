// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names a person types against names a run has: exact or with wildcards, and what was
// probably meant when nothing matches.
// Thread rule: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace nl {

// Whole-name match; * is any text and ? any one byte. A name that equals the pattern matches too, since
// C++ names have stars of their own ("float*"). Linear in practice, quadratic at worst.
class NameMatcher {
 public:
  explicit NameMatcher(std::string_view pattern) : pattern_(pattern) {}
  bool Matches(std::string_view name) const;

 private:
  std::string pattern_;
};

// For words of a fixed vocabulary: the candidates nearest to `word` in spelling, none when all are
// far. Several only on a tie, or when `word` is the beginning of several.
std::vector<std::string> Nearest(std::string_view word, const std::vector<std::string>& candidates);
// "did you mean 'x'?" or, for a tie, "did you mean 'x' or 'y'?"; empty without candidates.
std::string DidYouMean(const std::vector<std::string>& nearest);

// For names of a run, of which people type a part: "near names: a, b" with the most alike of `names`, at most
// five; "it has: ..." when none is alike.
std::string NearNamesHint(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace nl
