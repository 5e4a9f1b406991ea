// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of another process, read without stopping it: process_vm_readv, or /proc/PID/mem where a
// seccomp filter forbids the call. What is read may change while it is read; callers check what they got.
// Thread rule: one thread per object. Owns its descriptor.

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nl::capture {

class RemoteMemory {
 public:
  explicit RemoteMemory(pid_t pid) : pid_(pid) {}
  ~RemoteMemory();
  RemoteMemory(const RemoteMemory&) = delete;
  RemoteMemory& operator=(const RemoteMemory&) = delete;

  // Exactly `bytes` bytes or false (then error() is the errno of the refusal, 0: an address not mapped).
  bool Read(uint64_t address, void* out, size_t bytes);
  template <class T>
  bool Get(uint64_t address, T& value) {
    return Read(address, &value, sizeof(value));
  }

  pid_t pid() const { return pid_; }
  int error() const { return error_; }
  // The process may not be read at all, by either way.
  bool refused() const;

 private:
  bool ReadFile(uint64_t address, void* out, size_t bytes);

  pid_t pid_;
  int fd_ = -1;
  int error_ = 0;
  bool no_call_ = false;
};

// The pages one walk touches, each read once: frames of one stack lie close together.
class PageCache {
 public:
  explicit PageCache(RemoteMemory& memory) : memory_(memory) {}
  void Clear() { count_ = 0; }
  bool Read(uint64_t address, void* out, size_t bytes);
  template <class T>
  bool Get(uint64_t address, T& value) {
    return Read(address, &value, sizeof(value));
  }

 private:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kMaxPages = 64;
  struct Page {
    uint64_t address = 0;
    std::array<unsigned char, kPageBytes> bytes;
  };
  const Page* Fetch(uint64_t page);

  RemoteMemory& memory_;
  std::vector<Page> pages_;
  size_t count_ = 0;
};

}  // namespace nl::capture
