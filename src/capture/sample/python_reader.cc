// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/python_reader.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace nl::capture {

namespace {

constexpr size_t kMaxInterpreters = 64;
constexpr size_t kMaxThreads = 4096;
constexpr size_t kThreadBytes = 192;  // as far as the fields we read
constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kMaxLineTableBytes = 1 << 20;
constexpr size_t kMaxCodes = 1 << 17;

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

template <class T>
T Field(const unsigned char* bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

void AppendUtf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    const bool surrogate = c >= 0xd800 && c < 0xe000;
    if (surrogate) c = 0xfffd;
    out += static_cast<char>(0xe0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 63));
    out += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x110000) {
    out += static_cast<char>(0xf0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 63));
    out += static_cast<char>(0x80 | ((c >> 6) & 63));
    out += static_cast<char>(0x80 | (c & 63));
  }
}

}  // namespace

PythonReader::Attach PythonReader::TryAttach(const std::vector<Mapping>& mappings) {
  if (ready_) return Attach::kReady;
  reason_.clear();
  has_candidate_ = false;
  std::vector<std::string_view> tried;
  for (const Mapping& m : mappings) {
    if (m.path.empty() || m.path[0] != '/') continue;
    // The program itself may have an interpreter built in, whatever its name.
    const bool first = tried.empty();
    if (!first && BaseName(m.path).find("python") == std::string_view::npos) continue;
    if (std::find(tried.begin(), tried.end(), m.path) != tried.end()) continue;
    tried.push_back(m.path);
    if (std::find(without_.begin(), without_.end(), m.path) != without_.end()) continue;
    if (Locate(mappings, m)) return Attach::kReady;
    if (memory_.refused() || !reason_.empty()) return Attach::kImpossible;
  }
  return Attach::kNotYet;
}

bool PythonReader::Locate(const std::vector<Mapping>& mappings, const Mapping& image) {
  // Through the process's own root, so that a container's file is found.
  const std::string inside = "/proc/" + std::to_string(memory_.pid()) + "/root" + image.path;
  std::unique_ptr<ElfFile> elf = ElfFile::Open(inside);
  if (elf == nullptr) elf = ElfFile::Open(image.path);
  if (elf == nullptr) return false;
  std::optional<uint64_t> runtime = elf->AddressOfSection(".PyRuntime");
  if (!runtime) runtime = elf->AddressOfSymbol("_PyRuntime");
  const std::optional<uint64_t> linked = elf->AddressOfOffset(image.file_offset);
  if (!runtime || !linked) {
    without_.push_back(image.path);
    return false;
  }
  has_candidate_ = true;
  const uint64_t bias = image.start - *linked;
  runtime_ = *runtime + bias;
  if (!ChooseLayout(*elf, image.path, bias)) {
    if (memory_.refused())
      reason_ =
          std::string("reading the memory of the process is not allowed: ") + std::strerror(memory_.error());
    return false;
  }
  uint64_t interpreter = 0;
  if (!memory_.Get(runtime_ + layout_.runtime_interpreters, interpreter) || interpreter == 0) return false;
  if (const std::optional<uint64_t> eval = elf->AddressOfSymbol("_PyEval_EvalFrameDefault")) {
    eval_begin_ = *eval + bias;
    eval_end_ = eval_begin_;
    if (const std::optional<ElfFile::Function> at = elf->FunctionAt(*eval)) {
      // Its size, by halving: the last address that still belongs to it.
      uint64_t step = uint64_t{1} << 20;
      uint64_t inside_function = *eval;
      for (; step > 0; step /= 2) {
        const std::optional<ElfFile::Function> next = elf->FunctionAt(inside_function + step);
        if (next && next->name == at->name) inside_function += step;
      }
      eval_end_ = inside_function + bias + 1;
    }
  }
  image_begin_ = image.start;
  for (const Mapping& m : mappings) {
    if (m.path == image.path) image_end_ = m.end;
  }
  ready_ = true;
  return true;
}

bool PythonReader::ChooseLayout(ElfFile& elf, const std::string& path, uint64_t bias) {
  std::string head(kDebugOffsetsBytes, '\0');
  if (!memory_.Read(runtime_, head.data(), head.size())) return false;
  if (head.compare(0, 8, "xdebugpy") == 0) {
    const std::optional<PythonLayout> published = ParseDebugOffsets(head, &reason_);
    if (published) layout_ = *published;
    return published.has_value();
  }
  std::optional<PythonVersion> version = VersionInName(path);
  if (const std::optional<uint64_t> at = elf.AddressOfSymbol("Py_Version")) {
    uint64_t hex = 0;
    if (memory_.Get(*at + bias, hex) && (hex >> 24) == 3) version = {3, static_cast<int>((hex >> 16) & 255)};
  }
  if (!version) {
    reason_ = "the version of the interpreter in " + path + " is not known";
    return false;
  }
  const std::optional<PythonLayout> layout = PythonLayoutOf(version->major, version->minor);
  if (!layout) {
    reason_ = "Python " + std::to_string(version->major) + "." + std::to_string(version->minor) +
              " cannot be read (3.9 to 3.14 can)";
    return false;
  }
  layout_ = *layout;
  return true;
}

