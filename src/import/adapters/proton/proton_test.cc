// SPDX-License-Identifier: Apache-2.0
#include "import/adapter.h"
#include "import/adapters/proton/hatchet_tree.h"
#include "testing/import_fixture.h"

namespace nl::adapters::proton {
namespace {

TEST(ProtonDetection, KnowsItsTreesAndLeavesOtherArrays) {
  const Adapter& proton = *FindAdapter("proton");
  EXPECT_GT(proton.Score("[\n  {\"children\": [{\"frame\": {\"name\": \"k\"}, \"metrics\": {}", ""), 80);
  EXPECT_GT(proton.Score("[{\"frame\": {\"name\": \"k\"}, \"metrics\": {}, \"children\": []}]", ""), 80);
  EXPECT_GT(proton.Score("[{\"children\": [{\"children\": [", "a.hatchet"), 0) << "a deep tree";
  for (const char* head :
       {"[{\"ph\": \"X\", \"frame\": 1, \"metrics\": 2}]", "[]", "[{}]", "{\"children\": []}", "[1"})
    EXPECT_EQ(proton.Score(head, "a.hatchet"), 0) << head;
}

TEST(ProtonTree, SumsAreThoseOfTheNodesBelow) {
  const Json json = *ParseJson(
      R"json({"frame": {"name": "ROOT"}, "metrics": {}, "children": [
           {"frame": {"name": "s"}, "metrics": {}, "children": [
             {"frame": {"name": "k"}, "metrics": {"count": 2, "time (ns)": 7, "device_id": 1}, "children": []},
             {"frame": {"name": "l"}, "metrics": {"count": 1, "time (ns)": 5}, "children": []}]}]})json");
  CounterSet counters;
  HatchetTree tree(counters);
  tree.Add(json);
  ASSERT_EQ(tree.nodes().size(), 4u);
  EXPECT_TRUE(tree.nodes()[0].root);
  EXPECT_EQ(tree.nodes()[0].total_ns, 12);
  EXPECT_FALSE(tree.nodes()[0].launches);
  EXPECT_TRUE(tree.nodes()[1].launches);
  EXPECT_EQ(tree.nodes()[1].last, 4u);
  EXPECT_EQ(tree.nodes()[2].device, 1);
  EXPECT_EQ(tree.executions(), 3);
  EXPECT_TRUE(counters.empty());
}

}  // namespace
}  // namespace nl::adapters::proton
