// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/@name@.h"

#include <gtest/gtest.h>

#include "testing/run_builder.h"

namespace nl {
namespace {

TEST(@Name@Pass, CountsEveryPieceOfWork) {
  testing_analyze::RunBuilder run;
  run.Kernel("a", 7, 0, 10);
  run.Kernel("b", 7, 10, 10);
  Analysis analysis = run.Finish();
  EXPECT_EQ((*analysis.Need<@Name@Facts>())->work_items, 2);
}

}  // namespace
}  // namespace nl
