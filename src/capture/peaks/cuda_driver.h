// SPDX-License-Identifier: Apache-2.0
#pragma once
// CudaDriver: the functions of libcuda.so.1 that measuring needs, by our own declarations, so that the
// program builds without the CUDA toolkit. Also GpuStream and DeviceBuffer, which release what they hold.
// Thread rule: one thread; the caller makes a device's context current. Ownership: libcuda stays loaded.

#include <cstddef>
#include <cstdint>
#include <string>

namespace nl::capture {

// Path of libcuda and of cuBLASLt to load instead of the installed ones.
inline constexpr char kCudaVariable[] = "NEUROLENS_CUDA";
inline constexpr char kCublasLtVariable[] = "NEUROLENS_CUBLASLT";

using CuDevice = int;
using CuPointer = unsigned long long;  // CUdeviceptr
using CuContext = struct CuContextTag*;
using CuModule = struct CuModuleTag*;
using CuFunction = struct CuFunctionTag*;
using CuStream = struct CuStreamTag*;
using CuEvent = struct CuEventTag*;
using CuGraph = struct CuGraphTag*;
using CuGraphExec = struct CuGraphExecTag*;
struct CuUuid {
  unsigned char bytes[16];
};

enum CuAttribute : int {  // values of CUdevice_attribute
  kCuMultiprocessors = 16,
  kCuL2Bytes = 38,
  kCuThreadsPerMultiprocessor = 39,
};
inline constexpr int kCuOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
inline constexpr int kCuPeerAlreadyEnabled = 704;

struct CudaDriver {
  int (*Init)(unsigned flags);
  int (*DriverGetVersion)(int*);
  int (*GetErrorString)(int, const char**);
  int (*DeviceGetCount)(int*);
  int (*DeviceGet)(CuDevice*, int index);
  int (*DeviceGetName)(char*, int bytes, CuDevice);
  int (*DeviceGetUuid)(CuUuid*, CuDevice);
  int (*DeviceGetPciBusId)(char*, int bytes, CuDevice);
  int (*DeviceGetAttribute)(int*, int attribute, CuDevice);
  int (*DeviceTotalMem)(size_t*, CuDevice);
  int (*DeviceCanAccessPeer)(int*, CuDevice, CuDevice peer);
  int (*PrimaryCtxRetain)(CuContext*, CuDevice);
  int (*PrimaryCtxRelease)(CuDevice);
  int (*CtxSetCurrent)(CuContext);
  int (*CtxEnablePeerAccess)(CuContext peer, unsigned flags);
  int (*ModuleLoadDataEx)(CuModule*, const void* image, unsigned options, int* names, void** values);
  int (*ModuleUnload)(CuModule);
  int (*ModuleGetFunction)(CuFunction*, CuModule, const char* name);
  int (*LaunchKernel)(CuFunction, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, CuStream, void** arguments,
                      void** extra);
  int (*MemAlloc)(CuPointer*, size_t bytes);
  int (*MemFree)(CuPointer);
  int (*MemHostAlloc)(void**, size_t bytes, unsigned flags);
  int (*MemFreeHost)(void*);
  int (*MemsetD32Async)(CuPointer, unsigned value, size_t count, CuStream);
  int (*MemcpyHtoDAsync)(CuPointer, const void*, size_t bytes, CuStream);
  int (*MemcpyDtoHAsync)(void*, CuPointer, size_t bytes, CuStream);
  int (*MemcpyDtoDAsync)(CuPointer to, CuPointer from, size_t bytes, CuStream);
  int (*MemcpyPeerAsync)(CuPointer to, CuContext, CuPointer from, CuContext, size_t bytes, CuStream);
  int (*StreamCreate)(CuStream*, unsigned flags);
  int (*StreamDestroy)(CuStream);
  int (*StreamSynchronize)(CuStream);
  int (*StreamBeginCapture)(CuStream, int mode);
  int (*StreamEndCapture)(CuStream, CuGraph*);
  int (*EventCreate)(CuEvent*, unsigned flags);
  int (*EventDestroy)(CuEvent);
  int (*EventRecord)(CuEvent, CuStream);
  int (*EventSynchronize)(CuEvent);
  int (*EventElapsedTime)(float* ms, CuEvent from, CuEvent to);
  int (*GraphInstantiate)(CuGraphExec*, CuGraph, unsigned long long flags);
  int (*GraphLaunch)(CuGraphExec, CuStream);
  int (*GraphExecDestroy)(CuGraphExec);
  int (*GraphDestroy)(CuGraph);

  // False: not there, too old, or the driver does not start; `why` gets the reason.
  bool Load(std::string& why);
  // "out of memory (2)".
  std::string ErrorText(int result) const;
};

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer() { Release(); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  // The driver's result; 0: there are `bytes`. What it held before is released.
  int Allocate(const CudaDriver& cuda, size_t bytes);
  void Release();
  CuPointer at() const { return at_; }
  size_t bytes() const { return bytes_; }

 private:
  const CudaDriver* cuda_ = nullptr;
  CuPointer at_ = 0;
  size_t bytes_ = 0;
};

class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  ~PinnedBuffer() { Release(); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  int Allocate(const CudaDriver& cuda, size_t bytes);
  void Release();
  void* at() const { return at_; }

 private:
  const CudaDriver* cuda_ = nullptr;
  void* at_ = nullptr;
};

}  // namespace nl::capture
