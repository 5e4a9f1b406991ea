// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "import/adapters/rocprof/agents.h"
#include "import/adapters/rocprof/csv_recording.h"
#include "import/adapters/rocprof/csv_table.h"
#include "import/adapters/rocprof/field_tree.h"

namespace nl::adapters::rocprof {
namespace {

TEST(RocprofCsv, FilesAreToldByTheirColumns) {
  EXPECT_EQ(CsvPart("\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n"),
            "kernel_trace");
  EXPECT_EQ(
      CsvPart("\"Domain\",\"Function\",\"Start_Timestamp\",\"End_Timestamp\"\n\"HSA_CORE_API\",\"f\",1,2\n"),
      "hsa_api");
  EXPECT_EQ(CsvPart("Index,KernelName,gpu-id,queue-id\n"), "dispatches");
  EXPECT_EQ(CsvPart("\"Name\",\"Calls\",\"TotalDurationNs\"\n"), "totals");
  EXPECT_EQ(CsvPart("Time (%),Total Time (ns),Instances,Avg (ns),Name\n"), "");
  EXPECT_EQ(CsvPart("{\"a\": 1, \"b\": 2}"), "");
}

TEST(RocprofCsv, FilesOfOneRecordingShareAName) {
  EXPECT_EQ(CsvSet("908_kernel_trace.csv"), "908");
  EXPECT_EQ(CsvSet("908_agent_info.csv.gz"), "908");
  EXPECT_EQ(CsvSet("my_run_hip_api_trace.csv"), "my_run");
  EXPECT_EQ(CsvSet("kernel_trace.csv"), ".");
  EXPECT_EQ(CsvSet("results.csv"), "");
  EXPECT_EQ(CsvSet("mykernel_trace.csv"), "");
}

TEST(RocprofCsv, FieldsMayBeQuoted) {
  std::vector<std::string_view> fields;
  ASSERT_TRUE(SplitCsv("1,\"a, \"\"b\"\"\",, 2 ", fields));
  EXPECT_EQ(fields, (std::vector<std::string_view>{"1", "a, \"\"b\"\"", "", "2"}));
  EXPECT_FALSE(SplitCsv("1,\"open", fields));
  EXPECT_FALSE(SplitCsv("\"a\"b,1", fields));
}

TEST(RocprofAgents, IdsOfEverySpellingLeadToTheDevice) {
  Agents agents;
  agents.Add(
      Json{{"id", {{"handle", 10}}}, {"type", 1}, {"logical_node_id", 0}, {"logical_node_type_id", 0}});
  agents.Add(
      Json{{"id", {{"handle", 11}}}, {"type", 2}, {"logical_node_id", 4}, {"logical_node_type_id", 0}});
  agents.Add(
      Json{{"id", {{"handle", 12}}}, {"type", 2}, {"logical_node_id", 5}, {"logical_node_type_id", 1}});
  EXPECT_EQ(agents.ByHandle(12).device, 1);
  EXPECT_FALSE(agents.ByHandle(13).known);
  EXPECT_EQ(agents.ByText("Agent 5").device, 1);
  EXPECT_EQ(agents.ByText("4").device, 0);
  EXPECT_FALSE(agents.ByText("Agent 0").is_gpu);
  EXPECT_EQ(agents.ByText("GPU-1").device, 1);
  EXPECT_FALSE(agents.ByText("Agent 9").known);
  EXPECT_EQ(agents.ByText("Agent 9").device, 9);
}

TEST(FieldTree, ReadsPathsInAnyOrder) {
  FieldTree tree{"a", "b.c", "b.d.e"};
  for (std::string text : {R"({"a": 1, "b": {"c": 2, "d": {"e": "x"}, "other": [1]}})",
                           R"({"b":{"d":{"e":"x","more":0},"c":2},"a":1})"}) {
    text.append(trace_json::kPadding, '\0');
    const char* p = text.data();
    ASSERT_EQ(tree.Read(p, text.data() + text.size() - trace_json::kPadding), trace_json::Scan::kOk);
    EXPECT_EQ(tree.Int(0), 1);
    EXPECT_EQ(tree.Int(1), 2);
    EXPECT_EQ(tree.Raw(2), "x");
    EXPECT_EQ(tree.others().size(), 1u);
  }
}

TEST(FieldTree, NumbersOfDigitsAreReadLikeAllOthers) {
  FieldTree tree{"a", "b"};
  std::string text;  // what the values lie in
  const auto read = [&](std::string_view record, size_t cut = 0) {
    text = record;
    text.append(trace_json::kPadding, '\0');
    const size_t size = record.size() - cut;
    const char* p = text.data();
    return tree.Read(p, text.data() + size);
  };
  ASSERT_EQ(read(R"({"a":123456789012345678,"b":9223372036854775807})"), trace_json::Scan::kOk);
  EXPECT_EQ(tree.Int(0), 123456789012345678);
  EXPECT_EQ(tree.Int(1), INT64_MAX);
  ASSERT_EQ(read(R"({"a":007 ,"b":-3})"), trace_json::Scan::kOk);
  EXPECT_EQ(tree.Int(0), 7);
  EXPECT_EQ(tree.Int(1), -3);
  ASSERT_EQ(read(R"({"a":12.5,"b":9223372036854775808})"), trace_json::Scan::kOk);
  EXPECT_TRUE(IsNull(tree.Int(0)));
  EXPECT_TRUE(IsNull(tree.Int(1)));
  ASSERT_EQ(read(R"({"a":12x,"b":"1"})"), trace_json::Scan::kOk);
  EXPECT_TRUE(IsNull(tree.Int(0)));
  EXPECT_EQ(tree.Raw(1), "1");
  // Text that ends inside a number or inside a key that is expected is not taken for the whole.
  EXPECT_EQ(read(R"({"a":12,"b":34})", 2), trace_json::Scan::kNeedMore);
  EXPECT_EQ(read(R"({"a":12,"b":34})", 6), trace_json::Scan::kNeedMore);
  ASSERT_EQ(read(R"({"a":1,"bc":2})"), trace_json::Scan::kOk);
  ASSERT_EQ(tree.others().size(), 1u);
  EXPECT_EQ(tree.others()[0].key, "bc");
}

}  // namespace
}  // namespace nl::adapters::rocprof
