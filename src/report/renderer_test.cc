// SPDX-License-Identifier: Apache-2.0
// Holds for every renderer, those added later too.
#include "report/renderer.h"

#include <set>

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(Renderers, EachDescribesItselfUnderANameOfItsOwn) {
  std::set<std::string> names;
  for (const RendererFn describe : AllRenderers()) {
    const RendererInfo info = describe().Info();
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    const bool plain_file = !info.is_folder && !info.extension.empty();
    EXPECT_TRUE(!plain_file || info.extension.starts_with(".")) << info.name;
    EXPECT_FALSE(info.is_folder && info.extension.empty()) << info.name << ": a folder needs a name";
  }
  for (const char* name : {"bundle", "parquet", "perfetto", "run-json"})
    EXPECT_EQ(names.count(name), 1u) << name;
}

}  // namespace
}  // namespace nl
