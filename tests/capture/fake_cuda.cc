// SPDX-License-Identifier: Apache-2.0
// A CUDA driver and a cuBLASLt without a GPU, for src/capture/peaks: nothing is executed, but time passes on
// a clock of its own, as a device with these rates would take it. Both libraries are this one file, so that
// they share the clock. FAKE_CUDA is a list of words: none (no device), two (devices), oom (large allocations
// fail), nojit (the driver refuses the kernels), nolt (cuBLASLt cannot be created), noint8 (it has no
// algorithm for it).
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#define NL_FAKE extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kOutOfMemory = 2, kInvalid = 1, kNoBinary = 209;
constexpr double kDramRead = 4000, kDramWrite = 4200, kDramCopy = 3900, kL2 = 9000,
                 kShared = 30000;  // bytes/ns
constexpr double kPinned = 50, kPageable = 10, kPeer = 100;
constexpr double kFp32 = 60e3, kFp64 = 30e3;  // operations/ns

bool Mode(const char* word) {
  const char* set = std::getenv("FAKE_CUDA");
  return set != nullptr &&
         (" " + std::string(set) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

int64_t g_now_ns = 1'000'000, g_device_ns = 0;  // of the host; until when the device is busy
int64_t g_jitter = 0;
std::map<void*, size_t> g_pinned;
bool g_capturing = false;
int g_captured = 0;

struct Event {
  int64_t ns = 0;
};
struct Kernel {
  std::string name;
};
struct Graph {
  int nodes;
};

void Host(int64_t ns) { g_now_ns += ns; }
void Device(double ns) { g_device_ns = std::max(g_device_ns, g_now_ns) + static_cast<int64_t>(ns); }

// One unit of work in three takes 2 % less and one 2 % more: the median is the rate above.
double Jitter() {
  constexpr double kFactors[] = {1.0, 1.02, 0.98};
  return kFactors[g_jitter++ % 3];
}

double KernelNs(const std::string& name, unsigned blocks, unsigned threads, void** arguments) {
  const auto u64 = [&](int i) { return *static_cast<uint64_t*>(arguments[i]); };
  const auto u32 = [&](int i) { return *static_cast<uint32_t*>(arguments[i]); };
  const double all = static_cast<double>(blocks) * threads;
  const double slow = name.back() == '4' && threads == 512 ? 1.0 : 1.1;  // one configuration is the best
  if (name.rfind("read_", 0) == 0) {
    const double bytes = static_cast<double>(u64(1));
    return bytes < 48e6 ? bytes * u32(2) / kL2 : bytes * u32(2) / kDramRead * slow * Jitter();
  }
  if (name.rfind("write_", 0) == 0) return static_cast<double>(u64(1)) / kDramWrite * slow;
  if (name.rfind("copy_", 0) == 0) return 2 * static_cast<double>(u64(2)) / kDramCopy * slow;
  if (name == "shared_read") return u32(0) * 128.0 * all / kShared;
  if (name == "fma_f32") return u32(0) * 512.0 * all / kFp32;
  if (name == "fma_f64") return u32(0) * 512.0 * all / kFp64;
  return 1000;
}

int Copy(void* host, size_t bytes) {
  Host(1000);
  bool pinned = false;
  for (const auto& [at, size] : g_pinned)
    pinned = pinned || (host >= at && host < static_cast<char*>(at) + size);
  Device(static_cast<double>(bytes) / (pinned ? kPinned : kPageable));
  if (!pinned) g_now_ns = g_device_ns;  // the caller waits
  return 0;
}

}  // namespace

NL_FAKE int64_t fake_cuda_now_ns() { return g_now_ns; }

NL_FAKE int cuInit(unsigned) { return 0; }
NL_FAKE int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
NL_FAKE int cuGetErrorString(int result, const char** text) {
  *text = result == kOutOfMemory ? "out of memory"
          : result == kNoBinary  ? "no kernel image"
                                 : "invalid value";
  return 0;
}
NL_FAKE int cuDeviceGetCount(int* count) { return *count = Mode("none") ? 0 : Mode("two") ? 2 : 1, 0; }
NL_FAKE int cuDeviceGet(int* device, int index) { return *device = index, 0; }
NL_FAKE int cuDeviceGetName(char* name, int bytes, int) {
  return std::strncpy(name, "NVIDIA H200", bytes), 0;
}
NL_FAKE int cuDeviceGetUuid(unsigned char* uuid, int device) {
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(16 * device + i);
  return 0;
}
NL_FAKE int cuDeviceGetPCIBusId(char* id, int bytes, int) {
  return std::strncpy(id, "0000:1b:00.0", bytes), 0;
}
NL_FAKE int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 16 ? 132 : attribute == 39 ? 2048 : attribute == 38 ? 50 << 20 : 0;
  return 0;
}
NL_FAKE int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = size_t{140} << 30, 0; }
NL_FAKE int cuDeviceCanAccessPeer(int* can, int, int) { return *can = 1, 0; }
NL_FAKE int cuDevicePrimaryCtxRetain(void** context, int device) {
  return *context = reinterpret_cast<void*>(static_cast<intptr_t>(device + 1)), 0;
}
NL_FAKE int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
NL_FAKE int cuCtxSetCurrent(void*) { return 0; }
NL_FAKE int cuCtxEnablePeerAccess(void*, unsigned) { return 0; }

