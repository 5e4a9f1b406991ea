// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/remote_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace nl::capture {

RemoteMemory::~RemoteMemory() {
  if (fd_ >= 0) close(fd_);
}

bool RemoteMemory::refused() const { return error_ == EPERM || error_ == EACCES || error_ == ENOSYS; }

bool RemoteMemory::Read(uint64_t address, void* out, size_t bytes) {
  if (no_call_) return ReadFile(address, out, bytes);
  iovec local{out, bytes};
  iovec remote{reinterpret_cast<void*>(address), bytes};
  const ssize_t got = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  if (got == static_cast<ssize_t>(bytes)) return true;
  if (got >= 0 || errno == EFAULT) {
    error_ = 0;
    return false;
  }
  error_ = errno;
  if (!refused()) return false;
  no_call_ = true;
  return ReadFile(address, out, bytes);
}

bool RemoteMemory::ReadFile(uint64_t address, void* out, size_t bytes) {
  if (fd_ < 0) {
    const std::string path = "/proc/" + std::to_string(pid_) + "/mem";
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) {
      error_ = errno;
      return false;
    }
  }
  const ssize_t got = pread(fd_, out, bytes, static_cast<off_t>(address));
  error_ = got < 0 && errno != EIO && errno != EFAULT ? errno : 0;
  return got == static_cast<ssize_t>(bytes);
}

const PageCache::Page* PageCache::Fetch(uint64_t page) {
  for (size_t i = 0; i < count_; ++i) {
    if (pages_[i].address == page) return &pages_[i];
  }
  if (count_ == kMaxPages) count_ = 0;
  if (pages_.size() == count_) pages_.emplace_back();
  Page& slot = pages_[count_];
  if (!memory_.Read(page, slot.bytes.data(), kPageBytes)) return nullptr;
  slot.address = page;
  ++count_;
  return &slot;
}

bool PageCache::Read(uint64_t address, void* out, size_t bytes) {
  auto* to = static_cast<unsigned char*>(out);
  while (bytes > 0) {
    const uint64_t page = address & ~uint64_t{kPageBytes - 1};
    const size_t at = static_cast<size_t>(address - page);
    const size_t part = std::min(bytes, kPageBytes - at);
    const Page* held = Fetch(page);
    if (held == nullptr) return false;
    std::memcpy(to, held->bytes.data() + at, part);
    to += part;
    address += part;
    bytes -= part;
  }
  return true;
}

}  // namespace nl::capture
