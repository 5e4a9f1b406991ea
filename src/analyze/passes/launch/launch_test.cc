// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyze/facts/launch.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

TEST(LaunchPass, DelaysQueueAndLaunchBoundShare) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  const RowId a = run.Api(main, "cudaLaunchKernel", 0, 10);
  const RowId b = run.Api(main, "cudaLaunchKernel", 10, 10);
  const RowId c = run.Api(main, "cudaLaunchKernel", 20, 30);
  run.Kernel("a", 7, 15, 100, a);   // delay 15
  run.Kernel("b", 7, 115, 100, b);  // delay 105
  run.Kernel("c", 7, 215, 20, c);   // delay 195, shorter than its call
  run.Kernel("lost", 7, 300, 5);
  Analysis analysis = run.Finish();
  const LaunchFacts& f = **analysis.Need<LaunchFacts>();
  EXPECT_EQ(f.launches, 3);
  EXPECT_EQ(f.work_items, 4);
  EXPECT_EQ(f.without_launch, 1);
  EXPECT_EQ(f.transition_ns, 15 + 105 + 195);
  EXPECT_EQ(f.delay_p50_ns, 105);
  EXPECT_EQ(f.launch_bound, 1);
  EXPECT_EQ(f.launch_bound_ns, 20);
  ASSERT_EQ(f.queues.size(), 1u);
  EXPECT_EQ(f.queues[0].max_length, 2);  // a leaves at 15, c comes at 20
  // 0..10: 1, 10..15: 2, 15..20: 1, 20..115: 2, 115..215: 1
  EXPECT_NEAR(f.queues[0].mean_length, (10 + 10 + 5 + 190 + 100) / 215.0, 1e-12);
}

TEST(LaunchPass, AGraphLaunchCountsOnce) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  const RowId graph = run.Api(main, "cudaGraphLaunch", 0, 100);
  for (int i = 0; i < 5; ++i) run.Kernel("k", 7, 50 + i * 100, 80, graph, RowId::kNull, 0, 3);
  Analysis analysis = run.Finish();
  const LaunchFacts& f = **analysis.Need<LaunchFacts>();
  EXPECT_EQ(f.launches, 1);
  EXPECT_EQ(f.graph_launches, 1);
  EXPECT_EQ(f.transition_ns, 50);
  EXPECT_EQ(f.launch_bound, 0) << "its five kernels run longer than the call";
}

}  // namespace
}  // namespace nl
