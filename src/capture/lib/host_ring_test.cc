// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/host_ring.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "capture/lib/activity.h"

namespace nl::capture {
namespace {

TEST(HostRing, ThreadsPassEveryEventOrCountIt) {
  HostRings rings(HostRing::kBytes);
  HostRing* ring = rings.Acquire(1, 64u << 20);
  ASSERT_NE(ring, nullptr);
  constexpr uint64_t kEvents = 50'000;
  std::thread program([ring] {
    for (uint64_t i = 0; i < kEvents; ++i) {
      HostEvent event;
      event.id = i;
      bool wake = false;
      // Texts of many lengths, so that the end of the ring is met in many ways.
      ring->Put(event, std::string(i % 97, static_cast<char>('a' + i % 26)), std::string(i % 5, 'p'), wake);
    }
  });
  uint64_t taken = 0, next = 0;
  bool right = true;
  const auto take = [&](const HostEvent& event, std::string_view text, std::string_view payload) {
    right = right && event.id >= next && text.size() == event.id % 97 && payload.size() == event.id % 5 &&
            (text.empty() || text.back() == static_cast<char>('a' + event.id % 26));
    next = event.id + 1;
    ++taken;
  };
  while (taken + ring->refused.load() < kEvents) ring->Take(take);
  program.join();
  ring->Take(take);
  EXPECT_TRUE(right);
  EXPECT_EQ(taken + ring->refused.load(), kEvents);
}

TEST(HostRing, AFullRingRefusesAndGoesOnWhenTaken) {
  HostRings rings(HostRing::kBytes);
  HostRing* ring = rings.Acquire(1, 64u << 20);
  bool wake = false, woken = false;
  uint64_t put = 0;
  while (ring->Put(HostEvent(), std::string(1000, 'x'), "", wake)) {
    woken = woken || wake;
    ++put;
  }
  EXPECT_TRUE(woken);
  EXPECT_EQ(ring->refused.load(), 1u);
  EXPECT_EQ(ring->Take([](const HostEvent&, std::string_view, std::string_view) {}), put);
  EXPECT_TRUE(ring->Put(HostEvent(), "again", "", wake));
}

TEST(RingSet, RingsAreBoundedAndUsedAgain) {
  HostRings rings(HostRing::kBytes);
  HostRing* first = rings.Acquire(1, 3 * size_t{HostRing::kBytes});
  EXPECT_NE(rings.Acquire(2, 3 * size_t{HostRing::kBytes}), nullptr);
  EXPECT_NE(rings.Acquire(3, 3 * size_t{HostRing::kBytes}), nullptr);
  EXPECT_EQ(rings.Acquire(4, 3 * size_t{HostRing::kBytes}), nullptr);
  first->depth[0] = 5;
  first->thread_ended.store(true);
  rings.Drain([](HostRing&) {});
  EXPECT_EQ(rings.Acquire(4, 3 * size_t{HostRing::kBytes}), first);
  EXPECT_EQ(first->depth[0], 0);
}

TEST(ActivityBuffers, StayWithinTheLimitAndComeBackInOrder) {
  auto buffers = std::make_unique<ActivityBuffers>();
  buffers->SetLimit(2 * ActivityBuffers::kBufferBytes);
  uint8_t* a = buffers->Give();
  uint8_t* b = buffers->Give();
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(buffers->Give(), nullptr);
  EXPECT_EQ(buffers->not_given.load(), 1u);
  buffers->Return(b, 16);
  buffers->Return(a, ActivityBuffers::kBufferBytes * 2);  // more than there is
  ActivityBuffers::Returned first, second, none;
  ASSERT_TRUE(buffers->TakeReturned(first) && buffers->TakeReturned(second));
  EXPECT_FALSE(buffers->TakeReturned(none));
  EXPECT_EQ(first.data, b);
  EXPECT_EQ(second.valid_bytes, ActivityBuffers::kBufferBytes);
  buffers->Recycle(a);
  EXPECT_EQ(buffers->Give(), a);
  buffers->Recycle(a);
  buffers->Recycle(b);
  EXPECT_LE(buffers->peak_bytes(), 2 * ActivityBuffers::kBufferBytes);
}

TEST(ApiList, HasWhatMattersAndNoQuestions) {
  for (const char* name :
       {"cudaLaunchKernel_v7000", "cuLaunchKernelEx", "cudaLaunchKernelExC_v11060", "cudaMemcpyAsync_v3020",
        "cuMemcpyHtoDAsync_v2", "cudaMalloc_v3020", "cuMemAlloc_v2", "cudaFreeAsync_v11020",
        "cudaDeviceSynchronize_v3020", "cuStreamSynchronize", "cudaEventRecord_v3020",
        "cudaStreamWaitEvent_v3020", "cudaGraphLaunch_v10000", "cuGraphLaunch", "cudaMemsetAsync_v3020",
        "cuCtxSynchronize"})
    EXPECT_TRUE(IsListedApi(name)) << name;
  for (const char* name : {"cudaGetDevice_v3020", "cudaGetLastError_v3020", "cuCtxGetCurrent",
                           "cuDeviceGetAttribute", "cudaPeekAtLastError_v3020", "cuInit", "malloc", ""})
    EXPECT_FALSE(IsListedApi(name)) << name;
}

}  // namespace
}  // namespace nl::capture
