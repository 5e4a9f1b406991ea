// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "capture/peaks/gpu_bench.h"
#include "capture/peaks/gpu_clocks.h"

namespace nl::capture {

namespace {

constexpr double kWarmUpS = 0.5;

std::string UuidText(const CuUuid& uuid) {
  std::string out = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", uuid.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += two;
  }
  return out;
}

// What the driver says of a device before anything runs on it.
std::string Identify(const CudaDriver& cuda, int index, MeasuredDevice& to, std::string& bus_id) {
  CuDevice device = 0;
  char text[256] = {};
  const int result = cuda.DeviceGet(&device, index);
  if (result != 0) return "cuDeviceGet: " + cuda.ErrorText(result);
  to.kind = "gpu";
  to.index = index;
  if (cuda.DeviceGetName(text, sizeof text - 1, device) == 0) to.name = text;
  CuUuid uuid{};
  to.id = cuda.DeviceGetUuid(&uuid, device) == 0 ? UuidText(uuid) : "GPU-" + std::to_string(index);
  size_t bytes = 0;
  if (cuda.DeviceTotalMem(&bytes, device) == 0) to.memory_bytes = static_cast<int64_t>(bytes);
  int value = 0;
  if (cuda.DeviceGetAttribute(&value, kCuMultiprocessors, device) == 0) to.sm_count = value;
  if (cuda.DeviceGetAttribute(&value, kCuL2Bytes, device) == 0) to.l2_bytes = value;
  if (cuda.DeviceGetPciBusId(text, sizeof text - 1, device) == 0) bus_id = text;
  return "";
}

void MeasureGpu(const CudaDriver& cuda, const PeakOptions& options, int64_t deadline_ns, int index,
                PeakMeasurement& to) {
  MeasuredDevice& out = to.devices.emplace_back();
  std::string bus_id;
  const int64_t begun_ns = options.now_ns();
  const std::string failed = Identify(cuda, index, out, bus_id);
  GpuClocks clocks;
  clocks.Find(bus_id);
  out.driver_version = clocks.DriverVersion();
  int cuda_version = 0;
  if (out.driver_version.empty() && cuda.DriverGetVersion(&cuda_version) == 0)
    out.driver_version =
        "CUDA " + std::to_string(cuda_version / 1000) + "." + std::to_string(cuda_version / 10 % 100);
  out.idle = clocks.Read();
  out.max_sm_mhz = clocks.MaxSmMhz();
  GpuBench bench(cuda, options, deadline_ns, out);
  if (!failed.empty() || !bench.Open(index)) {
    to.gpu_reason = "device " + std::to_string(index) + ": " + (failed.empty() ? bench.error() : failed);
    to.devices.pop_back();
    return;
  }
  // Clocks rise within some 100 ms of work.
  const CuFunction fma = bench.Kernel("fma_f32");
  static constexpr unsigned kIterations = 256;
  const CuPointer scratch = bench.scratch();
  bench.WarmUp(kWarmUpS, [&] {
    return bench.Launch(fma, static_cast<unsigned>(bench.sms()) * 2, 512, {&kIterations, &scratch});
  });
  MeasureGpuMemory(bench);
  MeasureGpuFma(bench);
  MeasureGpuMatrix(bench, [&] { out.loaded = clocks.Read(); });
  MeasureGpuTransfers(bench);
  MeasureGpuLatencies(bench);
  out.seconds = static_cast<double>(options.now_ns() - begun_ns) / 1e9;
}

}  // namespace

void MeasureGpus(const PeakOptions& options, int64_t deadline_ns, PeakMeasurement& to) {
  CudaDriver cuda{};
  if (!cuda.Load(to.gpu_reason)) return;
  int count = 0;
  const int result = cuda.DeviceGetCount(&count);
  if (result != 0 || count == 0) {
    to.gpu_reason = result != 0 ? "cuDeviceGetCount: " + cuda.ErrorText(result) : "the driver has no device";
    return;
  }
  if (options.device >= count) {
    to.gpu_reason =
        "this machine has " + std::to_string(count) + " GPUs: no device " + std::to_string(options.device);
    return;
  }
  const int first = options.device < 0 ? 0 : options.device,
            last = options.device < 0 ? count - 1 : options.device;
  for (int index = first; index <= last; ++index) {
    // An equal share of what is left for each device.
    const int64_t now_ns = options.now_ns();
    MeasureGpu(cuda, options, now_ns + (deadline_ns - now_ns) / (last - index + 1), index, to);
  }
}

}  // namespace nl::capture
