// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "capture/peaks/gpu_bench.h"
#include "capture/peaks/ptx_kernels.h"

namespace nl::capture {

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kMostDramBytes = size_t{4} << 30, kLeastDramBytes = 64 * kMiB;

// One grid: how many threads a block has, and whether all blocks run at once and loop, or each does one
// chunk.
struct Grid {
  unsigned threads;
  bool resident;
};
constexpr Grid kGrids[] = {{1024, true}, {512, true}, {256, true}, {512, false}, {256, false}, {1024, false}};

unsigned BlocksOf(const GpuBench& bench, const Grid& grid, size_t bytes, int unroll) {
  const size_t chunks = bytes / (size_t{kVectorBytes} * grid.threads * static_cast<size_t>(unroll));
  const auto resident = static_cast<size_t>(bench.sms()) *
                        std::max<size_t>(1, static_cast<size_t>(bench.threads_per_sm()) / grid.threads);
  return static_cast<unsigned>(grid.resident ? std::min(resident, chunks) : chunks);
}

std::string GridText(const Grid& grid, int unroll, size_t bytes) {
  return std::to_string(bytes / kMiB) + " MiB, " + std::to_string(unroll) +
         " x 16 bytes per thread, blocks of " + std::to_string(grid.threads) +
         (grid.resident ? ", all resident" : ", one chunk each");
}

// Streams of global memory by the kernels read_U, write_U and copy_U.
class DramBench {
 public:
  explicit DramBench(GpuBench& bench) : bench_(bench) {}

  void Run() {
    Measure("dram_read", 1, [this](CuFunction f, unsigned blocks, unsigned threads) {
      return bench_.Launch(f, blocks, threads, {&from_, &bytes_, &passes_, &out_});
    });
    Measure("dram_write", 1, [this](CuFunction f, unsigned blocks, unsigned threads) {
      return bench_.Launch(f, blocks, threads, {&to_, &bytes_});
    });
    Measure("dram_copy", 2, [this](CuFunction f, unsigned blocks, unsigned threads) {
      return bench_.Launch(f, blocks, threads, {&to_, &from_, &bytes_});
    });
  }

 private:
  using LaunchFn = std::function<int(CuFunction, unsigned, unsigned)>;

  // Two buffers, far larger than the caches, so that what stays in them does not matter.
  bool Allocate() {
    if (bytes_ != 0) return true;
    size_t bytes = kMostDramBytes;
    if (const auto memory = bench_.out().memory_bytes)
      bytes = std::min(bytes, static_cast<size_t>(*memory) / 8 / kMiB * kMiB);
    for (; bytes >= kLeastDramBytes; bytes = bytes / 2 / kMiB * kMiB) {
      const int result =
          a_.Allocate(bench_.cuda(), bytes) != 0 ? kCuOutOfMemory : b_.Allocate(bench_.cuda(), bytes);
      if (bench_.Ok(result, "two buffers for bandwidth")) break;
    }
    if (b_.bytes() == 0) {
      a_.Release();
      return false;
    }
    from_ = a_.at();
    to_ = b_.at();
    out_ = bench_.scratch();
    bytes_ = b_.bytes();
    return bench_.Ok(bench_.cuda().MemsetD32Async(from_, 0x3f9d70a4, bytes_ / 4, bench_.stream()),
                     "cuMemsetD32");
  }

  void Measure(const char* name, int sides, const LaunchFn& launch) {
    Figure* figure = bench_.Begin(name, "GB/s");
    if (figure == nullptr) return;
    if (!Allocate()) {
      figure->reason = bench_.error();
      return;
    }
    const std::string kernel = std::string(name + sizeof "dram_" - 1) + "_";
    std::vector<PeakTrial> trials;
    for (const int unroll : {4, 8, 2, 1}) {
      CuFunction function = bench_.Kernel(kernel + std::to_string(unroll));
      if (function == nullptr) continue;
      for (const Grid& grid : kGrids) {
        const unsigned blocks = BlocksOf(bench_, grid, bytes_, unroll);
        trials.push_back({GridText(grid, unroll, bytes_), static_cast<double>(bytes_) * sides,
                          [=] { return launch(function, blocks, grid.threads); }});
      }
    }
    if (sides == 2)
      trials.push_back(
          {std::to_string(bytes_ / kMiB) + " MiB, cuMemcpyDtoD", static_cast<double>(bytes_) * 2,
           [this] { return bench_.cuda().MemcpyDtoDAsync(to_, from_, bytes_, bench_.stream()); }});
    bench_.MeasureBest(*figure, trials, 1e9);
  }