NL_FAKE int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void** values) {
  *module = std::getenv("PATH");
  if (std::strncmp(static_cast<const char*>(image), ".version", 8) != 0) return kInvalid;
  if (!Mode("nojit")) return 0;
  std::strcpy(static_cast<char*>(values[0]), "line 3: unsupported target");
  return kNoBinary;
}
NL_FAKE int cuModuleUnload(void*) { return 0; }
NL_FAKE int cuModuleGetFunction(void** function, void*, const char* name) {
  static std::map<std::string, Kernel> kernels;
  *function = &kernels.try_emplace(name, Kernel{name}).first->second;
  return 0;
}
NL_FAKE int cuLaunchKernel(void* function, unsigned x, unsigned, unsigned, unsigned threads, unsigned,
                           unsigned, unsigned, void*, void** arguments, void**) {
  if (g_capturing) return ++g_captured, 0;
  Host(2000);
  Device(KernelNs(static_cast<Kernel*>(function)->name, x, threads, arguments));
  return 0;
}

NL_FAKE int cuMemAlloc_v2(unsigned long long* to, size_t bytes) {
  static unsigned long long next = 1 << 20;
  if (Mode("oom") && bytes > 4096) return kOutOfMemory;
  if (bytes > (size_t{60} << 30)) return kOutOfMemory;
  *to = next;
  next += bytes;
  return 0;
}
NL_FAKE int cuMemFree_v2(unsigned long long) { return 0; }
NL_FAKE int cuMemHostAlloc(void** to, size_t bytes, unsigned) {
  *to = std::malloc(bytes);
  g_pinned[*to] = bytes;
  return 0;
}
NL_FAKE int cuMemFreeHost(void* at) {
  g_pinned.erase(at);
  std::free(at);
  return 0;
}
NL_FAKE int cuMemsetD32Async(unsigned long long, unsigned, size_t, void*) { return 0; }
NL_FAKE int cuMemcpyHtoDAsync_v2(unsigned long long, const void* from, size_t bytes, void*) {
  return Copy(const_cast<void*>(from), bytes);
}
NL_FAKE int cuMemcpyDtoHAsync_v2(void* to, unsigned long long, size_t bytes, void*) {
  return Copy(to, bytes);
}
NL_FAKE int cuMemcpyDtoDAsync_v2(unsigned long long, unsigned long long, size_t bytes, void*) {
  Host(1000);
  Device(2 * static_cast<double>(bytes) / 3000);
  return 0;
}
NL_FAKE int cuMemcpyPeerAsync(unsigned long long, void*, unsigned long long, void*, size_t bytes, void*) {
  Host(1000);
  Device(static_cast<double>(bytes) / kPeer);
  return 0;
}

NL_FAKE int cuStreamCreate(void** stream, unsigned) { return *stream = &g_now_ns, 0; }
NL_FAKE int cuStreamDestroy_v2(void*) { return 0; }
NL_FAKE int cuStreamSynchronize(void*) {
  g_now_ns = std::max(g_now_ns, g_device_ns);
  Host(300);
  return 0;
}
NL_FAKE int cuStreamBeginCapture_v2(void*, int) {
  g_capturing = true;
  g_captured = 0;
  return 0;
}
NL_FAKE int cuStreamEndCapture(void*, void** graph) {
  g_capturing = false;
  *graph = new Graph{g_captured};
  return 0;
}
NL_FAKE int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return *exec = new Graph(*static_cast<Graph*>(graph)), 0;
}
NL_FAKE int cuGraphLaunch(void* exec, void*) {
  Host(1500);
  Device(500.0 * static_cast<Graph*>(exec)->nodes);
  return 0;
}
NL_FAKE int cuGraphExecDestroy(void* exec) { return delete static_cast<Graph*>(exec), 0; }
NL_FAKE int cuGraphDestroy(void* graph) { return delete static_cast<Graph*>(graph), 0; }
NL_FAKE int cuEventCreate(void** event, unsigned) { return *event = new Event, 0; }
NL_FAKE int cuEventDestroy_v2(void* event) { return delete static_cast<Event*>(event), 0; }
NL_FAKE int cuEventRecord(void* event, void*) {
  g_device_ns = std::max(g_device_ns, g_now_ns);
  static_cast<Event*>(event)->ns = g_device_ns;
  Host(700);
  return 0;
}
NL_FAKE int cuEventSynchronize(void* event) {
  g_now_ns = std::max(g_now_ns, static_cast<Event*>(event)->ns);
  return 0;
}
NL_FAKE int cuEventElapsedTime(float* ms, void* from, void* to) {
  *ms = static_cast<float>(static_cast<double>(static_cast<Event*>(to)->ns - static_cast<Event*>(from)->ns) /
                           1e6);
  return 0;
}

