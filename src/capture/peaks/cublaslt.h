// SPDX-License-Identifier: Apache-2.0
#pragma once
// CublasLt: NVIDIA's matrix products, loaded at run time by our own declarations. LtProduct is one product
// D = op(A) op(B) of a shape, layout and type, with the algorithms that the library proposes for it.
// Thread rule: one thread, with the device's context current. Ownership: the library stays loaded.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "capture/peaks/cuda_driver.h"

namespace nl::capture {

enum LtType : int { kLt32F = 0, kLt16F = 2, kLt8I = 3, kLt32I = 10, kLt16BF = 14, kLtE4M3 = 28 };
enum LtCompute : int { kLtCompute32F = 68, kLtCompute32I = 72, kLtComputeTf32 = 77 };
enum LtDescAttribute : int { kLtTransA = 3, kLtTransB = 4, kLtFastAccumulate = 25 };
inline constexpr int kLtMaxWorkspace = 1;  // of the preference

using LtHandle = struct LtHandleTag*;
using LtDesc = struct LtDescTag*;
using LtLayout = struct LtLayoutTag*;
using LtPreference = struct LtPreferenceTag*;
struct LtAlgorithm {
  uint64_t data[8];
};
struct LtHeuristic {
  LtAlgorithm algorithm;
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

struct CublasLt {
  size_t (*GetVersion)();
  int (*Create)(LtHandle*);
  int (*Destroy)(LtHandle);
  int (*DescCreate)(LtDesc*, int compute, int scale_type);
  int (*DescDestroy)(LtDesc);
  int (*DescSet)(LtDesc, int attribute, const void*, size_t bytes);
  int (*LayoutCreate)(LtLayout*, int type, uint64_t rows, uint64_t columns, int64_t leading);
  int (*LayoutDestroy)(LtLayout);
  int (*PreferenceCreate)(LtPreference*);
  int (*PreferenceDestroy)(LtPreference);
  int (*PreferenceSet)(LtPreference, int attribute, const void*, size_t bytes);
  int (*Heuristics)(LtHandle, LtDesc, LtLayout a, LtLayout b, LtLayout c, LtLayout d, LtPreference, int asked,
                    LtHeuristic*, int* found);
  int (*Matmul)(LtHandle, LtDesc, const void* alpha, const void* a, LtLayout, const void* b, LtLayout,
                const void* beta, const void* c, LtLayout, void* d, LtLayout, const LtAlgorithm*,
                void* workspace, size_t workspace_bytes, CuStream);

  // From `path` when given, else from where programs usually find it. False: `why` has the reason.
  bool Load(const std::string& path, std::string& why);
  std::string VersionText() const;  // "cuBLASLt 13.0.2"
};

// How a type is multiplied.
struct LtKind {
  const char* name;  // of the figure
  int input, output, compute, scale;
  int element_bytes, output_bytes;
  bool transposed_only;  // A transposed, B not: the one layout that 8-bit products have
  bool fast_accumulate;
};

class LtProduct {
 public:
  LtProduct(const CublasLt& lt, LtHandle handle, const LtKind& kind, bool trans_a, bool trans_b, int64_t m,
            int64_t n, int64_t k, size_t workspace_bytes);
  ~LtProduct();
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;

  const std::vector<LtHeuristic>& algorithms() const { return algorithms_; }
  // The library's result; 0: queued.
  int Run(size_t algorithm, CuPointer a, CuPointer b, CuPointer d, CuPointer workspace,
          CuStream stream) const;
  double Operations() const {
    return 2.0 * static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(k_);
  }

 private:
  const CublasLt& lt_;
  LtHandle handle_;
  const LtKind& kind_;
  int64_t m_, n_, k_;
  LtDesc desc_ = nullptr;
  LtLayout a_ = nullptr, b_ = nullptr, d_ = nullptr;
  std::vector<LtHeuristic> algorithms_;
};

}  // namespace nl::capture
