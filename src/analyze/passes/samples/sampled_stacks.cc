// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/samples/sampled_stacks.h"

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

// Files of the standard library in which a wait is always another function's.
bool WaitsForOthers(std::string_view file) {
  static constexpr std::string_view kFiles[] = {
      "threading.py", "queue.py",      "selectors.py",  "socket.py",  "subprocess.py", "ssl.py",
      "_base.py",     "connection.py", "popen_fork.py", "process.py", "synchronize.py"};
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return std::find(std::begin(kFiles), std::end(kFiles), name) != std::end(kFiles) ||
         file.starts_with("<frozen");
}

}  // namespace

std::span<const std::string_view> NamesOf(FrameLanguage) {
  static constexpr std::string_view kNames[] = {"python", "native", "system"};
  return kNames;
}

std::optional<std::string_view> MarkedWait(std::string_view mark) {
  if (mark == "[waits]") return "";
  if (mark == "[waits for the GIL]") return "the GIL";
  if (mark == "[waits for the disk]") return "the disk";
  if (mark == "[waits for a core]") return kFreeCore;
  if (mark == "[stopped]") return "SIGCONT";
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

namespace passes::samples {

const SampledStack& SampledStacks::Of(StringId stack) {
  const auto [it, added] = stacks_.try_emplace(static_cast<uint32_t>(stack));
  if (added && !IsNull(stack)) it->second = Parse(strings_.Text(stack));
  return it->second;
}

uint32_t SampledStacks::FunctionOf(const SampledFrame& frame) {
  std::string key(frame.name);
  key.append(1, '\0')
      .append(frame.place)
      .append(1, static_cast<char>('0' + static_cast<int>(frame.language)));
  const auto [it, added] = function_of_.try_emplace(std::move(key), static_cast<uint32_t>(functions_.size()));
  if (added) functions_.push_back({std::string(frame.name), std::string(frame.place), frame.language});
  return it->second;
}

SampledStack SampledStacks::Parse(std::string_view text) {
  SampledStack out;
  std::string_view helper;
  bool innermost = true;
  while (!text.empty()) {
    const size_t at = text.rfind(';') + 1;  // 0 for the outermost
    const std::string_view frame_text = text.substr(at);
    text = text.substr(0, at == 0 ? 0 : at - 1);
    if (const auto wait = innermost && !out.waits ? MarkedWait(frame_text) : std::nullopt) {
      out.waits = true;
      out.what = *wait;
      continue;
    }
    const SampledFrame frame = ParseFrame(frame_text);
    if (innermost) {
      innermost = false;
      out.runs_in = frame.interpreter ? FrameLanguage::kPython : frame.language;
      if (out.waits && out.what.empty() && frame.language == FrameLanguage::kSystem) out.what = frame.name;
      if (frame.language == FrameLanguage::kNative) out.leaf = FunctionOf(frame);
    }
    if (frame.language == FrameLanguage::kPython) {
      if (helper.empty()) helper = frame_text;
      if (out.where.empty() && !WaitsForOthers(frame.place)) out.where = frame_text;
    }
    const uint32_t function = FunctionOf(frame);
    if (frame.language == FrameLanguage::kPython && out.python_leaf == kNoFunction)
      out.python_leaf = function;
    const auto same = [&](const auto& known) { return known.first == function; };
    if (std::none_of(out.functions.begin(), out.functions.end(), same))
      out.functions.emplace_back(function, frame.line.value_or(-1));
  }
  if (out.where.empty()) out.where = helper;
  if (out.waits && out.what.empty()) out.what = "an unknown call";
  // Native code inside the C library says nothing of where a wait comes from.
  if (out.waits && out.where.empty() && out.leaf == kNoFunction) {
    for (const auto& [function, line] : out.functions) {
      const Function& f = functions_[function];
      if (f.language != FrameLanguage::kNative || f.place.starts_with("libc.") || f.place.starts_with("ld-"))
        continue;
      out.where = f.name;
      break;
    }
  }
  return out;
}

}  // namespace passes::samples

}  // namespace nl
