// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/gpu_calls.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace nl::capture {
namespace {

std::atomic<uint64_t> g_now_ns{1000};

cupti::Result Timestamp(uint64_t* ns) {
  *ns = g_now_ns.fetch_add(1);
  return cupti::kSuccess;
}
cupti::Result EnableCallback(uint32_t, void*, int, uint32_t) { return cupti::kSuccess; }
cupti::Result StreamId(void*, void* stream, uint8_t of_thread, uint32_t* id) {
  *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream)) + of_thread;
  return cupti::kSuccess;
}
constexpr const char* kNames[] = {nullptr, "cudaLaunchKernel_v7000", "cudaStreamSynchronize_ptsz_v7000",
                                  "cudaGetDevice_v3020"};
cupti::Result Name(int, uint32_t id, const char** name) {
  *name = id < std::size(kNames) ? kNames[id] : nullptr;
  return *name != nullptr ? cupti::kSuccess : cupti::kErrorInvalidParameter;
}

class GpuCallsTest : public testing::Test {
 protected:
  GpuCallsTest() {
    library_.call.GetTimestamp = Timestamp;
    library_.call.EnableCallback = EnableCallback;
    library_.call.GetStreamIdEx = StreamId;
    library_.call.GetCallbackName = Name;
    apis_->Learn(library_.call, false);
    EXPECT_TRUE(calls_.Start(library_, *apis_, 64u << 20, wake_));
    EXPECT_TRUE(calls_.SetOn(nullptr, true));
  }

  void Tell(int domain, uint32_t id, uint32_t correlation, bool exit) {
    const uint32_t result = 7;
    cupti::ApiData data{};
    data.site = exit ? cupti::kApiExit : 0;
    data.correlation = correlation;
    data.context_id = 3;
    data.return_value = &result;
    data.arguments = &stream_;
    calls_.OnCallback(domain, id, data);
  }
  std::vector<GpuCall> Take() {
    std::vector<GpuCall> out;
    calls_.Take([&](const GpuCall& call) { out.push_back(call); });
    return out;
  }

  void* stream_ = reinterpret_cast<void*>(uintptr_t{40});
  CuptiLibrary library_;
  std::unique_ptr<ApiList> apis_ = std::make_unique<ApiList>();
  std::atomic<uint32_t> wake_{0};
  GpuCalls calls_;
};

constexpr uint32_t kLaunch = 1, kStreamSync = 2, kGetDevice = 3;

TEST_F(GpuCallsTest, ACallIsFromItsBeginningToItsEndWithAllThatIsKnownOfIt) {
  Tell(cupti::kRuntimeApi, kStreamSync, 5, false);
  Tell(cupti::kRuntimeApi, kStreamSync, 5, true);
  const std::vector<GpuCall> found = Take();
  ASSERT_EQ(found.size(), 1u);
  const ApiRecord& api = found[0].api;
  EXPECT_GT(api.end_ns, api.start_ns);
  EXPECT_EQ(api.correlation, 5u);
  EXPECT_EQ(api.return_value, 7u);
  EXPECT_EQ(api.tid, CurrentTid());
  EXPECT_EQ(found[0].context, 3u);
  EXPECT_EQ(found[0].stream, 41u);  // of the thread's own default stream
}

TEST_F(GpuCallsTest, ADriverCallInsideARuntimeCallIsPartOfIt) {
  Tell(cupti::kRuntimeApi, kLaunch, 1, false);
  Tell(cupti::kDriverApi, kLaunch, 1, false);
  Tell(cupti::kDriverApi, kLaunch, 1, true);
  Tell(cupti::kRuntimeApi, kLaunch, 1, true);
  Tell(cupti::kDriverApi, kLaunch, 2, false);
  Tell(cupti::kDriverApi, kLaunch, 2, true);
  const std::vector<GpuCall> found = Take();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].api.domain, cupti::kRuntimeApi);
  EXPECT_EQ(found[1].api.domain, cupti::kDriverApi);
  EXPECT_EQ(found[0].stream, kNoStream);
}

TEST_F(GpuCallsTest, CallsCutByASwitchAreNotRecordedAndCutNoOthers) {
  Tell(cupti::kRuntimeApi, kLaunch, 1, true);  // started before
  Tell(cupti::kRuntimeApi, kLaunch, 2, false);
  calls_.SetOn(nullptr, false);
  Tell(cupti::kRuntimeApi, kLaunch, 2, true);
  calls_.SetOn(nullptr, true);
  Tell(cupti::kDriverApi, kLaunch, 3, false);
  Tell(cupti::kDriverApi, kLaunch, 3, true);
  Tell(cupti::kRuntimeApi, kGetDevice, 4, false);  // only a question
  Tell(cupti::kRuntimeApi, kGetDevice, 4, true);
  const std::vector<GpuCall> found = Take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].api.correlation, 3u);
}

TEST_F(GpuCallsTest, ThreadsPassEveryCallOrItIsCounted) {
  constexpr uint32_t kThreads = 4, kCalls = 100'000;
  std::atomic<uint32_t> running{kThreads};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kCalls; ++i) {
        Tell(cupti::kRuntimeApi, kLaunch, t * kCalls + i, false);
        Tell(cupti::kRuntimeApi, kLaunch, t * kCalls + i, true);
      }
      --running;
    });
  }
  std::map<uint32_t, uint32_t> last;  // by thread
  uint64_t taken = 0;
  const auto take = [&] {
    for (const GpuCall& call : Take()) {
      const auto [at, added] = last.try_emplace(call.api.tid, call.api.correlation);
      EXPECT_TRUE(added || call.api.correlation > at->second);
      at->second = call.api.correlation;
      ++taken;
    }
  };
  while (running.load() > 0) take();
  for (std::thread& thread : threads) thread.join();
  take();
  EXPECT_EQ(taken + calls_.TakeRefused(), uint64_t{kThreads} * kCalls);
  EXPECT_EQ(last.size(), kThreads);
}

TEST_F(GpuCallsTest, ALowMemoryLimitIsKept) {
  GpuCalls calls;
  ASSERT_TRUE(calls.Start(library_, *apis_, 64u << 10, wake_));
  calls.SetOn(nullptr, true);
  std::atomic<int> there{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&calls, &there] {
      cupti::ApiData data{};
      calls.OnCallback(cupti::kRuntimeApi, kLaunch, data);
      data.site = cupti::kApiExit;
      calls.OnCallback(cupti::kRuntimeApi, kLaunch, data);
      for (++there; there.load() < 20;) std::this_thread::yield();  // none takes another's ring
    });
  }
  for (std::thread& thread : threads) thread.join();
  size_t taken = 0;
  calls.Take([&](const GpuCall&) { ++taken; });
  EXPECT_LE(calls.memory_bytes(), size_t{64} << 10);
  EXPECT_EQ(taken, 4u);
  EXPECT_EQ(calls.TakeRefused(), 16u);
}

TEST_F(GpuCallsTest, AFullRingRefusesAndCounts) {
  for (uint32_t i = 1; i <= GpuCalls::kMostRingCalls + 10; ++i) {
    Tell(cupti::kRuntimeApi, kLaunch, i, false);
    Tell(cupti::kRuntimeApi, kLaunch, i, true);
  }
  EXPECT_EQ(calls_.TakeRefused(), 10u);
  EXPECT_EQ(wake_.load(), 1u);
  EXPECT_EQ(Take().size(), GpuCalls::kMostRingCalls);
  EXPECT_GT(calls_.cost_ns(), 0);
}

}  // namespace
}  // namespace nl::capture