// cuBLASLt: the third algorithm is the best; only A transposed and B not is known for 8-bit types.
namespace {

struct Desc {
  int compute = 0, trans_a = 0, trans_b = 0;
};
struct Layout {
  int type = 0;
  uint64_t rows = 0, columns = 0;
};
struct Heuristic {
  uint64_t algorithm[8];
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};
constexpr int kR8I = 3, kR16BF = 14, kR16F = 2, kE4M3 = 28;

}  // namespace

NL_FAKE size_t cublasLtGetVersion() { return 130102; }
NL_FAKE int cublasLtCreate(void** handle) { return *handle = &g_now_ns, Mode("nolt") ? 1 : 0; }
NL_FAKE int cublasLtDestroy(void*) { return 0; }
NL_FAKE int cublasLtMatmulDescCreate(void** desc, int compute, int) { return *desc = new Desc{compute}, 0; }
NL_FAKE int cublasLtMatmulDescDestroy(void* desc) { return delete static_cast<Desc*>(desc), 0; }
NL_FAKE int cublasLtMatmulDescSetAttribute(void* desc, int attribute, const void* value, size_t) {
  if (attribute == 3) static_cast<Desc*>(desc)->trans_a = *static_cast<const int*>(value);
  if (attribute == 4) static_cast<Desc*>(desc)->trans_b = *static_cast<const int*>(value);
  return 0;
}
NL_FAKE int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns, int64_t) {
  return *layout = new Layout{type, rows, columns}, 0;
}
NL_FAKE int cublasLtMatrixLayoutDestroy(void* layout) { return delete static_cast<Layout*>(layout), 0; }
NL_FAKE int cublasLtMatmulPreferenceCreate(void** preference) { return *preference = &g_now_ns, 0; }
NL_FAKE int cublasLtMatmulPreferenceDestroy(void*) { return 0; }
NL_FAKE int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, size_t) { return 0; }
NL_FAKE int cublasLtMatmulAlgoGetHeuristic(void*, void* desc, void* a, void*, void*, void*, void*, int asked,
                                           Heuristic* results, int* found) {
  const int type = static_cast<Layout*>(a)->type;
  const auto* d = static_cast<Desc*>(desc);
  const bool narrow = type == kR8I || type == kE4M3;
  const bool known = !(narrow && (d->trans_a != 1 || d->trans_b != 0)) && !(type == kR8I && Mode("noint8"));
  *found = known ? std::min(asked, 3) : 0;
  for (int i = 0; i < *found; ++i) results[i] = Heuristic{{static_cast<uint64_t>(i)}, 0, 0, 1, {}};
  return known ? 0 : 15;
}
NL_FAKE int cublasLtMatmul(void*, void* desc, const void*, const void*, void* a, const void*, void*,
                           const void*, const void*, void*, void*, void* d, const uint64_t* algorithm, void*,
                           size_t, void*) {
  const auto *left = static_cast<Layout*>(a), *out = static_cast<Layout*>(d);
  const double k = static_cast<double>(static_cast<Desc*>(desc)->trans_a == 1 ? left->rows : left->columns);
  const double tflops = left->type == kR16BF  ? 800
                        : left->type == kR16F ? 810
                        : left->type == kE4M3 ? 1500
                        : left->type == kR8I  ? 1600
                                              : 400;
  Host(3000);
  Device(2.0 * static_cast<double>(out->rows) * static_cast<double>(out->columns) * k / (tflops * 1e3) *
         (algorithm[0] == 2 ? 1.0 : 1.1));
  return 0;
}
