// SPDX-License-Identifier: Apache-2.0
#include "model/api_kind.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(ApiKind, Spellings) {
  const std::pair<const char*, ApiKind> cases[] = {
      {"cudaLaunchKernel", ApiKind::kLaunch},
      {"cuLaunchKernelEx", ApiKind::kLaunch},
      {"hipExtModuleLaunchKernel", ApiKind::kLaunch},
      {"cudaGraphLaunch", ApiKind::kGraphLaunch},
      {"hipGraphLaunch", ApiKind::kGraphLaunch},
      {"cudaMemsetAsync", ApiKind::kMemset},
      {"cudaStreamSynchronize", ApiKind::kSync},
      {"cuCtxSynchronize", ApiKind::kSync},
      {"hipDeviceSynchronize", ApiKind::kSync},
      {"cudaMemcpyAsync", ApiKind::kCopy},
      {"cuMemcpyDtoHAsync_v2", ApiKind::kCopy},
      {"cudaMemcpy", ApiKind::kBlockingCopy},
      {"hipMemcpyWithStream", ApiKind::kBlockingCopy},
      {"cudaMalloc", ApiKind::kAlloc},
      {"cudaHostAlloc", ApiKind::kAlloc},
      {"cudaFreeHost", ApiKind::kAlloc},
      {"cuMemCreate", ApiKind::kAlloc},
      {"cudaFree", ApiKind::kBlockingFree},
      {"cuMemFree_v2", ApiKind::kBlockingFree},
      {"hipFree", ApiKind::kBlockingFree},
      {"cudaMallocAsync", ApiKind::kPoolAlloc},
      {"cudaFreeAsync", ApiKind::kPoolAlloc},
      {"cudaEventRecordWithFlags", ApiKind::kEventRecord},
      {"hipStreamWaitEvent", ApiKind::kStreamWait},
      {"cudaEventQuery", ApiKind::kOther},
      {"cudaFreeArray", ApiKind::kOther},
      {"cuCtxSetCurrent", ApiKind::kOther},
      {"", ApiKind::kOther},
      {"urEnqueueKernelLaunch", ApiKind::kLaunch},
      {"urEnqueueUSMMemcpy", ApiKind::kCopy},
      {"zeCommandListAppendMemoryCopy", ApiKind::kCopy},
      {"runFunction - job_prep_and_submit_for_execution", ApiKind::kLaunch},
      {"synchronizeStream", ApiKind::kSync},
      {"recordEvent", ApiKind::kEventRecord},
      {"enqueueCommand memcpyHtoDAsync", ApiKind::kCopy},
      {"enqueueCommand waitOnEvent", ApiKind::kStreamWait},
      {"gif_merge", ApiKind::kOther},
  };
  for (const auto& [name, kind] : cases) EXPECT_EQ(ClassifyApi(name), kind) << name;
}

TEST(ApiKind, WaitsByWhatTheyWaitFor) {
  EXPECT_EQ(WaitOf("cudaStreamWaitEvent"), WaitKind::kStreamWait);
  EXPECT_EQ(WaitOf("cudaEventSynchronize"), WaitKind::kEvent);
  EXPECT_EQ(WaitOf("cuStreamSynchronize_ptsz"), WaitKind::kStream);
  EXPECT_EQ(WaitOf("cuCtxSynchronize"), WaitKind::kContext);
  EXPECT_EQ(WaitOf("cudaLaunchKernel"), WaitKind::kNone);
  EXPECT_STREQ(NameOf(WaitKind::kStream), "Stream Sync");
  EXPECT_EQ(NameOf(WaitKind::kNone), nullptr);
}

TEST(ApiKind, OnlyLongVersionsAreCut) {
  EXPECT_EQ(WithoutApiVersion("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(WithoutApiVersion("cuMemcpyHtoD_v2"), "cuMemcpyHtoD_v2");
  EXPECT_EQ(WithoutApiVersion("cuda_variable"), "cuda_variable");
}

TEST(ApiKind, EveryKindBelongsToAGroup) {
  for (size_t i = 0; i < kApiKinds; ++i) EXPECT_FALSE(ApiGroup(static_cast<ApiKind>(i)).empty());
  EXPECT_EQ(ApiGroup(ApiKind::kMemset), "copy");
  EXPECT_EQ(ApiGroup(ApiKind::kPoolAlloc), "alloc");
}

}  // namespace
}  // namespace nl
