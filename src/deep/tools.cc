// SPDX-License-Identifier: Apache-2.0
#include "deep/tools.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/run_program.h"

namespace nl::deep {

namespace {

struct Known {
  std::string_view name, title, package;
};
constexpr Known kKnown[] = {{"ncu", "Nsight Compute", "cuda-nsight-compute"},
                            {"nsys", "Nsight Systems", "cuda-nsight-systems"}};

std::string_view TitleOf(std::string_view name) {
  for (const Known& known : kKnown) {
    if (known.name == name) return known.title;
  }
  return name;
}

// Installed, but not where programs are looked for.
std::string ElsewhereOf(std::string_view name) {
  std::error_code code;
  std::vector<std::string> places{"/usr/local/cuda/bin"};
  for (const char* folder : {"/opt/nvidia/nsight-compute", "/opt/nvidia/nsight-systems"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
      places.push_back(entry.path().string());
      places.push_back(entry.path().string() + "/bin");
    }
  }
  for (const std::string& place : places) {
    if (!FindProgram(fmt::format("{}/{}", place, name)).empty()) return place;
  }
  return "";
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (!line.empty()) out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

const char* const kCounterPermission =
    "the driver keeps hardware counters for administrators (ERR_NVGPUCTRPERM): load it with "
    "NVreg_RestrictProfilingToAdminUsers=0 (a line `options nvidia NVreg_RestrictProfilingToAdminUsers=0` in "
    "/etc/modprobe.d/, then reboot), run as root, or give the container --cap-add SYS_ADMIN";

std::string VersionIn(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t from = text.find_first_of("0123456789", at);
    if (from == std::string_view::npos) return "";
    size_t end = from;
    while (end < text.size() && (IsDigit(text[end]) || text[end] == '.')) ++end;
    const std::string_view word = text.substr(from, end - from);
    // Years of the copyright have no dot or end in one.
    if (std::count(word.begin(), word.end(), '.') >= 2 && word.back() != '.') return std::string(word);
    at = end;
  }
  return "";
}

Tool FindTool(std::string_view name) {
  Tool out;
  out.name = std::string(name);
  out.path = FindProgram(name);
  if (out.path.empty()) {
    const std::string elsewhere = ElsewhereOf(name);
    out.detail =
        elsewhere.empty()
            ? fmt::format("{} ({}) is not on PATH; it comes with the CUDA toolkit", name, TitleOf(name))
            : fmt::format("{} ({}) is in {}, which is not on PATH", name, TitleOf(name), elsewhere);
    return out;
  }
  const Result<ProgramResult> ran = RunProgram({out.path, "--version"}, [] { return true; });
  if (ran.ok() && ran->status == 0) out.version = VersionIn(ran->out + "\n" + ran->err);
  out.detail = out.version.empty() ? fmt::format("{} is there, but prints no version", out.path)
                                   : fmt::format("{} {} ({})", TitleOf(name), out.version, out.path);
  return out;
}

Result<Tool> NeedTool(std::string_view name) {
  Tool tool = FindTool(name);
  if (!tool.path.empty()) return tool;
  return NotFound(tool.detail)
      .Hint(name == "ncu"
                ? "install it or add it to PATH; --mode light collects counters without it"
                : "install it or add it to PATH; without --nsys, neurolens records the timeline itself");
}

std::string ToolsWords(std::string_view log, size_t most_lines) {
  constexpr std::string_view kError = "==ERROR==";
  const std::vector<std::string_view> lines = LinesOf(log);
  std::vector<std::string> out;
  for (std::string_view line : lines) {
    if (!line.starts_with(kError)) continue;
    line.remove_prefix(kError.size());
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    // The same error for every kernel is one error.
    if (std::find(out.begin(), out.end(), line) == out.end()) out.emplace_back(line);
  }
  if (out.empty()) {
    for (size_t i = lines.size() - std::min(lines.size(), most_lines); i < lines.size(); ++i)
      out.emplace_back(lines[i]);
  }
  if (out.size() > most_lines) out.resize(most_lines);
  return fmt::format("{}", fmt::join(out, "; "));
}

}  // namespace nl::deep
