// SPDX-License-Identifier: Apache-2.0
#include "base/near_names.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "base/ascii.h"

namespace nl {

namespace {

constexpr size_t kShown = 5;
constexpr double kAlike = 0.3;  // share of common pairs of letters from which a name is worth showing

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

// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replace, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
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
  std::string plain = ToLower(wanted);
  plain.erase(std::remove_if(plain.begin(), plain.end(), [](char c) { return c == '*' || c == '?'; }),
              plain.end());
  std::vector<std::pair<double, std::string>> order;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) order.emplace_back(Similarity(plain, ToLower(name)), name);
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

std::vector<std::string> Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  // Past this length it is not a typing error, and the table would be large.
  if (word.empty() || word.size() > 64) return {};
  const bool flag = word.rfind("--", 0) == 0;
  const size_t letters = word.size() - (flag ? 2 : 0);
  size_t best = std::max<size_t>(1, letters / 3);
  std::vector<std::string> nearest;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance > best || distance >= candidate.size()) continue;
    if (distance < best) nearest.clear();
    best = distance;
    if (std::find(nearest.begin(), nearest.end(), candidate) == nearest.end()) nearest.push_back(candidate);
  }
  if (!nearest.empty()) return nearest;
  // A command cut short, as "kern" for "kernels".
  for (const std::string& candidate : candidates) {
    if (letters >= 2 && candidate.rfind(word, 0) == 0) nearest.push_back(candidate);
  }
  return nearest;
}

std::string DidYouMean(const std::vector<std::string>& nearest) {
  if (nearest.empty()) return "";
  std::string text = "did you mean ";
  for (size_t i = 0; i < nearest.size(); ++i) {
    if (i > 0) text += i + 1 == nearest.size() ? " or " : ", ";
    text += "'" + nearest[i] + "'";
  }
  return text + "?";
}

}  // namespace nl
