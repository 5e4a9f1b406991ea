// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/python_layout.h"

#include <cstring>

namespace nl::capture {

namespace {

PythonLayout Layout39And310(int minor) {
  PythonLayout p;
  p.minor = minor;
  p.lines = minor == 9 ? LineTable::kLnotab : LineTable::kLinetable;
  p.runtime_interpreters = 32;
  p.interp_next = 0;
  p.interp_threads = 8;
  p.gil_in_runtime = true;
  p.gil = 352;
  p.gil_holder = 8;
  p.gil_locked = 16;
  p.thread_next = 8;
  p.thread_id = 176;
  p.thread_frame = 24;
  p.frame_previous = 24;
  p.frame_code = 32;
  p.frame_instruction = minor == 9 ? 104 : 96;
  p.instruction_is_index = true;
  p.instruction_scale = minor == 9 ? 1 : 2;
  p.code_file = 104;
  p.code_name = 112;
  p.code_first_line = 40;
  p.code_lines = 120;
  p.ascii_bytes = 48;
  p.compact_bytes = 72;
  return p;
}

PythonLayout Layout311() {
  PythonLayout p;
  p.minor = 11;
  p.runtime_interpreters = 40;
  p.interp_next = 0;
  p.interp_threads = 16;
  p.gil_in_runtime = true;
  p.gil = 360;
  p.gil_holder = 8;
  p.gil_locked = 16;
  p.thread_next = 8;
  p.thread_id = 152;
  p.thread_native_id = 160;
  p.thread_frame = 56;
  p.cframe_frame = 8;
  p.frame_previous = 48;
  p.frame_code = 32;
  p.frame_instruction = 56;
  p.frame_owner = 69;
  p.code_file = 112;
  p.code_name = 120;
  p.code_qualname = 128;
  p.code_first_line = 72;
  p.code_lines = 136;
  p.code_bytes = 184;
  p.ascii_bytes = 48;
  p.compact_bytes = 72;
  return p;
}

PythonLayout Layout312() {
  PythonLayout p = Layout311();
  p.minor = 12;
  p.interp_threads = 72;
  p.gil_in_runtime = false;
  p.gil = 384;
  p.thread_id = 136;
  p.thread_native_id = 144;
  p.cframe_frame = 0;
  p.frame_previous = 8;
  p.frame_code = 0;
  p.frame_owner = 70;
  p.code_first_line = 68;
  p.code_bytes = 192;
  p.ascii_bytes = 40;
  p.compact_bytes = 56;
  return p;
}

// Walks the published offsets field by field, as one version orders them.
class OffsetWords {
 public:
  explicit OffsetWords(std::string_view head) : head_(head) {}
  uint64_t Next() {
    uint64_t value = 0;
    if (at_ + sizeof(value) > head_.size()) {
      short_ = true;
      return 0;
    }
    std::memcpy(&value, head_.data() + at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }
  void Skip(size_t words) { at_ += words * sizeof(uint64_t); }
  bool ran_out() const { return short_; }

 private:
  std::string_view head_;
  size_t at_ = 0;
  bool short_ = false;
};

int ReadVarint(std::string_view table, size_t& at) {
  unsigned value = 0;
  for (unsigned shift = 0; at < table.size() && shift < 32; shift += 6) {
    const auto byte = static_cast<unsigned char>(table[at++]);
    value |= (byte & 63u) << shift;
    if ((byte & 64u) == 0) break;
  }
  return static_cast<int>(value);
}

int ReadSignedVarint(std::string_view table, size_t& at) {
  const auto value = static_cast<unsigned>(ReadVarint(table, at));
  return (value & 1u) != 0 ? -static_cast<int>(value >> 1) : static_cast<int>(value >> 1);
}

int LineOfLnotab(std::string_view table, int line, int64_t offset) {
  int64_t at_offset = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    at_offset += static_cast<unsigned char>(table[i]);
    if (at_offset > offset) break;
    line += static_cast<signed char>(table[i + 1]);
  }
  return line;
}

int LineOfLinetable(std::string_view table, int line, int64_t offset) {
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    end += static_cast<unsigned char>(table[i]);
    const auto step = static_cast<signed char>(table[i + 1]);
    const bool has_line = step != -128;
    if (has_line) line += step;
    if (offset < end) return has_line ? line : 0;
  }
  return 0;
}

// One entry covers some instructions: a head byte (1, kind:4, length-1:3), then what the kind asks for.
int LineOfLocations(std::string_view table, int line, int64_t offset) {
  int64_t end = 0;
  for (size_t at = 0; at < table.size();) {
    const auto head = static_cast<unsigned char>(table[at++]);
    const int kind = (head >> 3) & 15;
    end += 2 * ((head & 7) + 1);
    if (kind == 14) {
      line += ReadSignedVarint(table, at);
      for (int i = 0; i < 3; ++i) ReadVarint(table, at);
    } else if (kind == 13) {
      line += ReadSignedVarint(table, at);
    } else if (kind >= 10 && kind <= 12) {
      line += kind - 10;
      at += 2;
    } else if (kind < 10) {
      at += 1;
    }
    if (offset < end) return kind == 15 ? 0 : line;
  }
  return 0;
}

}  // namespace

