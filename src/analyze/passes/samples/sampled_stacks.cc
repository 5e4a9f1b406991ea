// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/samples/sampled_stacks.h"

#include <algorithm>

namespace nl {

namespace {

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
