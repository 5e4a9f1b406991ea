// SPDX-License-Identifier: Apache-2.0
#include "base/near_names.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

namespace nl {

namespace {

constexpr size_t kShown = 5;
constexpr double kAlike = 0.3;  // share of common pairs of letters from which a name is worth showing

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::set<std::string> LetterPairs(const std::string& text) {
  std::set<std::string> out;
  for (size_t i = 0; i + 1 < text.size(); ++i) out.insert(text.substr(i, 2));
  return out;
}

// Dice's coefficient of the pairs of letters; a name that holds the other counts as nearly equal.
double Similarity(const std::string& wanted, const std::string& name) {
  if (wanted.size() >= 2 && name.find(wanted) != std::string::npos) return 0.9;
  const std::set<std::string> a = LetterPairs(wanted);
  const std::set<std::string> b = LetterPairs(name);
  if (a.empty() || b.empty()) return 0;
  size_t common = 0;
  for (const std::string& pair : a) common += b.count(pair);
  return 2.0 * static_cast<double>(common) / static_cast<double>(a.size() + b.size());
}

}  // namespace

bool NameMatcher::Matches(std::string_view name) const {
  if (name == pattern_) return true;
  size_t at = 0;
  size_t in_pattern = 0;
  size_t star = std::string::npos;
  size_t star_at = 0;
  while (at < name.size()) {
    if (in_pattern < pattern_.size() && pattern_[in_pattern] == '*') {
      star = in_pattern++;
      star_at = at;
    } else if (in_pattern < pattern_.size() &&
               (pattern_[in_pattern] == '?' || pattern_[in_pattern] == name[at])) {
      ++in_pattern;
      ++at;
    } else if (star != std::string::npos) {
      in_pattern = star + 1;
      at = ++star_at;
    } else {
      return false;
    }
  }
  while (in_pattern < pattern_.size() && pattern_[in_pattern] == '*') ++in_pattern;
  return in_pattern == pattern_.size();
}

std::string NearNamesHint(std::string_view wanted, const std::vector<std::string>& names) {
  std::string plain = Lower(wanted);
  plain.erase(std::remove_if(plain.begin(), plain.end(), [](char c) { return c == '*' || c == '?'; }),
              plain.end());
  std::vector<std::pair<double, std::string>> order;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) order.emplace_back(Similarity(plain, Lower(name)), name);
  }
  if (order.empty()) return "";
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const bool alike = order.front().first >= kAlike;
  std::string out = alike ? "near names: " : "it has: ";
  for (size_t i = 0; i < std::min(order.size(), kShown); ++i) {
    if (alike && order[i].first < kAlike) break;
    out += (i == 0 ? "" : ", ") + order[i].second;
  }
  return out + (!alike && order.size() > kShown ? ", ..." : "");
}

}  // namespace nl
