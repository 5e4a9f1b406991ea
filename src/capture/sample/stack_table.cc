// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/stack_table.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "capture/sample/elf_file.h"
#include "capture/sample/source_lines.h"

namespace nl::capture {

std::string Demangled(std::string_view symbol) {
  // A version is not a part of the name ("memcpy@@GLIBC_2.14"), nor is a clone's ending of a mangled one
  // ("_Z1fv.cold").
  const std::string name(symbol.substr(0, symbol.find('@')));
  if (name.rfind("_Z", 0) != 0) return name;
  int status = 0;
  char* text = abi::__cxa_demangle(name.substr(0, name.find('.')).c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return name;
  std::string out(text);
  std::free(text);
  return out;
}

size_t StackTable::StackHash::operator()(const std::vector<uint32_t>& frames) const {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint32_t frame : frames) hash = (hash ^ frame) * 0x100000001b3;
  return static_cast<size_t>(hash ^ (hash >> 29));
}

uint32_t StackTable::Module(std::string_view path) {
  const auto [entry, added] =
      module_index_.emplace(std::string(path), static_cast<uint32_t>(modules_.size() + 1));
  if (added) {
    modules_.emplace_back(path);
    native_.emplace_back();
  }
  return entry->second;
}

uint32_t StackTable::NewFrame(FrameRecord record) {
  if (next_frame_ > kMaxFrames) return 0;
  record.id = next_frame_++;
  writer_.Add(record);
  return record.id;
}

uint32_t StackTable::NativeFrame(uint32_t module, uint64_t file_offset) {
  auto& known = native_[module - 1];
  const auto found = known.find(file_offset);
  if (found != known.end()) return found->second;
  FrameRecord record{};
  record.kind = FrameKind::kNative;
  record.address = file_offset;
  record.module = writer_.String(modules_[module - 1]);
  const uint32_t id = NewFrame(record);
  if (id == 0) return 0;
  known.emplace(file_offset, id);
  native_frames_.push_back({id, module, file_offset});
  return id;
}

uint32_t StackTable::PythonFrame(std::string_view name, std::string_view file, int line) {
  std::string key = "p";
  key.append(name).append(1, '\0').append(file).append(1, '\0').append(std::to_string(line));
  const auto found = named_.find(key);
  if (found != named_.end()) return found->second;
  FrameRecord record{};
  record.kind = FrameKind::kPython;
  record.name = writer_.String(name);
  record.file = writer_.String(file);
  record.line = static_cast<uint32_t>(std::max(line, 0));
  const uint32_t id = NewFrame(record);
  if (id != 0) named_.emplace(std::move(key), id);
  return id;
}

uint32_t StackTable::KernelFrame(std::string_view name) {
  std::string key = "k";
  key.append(name);
  const auto found = named_.find(key);
  if (found != named_.end()) return found->second;
  FrameRecord record{};
  record.kind = FrameKind::kKernel;
  record.name = writer_.String(name);
  const uint32_t id = NewFrame(record);
  if (id != 0) named_.emplace(std::move(key), id);
  return id;
}

uint32_t StackTable::Stack(const std::vector<uint32_t>& frames) {
  if (frames.empty()) return 0;
  const auto found = stacks_.find(frames);
  if (found != stacks_.end()) return found->second;
  if (stacks_.size() >= kMaxStacks) return 0;
  const auto id = static_cast<uint32_t>(stacks_.size() + 1);
  // Of a deeper stack the innermost frames are kept: they are where the time goes.
  const size_t skip = frames.size() > kMaxStackFrames ? frames.size() - kMaxStackFrames : 0;
  writer_.AddStack(id, frames.data() + skip, static_cast<uint32_t>(frames.size() - skip));
  stacks_.emplace(frames, id);
  return id;
}

namespace {

// The interpreter's own code is how Python's lines run: its module says more than its lines.
bool IsPython(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.starts_with("python") || file.starts_with("libpython");
}

}  // namespace

void StackTable::NameFrames() {
  std::stable_sort(native_frames_.begin(), native_frames_.end(),
                   [](const Native& a, const Native& b) { return a.module < b.module; });
  std::unique_ptr<ElfFile> file;
  std::unique_ptr<SourceLines> lines;
  uint32_t open_module = 0;
  for (const Native& frame : native_frames_) {
    const std::string& path = modules_[frame.module - 1];
    if (frame.module != open_module) {
      open_module = frame.module;
      file = path[0] == '/' ? ElfFile::Open(path) : nullptr;
      lines = file != nullptr && !IsPython(path) ? SourceLines::Open(path) : nullptr;
      if (file != nullptr && !file->build_id().empty()) writer_.AddFact("build_id:" + path, file->build_id());
    }
    std::optional<ElfFile::Function> function;
    std::optional<SourceLines::Place> place;
    if (file != nullptr) {
      if (const std::optional<uint64_t> address = file->AddressOfOffset(frame.file_offset)) {
        function = file->FunctionAt(*address);
        if (function && lines != nullptr) place = lines->Of(*address, *address - function->offset);
      }
    }
    if (!function) ++unnamed_;
    FrameRecord record{};
    record.kind = FrameKind::kNative;
    record.id = frame.id;
    record.address = frame.file_offset;
    record.module = writer_.String(path);
    // Places in a file without symbols are one frame to a reader: the file.
    record.name =
        writer_.String(function ? Demangled(function->name) : "[" + path.substr(path.rfind('/') + 1) + "]");
    if (place) {
      record.file = writer_.String(place->file);
      record.line = static_cast<uint32_t>(place->line);
    }
    writer_.Add(record);
  }
}

}  // namespace nl::capture
