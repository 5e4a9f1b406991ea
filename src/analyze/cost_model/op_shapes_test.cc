// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/op_shapes.h"

#include <string>

#include <gtest/gtest.h>

namespace nl {
namespace {

using Elements = std::vector<std::string_view>;

TEST(OpShapes, ElementsAreCutOutsideOfListsAndQuotes) {
  EXPECT_EQ(ListElements(R"(["a,b]", [1, 2],{"x":[3],"y":4}, 5 ])"),
            (Elements{"\"a,b]\"", "[1, 2]", "{\"x\":[3],\"y\":4}", "5"}));
  EXPECT_EQ(ListElements(R"(["a\"b",""])"), (Elements{R"("a\"b")", "\"\""}));
  EXPECT_EQ(ListElements("[ ]"), Elements{});
  EXPECT_EQ(ListElements("[[1,2]"), Elements{});
  EXPECT_EQ(ListElements("[1]]"), Elements{});
  EXPECT_EQ(ListElements("[\"a]"), Elements{});
}

TEST(OpShapes, OneShapePerInput) {
  EXPECT_EQ(ParseShapes("[[8, 512],[],[3]]"), (Shapes{{8, 512}, {}, {3}}));
  EXPECT_EQ(ParseShapes("[[[4],[4,2]],[7]]"), (Shapes{{}, {7}}))
      << "a list of tensors has no shape of its own";
  EXPECT_EQ(ParseShapes("[[1,x],[7],null]"), (Shapes{{}, {7}, {}}));
  for (const char* text : {"", "[", "[[1", "8", "[[1]", "{}"}) EXPECT_TRUE(ParseShapes(text).empty()) << text;
}

TEST(OpShapes, ElementCountsThatAreNoNumberOfElementsAreZero) {
  EXPECT_EQ(ElementCount({2, 3, 4}), 24);
  EXPECT_EQ(ElementCount({}), 0);
  EXPECT_EQ(ElementCount({-1, 8}), 0);
  EXPECT_EQ(ElementCount({INT64_MAX, INT64_MAX}), 0);
}

void ExpectGemm(const std::optional<GemmShape>& is, const GemmShape& wanted) {
  ASSERT_TRUE(is.has_value());
  EXPECT_EQ(is->batch, wanted.batch);
  EXPECT_EQ(is->m, wanted.m);
  EXPECT_EQ(is->n, wanted.n);
  EXPECT_EQ(is->k, wanted.k);
}

TEST(OpShapes, GemmsOfEveryKindOfProduct) {
  ExpectGemm(GemmOf("aten::mm", {{8, 16}, {16, 4}}), {1, 8, 4, 16});
  ExpectGemm(GemmOf("aten::addmm", {{4}, {8, 16}, {16, 4}}), {1, 8, 4, 16});
  ExpectGemm(GemmOf("aten::bmm", {{3, 8, 16}, {3, 16, 4}}), {3, 8, 4, 16});
  ExpectGemm(GemmOf("aten::linear", {{3, 8, 16}, {4, 16}, {4}}), {3, 8, 4, 16});
  ExpectGemm(GemmOf("aten::linear", {{16}, {4, 16}}), {1, 1, 4, 16});
}

TEST(OpShapes, ShapesThatDoNotFitAreNotAGemm) {
  EXPECT_FALSE(GemmOf("aten::mm", {{8, 16}, {15, 4}}));
  EXPECT_FALSE(GemmOf("aten::mm", {{16}, {16, 4}}));
  EXPECT_FALSE(GemmOf("aten::mm", {{8, 16}}));
  EXPECT_FALSE(GemmOf("aten::mm", {{8, 0}, {0, 4}}));
}

}  // namespace
}  // namespace nl
