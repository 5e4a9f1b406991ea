// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "capture/peaks/cublaslt.h"
#include "capture/peaks/gpu_bench.h"

namespace nl::capture {

namespace {

constexpr LtKind kKinds[] = {
    {"tensor_bf16", kLt16BF, kLt16BF, kLtCompute32F, kLt32F, 2, 2, false, false},
    {"tensor_fp16", kLt16F, kLt16F, kLtCompute32F, kLt32F, 2, 2, false, false},
    {"tensor_tf32", kLt32F, kLt32F, kLtComputeTf32, kLt32F, 4, 4, false, false},
    {"tensor_fp8", kLtE4M3, kLt16BF, kLtCompute32F, kLt32F, 1, 2, true, true},
    {"tensor_int8", kLt8I, kLt32I, kLtCompute32I, kLt32I, 1, 4, true, false},
};
// Large enough to fill any device, small enough for several in a second; 8448 x 8192 fills 132
// multiprocessors with tiles of 128 x 256 without a rest.
struct Shape {
  int64_t m, n, k;
};
constexpr Shape kShapes[] = {{8192, 8192, 8192}, {4096, 4096, 4096},   {8448, 8192, 8192},
                             {8192, 8192, 4096}, {8192, 8192, 16384},  {16384, 8192, 8192},
                             {6144, 6144, 6144}, {16384, 16384, 16384}};
constexpr size_t kWorkspaceBytes = size_t{64} << 20;
constexpr size_t kPatternElements = 1048573;  // a prime: no row of a matrix repeats another
constexpr double kTryS = 3.0, kMeasureS = 0.25;

// x as a small float: sign, exponent, mantissa; too small is 0, too large the largest.
uint32_t SmallFloat(double x, int exponent_bits, int mantissa_bits) {
  const uint32_t sign = x < 0 ? 1u << (exponent_bits + mantissa_bits) : 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);  // in [0.5, 1)
  const int bias = (1 << (exponent_bits - 1)) - 1;
  int field = exponent - 1 + bias;
  if (fraction == 0 || field <= 0) return sign;
  field = std::min(field, (1 << exponent_bits) - 2);
  const auto mantissa = static_cast<uint32_t>((fraction * 2 - 1) * (1 << mantissa_bits));
  return sign | static_cast<uint32_t>(field) << mantissa_bits | mantissa;
}

// Random elements, nearly normal: zeros would draw less power and run faster than real data.
std::vector<unsigned char> Pattern(const LtKind& kind) {
  std::vector<unsigned char> out(kPatternElements * static_cast<size_t>(kind.element_bytes));
  uint64_t state = 0x9e3779b97f4a7c15;
  for (size_t i = 0; i < kPatternElements; ++i) {
    double sum = 0;
    for (int part = 0; part < 4; ++part) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<double>(state >> 40) / (1 << 24) - 0.5;
    }
    const double x = sum * std::sqrt(3.0);  // of variance 1
    const auto single = static_cast<float>(x);
    const auto whole = static_cast<int8_t>(std::clamp(x * 32, -127.0, 127.0));
    uint32_t bits = 0;
    switch (kind.input) {
      case kLt16BF: bits = SmallFloat(x, 8, 7); break;
      case kLt16F: bits = SmallFloat(x, 5, 10); break;
      case kLtE4M3: bits = SmallFloat(x, 4, 3); break;
      case kLt8I: bits = static_cast<uint8_t>(whole); break;
      default: std::memcpy(&bits, &single, sizeof bits);
    }
    std::memcpy(out.data() + i * static_cast<size_t>(kind.element_bytes), &bits,
                static_cast<size_t>(kind.element_bytes));
  }
  return out;
}

class MatrixBench {
 public:
  MatrixBench(GpuBench& bench, const CublasLt& lt, LtHandle handle)
      : bench_(bench), lt_(lt), handle_(handle) {}

