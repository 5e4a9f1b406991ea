// SPDX-License-Identifier: Apache-2.0
#include "capture/control.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace nl::capture {

namespace {

constexpr char kMagic[8] = {'N', 'L', 'C', 'T', 'L', 0, 0, 1};

struct WantedName {
  std::string_view name;
  uint64_t bits;
};
constexpr WantedName kWantedNames[] = {
    {"kernels", kWantKernels},
    {"api", kWantApi},
    {"sync", kWantSync},
    {"memory", kWantMemory},
    {"ranges", kWantRanges},
    {"counters", kWantCounters},
    {"clocks", kWantClocks},
    {"cpu", kWantCpu},
    {"python", kWantPython},
    {"ops", kWantOps},
    {"modules", kWantModules},
    {"all-api", kWantAllApi},
    {"all-shapes", kWantAllShapes},
};

bool PathOf(const char* directory, char (&path)[PATH_MAX]) {
  const int n = std::snprintf(path, sizeof path, "%s/%s", directory, kControlFile);
  return n > 0 && static_cast<size_t>(n) < sizeof path;
}

ControlBlock* Map(int fd) {
  void* at = mmap(nullptr, sizeof(ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<ControlBlock*>(at);
}

long Futex(std::atomic<uint32_t>* word, int op, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), op, value, timeout, nullptr, 0);
}

}  // namespace

bool ParseWanted(std::string_view text, uint64_t& to) {
  const bool changes = !text.empty() && (text[0] == '+' || text[0] == '-');
  uint64_t wanted = changes ? kWantDefault : 0;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const bool without = !name.empty() && name[0] == '-';
    if (without || (!name.empty() && name[0] == '+')) name.remove_prefix(1);
    uint64_t bits = 0;
    for (const WantedName& known : kWantedNames) {
      if (known.name == name) bits = known.bits;
    }
    if (bits == 0) return false;
    wanted = without ? wanted & ~bits : wanted | bits;
  }
  to = wanted;
  return true;
}

std::string WantedText(uint64_t wanted) {
  std::string out;
  for (const WantedName& known : kWantedNames) {
    if ((wanted & known.bits) != 0) out += (out.empty() ? "" : ",") + std::string(known.name);
  }
  return out;
}

ControlPage::~ControlPage() {
  if (block_ != nullptr) munmap(block_, sizeof(ControlBlock));
}

bool ControlPage::Create(const char* directory) {
  char path[PATH_MAX];
  if (!PathOf(directory, path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const int code = posix_fallocate(fd, 0, sizeof(ControlBlock));
  block_ = code == 0 ? Map(fd) : nullptr;
  const int mapping_errno = errno;
  close(fd);
  if (block_ == nullptr) {
    unlink(path);
    errno = code != 0 ? code : mapping_errno;
    return false;
  }
  block_->version = kControlVersion;
  block_->bytes = sizeof(ControlBlock);
  block_->launcher_pid = static_cast<uint32_t>(getpid());
  block_->slots = kProcessSlots;
  block_->wanted = kWantDefault;
  block_->buffer_bytes = 256u << 20;
  block_->clock_interval_ms = 250;
  block_->counter_interval_us = kCounterIntervalUs;
  block_->recording.store(1, std::memory_order_relaxed);
  block_->epoch.store(1, std::memory_order_release);
  std::memcpy(block_->magic, kMagic, sizeof kMagic);
  return true;
}

bool ControlPage::Open(const char* directory) {
  char path[PATH_MAX];
  if (!PathOf(directory, path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat facts {};
  const bool whole = fstat(fd, &facts) == 0 && facts.st_size >= static_cast<off_t>(sizeof(ControlBlock));
  ControlBlock* block = whole ? Map(fd) : nullptr;
  close(fd);
  if (block != nullptr && (std::memcmp(block->magic, kMagic, sizeof kMagic) != 0 ||
                           block->version != kControlVersion || block->bytes != sizeof(ControlBlock))) {
    munmap(block, sizeof(ControlBlock));
    block = nullptr;
  }
  if (block == nullptr) {
    errno = EPROTO;
    return false;
  }
  block_ = block;
  return true;
}

ProcessSlot* ControlPage::TakeSlot(uint32_t pid) {
  for (ProcessSlot& slot : block_->process) {
    uint32_t none = 0;
    if (!slot.pid.compare_exchange_strong(none, pid, std::memory_order_acq_rel)) continue;
    slot.state.store(SlotState::kStarting, std::memory_order_release);
    return &slot;
  }
  block_->slots_refused.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

uint32_t ControlPage::Request(bool on) {
  block_->recording.store(on ? 1 : 0, std::memory_order_release);
  const uint32_t epoch = block_->epoch.fetch_add(1, std::memory_order_acq_rel) + 1;
  Futex(&block_->epoch, FUTEX_WAKE, INT_MAX, nullptr);
  return epoch;
}

void ControlPage::RequestClose() {
  block_->closing.store(1, std::memory_order_release);
  block_->epoch.fetch_add(1, std::memory_order_acq_rel);
  Futex(&block_->epoch, FUTEX_WAKE, INT_MAX, nullptr);
}

uint32_t ControlPage::Wait(uint32_t seen, int timeout_ms) const {
  const timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
  if (block_->epoch.load(std::memory_order_acquire) == seen)
    Futex(&block_->epoch, FUTEX_WAIT, seen, &timeout);
  return block_->epoch.load(std::memory_order_acquire);
}

}  // namespace nl::capture
