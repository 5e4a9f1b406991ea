// SPDX-License-Identifier: Apache-2.0
#include "fake_cupti.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/lib/cupti_types.h"
#include "fake_device.h"

namespace {

using namespace nl::capture::cupti;
using fake::GpuNs;
using fake::Is;
using fake::Option;

// Calls by their number in this library.
struct ApiName {
  uint32_t id;
  const char* name;
};
constexpr ApiName kRuntimeNames[] = {{1, "cudaGetDevice"},         {2, "cudaLaunchKernel_v7000"},
                                     {3, "cudaMemcpyAsync_v3020"}, {4, "cudaDeviceSynchronize_v3020"},
                                     {5, "cudaMalloc_v3020"},      {6, "cudaGraphLaunch_v10000"},
                                     {7, "cudaMemsetAsync_v3020"}, {8, "cudaStreamSynchronize_v3020"}};
constexpr ApiName kDriverNames[] = {{1, "cuInit"}, {2, "cuLaunchKernel"}, {3, "cuCtxGetCurrent"}};
constexpr uint32_t kDriverLaunch = 2;
enum RuntimeId : uint32_t {
  kGetDevice = 1,
  kLaunchKernel,
  kMemcpyAsync,
  kDeviceSynchronize,
  kMallocId,
  kGraph,
  kMemsetAsync,
  kStreamSynchronize
};

struct Record {
  std::string bytes;
};
struct Ran {
  int64_t start_ns, end_ns;
  bool is_gemm;
};

struct Fake {
  std::mutex mutex;
  std::atomic<bool> attached{false}, watched[2]{};  // by the driver's and the runtime's domain
  std::atomic<int64_t> finalized{0}, launches{0}, clock_reads{0};
  std::atomic<Callback> callback{nullptr};
  std::atomic<void*> user{nullptr};
  std::atomic<BufferRequested> requested{nullptr};
  std::atomic<BufferCompleted> completed{nullptr};
  bool enabled[64] = {};
  std::atomic<bool> called[2][16]{};  // callbacks by driver, runtime
  std::vector<Record> records;
  std::vector<Ran> ran;
  uint32_t correlation = 0;
  uint64_t sync_id = 0;
  int64_t gpu_free_ns = 0;
};
Fake& Get() {
  static auto* fake = new Fake;  // outlives the exit handlers
  return *fake;
}

}  // namespace

namespace fake {

int64_t Option(std::string_view word) {
  const char* all = std::getenv("FAKE_CUPTI");
  std::string_view rest = all == nullptr ? "" : all;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    if (one == word) return 0;
    if (one.size() > word.size() && one.substr(0, word.size()) == word && one[word.size()] == '=')
      return std::atoll(std::string(one.substr(word.size() + 1)).c_str());
  }
  return -1;
}

void Misuse(const char* what) {
  std::fprintf(stderr, "fake CUPTI: misuse: %s\n", what);
  std::abort();
}

bool Attached() { return Get().attached.load(); }

// An hour ahead of the host's clock, and maybe too fast.
int64_t GpuNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t host_ns = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  const int64_t ppm = Option("drift");
  return host_ns + 3'600'000'000'000 +
         (ppm > 0 ? static_cast<int64_t>(static_cast<double>(host_ns) * 1e-6 * static_cast<double>(ppm)) : 0);
}

Busy BusyIn(int64_t start_ns, int64_t end_ns) {
  Busy busy;
  const std::lock_guard lock(Get().mutex);
  // Newest first, and in order but for threads that launch at the same time.
  const std::vector<Ran>& all = Get().ran;
  size_t before = 0;
  for (size_t i = all.size(); i > 0 && before < 100; --i) {
    const Ran& ran = all[i - 1];
    const int64_t from_ns = ran.start_ns > start_ns ? ran.start_ns : start_ns;
    const int64_t to_ns = ran.end_ns < end_ns ? ran.end_ns : end_ns;
    if (to_ns > from_ns) (ran.is_gemm ? busy.gemm_ns : busy.other_ns) += to_ns - from_ns;
    before = ran.end_ns < start_ns ? before + 1 : 0;
  }
  return busy;
}

}  // namespace fake

