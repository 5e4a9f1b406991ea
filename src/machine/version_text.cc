// SPDX-License-Identifier: Apache-2.0
// Versions of Python packages (PEP 440), as far as packages use them between each other.
#include <algorithm>
#include <cctype>

#include "machine/python.h"

namespace nl::machine {

namespace {

struct ParsedVersion {
  std::vector<int64_t> release;
  bool is_pre = false;  // 2.0.0rc1, 2.0.0.dev20250101
};

ParsedVersion Parsed(std::string_view text) {
  ParsedVersion out;
  text = text.substr(0, text.find('+'));
  if (!text.empty() && (text[0] == 'v' || text[0] == 'V')) text.remove_prefix(1);
  size_t at = 0;
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0) {
    size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    out.release.push_back(WholeNumber(text.substr(at, end - at)));
    at = end;
    if (at >= text.size() || text[at] != '.') break;
    ++at;
  }
  const std::string_view rest = text.substr(std::min(at, text.size()));
  out.is_pre = !rest.empty() && rest.compare(0, 4, "post") != 0 && rest.compare(0, 5, ".post") != 0;
  return out;
}

bool HasPrefix(const ParsedVersion& version, const ParsedVersion& prefix, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const int64_t number = i < version.release.size() ? version.release[i] : 0;
    if (number != prefix.release[i]) return false;
  }
  return true;
}

bool FitsOne(std::string_view version, std::string_view clause) {
  const size_t from = clause.find_first_not_of("=<>!~ ");
  if (from == std::string_view::npos) return true;
  std::string_view sign = clause.substr(0, from), wanted = clause.substr(from);
  while (!sign.empty() && sign.back() == ' ') sign.remove_suffix(1);
  while (!wanted.empty() && wanted.back() == ' ') wanted.remove_suffix(1);
  if (wanted.size() > 2 && wanted.substr(wanted.size() - 2) == ".*") {
    const ParsedVersion prefix = Parsed(wanted.substr(0, wanted.size() - 2));
    return HasPrefix(Parsed(version), prefix, prefix.release.size()) == (sign != "!=");
  }
  // A local version counts only where the specifier has one.
  if (wanted.find('+') != std::string_view::npos && (sign == "==" || sign == "===")) return version == wanted;
  const int order = CompareVersions(version, wanted);
  if (sign == "==" || sign == "===") return order == 0;
  if (sign == "!=") return order != 0;
  if (sign == ">=") return order >= 0;
  if (sign == "<=") return order <= 0;
  if (sign == ">") return order > 0;
  if (sign == "<") return order < 0;
  if (sign == "~=") {
    const ParsedVersion least = Parsed(wanted);
    return order >= 0 && !least.release.empty() &&
           HasPrefix(Parsed(version), least, least.release.size() - 1);
  }
  return true;
}

}  // namespace

int CompareVersions(std::string_view a, std::string_view b) {
  const ParsedVersion left = Parsed(a), right = Parsed(b);
  const size_t count = std::max(left.release.size(), right.release.size());
  for (size_t i = 0; i < count; ++i) {
    const int64_t x = i < left.release.size() ? left.release[i] : 0;
    const int64_t y = i < right.release.size() ? right.release[i] : 0;
    if (x != y) return x < y ? -1 : 1;
  }
  return static_cast<int>(right.is_pre) - static_cast<int>(left.is_pre);
}

bool VersionFits(std::string_view version, std::string_view specifier) {
  while (!specifier.empty()) {
    const size_t comma = std::min(specifier.find(','), specifier.size());
    std::string_view clause = specifier.substr(0, comma);
    while (!clause.empty() && clause.front() == ' ') clause.remove_prefix(1);
    if (!FitsOne(version, clause)) return false;
    specifier.remove_prefix(std::min(comma + 1, specifier.size()));
  }
  return true;
}

}  // namespace nl::machine
