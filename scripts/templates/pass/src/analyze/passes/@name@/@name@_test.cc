// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/@name@.h"

#include <gtest/gtest.h>

#include "testing/run_builder.h"

namespace nl {
namespace {

TEST(@Name@Pass, CountsEveryPieceOfWorkAndItsBytes) {
  testing_analyze::RunBuilder run;
  run.Kernel("a", 7, 0, 10);
  run.Memcpy("HtoD", "Pinned", "Device", 512, 7, 10, 10);
  Analysis analysis = run.Finish();
  const @Name@Facts& facts = **analysis.Need<@Name@Facts>();
  EXPECT_EQ(facts.work_items, 2);
  EXPECT_EQ(facts.copied_bytes, 512);
}

}  // namespace
}  // namespace nl