bool PythonReader::ReadLocks(uint64_t interpreter, uint64_t& holder) {
  uint64_t lock = runtime_ + layout_.gil;
  if (!layout_.gil_in_runtime && !memory_.Get(interpreter + layout_.gil, lock)) return false;
  if (lock == 0) return true;
  if (std::find(locks_.begin(), locks_.end(), lock) == locks_.end() && locks_.size() < kMaxInterpreters)
    locks_.push_back(lock);
  int locked = 0;
  uint64_t last = 0;
  if (!memory_.Get(lock + layout_.gil_locked, locked) || !memory_.Get(lock + layout_.gil_holder, last))
    return false;
  holder = locked == 1 ? last : 0;
  return true;
}

bool PythonReader::IsGilAddress(uint64_t futex_address) const {
  return std::any_of(locks_.begin(), locks_.end(), [&](uint64_t lock) {
    return futex_address >= lock && futex_address < lock + PythonLayout::kGilBytes;
  });
}

bool PythonReader::ReadThreads(std::vector<PythonThread>& threads) {
  threads.clear();
  uint64_t interpreter = 0;
  if (!memory_.Get(runtime_ + layout_.runtime_interpreters, interpreter)) return false;
  for (size_t i = 0; interpreter != 0 && i < kMaxInterpreters; ++i) {
    uint64_t holder = 0, state = 0;
    if (!ReadLocks(interpreter, holder)) return false;
    if (!memory_.Get(interpreter + layout_.interp_threads, state)) return false;
    while (state != 0 && threads.size() < kMaxThreads) {
      std::array<unsigned char, kThreadBytes> bytes{};
      if (!memory_.Read(state, bytes.data(), bytes.size())) break;  // ended meanwhile
      threads.push_back({state, NativeThread(state, bytes.data()), state == holder});
      state = Field<uint64_t>(bytes.data(), layout_.thread_next);
    }
    if (!memory_.Get(interpreter + layout_.interp_next, interpreter)) break;
  }
  return true;
}

pid_t PythonReader::NativeThread(uint64_t, const unsigned char* bytes) {
  if (layout_.thread_native_id != 0)
    return static_cast<pid_t>(Field<uint64_t>(bytes, layout_.thread_native_id));
  return ThreadOfPthread(Field<uint64_t>(bytes, layout_.thread_id));
}

// 3.9 and 3.10 know their threads by pthread_t only: in glibc and musl a pointer to a structure that
// holds the kernel's number. Where in it is learnt from a thread whose number is known: the main one,
// or the only one there is.
pid_t PythonReader::ThreadOfPthread(uint64_t pthread) {
  pid_t tid = 0;
  if (pthread_tid_offset_) return memory_.Get(pthread + *pthread_tid_offset_, tid) ? tid : 0;
  std::array<int32_t, 256> words{};
  if (!memory_.Read(pthread, words.data(), sizeof(words))) return 0;
  const auto found = std::find(words.begin(), words.end(), static_cast<int32_t>(memory_.pid()));
  if (found == words.end()) return 0;
  pthread_tid_offset_ = static_cast<size_t>(found - words.begin()) * sizeof(int32_t);
  return memory_.pid();
}

bool PythonReader::FirstFrame(uint64_t state, uint64_t& frame) {
  uint64_t at = 0;
  if (!memory_.Get(state + layout_.thread_frame, at)) return false;
  if (!layout_.cframe_frame) {
    frame = at;
    return true;
  }
  return at != 0 && memory_.Get(at + *layout_.cframe_frame, frame);
}

bool PythonReader::ReadStack(const PythonThread& thread, std::vector<PythonFrame>& frames) {
  frames.clear();
  pages_.Clear();
  uint64_t frame = 0;
  if (!FirstFrame(thread.state, frame)) return false;
  uint64_t slow = frame;  // for a list that bites its tail while it changes
  for (size_t i = 0; frame != 0; ++i) {
    if (frames.size() == kMaxFrames) break;
    if (i >= 4 * kMaxFrames) return false;
    uint64_t previous = 0, code = 0;
    uint8_t owner = 0;
    if (!pages_.Get(frame + layout_.frame_previous, previous) ||
        !pages_.Get(frame + layout_.frame_code, code))
      return false;
    if (layout_.frame_owner != 0 && !pages_.Get(frame + layout_.frame_owner, owner)) return false;
    code &= ~layout_.code_tag_mask;
    if (layout_.frame_owner == 0 || owner < kFirstInternalOwner) {
      const Code* known = CodeAt(code);
      if (known == nullptr) return false;
      const int64_t offset = InstructionOffset(frame, code);
      const int line = offset < 0 ? known->first_line
                                  : LineAt(layout_.lines, known->line_table, known->first_line, offset);
      frames.push_back({known->function, line > 0 ? line : known->first_line});
    }
    if (i % 2 == 1 && !pages_.Get(slow + layout_.frame_previous, slow)) return false;
    frame = previous;
    if (frame != 0 && frame == slow) return false;
  }
  std::reverse(frames.begin(), frames.end());
  return true;
}