  void Measure(Figure& figure, const LtKind& kind, const std::function<void()>& under_load) {
    const int64_t most = MostElements(kind);
    if (most == 0 || !Fill(kind)) {
      figure.reason = bench_.error().empty() ? "not enough device memory" : bench_.error();
      return;
    }
    std::vector<std::unique_ptr<LtProduct>> products;
    std::vector<PeakTrial> trials;
    for (const Shape& shape : kShapes) {
      if (std::max({shape.m * shape.n, shape.m * shape.k, shape.n * shape.k}) > most) continue;
      for (const char* layout : {"TN", "NN", "NT"}) {
        if (kind.transposed_only && layout[0] != 'T') continue;
        products.push_back(std::make_unique<LtProduct>(lt_, handle_, kind, layout[0] == 'T', layout[1] == 'T',
                                                       shape.m, shape.n, shape.k, kWorkspaceBytes));
        AddTrials(*products.back(), shape, layout, trials);
      }
    }
    if (trials.empty()) {
      figure.reason = "cuBLASLt has no algorithm for this type on this device";
      return;
    }
    // By rank of the library's choice first: when time is short, its best choices of all shapes were tried.
    std::stable_sort(trials.begin(), trials.end(),
                     [](const PeakTrial& a, const PeakTrial& b) { return a.how.back() < b.how.back(); });
    TrialLimits limits;
    limits.try_s = std::min(kTryS, bench_.SecondsLeft() / 4);
    limits.measure_s = kMeasureS;
    limits.sample_ms = 4;
    limits.under_load = under_load;
    bench_.MeasureBest(figure, trials, 1e12, limits);
  }

 private:
  // Elements of the largest matrix that fits three times; the buffers have that size afterwards.
  int64_t MostElements(const LtKind& kind) {
    std::vector<int64_t> sizes;
    for (const Shape& s : kShapes) sizes.push_back(std::max({s.m * s.n, s.m * s.k, s.n * s.k}));
    std::sort(sizes.rbegin(), sizes.rend());
    for (const int64_t elements : sizes) {
      const auto count = static_cast<size_t>(elements);
      if (bench_.Ok(a_.Allocate(bench_.cuda(), count * static_cast<size_t>(kind.element_bytes)),
                    "matrix A") &&
          bench_.Ok(b_.Allocate(bench_.cuda(), count * static_cast<size_t>(kind.element_bytes)),
                    "matrix B") &&
          bench_.Ok(d_.Allocate(bench_.cuda(), count * static_cast<size_t>(kind.output_bytes)), "matrix D") &&
          (workspace_.bytes() != 0 ||
           bench_.Ok(workspace_.Allocate(bench_.cuda(), kWorkspaceBytes), "the workspace")))
        return elements;
    }
    return 0;
  }

  bool Fill(const LtKind& kind) {
    const std::vector<unsigned char> pattern = Pattern(kind);
    for (const DeviceBuffer* buffer : {&a_, &b_}) {
      const size_t first = std::min(pattern.size(), buffer->bytes());
      if (!bench_.Ok(bench_.cuda().MemcpyHtoDAsync(buffer->at(), pattern.data(), first, bench_.stream()),
                     "filling"))
        return false;
      for (size_t filled = first; filled < buffer->bytes();) {
        const size_t next = std::min(filled, buffer->bytes() - filled);
        if (!bench_.Ok(
                bench_.cuda().MemcpyDtoDAsync(buffer->at() + filled, buffer->at(), next, bench_.stream()),
                "filling"))
          return false;
        filled += next;
      }
    }
    return bench_.Ok(bench_.Sync(), "filling");
  }

  void AddTrials(const LtProduct& product, const Shape& shape, const char* layout,
                 std::vector<PeakTrial>& to) {
    for (size_t i = 0; i < product.algorithms().size(); ++i) {
      const std::string how = std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " +
                              std::to_string(shape.k) + ", " + layout + ", algorithm " +
                              std::to_string(i + 1);
      to.push_back({how, product.Operations(), [this, &product, i] {
                      return product.Run(i, a_.at(), b_.at(), d_.at(), workspace_.at(), bench_.stream());
                    }});
    }
  }

  GpuBench& bench_;
  const CublasLt& lt_;
  LtHandle handle_;
  DeviceBuffer a_, b_, d_, workspace_;
};

}  // namespace

void MeasureGpuMatrix(GpuBench& bench, const std::function<void()>& read_clocks) {
  CublasLt lt{};
  LtHandle handle = nullptr;
  std::string why_not;
  if (lt.Load(bench.options().cublaslt, why_not)) {
    const int result = lt.Create(&handle);
    if (result != 0) why_not = "cublasLtCreate failed with status " + std::to_string(result);
    bench.out().library = lt.VersionText();
  }
  {
    MatrixBench matrix(bench, lt, handle);
    for (const LtKind& kind : kKinds) {
      Figure* figure = bench.Begin(kind.name, kind.compute == kLtCompute32I ? "TOP/s" : "TFLOP/s");
      if (figure == nullptr) continue;
      figure->reason = why_not;
      const bool first = &kind == &kKinds[0];
      if (why_not.empty()) matrix.Measure(*figure, kind, first ? read_clocks : std::function<void()>());
    }
  }
  if (handle != nullptr) lt.Destroy(handle);
}

}  // namespace nl::capture