  GpuBench& bench_;
  DeviceBuffer a_, b_;
  CuPointer from_ = 0, to_ = 0, out_ = 0;
  unsigned long long bytes_ = 0;
  unsigned passes_ = 1;
};

// Reads the same part of the L2 cache again and again, past L1.
void MeasureL2(GpuBench& bench) {
  Figure* figure = bench.Begin("l2_read", "GB/s");
  if (figure == nullptr) return;
  const auto l2_bytes = static_cast<size_t>(bench.out().l2_bytes.value_or(0));
  constexpr Grid kGrid = {512, true};
  struct Setup {
    unsigned long long bytes;
    unsigned passes;
    int unroll;
  };
  std::vector<Setup> setups;
  size_t most = 0;
  for (const int unroll : {4, 2, 1}) {
    const size_t step = size_t{BlocksOf(bench, kGrid, size_t{1} << 40, unroll)} * kGrid.threads *
                        kVectorBytes * static_cast<size_t>(unroll);
    for (size_t bytes = step; bytes <= l2_bytes * 3 / 4; bytes += step) {
      setups.push_back(
          {bytes, static_cast<unsigned>(std::max<size_t>(1, (size_t{4} << 30) / bytes)), unroll});
      most = std::max(most, bytes);
    }
  }
  if (setups.empty()) {
    figure->reason = "the L2 cache of " + std::to_string(l2_bytes) +
                     " bytes is too small to be read by all threads at once";
    return;
  }
  DeviceBuffer buffer;
  if (!bench.Ok(buffer.Allocate(bench.cuda(), most), "a buffer for the L2 cache")) {
    figure->reason = bench.error();
    return;
  }
  const CuPointer from = buffer.at(), out = bench.scratch();
  std::vector<PeakTrial> trials;
  for (const Setup& setup : setups) {
    CuFunction function = bench.Kernel("read_" + std::to_string(setup.unroll));
    const unsigned blocks = BlocksOf(bench, kGrid, setup.bytes, setup.unroll);
    const double amount = static_cast<double>(setup.bytes) * setup.passes;
    char how[96];
    std::snprintf(how, sizeof how, "%.1f MiB, %d x 16 bytes per thread",
                  static_cast<double>(setup.bytes) / kMiB, setup.unroll);
    trials.push_back(
        {how, amount, [&bench, &setup, function, blocks, &from, &out] {
           return bench.Launch(function, blocks, kGrid.threads, {&from, &setup.bytes, &setup.passes, &out});
         }});
  }
  bench.MeasureBest(*figure, trials, 1e9);
}

void MeasureShared(GpuBench& bench) {
  Figure* figure = bench.Begin("shared_read", "GB/s");
  if (figure == nullptr) return;
  const CuFunction function = bench.Kernel("shared_read");
  const CuPointer out = bench.scratch();
  static constexpr unsigned kIterations = 4096;
  std::vector<PeakTrial> trials;
  for (const unsigned threads : {1024u, 512u, 256u}) {
    const auto blocks =
        static_cast<unsigned>(bench.sms() * std::max(1, bench.threads_per_sm() / static_cast<int>(threads)));
    const double amount = double{kIterations} * kSharedLoads * kVectorBytes * threads * blocks;
    trials.push_back({"16 bytes per load, blocks of " + std::to_string(threads), amount,
                      [&bench, function, blocks, threads, &out] {
                        return bench.Launch(function, blocks, threads, {&kIterations, &out});
                      }});
  }
  bench.MeasureBest(*figure, trials, 1e9);
}

}  // namespace

void MeasureGpuMemory(GpuBench& bench) {
  DramBench(bench).Run();
  MeasureL2(bench);
  MeasureShared(bench);
}

void MeasureGpuFma(GpuBench& bench) {
  for (const char* type : {"fp32", "fp64"}) {
    const bool single = type[2] == '3';
    Figure* figure = bench.Begin(single ? "fma_fp32" : "fma_fp64", "TFLOP/s");
    if (figure == nullptr) continue;
    const CuFunction function = bench.Kernel(single ? "fma_f32" : "fma_f64");
    const CuPointer out = bench.scratch();
    std::vector<PeakTrial> trials;
    static constexpr unsigned kIterations = 512;
    for (const unsigned threads : {512u, 1024u, 256u}) {
      const auto blocks = static_cast<unsigned>(
          bench.sms() * std::max(1, bench.threads_per_sm() / static_cast<int>(threads)));
      const double amount = 2.0 * kIterations * kFmaPerIteration * threads * blocks;
      trials.push_back({"16 chains per thread, blocks of " + std::to_string(threads), amount,
                        [&bench, function, blocks, threads, &out] {
                          return bench.Launch(function, blocks, threads, {&kIterations, &out});
                        }});
    }
    bench.MeasureBest(*figure, trials, 1e12);
  }
}

}  // namespace nl::capture
