// SPDX-License-Identifier: Apache-2.0
#include "import/names/copy_name.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(CopyName, TellsDirectionAndMemories) {
  const CopyName kineto = ParseCopyName("Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(kineto.kind, "HtoD");
  EXPECT_EQ(kineto.src, "Pageable");
  EXPECT_EQ(kineto.dst, "Device");
  const CopyName onnxrt = ParseCopyName("MemcpyDeviceToHost");
  EXPECT_EQ(onnxrt.kind, "DtoH");
  EXPECT_EQ(onnxrt.dst.data(), nullptr);
  EXPECT_EQ(ParseCopyName("MemcpyHostToHost").kind, "HtoH");
  EXPECT_EQ(ParseCopyName("[CUDA memcpy Host-to-Device]").kind, "HtoD");
  EXPECT_EQ(ParseCopyName("MEMORY_COPY_DEVICE_TO_DEVICE").kind, "DtoD");
  EXPECT_EQ(ParseCopyName("copy").kind, "");
  EXPECT_EQ(ParseCopyName(") -> (").dst.data(), nullptr);
}

}  // namespace
}  // namespace nl
