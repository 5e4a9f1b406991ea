// SPDX-License-Identifier: Apache-2.0
// The CPU's peaks. The vectors are GCC's vector extension: the same loop becomes AVX-512, AVX2, SSE or NEON
// by the target of its function. CMake compiles this source with -O2 -ffp-contract=fast, so that a * b + c is
// one instruction where the target has it.

#include <pthread.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "capture/launcher/machine_facts.h"
#include "capture/peaks/measure.h"

namespace nl::capture {

namespace {

constexpr int kCpuRepeats = 15;
constexpr double kCpuShare = 0.2, kMostCpuS = 6;  // of the budget, and at most

// One thread's part of a repeat; returns the operations or bytes it did.
using CpuWork = std::function<double(int thread, int threads)>;

int CoresOfProcess() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  return count > 0 ? count : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Rates of the repeats, in amount per second: all threads start together and the last one ends it.
std::vector<double> TimeThreads(const PeakOptions& options, int threads, double least_s, int64_t deadline_ns,
                                const CpuWork& work) {
  std::vector<double> rates, amounts(static_cast<size_t>(threads), 0);
  std::atomic<bool> done{false};
  int64_t begun_ns = 0;
  const int64_t first_ns = options.now_ns();
  int repeat = -2;  // the first two warm up
  const auto finished = [&]() noexcept {
    const int64_t now = options.now_ns();
    if (begun_ns != 0 && repeat >= 0) {
      double sum = 0;
      for (const double amount : amounts) sum += amount;
      rates.push_back(sum / (static_cast<double>(std::max<int64_t>(1, now - begun_ns)) / 1e9));
    }
    const bool long_enough = static_cast<double>(now - first_ns) / 1e9 >= least_s;
    if (begun_ns != 0) ++repeat;
    if ((repeat >= kCpuRepeats && long_enough) || repeat >= 20 * kCpuRepeats ||
        (now >= deadline_ns && repeat > 0))
      done = true;
    begun_ns = options.now_ns();
  };
  std::barrier gate(threads, finished);
  const auto run = [&](int thread) {
    for (gate.arrive_and_wait(); !done; gate.arrive_and_wait())
      amounts[static_cast<size_t>(thread)] = work(thread, threads);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
  run(0);
  for (std::thread& thread : others) thread.join();
  return rates;
}

// x + x * y on `Chains` vectors, the operations of `Chains` x lanes x 2 per round; the result is kept.
template <class Vector, class Element, int Chains>
__attribute__((always_inline)) inline double FmaRounds(int64_t rounds) {
  Vector chain[Chains];
  constexpr int kLanes = sizeof(Vector) / sizeof(Element);
#pragma GCC unroll 32
  for (int i = 0; i < Chains; ++i) chain[i] = Vector{} + static_cast<Element>(i + 1);
  // x + x * tiny: one register per chain on every target (NEON adds in place), and x stays what it is.
  const volatile Element unknown = static_cast<Element>(1e-20);  // to the compiler, or it would do nothing
  const Vector tiny = Vector{} + unknown;
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int i = 0; i < Chains; ++i) chain[i] += chain[i] * tiny;
  }
  Vector sum = chain[0];
#pragma GCC unroll 32
  for (int i = 1; i < Chains; ++i) sum += chain[i];
  // A use that the compiler cannot see through.
  __asm__ volatile("" : : "m"(sum) : "memory");
  return 2.0 * kLanes * Chains * static_cast<double>(rounds);
}

template <class Element, int Bytes>
struct VectorOf {
  typedef Element Type __attribute__((vector_size(Bytes)));
};

template <class Element>
double FmaPlain(int64_t rounds) {
#ifdef __aarch64__
  return FmaRounds<typename VectorOf<Element, 16>::Type, Element, 24>(rounds);  // of 32 registers
#else
  return FmaRounds<typename VectorOf<Element, 16>::Type, Element, 12>(rounds);  // of 16
#endif
}

struct CpuFma {
  double (*single)(int64_t);
  double (*wide)(int64_t);
  const char* how;
};

#ifdef __x86_64__
template <class Element>
__attribute__((target("avx2,fma"))) double FmaAvx2(int64_t rounds) {
  return FmaRounds<typename VectorOf<Element, 32>::Type, Element, 12>(rounds);
}
template <class Element>
__attribute__((target("avx512f,avx512dq,avx512vl"))) double FmaAvx512(int64_t rounds) {
  return FmaRounds<typename VectorOf<Element, 64>::Type, Element, 16>(rounds);
}
CpuFma ChooseFma() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return {FmaAvx512<float>, FmaAvx512<double>, "AVX-512, 16 chains"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {FmaAvx2<float>, FmaAvx2<double>, "AVX2, 12 chains"};
  return {FmaPlain<float>, FmaPlain<double>, "SSE2 without multiply-add instructions, 12 chains"};
}
#else
CpuFma ChooseFma() { return {FmaPlain<float>, FmaPlain<double>, "128-bit vectors, 24 chains"}; }
#endif

// Bytes of the largest cache; 32 MiB when the system does not say.
size_t LastCacheBytes() {
  for (const int name : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE}) {
    const long bytes = sysconf(name);
    if (bytes > 0) return static_cast<size_t>(bytes);
  }
  return size_t{32} << 20;
}

