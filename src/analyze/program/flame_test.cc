// SPDX-License-Identifier: Apache-2.0
#include "analyze/program/flame.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include <fmt/format.h>

#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

struct Built {
  explicit Built(RunBuilder& run, size_t max_nodes = kMaxFlameNodes)
      : analysis(run.Finish()),
        timeline(**analysis.Need<TimelineFacts>()),
        attribution(**analysis.Need<AttributionFacts>()),
        tree(BuildFlame(analysis.data(), timeline, attribution, max_nodes)) {}
  Analysis analysis;
  const TimelineFacts& timeline;
  const AttributionFacts& attribution;
  FlameTree tree;
};

// Two calls of a, each with a launch inside of op b, and an orphan kernel.
void Fill(RunBuilder& run) {
  const ThreadId main = run.Thread("main");
  for (const int64_t at : {0, 1000}) {
    run.Range(main, fmt::format("ProfilerStep#{}", at), at, 500);
    run.Op(main, "a;b\n", at + 10, 300);
    const RowId launch = run.Api(main, "cudaLaunchKernel", at + 20, 100);
    run.Kernel("gemm", 7, 5000 + at, 40, launch);
  }
  run.Kernel("orphan", 7, 9000, 5);
  run.Range(run.Thread("profiler"), "PyTorch Profiler (0)", 0, 9000, "Trace");
}

TEST(Flame, PathsAreMergedAndSumsAreExact) {
  RunBuilder run;
  Fill(run);
  Built b(run);
  EXPECT_EQ(b.tree.nodes[0].host_total_ns, 1000);
  EXPECT_EQ(b.tree.nodes[0].device_total_ns, 85);
  std::map<std::string, int64_t> self_ns;
  for (const FlameTree::Node& n : b.tree.nodes)
    self_ns[FlameName(n, b.analysis.data(), b.timeline)] += n.host_self_ns + n.device_self_ns;
  EXPECT_EQ(self_ns, (std::map<std::string, int64_t>{{"(run)", 0},
                                                     {"ProfilerStep", 400},
                                                     {"a;b\n", 400},
                                                     {"cudaLaunchKernel", 200},
                                                     {"gemm", 80},
                                                     {"(no launch recorded)", 0},
                                                     {"orphan", 5}}));
}

TEST(Flame, TheLightestAreFoldedAndNothingIsLost) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  int64_t device_ns = 0;
  for (int i = 0; i < 200; ++i) {
    run.Op(main, fmt::format("op{}", i), 1000 * i, 10 + i);
    run.Op(main, "inner", 1000 * i, 5);
    const RowId launch = run.Api(main, "cudaLaunchKernel", 1000 * i + 1, 2);
    run.Kernel("k", 7, 1000000 + 100 * i, 1 + i % 7, launch);
    device_ns += 1 + i % 7;
  }
  Built b(run, 50);
  EXPECT_LE(b.tree.nodes.size(), 2 * 50u);
  EXPECT_GT(b.tree.folded, 700);
  EXPECT_EQ(b.tree.nodes[0].device_total_ns, device_ns);
  int64_t host_ns = 0, sum_device_ns = 0;
  for (const FlameTree::Node& n : b.tree.nodes) {
    host_ns += n.host_self_ns;
    sum_device_ns += n.device_self_ns;
  }
  EXPECT_EQ(host_ns, 200 * 10 + 199 * 200 / 2);
  EXPECT_EQ(sum_device_ns, device_ns);
}

}  // namespace
}  // namespace nl
