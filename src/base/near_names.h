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

// "near names: a, b" with the most alike of `names`, at most five; "it has: ..." when none is alike.
std::string NearNamesHint(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace nl
