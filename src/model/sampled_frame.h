// SPDX-License-Identifier: Apache-2.0
#pragma once
// The frames of sampled stacks, as adapters write them into cpu_sample.stack. Thread rule: pure functions;
// the parts of a frame refer to its text.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nl {

enum class FrameLanguage : uint8_t { kPython, kNative, kSystem };
std::span<const std::string_view> NamesOf(FrameLanguage);

// A frame of a sampled stack: "name (file:line)", "name [module]", "[module]", "[kernel] call".
struct SampledFrame {
  std::string_view name;
  std::string_view place;  // file or module; empty: not known
  std::optional<int64_t> line;
  FrameLanguage language = FrameLanguage::kNative;
  bool interpreter = false;  // native code of the Python interpreter
};
SampledFrame ParseFrame(std::string_view text);

// Innermost frame of a thread that did not run: the mark, and what it waited for; empty where the system call
// before the mark names it.
struct WaitMark {
  std::string_view mark, wait;
};
inline constexpr WaitMark kWaits{"[waits]", ""};
inline constexpr WaitMark kWaitsForGil{"[waits for the GIL]", "the GIL"};
inline constexpr WaitMark kWaitsForDisk{"[waits for the disk]", "the disk"};
inline constexpr WaitMark kWaitsForCore{"[waits for a core]", "a free core"};
inline constexpr WaitMark kStopped{"[stopped]", "SIGCONT"};
// What a mark says; no value: not a mark.
std::optional<std::string_view> MarkedWait(std::string_view frame);

// The frame without its line, which changes while a function runs: "name (file)".
std::string FunctionText(std::string_view frame);

}  // namespace nl