// a = b + 3 c over the parts of the threads. Each thread first touches its own part.
class Triad {
 public:
  // False: not enough memory.
  bool Allocate(int threads) {
    const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const size_t free_bytes =
        pages > 0 && page > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page) : 0;
    // STREAM's rule: each array at least four times the caches.
    size_t bytes = std::clamp<size_t>(4 * LastCacheBytes(), size_t{64} << 20, size_t{1} << 30);
    if (free_bytes / 6 < bytes) bytes = free_bytes / 6;
    part_ = bytes / sizeof(double) / static_cast<size_t>(threads) / 8 * 8;
    if (part_ < 4096) return false;
    const size_t count = part_ * static_cast<size_t>(threads);
    for (double*& array : arrays_) {
      array = static_cast<double*>(std::aligned_alloc(64, count * sizeof(double)));
      if (array == nullptr) return false;
    }
    return true;
  }
  ~Triad() {
    for (double* array : arrays_) std::free(array);
  }
  double Run(int thread) {
    double* __restrict a = arrays_[0] + part_ * static_cast<size_t>(thread);
    double* __restrict b = arrays_[1] + part_ * static_cast<size_t>(thread);
    double* __restrict c = arrays_[2] + part_ * static_cast<size_t>(thread);
    if (!touched_[static_cast<size_t>(thread)]) {
      for (size_t i = 0; i < part_; ++i) {
        a[i] = 0;
        b[i] = static_cast<double>(i);
        c[i] = 0.5;
      }
      touched_[static_cast<size_t>(thread)] = true;
    }
    for (size_t i = 0; i < part_; ++i) a[i] = b[i] + 3.0 * c[i];
    __asm__ volatile("" : : "r"(a) : "memory");
    return 3.0 * sizeof(double) * static_cast<double>(part_);
  }
  size_t array_mib(int threads) const { return part_ * static_cast<size_t>(threads) * sizeof(double) >> 20; }

 private:
  double* arrays_[3] = {};
  size_t part_ = 0;
  bool touched_[CPU_SETSIZE] = {};
};

Figure* BeginCpu(const PeakOptions& options, MeasuredDevice& out, int64_t deadline_ns, const char* name,
                 const char* unit) {
  Figure& figure = out.figures.emplace_back();
  figure.name = name;
  figure.unit = unit;
  if (options.progress && !options.progress(out.name, name)) {
    figure.reason = "stopped by the user";
    return nullptr;
  }
  if (options.now_ns() < deadline_ns) return &figure;
  figure.reason = "the time budget was used up; raise --budget";
  return nullptr;
}

void MeasureTriad(const PeakOptions& options, int threads, double seconds, int64_t deadline_ns,
                  Figure& figure) {
  const auto triad = std::make_unique<Triad>();
  if (!triad->Allocate(threads)) {
    figure.reason = "not enough free memory for three arrays";
    return;
  }
  std::vector<double> rates = TimeThreads(options, threads, seconds, deadline_ns,
                                          [&](int thread, int) { return triad->Run(thread); });
  for (double& rate : rates) rate /= 1e9;
  SetRepeats(figure, std::move(rates));
  figure.how = "a = b + 3 c, arrays of " + std::to_string(triad->array_mib(threads)) + " MiB, " +
               std::to_string(threads) + " threads, 24 bytes per element";
}

void MeasureCpuFma(const PeakOptions& options, int threads, double seconds, int64_t deadline_ns, bool single,
                   Figure& figure) {
  const CpuFma fma = ChooseFma();
  const auto rounds = single ? fma.single : fma.wide;
  std::vector<double> rates =
      TimeThreads(options, threads, seconds, deadline_ns, [&](int, int) { return rounds(int64_t{1} << 20); });
  for (double& rate : rates) rate /= 1e12;
  SetRepeats(figure, std::move(rates));
  figure.how = std::string(fma.how) + ", " + std::to_string(threads) + " threads";
}

}  // namespace

void MeasureCpu(const PeakOptions& options, int64_t deadline_ns, PeakMeasurement& to) {
  MeasuredDevice& out = to.devices.emplace_back();
  const int64_t begun_ns = options.now_ns();
  out.kind = "cpu";
  std::string host;
  for (const auto& [key, value] : MachineFacts()) {
    if (key == "host.cpu_model") out.name = value;
    if (key == "host.kernel") out.driver_version = value;
    if (key == "host.hostname_hash") host = value;
    if (key == "host.memory_bytes") out.memory_bytes = std::atoll(value.c_str());
  }
  if (out.name.empty()) out.name = "CPU";
  const int threads = std::min(CoresOfProcess(), CPU_SETSIZE);
  out.id = "CPU-" + HashAsHex(out.name + "/" + host + "/" + std::to_string(threads));
  const double each_s = std::min(kMostCpuS, options.budget_s * kCpuShare) / 3;
  if (Figure* figure = BeginCpu(options, out, deadline_ns, "cpu_triad", "GB/s"))
    MeasureTriad(options, threads, each_s, deadline_ns, *figure);
  if (Figure* figure = BeginCpu(options, out, deadline_ns, "cpu_fma_fp32", "TFLOP/s"))
    MeasureCpuFma(options, threads, each_s, deadline_ns, true, *figure);
  if (Figure* figure = BeginCpu(options, out, deadline_ns, "cpu_fma_fp64", "TFLOP/s"))
    MeasureCpuFma(options, threads, each_s, deadline_ns, false, *figure);
  out.seconds = static_cast<double>(options.now_ns() - begun_ns) / 1e9;
}

}  // namespace nl::capture
