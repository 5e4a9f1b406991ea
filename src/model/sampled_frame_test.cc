// SPDX-License-Identifier: Apache-2.0
#include "model/sampled_frame.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(SampledFrame, FilesLinesAndModules) {
  const SampledFrame python = ParseFrame("Thread.run (threading.py:975)");
  EXPECT_EQ(python.name, "Thread.run");
  EXPECT_EQ(python.place, "threading.py");
  EXPECT_EQ(python.line, 975);
  EXPECT_EQ(python.language, FrameLanguage::kPython);
  const SampledFrame frozen = ParseFrame("_find_and_load (<frozen importlib._bootstrap>:1176)");
  EXPECT_EQ(frozen.language, FrameLanguage::kPython);
  EXPECT_EQ(frozen.line, 1176);
  const SampledFrame source = ParseFrame("produce(int) (two.cc:8)");
  EXPECT_EQ(source.name, "produce(int)");
  EXPECT_EQ(source.place, "two.cc");
  EXPECT_EQ(source.language, FrameLanguage::kNative);
  const SampledFrame module = ParseFrame("long_mod [libpython3.11.so.1.0]");
  EXPECT_EQ(module.place, "libpython3.11.so.1.0");
  EXPECT_TRUE(module.interpreter);
  const SampledFrame bare = ParseFrame("[libm.so.6]");
  EXPECT_EQ(bare.name, "[libm.so.6]");
  EXPECT_EQ(bare.place, "libm.so.6");
  EXPECT_FALSE(bare.interpreter);
  const SampledFrame cpp = ParseFrame("signal(int, void (*)(int))");
  EXPECT_EQ(cpp.name, "signal(int, void (*)(int))");
  EXPECT_EQ(cpp.language, FrameLanguage::kNative);
  EXPECT_EQ(ParseFrame("[kernel] futex").language, FrameLanguage::kSystem);
}

TEST(FunctionText, LeavesOutTheLineAlone) {
  EXPECT_EQ(FunctionText("Thread.run (threading.py:975)"), "Thread.run (threading.py)");
  EXPECT_EQ(FunctionText("produce(int) (two.cc:8)"), "produce(int) (two.cc)");
  for (const char* same : {"run (threading.py)", "signal(int, void (*)(int))", "f [libm.so.6]", "[libm.so.6]",
                           "[kernel] futex", "[waits]", "main", ""})
    EXPECT_EQ(FunctionText(same), same);
}

}  // namespace
}  // namespace nl
