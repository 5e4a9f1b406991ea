// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>
#include <new>

#include "capture/peaks/gpu_bench.h"

namespace nl::capture {

namespace {

constexpr size_t kCopyMiB = size_t{1} << 20;
constexpr size_t kCopySizes[] = {256 * kCopyMiB, 64 * kCopyMiB, 16 * kCopyMiB};

// Between host memory at `host` and the device, all sizes that fit `most`.
void MeasureCopies(GpuBench& bench, const char* to_name, const char* from_name, void* host, size_t most,
                   const DeviceBuffer& device, const std::string& why_not, const TrialLimits& limits) {
  for (const bool to_device : {true, false}) {
    Figure* figure = bench.Begin(to_device ? to_name : from_name, "GB/s");
    if (figure == nullptr) continue;
    if (host == nullptr || device.bytes() == 0) {
      figure->reason = why_not;
      continue;
    }
    std::vector<PeakTrial> trials;
    for (const size_t bytes : kCopySizes) {
      if (bytes > most) continue;
      trials.push_back({std::to_string(bytes / kCopyMiB) + " MiB", static_cast<double>(bytes), [&, bytes] {
                          const CudaDriver& cuda = bench.cuda();
                          return to_device ? cuda.MemcpyHtoDAsync(device.at(), host, bytes, bench.stream())
                                           : cuda.MemcpyDtoHAsync(host, device.at(), bytes, bench.stream());
                        }});
    }
    bench.MeasureBest(*figure, trials, 1e9, limits);
  }
}

// The next device; by the driver's own copy, directly where the devices reach each other.
void MeasurePeer(GpuBench& bench) {
  Figure* figure = bench.Begin("peer_copy", "GB/s");
  if (figure == nullptr) return;
  const CudaDriver& cuda = bench.cuda();
  int count = 0;
  cuda.DeviceGetCount(&count);
  if (count < 2) {
    figure->reason = "this machine has one GPU";
    return;
  }
  const int index = bench.out().index.value_or(0), other = (index + 1) % count;
  CuDevice peer = 0;
  CuContext peer_context = nullptr;
  int direct = 0;
  DeviceBuffer from, to;
  const size_t bytes = kCopySizes[0];
  bool ready = bench.Ok(cuda.DeviceGet(&peer, other), "cuDeviceGet") &&
               bench.Ok(cuda.DeviceCanAccessPeer(&direct, bench.device(), peer), "cuDeviceCanAccessPeer") &&
               bench.Ok(from.Allocate(cuda, bytes), "a buffer for the peer copy") &&
               bench.Ok(cuda.PrimaryCtxRetain(&peer_context, peer), "cuDevicePrimaryCtxRetain");
  if (ready) {
    cuda.CtxSetCurrent(peer_context);
    ready = bench.Ok(to.Allocate(cuda, bytes), "a buffer for the peer copy on the other device");
    cuda.CtxSetCurrent(bench.context());
  }
  if (ready && direct != 0) {
    const int enabled = cuda.CtxEnablePeerAccess(peer_context, 0);
    if (enabled != 0 && enabled != kCuPeerAlreadyEnabled) direct = 0;
  }
  if (ready) {
    const std::string how =
        "256 MiB to device " + std::to_string(other) + (direct != 0 ? ", direct" : ", through the host");
    bench.MeasureBest(*figure,
                      {{how, static_cast<double>(bytes),
                        [&] {
                          return cuda.MemcpyPeerAsync(to.at(), peer_context, from.at(), bench.context(),
                                                      bytes, bench.stream());
                        }}},
                      1e9);
  } else {
    figure->reason = bench.error();
  }
  if (peer_context == nullptr) return;
  cuda.CtxSetCurrent(peer_context);
  to.Release();
  cuda.CtxSetCurrent(bench.context());
  cuda.PrimaryCtxRelease(peer);
}

}  // namespace

void MeasureGpuTransfers(GpuBench& bench) {
  DeviceBuffer device;
  std::string why_not;
  const size_t most = kCopySizes[0];
  if (!bench.Ok(device.Allocate(bench.cuda(), most), "a buffer on the device")) why_not = bench.error();
  {
    PinnedBuffer pinned;
    if (!bench.Ok(pinned.Allocate(bench.cuda(), most), "pinned host memory") && why_not.empty())
      why_not = bench.error();
    if (pinned.at() != nullptr) std::memset(pinned.at(), 0x5a, most);
    MeasureCopies(bench, "h2d_pinned", "d2h_pinned", pinned.at(), most, device, why_not, {});
  }
  const std::unique_ptr<char[]> pageable(new (std::nothrow) char[most]);
  if (pageable != nullptr) std::memset(pageable.get(), 0x5a, most);
  // The driver copies pageable memory in pieces while the caller waits: the host's clock sees all of it.
  TrialLimits by_host;
  by_host.host_time = true;
  MeasureCopies(bench, "h2d_pageable", "d2h_pageable", pageable.get(), most, device,
                pageable == nullptr ? "out of host memory" : why_not, by_host);
  device.Release();
  MeasurePeer(bench);
}

}  // namespace nl::capture
