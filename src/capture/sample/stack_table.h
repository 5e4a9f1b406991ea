// SPDX-License-Identifier: Apache-2.0
#pragma once
// StackTable: numbers for frames and stacks, each written to the capture file when first seen; at the
// end native frames are written again with the names their files give them (the last record of a
// frame counts, and a capture cut off before has addresses only).
// Thread rule: one thread. Does not own the writer.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/format/chunk_writer.h"

namespace nl::capture {

class StackTable {
 public:
  explicit StackTable(ChunkWriter& writer) : writer_(writer) {}

  // A library or program by path; numbers from 1.
  uint32_t Module(std::string_view path);
  const std::string& module_path(uint32_t module) const { return modules_[module - 1]; }
  uint32_t NativeFrame(uint32_t module, uint64_t file_offset);
  uint32_t PythonFrame(std::string_view name, std::string_view file, int line);
  uint32_t KernelFrame(std::string_view name);

  // Outermost first; 0 when the table is full (counted by the caller).
  uint32_t Stack(const std::vector<uint32_t>& frames);

  // Names the native frames from their files.
  void NameFrames();
  size_t frames() const { return next_frame_ - 1; }
  size_t unnamed() const { return unnamed_; }

 private:
  static constexpr uint32_t kMaxFrames = 1 << 20;
  static constexpr uint32_t kMaxStacks = 1 << 20;
  struct Native {
    uint32_t id = 0, module = 0;
    uint64_t file_offset = 0;
  };
  struct StackHash {
    size_t operator()(const std::vector<uint32_t>& frames) const;
  };
  uint32_t NewFrame(FrameRecord record);

  ChunkWriter& writer_;
  std::vector<std::string> modules_;
  std::unordered_map<std::string, uint32_t> module_index_;
  std::vector<std::unordered_map<uint64_t, uint32_t>> native_;  // by module: offset -> frame
  std::vector<Native> native_frames_;
  std::unordered_map<std::string, uint32_t> named_;
  std::unordered_map<std::vector<uint32_t>, uint32_t, StackHash> stacks_;
  uint32_t next_frame_ = 1;
  size_t unnamed_ = 0;
};

// The readable form of a C++ name; others as they are.
std::string Demangled(std::string_view symbol);

}  // namespace nl::capture
