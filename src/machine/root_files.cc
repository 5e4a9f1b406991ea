// SPDX-License-Identifier: Apache-2.0
#include "machine/root_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

namespace nl::machine {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostCpus = 1 << 16;

}  // namespace

RootFiles::RootFiles(std::string root) : root_(std::move(root)) {
  while (!root_.empty() && root_.back() == '/') root_.pop_back();
}

std::optional<std::string> RootFiles::Text(const std::string& path, size_t max_bytes) const {
  const int fd = open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::string out;
  char buffer[16384];
  ssize_t got = 0;
  while (out.size() < max_bytes && (got = read(fd, buffer, sizeof buffer)) > 0)
    out.append(buffer, static_cast<size_t>(got));
  close(fd);
  if (got < 0) return std::nullopt;
  if (out.size() > max_bytes) out.resize(max_bytes);
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return out;
}

std::optional<int64_t> RootFiles::Number(const std::string& path) const {
  const std::optional<std::string> text = Text(path, 64);
  int64_t value = 0;
  if (!text) return std::nullopt;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), value);
  return code == std::errc() && end == text->data() + text->size() ? std::optional(value) : std::nullopt;
}

bool RootFiles::Exists(const std::string& path) const {
  std::error_code error;
  return fs::exists(root_ + path, error);
}

bool RootFiles::IsFolder(const std::string& path) const {
  std::error_code error;
  return fs::is_directory(root_ + path, error);
}

std::optional<std::string> RootFiles::LinkTarget(const std::string& path) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(root_ + path, error);
  return error ? std::nullopt : std::optional(target.string());
}

std::vector<std::string> RootFiles::Names(const std::string& folder) const {
  std::vector<std::string> out;
  std::error_code error;
  fs::directory_iterator at(root_ + folder, error);
  while (!error && at != fs::directory_iterator()) {
    out.push_back(at->path().filename().string());
    at.increment(error);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> RootFiles::Numbered(const std::string& folder, std::string_view name) const {
  std::vector<std::pair<int64_t, std::string>> found;
  for (const std::string& file : Names(folder)) {
    const bool fits = file.size() > name.size() && file.compare(0, name.size(), name) == 0 &&
                      file.find_first_not_of("0123456789", name.size()) == std::string::npos;
    if (fits)
      found.emplace_back(WholeNumber(std::string_view(file).substr(name.size())), folder + "/" + file);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (auto& [number, path] : found) out.push_back(std::move(path));
  return out;
}

std::optional<std::string> ValueOf(std::string_view text, std::string_view key, char separator) {
  constexpr std::string_view kBlank = " \t\r\"";
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t at = line.find(separator);
    if (at == std::string_view::npos || at == 0) continue;
    const size_t last = line.find_last_not_of(" \t", at - 1);
    if (last == std::string_view::npos || line.substr(0, last + 1) != key) continue;
    const size_t from = line.find_first_not_of(kBlank, at + 1);
    if (from == std::string_view::npos) return std::string();
    return std::string(line.substr(from, line.find_last_not_of(kBlank) - from + 1));
  }
  return std::nullopt;
}

int64_t WholeNumber(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::set<int64_t> CpuList(std::string_view text) {
  std::set<int64_t> out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (part.empty()) continue;
    const size_t dash = part.find('-');
    const int64_t first = WholeNumber(part);
    const int64_t last = dash == std::string_view::npos ? first : WholeNumber(part.substr(dash + 1));
    for (int64_t i = first; i <= last && i - first < kMostCpus; ++i) out.insert(i);
  }
  return out;
}

}  // namespace nl::machine
