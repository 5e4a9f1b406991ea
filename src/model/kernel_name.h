// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernel names: one spelling, one short label and one family for every GPU kernel, whoever recorded it.
// Importers call ParseKernelName once per distinct name; summaries group by `normalized`, tables show
// `short_name`, rules filter by `family`.
// Thread rule: pure functions. Time and memory are linear in the name's length.

#include <cstdint>
#include <string>
#include <string_view>

namespace nl {

enum class KernelFamily : uint8_t {
  kOther = 0,
  kGemm,
  kAttention,
  kConv,
  kElementwise,
  kReduction,
  kNorm,
  kSoftmax,
  kCopy,
  kCommunication,
  kEmbedding,
  kIndex,  // gather, scatter, index_select, masked writes
  kSort,
  kTopK,
  kScan,  // prefix sums and stream compaction
  kRandom,
  kOptimizer,
  kPooling,
  kResample,  // upsample, interpolate, grid_sample
  kLoss,
  kQuantize,
  kRouting,  // mixture-of-experts routing and finalize
  kFft,
};
inline constexpr int kKernelFamilyCount = 23;

// Stable lower-case name: "gemm", "attention", ...
std::string_view KernelFamilyName(KernelFamily family);

struct KernelName {
  std::string demangled;   // the whole C++ name, or the input when it is not mangled
  std::string normalized;  // key: equal for the CUPTI, Kineto, nsys and ncu spellings of one kernel
  std::string short_name;  // label of at most kMaxShortNameBytes; different kernels may share one
  KernelFamily family = KernelFamily::kOther;
};

inline constexpr size_t kMaxShortNameBytes = 64;
// Of a normalized name, what is looked at for its label and its family.
inline constexpr size_t kMaxScannedNameBytes = 4096;

// Never fails and takes any bytes; what is not a C++ name is kept as it is, trimmed.
KernelName ParseKernelName(std::string_view raw);

// The steps of ParseKernelName. NormalizeKernelName drops what differs between tools and cannot distinguish
// two kernels of one program apart in practice: result type, parameter lists, namespaces (ncu hides them by
// rules that change with its version), literal casts and suffixes (bool becomes 0 or 1), lambda and const
// spelling, clones.
std::string NormalizeKernelName(std::string_view demangled);
std::string ShortKernelName(std::string_view normalized);
KernelFamily ClassifyKernel(std::string_view normalized, std::string_view demangled);

// The element type in a short name ("xmma gemm bf16 tn ..."): bf16, fp16, fp32, tf32, fp8, fp64 or int8; the
// first of several, empty when the name has none.
std::string_view KernelDtype(std::string_view short_name);

}  // namespace nl
