// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/perf_events.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "capture/sample/proc_files.h"

namespace nl::capture {

namespace {

constexpr size_t kRingPages = 16;  // 64 KiB of records per core
constexpr uint64_t kMaxChain = 512;

// Reads fields of a record in order; past the end it gives zeros.
class Fields {
 public:
  Fields(const unsigned char* at, size_t bytes) : at_(at), left_(bytes) {}
  template <class T>
  T Next() {
    T value{};
    if (left_ < sizeof(T)) {
      left_ = 0;
      return value;
    }
    std::memcpy(&value, at_, sizeof(T));
    Skip(sizeof(T));
    return value;
  }
  void Skip(size_t bytes) {
    bytes = std::min(bytes, left_);
    at_ += bytes;
    left_ -= bytes;
  }
  std::string Text(size_t keep_behind) {
    const size_t room = left_ > keep_behind ? left_ - keep_behind : 0;
    const size_t length = strnlen(reinterpret_cast<const char*>(at_), room);
    return {reinterpret_cast<const char*>(at_), length};
  }
  // The last `bytes` of the record.
  Fields Tail(size_t bytes) const {
    const size_t skip = left_ > bytes ? left_ - bytes : 0;
    return {at_ + skip, left_ - skip};
  }

 private:
  const unsigned char* at_;
  size_t left_;
};

// What sample_id_all puts after every record that is not a sample: pid and tid, time, cpu.
constexpr size_t kTrailerBytes = 24;

perf_event_attr Attributes(int rate_hz, bool on_exec, bool at_once, bool with_kernel) {
  perf_event_attr a{};
  a.size = sizeof(a);
  a.type = PERF_TYPE_SOFTWARE;
  a.config = PERF_COUNT_SW_TASK_CLOCK;
  a.sample_period = 1'000'000'000ull / static_cast<uint64_t>(std::max(1, rate_hz));
  a.sample_type =
      PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
  a.disabled = 1;
  a.enable_on_exec = on_exec ? 1 : 0;
  a.inherit = 1;
  a.exclude_kernel = with_kernel ? 0 : 1;
  a.exclude_hv = 1;
  a.exclude_callchain_kernel = 1;
  a.mmap = 1;
  a.mmap2 = 1;
  a.comm = 1;
  a.comm_exec = 1;
  a.task = 1;
  a.sample_id_all = 1;
  a.use_clockid = 1;
  a.clockid = CLOCK_MONOTONIC;
  a.watermark = at_once ? 0 : 1;
  if (at_once) {
    a.wakeup_events = 1;
  } else {
    a.wakeup_watermark = static_cast<uint32_t>(kRingPages * 4096 / 2);
  }
  return a;
}

}  // namespace

int PerfParanoid() {
  const std::string text = ReadSmallFile("/proc/sys/kernel/perf_event_paranoid", 64);
  return text.empty() ? -2 : std::atoi(text.c_str());
}

PerfEvents::~PerfEvents() {
  for (const Ring& ring : rings_) {
    munmap(ring.base, ring.data_bytes + static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    close(ring.fd);
  }
}

bool PerfEvents::Open(pid_t pid, int rate_hz, bool on_exec, bool at_once) {
  rate_hz_ = rate_hz;
  on_exec_ = on_exec;
  at_once_ = at_once;
  const long cpus = std::max(1L, sysconf(_SC_NPROCESSORS_CONF));
  int error = 0;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    int why_not = 0;
    if (OpenOn(cpu, pid, why_not)) continue;
    if (why_not == ENODEV || why_not == EINVAL || why_not == ENXIO) continue;  // the core is off
    error = why_not;
    break;
  }
  if (error == 0 && !rings_.empty()) {
    return true;
  }
  for (const Ring& ring : rings_) {
    munmap(ring.base, ring.data_bytes + static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    close(ring.fd);
  }
  rings_.clear();
  Explain(error);
  return false;
}

bool PerfEvents::OpenOn(int cpu, pid_t pid, int& error) {
  perf_event_attr attributes = Attributes(rate_hz_, on_exec_, at_once_, sees_kernel_time_);
  long fd = syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0 && (errno == EACCES || errno == EPERM) && sees_kernel_time_) {
    sees_kernel_time_ = false;
    attributes = Attributes(rate_hz_, on_exec_, at_once_, false);
    fd = syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  }
  if (fd < 0) {
    error = errno;
    return false;
  }
  Ring ring;
  ring.fd = static_cast<int>(fd);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t pages = kRingPages; pages >= 2; pages /= 2) {
    void* base = mmap(nullptr, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
    if (base == MAP_FAILED) {
      error = errno;
      continue;
    }
    ring.base = static_cast<unsigned char*>(base);
    ring.data_bytes = pages * page;
    rings_.push_back(ring);
    return true;
  }
  close(ring.fd);
  return false;
}

void PerfEvents::Explain(int error) {
  const int paranoid = PerfParanoid();
  switch (error) {
    case EACCES:
    case EPERM:
      why_ = paranoid > 2 ? "perf_event_open is not allowed: kernel.perf_event_paranoid is " +
                                std::to_string(paranoid) + " (2 or less is needed, or CAP_PERFMON)"
                          : "perf_event_open is not allowed here: a container's seccomp profile forbids it, "
                            "or CAP_PERFMON "
                            "is missing";
      break;
    case ENOSYS:
      why_ = "perf_event_open is not there: the kernel lacks it, or a seccomp profile hides it";
      break;
    case ENOMEM:
      why_ = "no memory for the sample rings: kernel.perf_event_mlock_kb or ulimit -l is too small";
      break;
    case EMFILE: why_ = "too few file descriptors (ulimit -n) for one sample ring per core"; break;
    case ENOENT:
    case 0: why_ = "the kernel offers no CPU clock event"; break;
    default: why_ = std::string("perf_event_open failed: ") + std::strerror(error);
  }
}

std::vector<int> PerfEvents::descriptors() const {
  std::vector<int> out;
  for (const Ring& ring : rings_) out.push_back(ring.fd);
  return out;
}

void PerfEvents::SetEnabled(bool on) {
  for (const Ring& ring : rings_) ioctl(ring.fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void PerfEvents::Take(std::vector<PerfEvent>& events) {
  events.clear();
  for (Ring& ring : rings_) TakeRing(ring, events);
  std::stable_sort(events.begin(), events.end(),
                   [](const PerfEvent& a, const PerfEvent& b) { return a.time_ns < b.time_ns; });
}

void PerfEvents::TakeRing(Ring& ring, std::vector<PerfEvent>& events) {
  auto* page = reinterpret_cast<perf_event_mmap_page*>(ring.base);
  const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = page->data_tail;
  const unsigned char* data = ring.base + sysconf(_SC_PAGESIZE);
  while (tail + sizeof(perf_event_header) <= head) {
    perf_event_header header{};
    // Records are multiples of 8 and so is the ring: a header never wraps.
    std::memcpy(&header, data + tail % ring.data_bytes, sizeof(header));
    if (header.size < sizeof(header) || tail + header.size > head) break;
    scratch_.resize(header.size);
    const size_t at = static_cast<size_t>(tail % ring.data_bytes);
    const size_t first = std::min<size_t>(header.size, ring.data_bytes - at);
    std::memcpy(scratch_.data(), data + at, first);
    std::memcpy(scratch_.data() + first, data, header.size - first);
    Decode(scratch_.data(), header.size, events);
    tail += header.size;
  }
  __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

void PerfEvents::Decode(const unsigned char* record, size_t bytes, std::vector<PerfEvent>& events) {
  perf_event_header header{};
  std::memcpy(&header, record, sizeof(header));
  Fields fields(record + sizeof(header), bytes - sizeof(header));
  if (header.type == PERF_RECORD_LOST) {
    fields.Skip(8);
    lost_ += fields.Next<uint64_t>();
    return;
  }
  PerfEvent event;
  if (header.type != PERF_RECORD_SAMPLE) {
    Fields trailer = fields.Tail(kTrailerBytes);
    trailer.Skip(8);
    event.time_ns = static_cast<int64_t>(trailer.Next<uint64_t>());
  }
  event.pid = static_cast<pid_t>(fields.Next<uint32_t>());
  switch (header.type) {
    case PERF_RECORD_SAMPLE: {
      event.tid = static_cast<pid_t>(fields.Next<uint32_t>());
      event.time_ns = static_cast<int64_t>(fields.Next<uint64_t>());
      event.cpu = static_cast<uint16_t>(fields.Next<uint32_t>());
      fields.Skip(4);
      event.period_ns = static_cast<int64_t>(fields.Next<uint64_t>());
      const uint64_t count = std::min(fields.Next<uint64_t>(), kMaxChain);
      for (uint64_t i = 0; i < count; ++i) {
        const auto address = fields.Next<uint64_t>();
        if (address < static_cast<uint64_t>(PERF_CONTEXT_MAX)) event.chain.push_back(address);
      }
      break;
    }
    case PERF_RECORD_MMAP2:
      event.kind = PerfEvent::Kind::kMapping;
      event.tid = static_cast<pid_t>(fields.Next<uint32_t>());
      event.start = fields.Next<uint64_t>();
      event.bytes = fields.Next<uint64_t>();
      event.file_offset = fields.Next<uint64_t>();
      fields.Skip(24 + 8);  // device, inode and generation (or build id); protection, flags
      event.text = fields.Text(kTrailerBytes);
      break;
    case PERF_RECORD_COMM:
      event.kind = PerfEvent::Kind::kName;
      event.tid = static_cast<pid_t>(fields.Next<uint32_t>());
      event.is_exec = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
      event.text = fields.Text(kTrailerBytes);
      break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      event.kind = header.type == PERF_RECORD_FORK ? PerfEvent::Kind::kFork : PerfEvent::Kind::kExit;
      event.parent_pid = static_cast<pid_t>(fields.Next<uint32_t>());
      event.tid = static_cast<pid_t>(fields.Next<uint32_t>());
      break;
    default: return;  // throttling and the like
  }
  events.push_back(std::move(event));
}

}  // namespace nl::capture
