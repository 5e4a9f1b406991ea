// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where CPython keeps what a sampler reads, per minor version. 3.13 and later publish it at the head
// of _PyRuntime; for 3.9 to 3.12 it is a table here, taken from those versions' own headers (64 bit; the
// same on x86_64 and aarch64, and for every patch release of a minor version).
// Thread rule: plain values.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nl::capture {

enum class LineTable { kLnotab, kLinetable, kLocations };  // 3.9, 3.10, 3.11 and later

struct PythonLayout {
  int major = 3, minor = 0;
  bool free_threaded = false;
  LineTable lines = LineTable::kLocations;

  uint64_t runtime_interpreters = 0;  // _PyRuntime.interpreters.head
  uint64_t interp_next = 0, interp_threads = 0;
  // The lock: in the runtime until 3.11, after a pointer in the interpreter since.
  bool gil_in_runtime = false;
  uint64_t gil = 0;  // of the lock in the runtime, or of the pointer in the interpreter
  uint64_t gil_holder = 0, gil_locked = 0;
  static constexpr uint64_t kGilBytes = 256;  // no lock is larger; for the addresses waited on

  uint64_t thread_next = 0, thread_id = 0;
  uint64_t thread_native_id = 0;  // 0: there is none (3.9, 3.10)
  // 3.11 and 3.12 keep the frame after one more pointer.
  uint64_t thread_frame = 0;
  std::optional<uint64_t> cframe_frame;

  uint64_t frame_previous = 0, frame_code = 0, frame_instruction = 0;
  bool instruction_is_index = false;  // 3.9, 3.10: a 32-bit index instead of a pointer
  int instruction_scale = 1;          // bytes per step of that index
  uint64_t frame_owner = 0;           // 0: there is none
  uint64_t code_tag_mask = 0;         // bits of the code pointer that are not part of the address (3.14)

  uint64_t code_file = 0, code_name = 0, code_qualname = 0, code_first_line = 0, code_lines = 0;
  uint64_t code_bytes = 0;  // first instruction; unused with instruction_is_index

  uint64_t bytes_size = 16, bytes_data = 32;
  uint64_t text_length = 16, text_state = 32;
  uint64_t ascii_bytes = 0, compact_bytes = 0;  // sizes of the two string headers
};

// Frames of these owners are the interpreter's own and have no code: skip them.
inline constexpr uint8_t kFirstInternalOwner = 3;

// 3.9 to 3.12.
std::optional<PythonLayout> PythonLayoutOf(int major, int minor);

// Bytes of the head of _PyRuntime that ParseDebugOffsets looks at, at most.
inline constexpr size_t kDebugOffsetsBytes = 1024;
// 3.13 and 3.14, from the head of _PyRuntime; `why` says what was wrong with it.
std::optional<PythonLayout> ParseDebugOffsets(std::string_view head, std::string* why);

// "3.11" of "/usr/bin/python3.11" or "libpython3.11.so.1.0"; nothing when the name does not say.
struct PythonVersion {
  int major = 0, minor = 0;
};
std::optional<PythonVersion> VersionInName(std::string_view file_name);

// The line of the instruction at byte `offset`; 0 when the table has none for it.
int LineAt(LineTable kind, std::string_view table, int first_line, int64_t offset);

}  // namespace nl::capture