namespace {

template <class T>
void Put(const T& record, size_t bytes = sizeof(T)) {
  Fake& fake = Get();
  const std::lock_guard lock(fake.mutex);
  fake.records.push_back({std::string(reinterpret_cast<const char*>(&record), bytes)});
  if (Is("unknown")) {
    const uint64_t strange[3] = {63, 1, 2};
    fake.records.push_back({std::string(reinterpret_cast<const char*>(strange), sizeof strange)});
  }
}

bool Enabled(uint32_t kind) {
  Fake& fake = Get();
  const std::lock_guard lock(fake.mutex);
  return fake.enabled[kind];
}

// A runtime call, as the client sees it: a callback at its beginning and one at its end, where it asked
// for them. A driver call that it makes inside has the same correlation.
class Call {
 public:
  explicit Call(uint32_t id, void* stream = nullptr) : id_(id), stream_(stream) {
    const std::lock_guard lock(Get().mutex);
    correlation = ++Get().correlation;
  }
  void Begin() {
    Tell(kRuntimeApi, id_, 0);
    if (id_ == kLaunchKernel) Tell(kDriverApi, kDriverLaunch, 0);
  }
  ~Call() {
    if (id_ == kLaunchKernel) Tell(kDriverApi, kDriverLaunch, kApiExit);
    Tell(kRuntimeApi, id_, kApiExit);
  }
  uint32_t correlation = 0;

