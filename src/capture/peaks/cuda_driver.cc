// SPDX-License-Identifier: Apache-2.0
#include "capture/peaks/cuda_driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace nl::capture {

namespace {

// Takes functions one after the other and remembers the first that is missing.
class SymbolTaker {
 public:
  explicit SymbolTaker(void* library) : library_(library) {}
  template <class Function>
  SymbolTaker& Take(const char* name, Function& to) {
    to = reinterpret_cast<Function>(dlsym(library_, name));
    if (to == nullptr && missing_ == nullptr) missing_ = name;
    return *this;
  }
  const char* missing() const { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

void TakeDeviceFunctions(SymbolTaker& symbols, CudaDriver& to) {
  symbols.Take("cuInit", to.Init)
      .Take("cuDriverGetVersion", to.DriverGetVersion)
      .Take("cuGetErrorString", to.GetErrorString)
      .Take("cuDeviceGetCount", to.DeviceGetCount)
      .Take("cuDeviceGet", to.DeviceGet)
      .Take("cuDeviceGetName", to.DeviceGetName)
      .Take("cuDeviceGetUuid", to.DeviceGetUuid)
      .Take("cuDeviceGetPCIBusId", to.DeviceGetPciBusId)
      .Take("cuDeviceGetAttribute", to.DeviceGetAttribute)
      .Take("cuDeviceTotalMem_v2", to.DeviceTotalMem)
      .Take("cuDeviceCanAccessPeer", to.DeviceCanAccessPeer)
      .Take("cuDevicePrimaryCtxRetain", to.PrimaryCtxRetain)
      .Take("cuDevicePrimaryCtxRelease_v2", to.PrimaryCtxRelease)
      .Take("cuCtxSetCurrent", to.CtxSetCurrent)
      .Take("cuCtxEnablePeerAccess", to.CtxEnablePeerAccess)
      .Take("cuModuleLoadDataEx", to.ModuleLoadDataEx)
      .Take("cuModuleUnload", to.ModuleUnload)
      .Take("cuModuleGetFunction", to.ModuleGetFunction)
      .Take("cuLaunchKernel", to.LaunchKernel);
}

void TakeMemoryFunctions(SymbolTaker& symbols, CudaDriver& to) {
  symbols.Take("cuMemAlloc_v2", to.MemAlloc)
      .Take("cuMemFree_v2", to.MemFree)
      .Take("cuMemHostAlloc", to.MemHostAlloc)
      .Take("cuMemFreeHost", to.MemFreeHost)
      .Take("cuMemsetD32Async", to.MemsetD32Async)
      .Take("cuMemcpyHtoDAsync_v2", to.MemcpyHtoDAsync)
      .Take("cuMemcpyDtoHAsync_v2", to.MemcpyDtoHAsync)
      .Take("cuMemcpyDtoDAsync_v2", to.MemcpyDtoDAsync)
      .Take("cuMemcpyPeerAsync", to.MemcpyPeerAsync);
}

void TakeStreamFunctions(SymbolTaker& symbols, CudaDriver& to) {
  symbols.Take("cuStreamCreate", to.StreamCreate)
      .Take("cuStreamDestroy_v2", to.StreamDestroy)
      .Take("cuStreamSynchronize", to.StreamSynchronize)
      .Take("cuStreamBeginCapture_v2", to.StreamBeginCapture)
      .Take("cuStreamEndCapture", to.StreamEndCapture)
      .Take("cuEventCreate", to.EventCreate)
      .Take("cuEventDestroy_v2", to.EventDestroy)
      .Take("cuEventRecord", to.EventRecord)
      .Take("cuEventSynchronize", to.EventSynchronize)
      .Take("cuEventElapsedTime", to.EventElapsedTime)
      .Take("cuGraphInstantiateWithFlags", to.GraphInstantiate)
      .Take("cuGraphLaunch", to.GraphLaunch)
      .Take("cuGraphExecDestroy", to.GraphExecDestroy)
      .Take("cuGraphDestroy", to.GraphDestroy);
}

}  // namespace

bool CudaDriver::Load(std::string& why) {
  const char* given = std::getenv(kCudaVariable);
  const std::string path = given != nullptr && given[0] != '\0' ? given : "libcuda.so.1";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why = "no NVIDIA driver: " + path + " cannot be loaded";
    return false;
  }
  SymbolTaker symbols(library);
  TakeDeviceFunctions(symbols, *this);
  TakeMemoryFunctions(symbols, *this);
  TakeStreamFunctions(symbols, *this);
  if (symbols.missing() != nullptr) {
    why = path + " lacks " + symbols.missing() + ": the driver is older than CUDA 11.4";
    return false;
  }
  const int result = Init(0);
  if (result != 0) why = "cuInit failed: " + ErrorText(result);
  return result == 0;
}

std::string CudaDriver::ErrorText(int result) const {
  const char* text = nullptr;
  if (GetErrorString(result, &text) != 0 || text == nullptr) text = "unknown error";
  return std::string(text) + " (" + std::to_string(result) + ")";
}

int DeviceBuffer::Allocate(const CudaDriver& cuda, size_t bytes) {
  Release();
  const int result = cuda.MemAlloc(&at_, bytes);
  if (result != 0) return result;
  cuda_ = &cuda;
  bytes_ = bytes;
  return 0;
}

void DeviceBuffer::Release() {
  if (cuda_ != nullptr) cuda_->MemFree(at_);
  cuda_ = nullptr;
  at_ = 0;
  bytes_ = 0;
}

int PinnedBuffer::Allocate(const CudaDriver& cuda, size_t bytes) {
  Release();
  const int result = cuda.MemHostAlloc(&at_, bytes, 0);
  if (result == 0) cuda_ = &cuda;
  return result;
}

void PinnedBuffer::Release() {
  if (cuda_ != nullptr) cuda_->MemFreeHost(at_);
  cuda_ = nullptr;
  at_ = nullptr;
}

}  // namespace nl::capture
