// SPDX-License-Identifier: Apache-2.0
#include "capture/peaks/gpu_bench.h"

namespace nl::capture {

namespace {

constexpr int kBatch = 64, kGraphNodes = 256;

// A graph of empty kernels; destroyed with this object.
class EmptyGraph {
 public:
  explicit EmptyGraph(GpuBench& bench) : bench_(bench) {}
  ~EmptyGraph() {
    if (exec_ != nullptr) bench_.cuda().GraphExecDestroy(exec_);
    if (graph_ != nullptr) bench_.cuda().GraphDestroy(graph_);
  }
  EmptyGraph(const EmptyGraph&) = delete;
  EmptyGraph& operator=(const EmptyGraph&) = delete;

  bool Make(CuFunction kernel, int nodes) {
    const CudaDriver& cuda = bench_.cuda();
    constexpr int kThreadLocal = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    if (!bench_.Ok(cuda.StreamBeginCapture(bench_.stream(), kThreadLocal), "cuStreamBeginCapture"))
      return false;
    int result = 0;
    for (int i = 0; i < nodes && result == 0; ++i) result = bench_.Launch(kernel, 1, 32, {});
    const int ended = cuda.StreamEndCapture(bench_.stream(), &graph_);
    return bench_.Ok(result, "cuLaunchKernel") && bench_.Ok(ended, "cuStreamEndCapture") &&
           bench_.Ok(cuda.GraphInstantiate(&exec_, graph_, 0), "cuGraphInstantiate");
  }
  int Launch() { return bench_.cuda().GraphLaunch(exec_, bench_.stream()); }

 private:
  GpuBench& bench_;
  CuGraph graph_ = nullptr;
  CuGraphExec exec_ = nullptr;
};

void MeasureGraph(GpuBench& bench, CuFunction empty) {
  EmptyGraph one(bench), many(bench);
  const bool made = one.Make(empty, 1) && many.Make(empty, kGraphNodes);
  const std::string why_not = bench.error();
  const auto sync = [&] { return bench.Sync(); };
  if (Figure* figure = bench.Begin("graph_launch", "us")) {
    figure->how = "host time of cuGraphLaunch, one node";
    if (made)
      bench.MeasureHostUs(
          *figure, kBatch, [&] { return one.Launch(); }, sync);
    if (!made) figure->reason = why_not;
  }
  if (Figure* figure = bench.Begin("graph_kernel", "us")) {
    if (!made) {
      figure->reason = why_not;
      return;
    }
    // Nodes per second, turned into the time of one.
    bench.MeasureBest(*figure,
                      {{"device time of one empty node of " + std::to_string(kGraphNodes),
                        double{kGraphNodes}, [&] { return many.Launch(); }}},
                      1e6);
    if (!figure->value) return;
    const double low = 1 / figure->high.value_or(*figure->value),
                 high = 1 / figure->low.value_or(*figure->value);
    figure->value = 1 / *figure->value;
    figure->low = low;
    figure->high = high;
  }
}

}  // namespace

void MeasureGpuLatencies(GpuBench& bench) {
  const CuFunction empty = bench.Kernel("empty");
  const CudaDriver& cuda = bench.cuda();
  const auto launch = [&] { return bench.Launch(empty, 1, 32, {}); };
  const auto sync = [&] { return bench.Sync(); };
  const auto nothing = [] { return 0; };
  if (Figure* figure = bench.Begin("launch", "us")) {
    figure->how = "host time of cuLaunchKernel, an empty kernel, 64 in a row";
    bench.MeasureHostUs(*figure, kBatch, launch, sync);
  }
  if (Figure* figure = bench.Begin("launch_and_wait", "us")) {
    figure->how = "cuLaunchKernel of an empty kernel and cuStreamSynchronize";
    bench.MeasureHostUs(
        *figure, 1,
        [&] {
          const int result = launch();
          return result != 0 ? result : bench.Sync();
        },
        nothing);
  }
  MeasureGraph(bench, empty);
  if (Figure* figure = bench.Begin("stream_sync", "us")) {
    figure->how = "cuStreamSynchronize with nothing queued";
    bench.MeasureHostUs(*figure, kBatch, sync, nothing);
  }
  if (Figure* figure = bench.Begin("event_record", "us")) {
    figure->how = "host time of cuEventRecord, 64 in a row";
    CuEvent event = nullptr;
    if (bench.Ok(cuda.EventCreate(&event, 0), "cuEventCreate")) {
      bench.MeasureHostUs(
          *figure, kBatch, [&] { return cuda.EventRecord(event, bench.stream()); }, sync);
      cuda.EventDestroy(event);
    } else {
      figure->reason = bench.error();
    }
  }
}

}  // namespace nl::capture