 private:
  void Tell(int domain, uint32_t id, int32_t site) {
    Fake& fake = Get();
    const int at = domain == kRuntimeApi ? 1 : 0;
    if (!fake.attached.load() || (!fake.watched[at].load() && !fake.called[at][id].load())) return;
    uint64_t kept = 0;
    const uint32_t result = Is("call_fails") ? 2 : 0;
    ApiData data{site, "", &stream_, &result, nullptr, nullptr, 1, &kept, correlation};
    fake.callback.load()(fake.user.load(), domain, id, &data);
  }
  uint32_t id_;
  void* stream_;
};

// When the device gets to work that is given to it now.
int64_t OnDevice(int64_t ready_ns, int64_t duration_ns) {
  Fake& fake = Get();
  const std::lock_guard lock(fake.mutex);
  const int64_t start_ns = fake.gpu_free_ns > ready_ns ? fake.gpu_free_ns : ready_ns;
  fake.gpu_free_ns = start_ns + duration_ns;
  return start_ns;
}

const char* LongName() {
  static const auto* name = new std::string("_Z4" + std::string(20'000, 'k') + "v");
  return name->c_str();
}

constexpr int32_t kUsualGrid[] = {128, 1, 1}, kUsualBlock[] = {256, 1, 1};

void PutKernel(const char* name, uint32_t stream, int64_t start_ns, int64_t duration_ns, uint32_t correlation,
               uint32_t graph_id, uint64_t node, const int32_t* grid = kUsualGrid,
               const int32_t* block = kUsualBlock) {
  {
    const std::lock_guard lock(Get().mutex);
    if (Get().ran.size() < 1'000'000)
      Get().ran.push_back({start_ns, start_ns + duration_ns, std::strstr(name, "gemm") != nullptr});
  }
  if (!Enabled(kConcurrentKernel)) return;
  Kernel k{};
  k.kind = kConcurrentKernel;
  k.registers_per_thread = 40;
  k.start = static_cast<uint64_t>(start_ns);
  k.end = Is("endless") ? 0 : static_cast<uint64_t>(start_ns + duration_ns);
  k.context = 1;
  k.stream = stream;
  for (int i = 0; i < 3; ++i) {
    k.grid[i] = grid[i];
    k.block[i] = block[i];
  }
  k.static_shared = 1024;
  k.dynamic_shared = 2048;
  k.correlation = correlation;
  k.name = Is("huge") ? LongName() : name;
  k.graph_id = graph_id;
  k.graph_node_id = node;
  k.cluster[0] = 2;
  k.cluster[1] = k.cluster[2] = 1;
  Put(k, Is("old") ? offsetof(Kernel, graph_node_id) : sizeof k);
}

// Around every function that needs CUPTI to be in the process: once it has left, the real one
// would come back by itself, and stay.
void NeedsCupti(const char* function) {
  if (!Get().attached.load()) fake::Misuse(function);
}

// Moves what was recorded into buffers of the client.
void Deliver() {
  Fake& fake = Get();
  std::vector<Record> records;
  BufferRequested requested;
  BufferCompleted completed;
  {
    const std::lock_guard lock(fake.mutex);
    records.swap(fake.records);
    requested = fake.requested;
    completed = fake.completed;
  }
  if (requested == nullptr || records.empty()) return;
  if (Is("disorder")) std::vector<Record>(records.rbegin(), records.rend()).swap(records);
  for (size_t i = 0; i < records.size();) {
    uint8_t* buffer = nullptr;
    size_t bytes = 0, most = 0, used = 0;
    requested(&buffer, &bytes, &most);
    if (buffer == nullptr || bytes == 0) return;  // dropped, as the real one does
    for (; i < records.size() && used + 8 + records[i].bytes.size() <= bytes; ++i) {
      // The length in front stands for CUPTI's own knowledge of it.
      std::memcpy(buffer + used, records[i].bytes.data(), records[i].bytes.size());
      used += records[i].bytes.size();
    }
    completed(nullptr, 0, buffer, bytes, used);
  }
}

size_t SizeOf(const uint8_t* record) {
  uint32_t kind;
  std::memcpy(&kind, record, sizeof kind);
  const bool old = Is("old");
  switch (kind) {
    case kConcurrentKernel: return old ? offsetof(Kernel, graph_node_id) : sizeof(Kernel);
    case kMemcpy: return old ? offsetof(Memcpy, graph_node_id) : sizeof(Memcpy);
    case kMemset: return sizeof(Memset);
    case kMemory2: return sizeof(Memory);
    case kDevice: return sizeof(Device);
    case kContext: return sizeof(Context);
    case kOverhead: return sizeof(Overhead);
    default: return 24;
  }
}

void PutDevice() {
  Device d{};
  d.kind = kDevice;
  d.memory_bytes = 80ull << 30;
  d.memory_bandwidth = 3'350'000'000;
  d.sm_count = 132;
  d.compute_major = 9;
  d.warp_threads = 32;
  d.max_warps_per_sm = 64;
  d.max_shared_per_sm = 228 << 10;
  d.max_registers_per_sm = 65536;
  d.name = fake::Option("h200") == 0 ? "NVIDIA H200" : "NVIDIA H100 (not really)";
  Put(d);
  Context c{};
  c.kind = kContext;
  c.context = 1;
  c.null_stream = 7;
  Put(c);
}

}  // namespace

#define NL_FAKE extern "C" __attribute__((visibility("default")))

NL_FAKE Result cuptiGetVersion(uint32_t* version) {
  *version = Option("version") > 0 ? static_cast<uint32_t>(Option("version")) : 130000;
  return kSuccess;
}
NL_FAKE Result cuptiGetResultString(Result result, const char** text) {
  *text = result == kErrorMultipleSubscribers ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                              : "CUPTI_ERROR_FAKE";
  return kSuccess;
}
NL_FAKE Result cuptiGetTimestamp(uint64_t* ns) {
  NeedsCupti("cuptiGetTimestamp");
  Get().clock_reads.fetch_add(1);
  *ns = static_cast<uint64_t>(GpuNs());
  return kSuccess;
}
NL_FAKE Result cuptiSubscribe(void** subscriber, Callback callback, void* user) {
  if (Is("taken") || (Is("taken_later") && Get().finalized.load() > 0)) return kErrorMultipleSubscribers;
  Get().callback = callback;
  Get().user = user;
  *subscriber = &Get();
  Get().attached.store(true);
  return kSuccess;
}
NL_FAKE Result cuptiUnsubscribe(void*) { return kSuccess; }
NL_FAKE Result cuptiEnableCallback(uint32_t enable, void*, int domain, uint32_t id) {
  NeedsCupti("cuptiEnableCallback");
  if (Option("refuse_call") == id && domain == kRuntimeApi) return kErrorInvalidParameter;
  if (domain != kResource && id < 16) Get().called[domain == kRuntimeApi ? 1 : 0][id].store(enable != 0);
  return kSuccess;
}
NL_FAKE Result cuptiGetStreamIdEx(void*, void* stream, uint8_t, uint32_t* id) {
  NeedsCupti("cuptiGetStreamIdEx");
  *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream));
  return kSuccess;
}
NL_FAKE Result cuptiEnableDomain(uint32_t enable, void*, int domain) {
  NeedsCupti("cuptiEnableDomain");
  if (domain != kRuntimeApi && domain != kDriverApi) return kErrorInvalidParameter;
  const int at = domain == kRuntimeApi ? 1 : 0;
  Get().watched[at].store(enable != 0);
  if (enable == 0) {
    for (auto& called : Get().called[at]) called.store(false);
  }
  return kSuccess;
}
// Leaves the process: whoever wants it again begins with a subscriber.
NL_FAKE Result cuptiFinalize() {
  NeedsCupti("cuptiFinalize");
  if (Is("stays")) return kErrorInvalidParameter;
  if (fake::PmObjects() != 0) fake::Misuse("cuptiFinalize with counters in use");
  Fake& fake = Get();
  fake.attached.store(false);
  if (const int64_t ms = Option("slow_finalize"); ms > 0) usleep(static_cast<useconds_t>(ms * 1000));
  for (const int at : {0, 1}) {
    fake.watched[at].store(false);
    for (auto& called : fake.called[at]) called.store(false);
  }
  const std::lock_guard lock(fake.mutex);
  std::memset(fake.enabled, 0, sizeof fake.enabled);
  if (!fake.records.empty() && !Is("racing")) fake::Misuse("cuptiFinalize before the last flush");
  fake.records.clear();
  fake.correlation = 0;
  // The real one gives back what it holds.
  uint8_t* buffer = nullptr;
  size_t bytes = 0, most = 0;
  fake.requested.load()(&buffer, &bytes, &most);
  if (buffer != nullptr) fake.completed.load()(nullptr, 0, buffer, bytes, 0);
  fake.requested = nullptr;
  fake.finalized.fetch_add(1);
  return kSuccess;
}
NL_FAKE Result cuptiGetCallbackName(int domain, uint32_t id, const char** name) {
  const auto find = [&](const auto& names) {
    for (const ApiName& api : names) {
      if (api.id == id) *name = api.name;
    }
  };
  *name = nullptr;
  if (domain == kRuntimeApi)
    find(kRuntimeNames);
  else
    find(kDriverNames);
  return *name != nullptr ? kSuccess : kErrorInvalidParameter;
}
NL_FAKE Result cuptiActivityRegisterCallbacks(BufferRequested requested, BufferCompleted completed) {
  NeedsCupti("cuptiActivityRegisterCallbacks");
  Get().requested = requested;
  Get().completed = completed;
  return kSuccess;
}
NL_FAKE Result cuptiActivityEnable(uint32_t kind) {
  NeedsCupti("cuptiActivityEnable");
  if (kind >= 64 || Option("refuse") == kind) return kErrorInvalidParameter;
  {
    const std::lock_guard lock(Get().mutex);
    Get().enabled[kind] = true;
  }
  return kSuccess;
}
NL_FAKE Result cuptiActivityDisable(uint32_t kind) {
  NeedsCupti("cuptiActivityDisable");
  const std::lock_guard lock(Get().mutex);
  if (kind < 64) Get().enabled[kind] = false;
  return kSuccess;
}
NL_FAKE Result cuptiActivityFlushAll(uint32_t flags) {
  NeedsCupti("cuptiActivityFlushAll");
  if (flags == kFlushForced || !Is("hold")) Deliver();
  return kSuccess;
}
NL_FAKE Result cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, void** record) {
  NeedsCupti("cuptiActivityGetNextRecord");
  uint8_t* at =
      *record == nullptr ? buffer : static_cast<uint8_t*>(*record) + SizeOf(static_cast<uint8_t*>(*record));
  if (Is("stuck") && *record != nullptr) at = buffer + valid_bytes + 4096;
  if (!Is("stuck") && at >= buffer + valid_bytes) return kErrorMaxLimitReached;
  *record = at;
  return kSuccess;
}
NL_FAKE Result cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  const int64_t count = Option("drop");
  *dropped = count > 0 ? static_cast<size_t>(count) : 0;
  return kSuccess;
}
NL_FAKE Result cuptiActivitySetAttribute(int, size_t*, void*) { return kSuccess; }
NL_FAKE Result cuptiSetThreadIdType(int) { return kSuccess; }

