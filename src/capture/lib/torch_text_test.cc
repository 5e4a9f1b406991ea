// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/torch_text.h"

#include <gtest/gtest.h>

#include <string>

namespace nl::capture {
namespace {

char g_buffer[kMaxStringBytes + 1];

TEST(TorchText, NumbersAreTakenOutOfTheText) {
  const TorchText op = TakeTorchText(
      "aten::mul, seq = 45, op_id = 99, sizes = [[2, 3], []], input_op_ids = [(98,0)]", g_buffer);
  ASSERT_TRUE(op.is_torch);
  EXPECT_EQ(op.text, "aten::mul, sizes = [[2, 3], []]");
  EXPECT_EQ(op.op_id, 99u);
  ASSERT_TRUE(op.has_sequence);
  EXPECT_EQ(op.sequence, 45);
}

TEST(TorchText, PartsMayBeMissing) {
  const TorchText bare = TakeTorchText("LLM@request, op_id = 7", g_buffer);
  EXPECT_EQ(bare.text, "LLM@request");
  EXPECT_EQ(bare.op_id, 7u);
  EXPECT_FALSE(bare.has_sequence);
  const TorchText inputs = TakeTorchText("detach, op_id = 7, input_op_ids = [(3,0)]", g_buffer);
  EXPECT_EQ(inputs.text, "detach");
}

TEST(TorchText, OtherTextsAreNoOperators) {
  for (const char* text :
       {"", "tokenize", "x, op_id = ", "x, op_id = y", "x, op_id = 5 and more", "a, seq = 4"})
    EXPECT_FALSE(TakeTorchText(text, g_buffer).is_torch) << text;
}

TEST(TorchText, LongTextsStayInTheBuffer) {
  const std::string name(kMaxStringBytes + 1 - 40, 'n'), sizes(kMaxStringBytes, '1');
  const TorchText op = TakeTorchText(name + ", op_id = 1, sizes = [" + sizes, g_buffer);
  ASSERT_TRUE(op.is_torch);
  EXPECT_EQ(op.text.size(), kMaxStringBytes + 1) << "one byte more than is kept tells that it was cut";
}

}  // namespace
}  // namespace nl::capture
