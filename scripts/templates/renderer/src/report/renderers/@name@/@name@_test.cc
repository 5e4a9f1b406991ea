// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "report/renderer.h"

namespace nl {
namespace {

TEST(@Name@Renderer, IsOfferedUnderItsName) {
  const auto& all = AllRenderers();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](RendererFn r) { return r().Info().name == "@name@"; }));
}

}  // namespace
}  // namespace nl