NL_FAKE void fake_cuda_init() {
  if (Get().callback == nullptr) return;
  Get().callback.load()(Get().user.load(), kResource, kInitFinished, nullptr);
  if (Get().enabled[kDevice]) PutDevice();  // as the real one: only now
  if (const int64_t ms = Option("slow_context"); ms > 0) usleep(static_cast<useconds_t>(ms * 1000));
  Get().callback.load()(Get().user.load(), kResource, kContextCreated, nullptr);
}
NL_FAKE void fake_launch(const char* kernel, uint32_t stream, int64_t duration_ns) {
  Call call(kLaunchKernel);
  call.Begin();
  const int64_t now_ns = GpuNs();
  const uint32_t correlation = call.correlation;
  const int64_t start_ns = Is("early") ? now_ns - 1'000'000 : OnDevice(now_ns + 5000, duration_ns);
  PutKernel(kernel, stream, start_ns, duration_ns, correlation, 0, 0);
  Get().launches.fetch_add(1);
}
NL_FAKE void fake_launch_as(const char* kernel, const int32_t* grid, const int32_t* block,
                            int64_t duration_ns) {
  Call call(kLaunchKernel);
  call.Begin();
  const int64_t start_ns = OnDevice(GpuNs() + 5000, duration_ns);
  PutKernel(kernel, 7, start_ns, duration_ns, call.correlation, 0, 0, grid, block);
  Get().launches.fetch_add(1);
}
NL_FAKE void fake_make_graph() {
  if (Get().attached.load()) Get().callback.load()(Get().user.load(), kResource, kGraphExecCreated, nullptr);
}
NL_FAKE void fake_graph_launch(const char* kernel, uint32_t nodes, int64_t duration_ns) {
  Call call(kGraph);
  call.Begin();
  const int64_t now_ns = GpuNs();
  const uint32_t correlation = call.correlation;
  for (uint32_t i = 0; i < nodes; ++i) {
    const int64_t start_ns = OnDevice(now_ns + 9000, duration_ns);
    PutKernel(kernel, 7, start_ns, duration_ns, correlation, 3, 0x300000000ull + i);
  }
}
NL_FAKE void fake_memcpy(int kind, uint64_t bytes, bool pinned) {
  Call call(kMemcpyAsync);
  call.Begin();
  const int64_t now_ns = GpuNs();
  const uint32_t correlation = call.correlation;
  if (!Enabled(kMemcpy)) return;
  Memcpy m{};
  m.kind = kMemcpy;
  m.copy_kind = static_cast<uint8_t>(kind);
  m.src_kind = kind == 1 ? (pinned ? 2 : 1) : 3;
  m.dst_kind = kind == 2 ? (pinned ? 2 : 1) : 3;
  m.flags = 1;
  m.bytes = bytes;
  m.start = static_cast<uint64_t>(OnDevice(now_ns + 4000, 2000));
  m.end = m.start + 2000;
  m.context = 1;
  m.stream = 7;
  m.correlation = correlation;
  Put(m, Is("old") ? offsetof(Memcpy, graph_node_id) : sizeof m);
}
NL_FAKE void fake_memset(uint64_t bytes) {
  Call call(kMemsetAsync);
  call.Begin();
  const int64_t now_ns = GpuNs();
  const uint32_t correlation = call.correlation;
  if (!Enabled(kMemset)) return;
  Memset m{};
  m.kind = kMemset;
  m.bytes = bytes;
  m.start = static_cast<uint64_t>(OnDevice(now_ns + 4000, 1000));
  m.end = m.start + 1000;
  m.context = 1;
  m.stream = 7;
  m.correlation = correlation;
  m.memory_kind = 3;
  Put(m);
}
NL_FAKE void fake_malloc(uint64_t bytes) {
  Call call(kMallocId);
  call.Begin();
  const int64_t now_ns = GpuNs();
  const uint32_t correlation = call.correlation;
  if (!Enabled(kMemory2)) return;
  Memory m{};
  m.kind = kMemory2;
  m.operation = 1;
  m.memory_kind = 3;
  m.correlation = correlation;
  m.address = 0x7f0000000000;
  m.bytes = bytes;
  m.timestamp = static_cast<uint64_t>(now_ns);
  m.context = 1;
  Put(m);
}
NL_FAKE void fake_synchronize() {
  Call call(kDeviceSynchronize);
  call.Begin();
}
NL_FAKE void fake_synchronize_stream(uint32_t stream) {
  Call call(kStreamSynchronize, reinterpret_cast<void*>(uintptr_t{stream}));
  call.Begin();
}
NL_FAKE void fake_question() {
  Call call(kGetDevice);
  call.Begin();
}
NL_FAKE int64_t fake_finalized() { return Get().finalized.load(); }
NL_FAKE int64_t fake_launches() { return Get().launches.load(); }
NL_FAKE int64_t fake_clock_reads() { return Get().clock_reads.load(); }
NL_FAKE int64_t fake_busy_ns() {
  const std::lock_guard lock(Get().mutex);
  return Get().gpu_free_ns - GpuNs();
}
NL_FAKE bool fake_watched() { return Get().watched[0].load() || Get().watched[1].load(); }
NL_FAKE void fake_context_destroy() {
  if (Get().callback != nullptr)
    Get().callback.load()(Get().user.load(), kResource, kContextDestroyStarting, nullptr);
}
