// SPDX-License-Identifier: Apache-2.0
#include "bench/outputs.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/terminal.h"

namespace nl::bench {

namespace {

constexpr int64_t kMostOutputBytes = int64_t{256} << 20;
constexpr int kShownColumns = 40;
// A file system may store times in steps of a tick of the kernel (up to 10 ms).
constexpr int64_t kFileTimeStepNs = 10'000'000;

bool IsWordEnd(char c) { return std::string_view(" \t\r\n,;:=()[]{}\"'").find(c) != std::string_view::npos; }

// The next word from `at`, or one separator.
std::string_view NextWord(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && !IsWordEnd(text[end])) ++end;
  return text.substr(at, std::max(end, at + 1) - at);
}

std::optional<double> NumberOf(std::string_view word) {
  double value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || stop != word.data() + word.size()) return std::nullopt;
  return value;
}

bool Close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b));
}

int64_t LineOf(std::string_view text, size_t at) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size())),
                        '\n');
}

std::string Shown(std::string_view text, size_t at) {
  if (at >= text.size()) return "the end";
  const std::string_view rest = text.substr(at, std::min(text.find('\n', at), text.size()) - at);
  return fmt::format("'{}'", PrintableName(rest, kShownColumns));
}

std::string DifferenceAt(std::string_view a, size_t at_a, std::string_view b, size_t at_b) {
  return fmt::format("line {}: {} in A, {} in B", LineOf(a, at_a), Shown(a, at_a), Shown(b, at_b));
}

std::string JoinPath(const std::string& directory, const std::string& path) {
  return directory.empty() || (!path.empty() && path[0] == '/') ? path : directory + "/" + path;
}

}  // namespace

std::optional<std::string> TextDifference(std::string_view a, std::string_view b, double tolerance) {
  if (a == b) return std::nullopt;
  size_t at_a = 0;
  size_t at_b = 0;
  if (!(tolerance > 0)) {
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    at_a = static_cast<size_t>(differ.first - a.begin());
    // From the start of the word, so that the message shows it whole.
    while (at_a > 0 && !IsWordEnd(a[at_a - 1])) --at_a;
    return DifferenceAt(a, at_a, b, at_a);
  }
  while (at_a < a.size() && at_b < b.size()) {
    const std::string_view word_a = NextWord(a, at_a);
    const std::string_view word_b = NextWord(b, at_b);
    if (word_a != word_b) {
      const std::optional<double> number_a = NumberOf(word_a);
      const std::optional<double> number_b = NumberOf(word_b);
      if (!number_a || !number_b || !Close(*number_a, *number_b, tolerance))
        return DifferenceAt(a, at_a, b, at_b);
    }
    at_a += word_a.size();
    at_b += word_b.size();
  }
  if (at_a == a.size() && at_b == b.size()) return std::nullopt;
  return DifferenceAt(a, at_a, b, at_b);
}

Result<std::vector<OutputFile>> ReadOutputFiles(const std::vector<std::string>& patterns,
                                                const std::string& directory, int64_t since_ns) {
  std::vector<OutputFile> out;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    const std::string whole = JoinPath(directory, pattern);
    const int code = glob(whole.c_str(), 0, nullptr, &found);
    std::vector<std::string> paths;
    if (code == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    if (paths.empty())
      return InvalidInput(fmt::format("--output {}: the command writes no such file", pattern));
    size_t fresh = 0;
    for (const std::string& path : paths) {
      struct stat info {};
      if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
      if (info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec + kFileTimeStepNs < since_ns) continue;
      ++fresh;
      NL_ASSIGN(std::string bytes, ReadWholeFile(path, kMostOutputBytes));
      const size_t skip = directory.empty() || path.rfind(directory + "/", 0) != 0 ? 0 : directory.size() + 1;
      out.push_back({path.substr(skip), std::move(bytes)});
    }
    if (fresh == 0)
      return InvalidInput(
          fmt::format("--output {}: the file exists, but the command did not write it", pattern));
  }
  return out;
}

std::optional<std::string> FilesDifference(const std::vector<OutputFile>& a, const std::vector<OutputFile>& b,
                                           double tolerance) {
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= a.size() || i >= b.size() || a[i].path != b[i].path)
      return fmt::format("{} is written by one side only", i < a.size() ? a[i].path : b[i].path);
    if (auto differ = TextDifference(a[i].bytes, b[i].bytes, tolerance))
      return fmt::format("{}, {}", a[i].path, *differ);
  }
  return std::nullopt;
}

}  // namespace nl::bench