std::optional<PythonLayout> PythonLayoutOf(int major, int minor) {
  if (major != 3) return std::nullopt;
  switch (minor) {
    case 9:
    case 10: return Layout39And310(minor);
    case 11: return Layout311();
    case 12: return Layout312();
    default: return std::nullopt;
  }
}

std::optional<PythonLayout> ParseDebugOffsets(std::string_view head, std::string* why) {
  const auto refuse = [why](std::string text) {
    if (why != nullptr) *why = std::move(text);
    return std::nullopt;
  };
  if (head.substr(0, 8) != "xdebugpy") return refuse("_PyRuntime does not begin with the published offsets");
  OffsetWords words(head.substr(8));
  const uint64_t version = words.Next();
  PythonLayout p;
  p.major = static_cast<int>(version >> 24);
  p.minor = static_cast<int>((version >> 16) & 255);
  if (p.major != 3 || (p.minor != 13 && p.minor != 14))
    return refuse("Python " + std::to_string(p.major) + "." + std::to_string(p.minor) + " is not known");
  const bool is_314 = p.minor == 14;
  p.free_threaded = words.Next() != 0;
  words.Skip(2);
  p.runtime_interpreters = words.Next();
  words.Skip(2);  // size, id
  p.interp_next = words.Next();
  p.interp_threads = words.Next();
  words.Skip(is_314 ? 5 : 4);  // main thread (3.14), gc, modules, sysdict, builtins
  p.gil = words.Next();
  const uint64_t own_gil = words.Next();
  words.Skip(1);
  p.gil_locked = words.Next() - own_gil;
  p.gil_holder = words.Next() - own_gil;
  if (is_314) words.Skip(2);
  words.Skip(2);  // size, prev
  p.thread_next = words.Next();
  words.Skip(1);
  p.thread_frame = words.Next();
  p.thread_id = words.Next();
  p.thread_native_id = words.Next();
  words.Skip(2);
  words.Skip(1);
  p.frame_previous = words.Next();
  p.frame_code = words.Next();
  p.frame_instruction = words.Next();
  words.Skip(1);
  p.frame_owner = words.Next();
  if (is_314) words.Skip(2);
  p.code_tag_mask = is_314 ? 7 : 0;
  words.Skip(1);
  p.code_file = words.Next();
  p.code_name = words.Next();
  p.code_qualname = words.Next();
  p.code_lines = words.Next();
  p.code_first_line = words.Next();
  words.Skip(3);
  p.code_bytes = words.Next();
  if (is_314) words.Skip(1);
  words.Skip(2 + 4 + 3 + 3);  // object, type, tuple, list
  if (is_314) words.Skip(4);  // set
  words.Skip(3 + 2 + 3);      // dict, float, long
  words.Skip(1);
  p.bytes_size = words.Next();
  p.bytes_data = words.Next();
  words.Skip(1);
  p.text_state = words.Next();
  p.text_length = words.Next();
  p.ascii_bytes = words.Next();
  p.compact_bytes = p.ascii_bytes + 16;
  if (words.ran_out()) return refuse("the published offsets are cut short");
  // Structures are some kilobytes at most: anything else is not what we take it for.
  for (const uint64_t offset : {p.gil_locked, p.gil_holder, p.thread_next, p.thread_frame, p.frame_previous,
                                p.frame_owner, p.code_file, p.code_bytes, p.bytes_data, p.ascii_bytes}) {
    if (offset > 4096) return refuse("the published offsets make no sense");
  }
  return p;
}

std::optional<PythonVersion> VersionInName(std::string_view file_name) {
  const size_t slash = file_name.rfind('/');
  if (slash != std::string_view::npos) file_name.remove_prefix(slash + 1);
  const size_t at = file_name.find("python3.");
  if (at == std::string_view::npos) return std::nullopt;
  PythonVersion out{3, 0};
  size_t i = at + 8, digits = 0;
  for (; i < file_name.size() && file_name[i] >= '0' && file_name[i] <= '9' && digits < 3; ++i, ++digits)
    out.minor = out.minor * 10 + (file_name[i] - '0');
  if (digits == 0) return std::nullopt;
  return out;
}

int LineAt(LineTable kind, std::string_view table, int first_line, int64_t offset) {
  switch (kind) {
    case LineTable::kLnotab: return LineOfLnotab(table, first_line, offset);
    case LineTable::kLinetable: return LineOfLinetable(table, first_line, offset);
    case LineTable::kLocations: return LineOfLocations(table, first_line, offset);
  }
  return 0;
}

}  // namespace nl::capture
