// SPDX-License-Identifier: Apache-2.0
#pragma once
// PythonReader: the Python stacks of another process, read from outside while it runs. The interpreter
// is neither stopped nor notified. A stack read while it changes is given up (the caller counts it) rather
// than guessed at: every pointer and length is checked, every loop has an end.
// CPython 3.9 to 3.14; one reader per process image (make a new one after exec).
// Thread rule: one thread. Owns its caches.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/sample/elf_file.h"
#include "capture/sample/proc_files.h"
#include "capture/sample/python_layout.h"
#include "capture/sample/remote_memory.h"

namespace nl::capture {

struct PythonFrame {
  uint32_t function = 0;  // index for PythonReader::function
  int line = 0;
};

struct PythonFunction {
  std::string name, file;
  int first_line = 0;
};

struct PythonThread {
  uint64_t state = 0;  // address of its PyThreadState
  pid_t tid = 0;       // 0: unknown
  bool holds_gil = false;
};

class PythonReader {
 public:
  enum class Attach {
    kReady,
    kNotYet,     // no interpreter in the process (so far)
    kImpossible  // there is one, but it cannot be read: reason() says why
  };
  explicit PythonReader(pid_t pid) : memory_(pid), pages_(memory_) {}

  // Looks for an interpreter; call again after kNotYet.
  Attach TryAttach(const std::vector<Mapping>& mappings);
  bool ready() const { return ready_; }
  // A file of the process has an interpreter, which was not set up when last looked at.
  bool has_candidate() const { return has_candidate_; }
  const std::string& reason() const { return reason_; }
  const PythonLayout& layout() const { return layout_; }

  // The thread states there are now, with who holds the lock. False: could not be read.
  bool ReadThreads(std::vector<PythonThread>& threads);
  // The stack of one of them, outermost first. False: it changed meanwhile.
  bool ReadStack(const PythonThread& thread, std::vector<PythonFrame>& frames);
  const PythonFunction& function(uint32_t index) const { return functions_[index]; }

  // Is `futex_address` a part of an interpreter lock? Then who waits there waits for the GIL.
  bool IsGilAddress(uint64_t futex_address) const;
  // Is the instruction inside the bytecode loop, or anywhere in the interpreter's own file?
  bool InEvalLoop(uint64_t address) const { return address >= eval_begin_ && address < eval_end_; }
  bool InInterpreter(uint64_t address) const { return address >= image_begin_ && address < image_end_; }

  static constexpr size_t kMaxFrames = 400;

 private:
  struct Code {
    uint64_t name = 0, file = 0, lines = 0;
    int first_line = 0;
    uint32_t function = 0;
    std::string line_table;
  };
  bool Locate(const std::vector<Mapping>& mappings, const Mapping& image);
  bool ChooseLayout(ElfFile& elf, const std::string& path, uint64_t bias);
  bool ReadLocks(uint64_t interpreter, uint64_t& holder);
  pid_t NativeThread(uint64_t state, const unsigned char* bytes);
  pid_t ThreadOfPthread(uint64_t pthread);
  bool FirstFrame(uint64_t state, uint64_t& frame);
  const Code* CodeAt(uint64_t address);
  bool ReadCode(uint64_t address, Code& code);
  bool ReadText(uint64_t address, std::string& text);
  int64_t InstructionOffset(uint64_t frame, uint64_t code);

  RemoteMemory memory_;
  PageCache pages_;
  PythonLayout layout_;
  bool ready_ = false, has_candidate_ = false;
  std::vector<std::string> without_;  // files that have no interpreter
  std::string reason_;
  uint64_t runtime_ = 0;
  uint64_t eval_begin_ = 0, eval_end_ = 0, image_begin_ = 0, image_end_ = 0;
  std::vector<uint64_t> locks_;
  std::unordered_map<uint64_t, Code> codes_;
  std::vector<PythonFunction> functions_;
  std::unordered_map<std::string, uint32_t> function_index_;
  std::optional<size_t> pthread_tid_offset_;  // of struct pthread; found, not assumed
};

}  // namespace nl::capture
