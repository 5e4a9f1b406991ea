// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "import/adapter.h"

namespace nl {
namespace {

TEST(@Name@Adapter, WinsItsOwnFirstLineWhateverTheFileIsCalled) {
  Result<const Adapter*> found = DetectAdapter("@name@ 1\n1000 250 forward pass\n", "trace.json");
  ASSERT_TRUE(found.ok()) << found.error().ToString();
  EXPECT_EQ((*found)->Info().name, "@name@");
}

TEST(@Name@Adapter, LeavesOtherFilesAlone) {
  const Adapter* adapter = FindAdapter("@name@");
  ASSERT_NE(adapter, nullptr);
  EXPECT_EQ(adapter->Score("{\"traceEvents\": []}", "x.@name@"), 0);
}

}  // namespace
}  // namespace nl
