// SPDX-License-Identifier: Apache-2.0
#include "capture/peaks/cublaslt.h"

#include <dlfcn.h>

#include <cstdlib>

namespace nl::capture {

namespace {

constexpr int kMostAlgorithms = 8;

template <class Function>
bool TakeLt(void* library, const char* name, Function& to, std::string& why) {
  to = reinterpret_cast<Function>(dlsym(library, name));
  if (to == nullptr && why.empty()) why = std::string("cuBLASLt lacks ") + name;
  return to != nullptr;
}

void* OpenLt(const std::string& path) {
  const char* variable = std::getenv(kCublasLtVariable);
  if (!path.empty()) return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (variable != nullptr && variable[0] != '\0') return dlopen(variable, RTLD_NOW | RTLD_LOCAL);
  for (const char* folder : {"", "/usr/local/cuda/lib64/", "/opt/cuda/lib64/"}) {
    for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}) {
      void* library = dlopen((std::string(folder) + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) return library;
    }
  }
  return nullptr;
}

}  // namespace

bool CublasLt::Load(const std::string& path, std::string& why) {
  void* library = OpenLt(path);
  if (library == nullptr) {
    why = path.empty()
              ? "libcublasLt is not installed where programs usually find it; give its path with --cublaslt"
              : "cannot load " + path;
    return false;
  }
  why.clear();
  TakeLt(library, "cublasLtGetVersion", GetVersion, why);
  TakeLt(library, "cublasLtCreate", Create, why);
  TakeLt(library, "cublasLtDestroy", Destroy, why);
  TakeLt(library, "cublasLtMatmulDescCreate", DescCreate, why);
  TakeLt(library, "cublasLtMatmulDescDestroy", DescDestroy, why);
  TakeLt(library, "cublasLtMatmulDescSetAttribute", DescSet, why);
  TakeLt(library, "cublasLtMatrixLayoutCreate", LayoutCreate, why);
  TakeLt(library, "cublasLtMatrixLayoutDestroy", LayoutDestroy, why);
  TakeLt(library, "cublasLtMatmulPreferenceCreate", PreferenceCreate, why);
  TakeLt(library, "cublasLtMatmulPreferenceDestroy", PreferenceDestroy, why);
  TakeLt(library, "cublasLtMatmulPreferenceSetAttribute", PreferenceSet, why);
  TakeLt(library, "cublasLtMatmulAlgoGetHeuristic", Heuristics, why);
  TakeLt(library, "cublasLtMatmul", Matmul, why);
  return why.empty();
}

std::string CublasLt::VersionText() const {
  // 130002 is 13.0.2 since CUDA 13; 120803 is 12.8.3: major * 10000 + minor * 100 + patch.
  const size_t v = GetVersion();
  return "cuBLASLt " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
         std::to_string(v % 100);
}

// All matrices are in column-major order. op(A) is m x k: stored k x m when it is transposed.
LtProduct::LtProduct(const CublasLt& lt, LtHandle handle, const LtKind& kind, bool trans_a, bool trans_b,
                     int64_t m, int64_t n, int64_t k, size_t workspace_bytes)
    : lt_(lt), handle_(handle), kind_(kind), m_(m), n_(n), k_(k) {
  const int a_op = trans_a ? 1 : 0, b_op = trans_b ? 1 : 0;
  const int64_t a_rows = trans_a ? k : m, b_rows = trans_b ? n : k;
  const auto size = [](int64_t value) { return static_cast<uint64_t>(value); };
  if (lt.DescCreate(&desc_, kind.compute, kind.scale) != 0) return;
  bool made = lt.DescSet(desc_, kLtTransA, &a_op, sizeof a_op) == 0 &&
              lt.DescSet(desc_, kLtTransB, &b_op, sizeof b_op) == 0 &&
              lt.LayoutCreate(&a_, kind.input, size(a_rows), size(trans_a ? m : k), a_rows) == 0 &&
              lt.LayoutCreate(&b_, kind.input, size(b_rows), size(trans_b ? k : n), b_rows) == 0 &&
              lt.LayoutCreate(&d_, kind.output, size(m), size(n), m) == 0;
  const int8_t fast = 1;
  if (made && kind.fast_accumulate) made = lt.DescSet(desc_, kLtFastAccumulate, &fast, sizeof fast) == 0;
  LtPreference preference = nullptr;
  if (!made || lt.PreferenceCreate(&preference) != 0) return;
  const uint64_t room = workspace_bytes;
  LtHeuristic results[kMostAlgorithms] = {};
  int found = 0;
  lt.PreferenceSet(preference, kLtMaxWorkspace, &room, sizeof room);
  const int result =
      lt.Heuristics(handle, desc_, a_, b_, d_, d_, preference, kMostAlgorithms, results, &found);
  lt.PreferenceDestroy(preference);
  for (int i = 0; result == 0 && i < found; ++i) {
    if (results[i].status == 0) algorithms_.push_back(results[i]);
  }
}

LtProduct::~LtProduct() {
  if (a_ != nullptr) lt_.LayoutDestroy(a_);
  if (b_ != nullptr) lt_.LayoutDestroy(b_);
  if (d_ != nullptr) lt_.LayoutDestroy(d_);
  if (desc_ != nullptr) lt_.DescDestroy(desc_);
}

int LtProduct::Run(size_t algorithm, CuPointer a, CuPointer b, CuPointer d, CuPointer workspace,
                   CuStream stream) const {
  static constexpr float kOne = 1, kZero = 0;
  static constexpr int32_t kIntOne = 1, kIntZero = 0;
  const bool whole = kind_.scale == kLt32I;
  const void* alpha = whole ? static_cast<const void*>(&kIntOne) : &kOne;
  const void* beta = whole ? static_cast<const void*>(&kIntZero) : &kZero;
  const auto at = [](CuPointer p) { return reinterpret_cast<void*>(p); };
  const LtHeuristic& chosen = algorithms_[algorithm];
  return lt_.Matmul(handle_, desc_, alpha, at(a), a_, at(b), b_, beta, at(d), d_, at(d), d_,
                    &chosen.algorithm, at(workspace), chosen.workspace_bytes, stream);
}

}  // namespace nl::capture
