// SPDX-License-Identifier: Apache-2.0
#include "model/sampled_frame.h"

#include <algorithm>
#include <charconv>

namespace nl {

namespace {

constexpr std::string_view kKernelMark = "[kernel] ";

bool Ends(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) { return text.ends_with(e); });
}

std::optional<int64_t> LineAfter(std::string_view place, size_t colon) {
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == place.size()) return std::nullopt;
  int64_t line = 0;
  const auto [end, code] = std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
  if (code != std::errc() || end != place.data() + place.size() || line <= 0) return std::nullopt;
  return line;
}

// "name (file:line)": in C++ names, what stands in the last brackets is not a file.
bool ParseFile(std::string_view text, SampledFrame& out) {
  const size_t open = text.rfind(" (");
  if (!text.ends_with(')') || open == std::string_view::npos || open == 0) return false;
  std::string_view place = text.substr(open + 2, text.size() - open - 3);
  if (place.empty() || place.find_first_of("()") != std::string_view::npos) return false;
  const size_t colon = place.rfind(':');
  out.line = LineAfter(place, colon);
  if (out.line) place = place.substr(0, colon);
  const bool python = Ends(place, {".py", ".pyx", ".pyi", ".ipynb"}) || place.front() == '<';
  if (!python && !out.line) return false;
  out.name = text.substr(0, open);
  out.place = place;
  // Headers of the C++ library have no ending.
  const bool native =
      (!python && place.find('.') == std::string_view::npos) ||
      Ends(place, {".c", ".cc",  ".cpp", ".cxx", ".cu",  ".h",   ".hpp", ".cuh", ".rs",  ".go",  ".S",
                   ".s", ".inl", ".inc", ".ipp", ".tcc", ".hxx", ".hh",  ".f",   ".f90", ".F90", ".asm"});
  out.language = native ? FrameLanguage::kNative : FrameLanguage::kPython;
  return true;
}

bool IsInterpreter(std::string_view module) {
  if (module.starts_with("lib")) module.remove_prefix(3);
  return module.starts_with("python") && (module.size() == 6 || (module[6] >= '2' && module[6] <= '4'));
}

}  // namespace

std::span<const std::string_view> NamesOf(FrameLanguage) {
  static constexpr std::string_view kNames[] = {"python", "native", "system"};
  return kNames;
}

std::optional<std::string_view> MarkedWait(std::string_view frame) {
  for (const WaitMark& known : {kWaits, kWaitsForGil, kWaitsForDisk, kWaitsForCore, kStopped}) {
    if (frame == known.mark) return known.wait;
  }
  return std::nullopt;
}

SampledFrame ParseFrame(std::string_view text) {
  SampledFrame out;
  out.name = text;
  if (text.starts_with(kKernelMark)) {
    out.name = text.substr(kKernelMark.size());
    out.language = FrameLanguage::kSystem;
    return out;
  }
  if (ParseFile(text, out)) return out;
  const size_t open = text.rfind(" [");
  if (text.ends_with(']') && open != std::string_view::npos && open > 0) {
    out.name = text.substr(0, open);
    out.place = text.substr(open + 2, text.size() - open - 3);
  } else if (text.starts_with('[') && text.ends_with(']')) {
    out.place = text.substr(1, text.size() - 2);
  }
  out.interpreter = IsInterpreter(out.place);
  return out;
}

std::string FunctionText(std::string_view frame) {
  const SampledFrame parsed = ParseFrame(frame);
  if (!parsed.line) return std::string(frame);
  std::string out(parsed.name);
  return out.append(" (").append(parsed.place).append(")");
}

}  // namespace nl
