// SPDX-License-Identifier: Apache-2.0
#pragma once
// A GPU for C++ benchmarks of `neurolens bench`: the CUDA driver, loaded at run time, so that the file compiles without
// the CUDA toolkit. Derive from CudaBenchmark; allocate, upload and launch through cuda(). A failure ends the program with
// a message, which `neurolens bench` shows. One thread; buffers live until the benchmark ends.

#include <dlfcn.h>

#include <algorithm>
#include <chrono>

#include "neurolens/bench.h"

namespace neurolens {

class Cuda final : public Device {
 public:
  using Pointer = unsigned long long;  // CUdeviceptr

  Cuda() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) Fail("libcuda.so.1 is not installed", 0);
    int device = 0;
    Check("cuInit", Call<int(unsigned)>("cuInit")(0));
    Check("cuDeviceGet", Call<int(int*, int)>("cuDeviceGet")(&device, 0));
    char name[128] = {};
    Check("cuDeviceGetName", Call<int(char*, int, int)>("cuDeviceGetName")(name, sizeof name, device));
    name_ = name;
    void* context = nullptr;
    Check("cuDevicePrimaryCtxRetain", Call<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device));
    Check("cuCtxSetCurrent", Call<int(void*)>("cuCtxSetCurrent")(context));
    Check("cuStreamCreate", Call<int(void**, unsigned)>("cuStreamCreate")(&stream_, 1));  // not the default stream's
    for (void** event : {&begin_, &end_})
      Check("cuEventCreate", Call<int(void**, unsigned)>("cuEventCreate")(event, 0));
    launch_ = Call<Launch>("cuLaunchKernel");
    record_ = Call<int(void*, void*)>("cuEventRecord");
    synchronize_ = Call<int()>("cuCtxSynchronize");
    wait_ = Call<int(void*)>("cuEventSynchronize");
    elapsed_ = Call<int(float*, void*, void*)>("cuEventElapsedTime");
  }
  ~Cuda() override {
    Synchronize();
    for (const auto& [at, bytes] : buffers_) Call<int(Pointer)>("cuMemFree_v2")(at);
  }
  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;

  Pointer Allocate(size_t bytes) {
    Pointer at = 0;
    Check("cuMemAlloc", Call<int(Pointer*, size_t)>("cuMemAlloc_v2")(&at, bytes));
    buffers_[at] = bytes;
    bytes_ += static_cast<int64_t>(bytes);
    peak_bytes_ = std::max(peak_bytes_, bytes_);
    return at;
  }
  template <class T>
  void Upload(Pointer to, const std::vector<T>& from) {
    ++launches_;
    Check("cuMemcpyHtoDAsync", Call<int(Pointer, const void*, size_t, void*)>("cuMemcpyHtoDAsync_v2")(
                                   to, from.data(), from.size() * sizeof(T), stream_));
    Synchronize();
  }
  template <class T>
  void Download(std::vector<T>& to, Pointer from) {
    Check("cuMemcpyDtoHAsync", Call<int(void*, Pointer, size_t, void*)>("cuMemcpyDtoHAsync_v2")(
                                   to.data(), from, to.size() * sizeof(T), stream_));
    Synchronize();
  }
  // A kernel of PTX text.
  void* Kernel(const char* ptx, const char* name) {
    void* module = nullptr;
    void* function = nullptr;
    Check("cuModuleLoadData", Call<int(void**, const void*)>("cuModuleLoadData")(&module, ptx));
    Check("cuModuleGetFunction", Call<int(void**, void*, const char*)>("cuModuleGetFunction")(&function, module, name));
    return function;
  }
  // On the declared stream; returns at once.
  template <class... A>
  void Run(void* kernel, unsigned blocks, unsigned threads, A... arguments) {
    ++launches_;
    void* values[] = {&arguments...};
    Check("cuLaunchKernel", launch_(kernel, blocks, 1, 1, threads, 1, 1, 0, stream_, values, nullptr));
  }

  std::string Name() override { return name_; }
  void Begin() override { Check("cuEventRecord", record_(begin_, stream_)); }
  int64_t End() override {
    Check("cuEventRecord", record_(end_, stream_));
    Check("cuEventSynchronize", wait_(end_));
    float ms = 0;
    Check("cuEventElapsedTime", elapsed_(&ms, begin_, end_));
    return static_cast<int64_t>(1e6 * static_cast<double>(ms));
  }
  void Synchronize() override { Check("cuCtxSynchronize", synchronize_()); }
  int64_t Launches() override { return launches_; }
  int64_t PeakBytes() override { return peak_bytes_; }

 private:
  using Launch = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);

  [[noreturn]] static void Fail(const char* what, int code) {
    std::fprintf(stderr, "%s (%d)\n", what, code);
    std::exit(3);
  }
  static void Check(const char* what, int code) {
    if (code != 0) Fail(what, code);
  }
  template <class F>
  F* Call(const char* name) const {
    F* call = reinterpret_cast<F*>(dlsym(library_, name));
    if (call == nullptr) Fail(name, -1);
    return call;
  }

  void* library_ = nullptr;
  void *stream_ = nullptr, *begin_ = nullptr, *end_ = nullptr;
  Launch* launch_ = nullptr;
  int (*record_)(void*, void*) = nullptr;
  int (*synchronize_)() = nullptr;
  int (*wait_)(void*) = nullptr;
  int (*elapsed_)(float*, void*, void*) = nullptr;
  std::map<Pointer, size_t> buffers_;
  std::string name_;
  int64_t launches_ = 0, bytes_ = 0, peak_bytes_ = 0;
};

// A benchmark on the first GPU.
class CudaBenchmark : public Benchmark {
 public:
  Device* UsedDevice() override { return &cuda_; }

 protected:
  Cuda& cuda() { return cuda_; }

 private:
  Cuda cuda_;
};

}  // namespace neurolens
