// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/op.h"

namespace nl {
namespace {

TEST(@Name@Op, RefusesAnUnknownParameter) {
  std::unique_ptr<Op> op = MakeOp("@name@");
  ASSERT_NE(op, nullptr);
  OpContext context;
  EXPECT_FALSE(RunOp(*op, Json{{"no_such_parameter", 1}}, context).ok());
}

}  // namespace
}  // namespace nl
