// SPDX-License-Identifier: Apache-2.0
// attribution_bench [RANGES] [KERNELS]: how long joining kernels with the spans around
// their launches takes: default 10 M ranges, 1 M launches and kernels on 4 threads.

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "analyze/facts/attribution.h"
#include "analyze/program/flame.h"
#include "testing/run_builder.h"

namespace {

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t ranges = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  const int64_t kernels = argc > 2 ? std::atoll(argv[2]) : 1'000'000;
  constexpr int kThreads = 4;
  nl::testing_analyze::RunBuilder run;
  nl::RunColumns& data = run.data();
  nl::StringId names[64];
  for (int i = 0; i < 64; ++i) names[i] = run.Name("range_" + std::to_string(i));
  const nl::StringId category = run.Name("user_annotation"), span = run.Name("span");
  const nl::StringId launch_name = run.Name("cudaLaunchKernel"), kernel_name = run.Name("gemm");
  for (int t = 0; t < kThreads; ++t) {
    const nl::ThreadId thread = run.Thread("thread");
    // Groups of ten nested ranges; a launch at the bottom of as many groups as there are kernels.
    const int64_t groups = ranges / 10 / kThreads, launches = kernels / kThreads;
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t at = g * 1000;
      for (int64_t depth = 0; depth < 10; ++depth) {
        nl::RangeRow row;
        row.thread_id = thread;
        row.start_ns = at + 10 * depth;
        row.dur_ns = 900 - 20 * depth;
        row.name = names[static_cast<size_t>((g * 7 + depth * 5) % 64)];
        row.category = category;
        row.kind = span;
        data.range.Add(row);
      }
      if (g >= launches) continue;
      nl::ApiCallRow api;
      api.thread_id = thread;
      api.start_ns = at + 200;
      api.dur_ns = 5;
      api.name = launch_name;
      data.api_call.Add(api);
      data.api_call.op_id.push_back(nl::RowId::kNull);
      nl::KernelRow kernel;
      kernel.start_ns = at + 250 + t;
      kernel.dur_ns = 100;
      kernel.device = 0;
      kernel.context = 1;
      kernel.stream = 7 + t;
      kernel.name = kernel_name;
      data.kernel.Add(kernel);
      data.kernel.api_call_id.push_back(static_cast<nl::RowId>(data.api_call.size() - 1));
      data.kernel.op_id.push_back(nl::RowId::kNull);
    }
  }
  std::printf("%zu ranges, %zu launches, %zu kernels\n", data.range.size(), data.api_call.size(),
              data.kernel.size());
  nl::Analysis analysis = run.Finish();
  auto start = std::chrono::steady_clock::now();
  const auto timeline = analysis.Need<nl::TimelineFacts>();
  const double timeline_s = SecondsSince(start);
  start = std::chrono::steady_clock::now();
  const auto facts = analysis.Need<nl::AttributionFacts>();
  const double sweep_s = SecondsSince(start);
  if (!timeline.ok() || !facts.ok()) return 1;
  start = std::chrono::steady_clock::now();
  const nl::FlameTree tree = nl::BuildFlame(analysis.data(), **timeline, **facts);
  std::printf(
      "{\"join_s\": %.3f, \"sort_and_nest_s\": %.3f, \"sweep_s\": %.3f, \"flame_nodes\": %zu, \"flame_s\": "
      "%.3f}\n",
      timeline_s + sweep_s, timeline_s, sweep_s, tree.nodes.size(), SecondsSince(start));
  return (*facts)->all.device_ns == tree.nodes[0].device_total_ns ? 0 : 1;
}
