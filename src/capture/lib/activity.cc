// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/activity.h"

#include <sys/mman.h>
#include <cstring>

#include "capture/lib/device_facts.h"

namespace nl::capture {

namespace {

// A launch that takes longer waits: for room in a full queue, for a module to load.
constexpr int64_t kWaitingLaunchNs = 20'000;

// The record as far as it has fields; what this CUPTI does not write is zero.
template <class Record>
Record Copy(const void* from, size_t bytes) {
  Record record{};
  std::memcpy(&record, from, bytes < sizeof record ? bytes : sizeof record);
  return record;
}

// Times CUPTI could not take are 0 or the largest number.
int64_t TimeOf(uint64_t ns) { return ns > static_cast<uint64_t>(INT64_MAX) ? 0 : static_cast<int64_t>(ns); }

}  // namespace

ActivityBuffers::~ActivityBuffers() {
  for (Header* list : {free_, first_}) {
    while (list != nullptr) {
      Header* next = list->next;
      munmap(list, kHeaderBytes + kBufferBytes);
      list = next;
    }
  }
}

// Fresh pages: all zeros.
ActivityBuffers::Header* ActivityBuffers::Allocate() {
  const size_t now = memory_bytes_.fetch_add(kBufferBytes, std::memory_order_relaxed) + kBufferBytes;
  void* memory = now > limit_bytes_ ? MAP_FAILED
                                    : mmap(nullptr, kHeaderBytes + kBufferBytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    memory_bytes_.fetch_sub(kBufferBytes, std::memory_order_relaxed);
    return nullptr;
  }
  size_t peak = peak_bytes_.load(std::memory_order_relaxed);
  while (now > peak && !peak_bytes_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return static_cast<Header*>(memory);
}

void ActivityBuffers::AddFree(Header* header) {
  const Locked lock(mutex_);
  header->next = free_;
  free_ = header;
  ++free_count_;
}

uint8_t* ActivityBuffers::Give() {
  asked_.store(true, std::memory_order_relaxed);
  Header* header = nullptr;
  {
    const Locked lock(mutex_);
    if (free_ != nullptr) {
      header = free_;
      free_ = header->next;
      --free_count_;
    }
  }
  if (header == nullptr) header = Allocate();
  if (header == nullptr) {
    not_given.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  return reinterpret_cast<uint8_t*>(header) + kHeaderBytes;
}

void ActivityBuffers::Prepare() {
  if (!asked_.load(std::memory_order_relaxed)) return;
  for (;;) {
    {
      const Locked lock(mutex_);
      if (free_count_ >= kReady) return;
    }
    Header* header = Allocate();
    if (header == nullptr) return;
    Recycle(reinterpret_cast<uint8_t*>(header) + kHeaderBytes);
  }
}

void ActivityBuffers::Return(uint8_t* buffer, size_t valid_bytes) {
  Header* header = HeaderOf(buffer);
  header->valid_bytes = valid_bytes < kBufferBytes ? valid_bytes : kBufferBytes;
  header->next = nullptr;
  const Locked lock(mutex_);
  (last_ != nullptr ? last_->next : first_) = header;
  last_ = header;
}

bool ActivityBuffers::TakeReturned(Returned& to) {
  const Locked lock(mutex_);
  if (first_ == nullptr) return false;
  to = {reinterpret_cast<uint8_t*>(first_) + kHeaderBytes, first_->valid_bytes};
  first_ = first_->next;
  if (first_ == nullptr) last_ = nullptr;
  return true;
}

void ActivityBuffers::Recycle(uint8_t* buffer) {
  std::memset(buffer, 0, kBufferBytes);
  AddFree(HeaderOf(buffer));
}

bool ActivityReader::Read(uint8_t* buffer, size_t valid_bytes) {
  void* record = nullptr;
  void* next = nullptr;
  cupti::Result result = cupti_.ActivityGetNextRecord(buffer, valid_bytes, &next);
  const uint8_t* end = buffer + valid_bytes;
  const auto inside = [&](const void* at, const void* after) {
    const auto* byte = static_cast<const uint8_t*>(at);
    return byte > static_cast<const uint8_t*>(after) && byte < end;
  };
  if (result == cupti::kSuccess && next != buffer && !inside(next, buffer)) return false;
  while (result == cupti::kSuccess) {
    record = next;
    // The place of the next record tells the size of this one, and so its version.
    result = cupti_.ActivityGetNextRecord(buffer, valid_bytes, &next);
    const bool more = result == cupti::kSuccess;
    if (more && !inside(next, record)) return false;
    const uint8_t* after = more ? static_cast<const uint8_t*>(next) : end;
    Convert(record, static_cast<size_t>(after - static_cast<const uint8_t*>(record)));
  }
  return result == cupti::kErrorMaxLimitReached;
}

void ActivityReader::Convert(const void* record, size_t bytes) {
  uint32_t kind = 0;
  if (bytes < sizeof kind) return writer_.CountLoss(LossWhat::kCuptiUnknown, ChunkKind{}, 1);
  std::memcpy(&kind, record, sizeof kind);
  switch (kind) {
    case cupti::kKernel:
    case cupti::kConcurrentKernel: return AddKernel(Copy<cupti::Kernel>(record, bytes));
    case cupti::kMemcpy: return AddMemcpy(Copy<cupti::Memcpy>(record, bytes));
    case cupti::kMemcpyPeer: return AddMemcpyPeer(Copy<cupti::MemcpyPeer>(record, bytes));
    case cupti::kMemset: return AddMemset(Copy<cupti::Memset>(record, bytes));
    case cupti::kMemory2: return AddMemory(Copy<cupti::Memory>(record, bytes));
    case cupti::kOverhead: return AddOverhead(Copy<cupti::Overhead>(record, bytes));
    case cupti::kDevice: return AddDevice(Copy<cupti::Device>(record, bytes));
    case cupti::kContext: {
      const auto c = Copy<cupti::Context>(record, bytes);
      contexts_[context_count_++ % kContexts] = c.context;
      return writer_.Add(ContextRecord{c.context, c.device, c.null_stream, c.is_green != 0 ? 1u : 0u});
    }
    case cupti::kGraphTrace: {
      const auto g = Copy<cupti::GraphTrace>(record, bytes);
      ++counts_.other;
      return writer_.Add(GraphRecord{TimeOf(g.start), TimeOf(g.end), g.device, g.context, g.stream,
                                     Correlation(g.correlation), g.graph_id, 0});
    }
    default: return writer_.CountLoss(LossWhat::kCuptiUnknown, ChunkKind{}, 1);
  }
}

uint32_t ActivityReader::Text(const char* text) {
  if (text == nullptr) return 0;
  return writer_.String(std::string_view(text, strnlen(text, kMaxStringBytes + 1)));
}

void ActivityReader::AddKernel(const cupti::Kernel& k) {
  KernelRecord r{};
  r.start_ns = TimeOf(k.start);
  r.end_ns = TimeOf(k.end);
  r.queued_ns = TimeOf(k.queued);
  r.submitted_ns = TimeOf(k.submitted);
  r.graph_node_id = k.graph_node_id;
  r.device = k.device;
  r.context = k.context;
  r.stream = k.stream;
  r.correlation = Correlation(k.correlation);
  r.name = Text(k.name);
  r.graph_id = k.graph_id;
  for (int i = 0; i < 3; ++i) {
    r.grid[i] = k.grid[i];
    r.block[i] = k.block[i];
    r.cluster[i] = k.cluster[i];
  }
  r.static_shared_bytes = static_cast<uint32_t>(k.static_shared);
  r.dynamic_shared_bytes = static_cast<uint32_t>(k.dynamic_shared);
  r.local_bytes_per_thread = k.local_per_thread;
  r.registers_per_thread = k.registers_per_thread;
  r.shared_config = k.shared_config;
  r.launch_type = k.launch_type;
  r.shared_executed_bytes = k.shared_executed;
  r.channel = k.channel;
  writer_.Add(r);
  ++counts_.kernels;
  if (r.device < 64) counts_.devices |= uint64_t{1} << r.device;
  if (r.graph_id != 0) counts_.graphs = true;
  AddContext(r.context, r.device);
  if (r.start_ns > 0 && r.end_ns > r.start_ns)
    counts_.kernel_time_ns += static_cast<uint64_t>(r.end_ns - r.start_ns);
}

void ActivityReader::AddMemcpy(const cupti::Memcpy& m) {
  MemcpyRecord r{TimeOf(m.start), TimeOf(m.end), m.bytes,    m.graph_node_id,
                 m.device,        m.context,     m.stream,   Correlation(m.correlation),
                 m.graph_id,      m.copy_kind,   m.src_kind, m.dst_kind,
                 m.flags,         kNoDevice,     kNoDevice,  m.copy_count};
  writer_.Add(r);
  ++counts_.copies;
}

void ActivityReader::AddMemcpyPeer(const cupti::MemcpyPeer& m) {
  MemcpyRecord r{TimeOf(m.start), TimeOf(m.end), m.bytes,      m.graph_node_id,
                 m.device,        m.context,     m.stream,     Correlation(m.correlation),
                 m.graph_id,      m.copy_kind,   m.src_kind,   m.dst_kind,
                 m.flags,         m.src_device,  m.dst_device, 0};
  writer_.Add(r);
  ++counts_.copies;
}

void ActivityReader::AddMemset(const cupti::Memset& m) {
  writer_.Add(MemsetRecord{TimeOf(m.start), TimeOf(m.end), m.bytes, m.graph_node_id, m.device, m.context,
                           m.stream, Correlation(m.correlation), m.graph_id, m.value, m.memory_kind, m.flags,
                           0});
  ++counts_.other;
}

ActivityReader::KnownApi ActivityReader::ApiOf(int domain, uint32_t callback_id) {
  if (callback_id >= ApiList::kMostIds) return {};
  KnownApi& known = apis_known_[domain == cupti::kRuntimeApi ? 1 : 0][callback_id];
  if (known.name == 0) {
    const char* name = apis_.Name(domain, callback_id);
    known = {Text(name), name != nullptr && std::strstr(name, "Launch") != nullptr};
  }
  return known;
}

void ActivityReader::AddCall(const GpuCall& call, bool with_api, bool with_sync) {
  const ApiRecord& a = call.api;
  if (with_api) {
    ApiRecord r = a;
    const KnownApi api = ApiOf(a.domain, a.callback_id);
    r.name = api.name;
    r.correlation = Correlation(a.correlation);
    writer_.Add(r);
    ++counts_.api_calls;
    if (api.launches && a.end_ns > a.start_ns && a.end_ns - a.start_ns < kWaitingLaunchNs) {
      ++counts_.launches;
      counts_.launch_ns += static_cast<uint64_t>(a.end_ns - a.start_ns);
    }
  }
  const cupti::Wait wait = apis_.WaitOf(a.domain, a.callback_id);
  if (!with_sync || wait == cupti::Wait::kNothing) return;
  writer_.Add(SyncRecord{a.start_ns, a.end_ns, static_cast<uint32_t>(wait), Correlation(a.correlation),
                         call.context, call.stream, kNoEvent, a.return_value, 0});
  ++counts_.other;
}

void ActivityReader::AddMemory(const cupti::Memory& m) {
  MemoryRecord r{};
  r.time_ns = TimeOf(m.timestamp);
  r.address = m.address;
  r.bytes = m.bytes;
  r.program_counter = m.program_counter;
  r.pool = m.pool_address;
  r.operation = m.operation;
  r.memory = m.memory_kind;
  r.correlation = Correlation(m.correlation);
  r.device = m.device;
  r.context = m.context;
  r.stream = m.stream;
  r.flags = m.is_async != 0 ? 1 : 0;
  r.source = Text(m.source);
  writer_.Add(r);
  ++counts_.other;
}

void ActivityReader::AddOverhead(const cupti::Overhead& o) {
  constexpr uint32_t kProcess = 1, kThread = 2;
  const bool of_thread = o.object_kind == kProcess || o.object_kind == kThread;
  writer_.Add(OverheadRecord{TimeOf(o.start), TimeOf(o.end), o.overhead_kind, o.object_kind,
                             of_thread ? o.object[0] : 0, of_thread ? o.object[1] : 0,
                             Correlation(o.correlation), 0});
  ++counts_.other;
}

void ActivityReader::AddDevice(const cupti::Device& d) {
  DeviceRecord r{};
  r.device = d.id;
  r.name = Text(d.name);
  r.memory_bytes = d.memory_bytes;
  r.memory_bandwidth_kbps = d.memory_bandwidth;
  r.sm_count = d.sm_count;
  r.compute_major = d.compute_major;
  r.compute_minor = d.compute_minor;
  r.warp_threads = d.warp_threads;
  r.max_warps_per_sm = d.max_warps_per_sm;
  r.max_blocks_per_sm = d.max_blocks_per_sm;
  r.shared_bytes_per_sm = d.max_shared_per_sm;
  r.registers_per_sm = d.max_registers_per_sm;
  r.l2_bytes = d.l2_bytes;
  r.core_clock_khz = d.core_clock_khz;
  r.max_threads_per_block = d.max_threads_per_block;
  r.memcpy_engines = d.memcpy_engines;
  std::memcpy(r.uuid, d.uuid, sizeof r.uuid);
  if (d.id < 64) devices_told_ |= uint64_t{1} << d.id;
  r.flags = (d.is_mig == 1 ? 1u : 0u) | (d.ecc_enabled != 0 ? 2u : 0u);
  writer_.Add(r);
}

// Of a context that was made while CUPTI was away.
void ActivityReader::AddContext(uint32_t context, uint32_t device) {
  const size_t count = context_count_ < kContexts ? context_count_ : kContexts;
  for (size_t i = count; i-- > 0;) {
    if (contexts_[i] == context) return;
  }
  contexts_[context_count_++ % kContexts] = context;
  writer_.Add(ContextRecord{context, device, kNoStream, 0});
}

void ActivityReader::AddMissingDevices() {
  const uint64_t missing = counts_.devices & ~devices_told_;
  devices_told_ |= missing;
  for (uint32_t device = 0; device < 64; ++device) {
    DeviceRecord r{};
    char name[256] = {};
    if ((missing >> device & 1) == 0 || !ReadDeviceFacts(device, r, name, sizeof name)) continue;
    r.name = Text(name);
    writer_.Add(r);
  }
}

}  // namespace nl::capture