int64_t PythonReader::InstructionOffset(uint64_t frame, uint64_t code) {
  if (layout_.instruction_is_index) {
    int32_t index = -1;
    if (!pages_.Get(frame + layout_.frame_instruction, index)) return -1;
    return index < 0 ? -1 : int64_t{index} * layout_.instruction_scale;
  }
  uint64_t at = 0;
  if (!pages_.Get(frame + layout_.frame_instruction, at) || at < code + layout_.code_bytes) return -1;
  return static_cast<int64_t>(at - code - layout_.code_bytes);
}

const PythonReader::Code* PythonReader::CodeAt(uint64_t address) {
  if (address == 0 || address % 8 != 0) return nullptr;
  // An import frees the code of its module, and the next function may lie at the same address:
  // what is known of an address is held against what is there now.
  Code fresh;
  uint64_t qualified = 0;
  if (!pages_.Get(address + layout_.code_name, fresh.name) ||
      !pages_.Get(address + layout_.code_file, fresh.file) ||
      !pages_.Get(address + layout_.code_lines, fresh.lines) ||
      !pages_.Get(address + layout_.code_first_line, fresh.first_line)) {
    return nullptr;
  }
  if (layout_.code_qualname != 0 && pages_.Get(address + layout_.code_qualname, qualified) && qualified != 0)
    fresh.name = qualified;
  const auto found = codes_.find(address);
  if (found != codes_.end()) {
    const Code& held = found->second;
    if (held.name == fresh.name && held.file == fresh.file && held.lines == fresh.lines &&
        held.first_line == fresh.first_line)
      return &held;
  }
  if (!ReadCode(address, fresh)) return nullptr;
  if (codes_.size() >= kMaxCodes) codes_.clear();
  return &(codes_[address] = std::move(fresh));
}

bool PythonReader::ReadCode(uint64_t, Code& code) {
  PythonFunction function;
  function.first_line = code.first_line;
  if (!ReadText(code.name, function.name) || !ReadText(code.file, function.file)) return false;
  int64_t bytes = 0;
  if (!memory_.Get(code.lines + layout_.bytes_size, bytes) || bytes < 0 ||
      static_cast<uint64_t>(bytes) > kMaxLineTableBytes) {
    return false;
  }
  code.line_table.resize(static_cast<size_t>(bytes));
  if (bytes > 0 &&
      !memory_.Read(code.lines + layout_.bytes_data, code.line_table.data(), code.line_table.size()))
    return false;
  const std::string key = function.name + '\0' + function.file + '\0' + std::to_string(function.first_line);
  const auto [entry, added] = function_index_.emplace(key, static_cast<uint32_t>(functions_.size()));
  if (added) functions_.push_back(std::move(function));
  code.function = entry->second;
  return true;
}

// The state word holds kind (bytes per character), compact and ascii as bit fields, after "interned":
// two bits, or in free-threaded builds a field of 8 or 16.
bool PythonReader::ReadText(uint64_t address, std::string& text) {
  if (address == 0) return false;
  std::array<unsigned char, 64> head{};
  if (!memory_.Read(address, head.data(), head.size())) return false;
  const auto length = Field<int64_t>(head.data(), layout_.text_length);
  const auto state = Field<uint32_t>(head.data(), layout_.text_state);
  unsigned kind = 0;
  bool compact = false, ascii = false;
  for (const int at : {layout_.free_threaded ? 8 : 2, layout_.free_threaded ? 16 : 2}) {
    kind = (state >> at) & 7u;
    compact = ((state >> (at + 3)) & 1u) != 0;
    ascii = ((state >> (at + 4)) & 1u) != 0;
    if (compact && (kind == 1 || kind == 2 || kind == 4)) break;
  }
  if (!compact || (kind != 1 && kind != 2 && kind != 4)) return false;
  if (length < 0 || static_cast<uint64_t>(length) > kMaxNameBytes) return false;
  const size_t bytes = static_cast<size_t>(length) * kind;
  std::string raw(bytes, '\0');
  const uint64_t data = address + (ascii ? layout_.ascii_bytes : layout_.compact_bytes);
  if (bytes > 0 && !memory_.Read(data, raw.data(), bytes)) return false;
  if (ascii) {
    text = std::move(raw);
    return true;
  }
  text.clear();
  for (size_t i = 0; i < bytes; i += kind) {
    uint32_t c = 0;
    std::memcpy(&c, raw.data() + i, kind);
    AppendUtf8(text, c);
  }
  return true;
}

}  // namespace nl::capture
