// SPDX-License-Identifier: Apache-2.0
#include "import/adapter.h"
#include "import/adapters/onnxrt/type_shapes.h"
#include "testing/import_fixture.h"

namespace nl {
namespace {

using adapters::onnxrt::SplitTypeShapes;
using adapters::onnxrt::TypeShapes;
using testing_import::TextSink;
using testing_import::TraceFile;

TEST(OnnxrtTypeShapes, AreSplitIntoTwoLists) {
  TypeShapes out;
  ASSERT_TRUE(SplitTypeShapes(R"([{"float":[1,64,256]},{"int64":[]},{"bool" : [ -1, 2 ]}])", out));
  EXPECT_EQ(out.dims, "[[1,64,256],[],[-1,2]]");
  EXPECT_EQ(out.types, R"(["float","int64","bool"])");
  ASSERT_TRUE(SplitTypeShapes("[]", out));
  EXPECT_EQ(out.dims + out.types, "[][]");
}

TEST(OnnxrtTypeShapes, AnythingElseIsRefused) {
  TypeShapes out;
  for (const char* text : {"", "[", "[{", "{}", "[1]", R"([{"float":1}])", R"([{"float":[1,]}])",
                           R"([{"float":["n"]}])", R"([{"float":[1]},])", R"([{"float":[1]}] x)",
                           R"([{"":[1]}])", R"([{"a\"b":[1]}])", R"([{"float":[1]} {"float":[1]}])",
                           R"([{"float":[1],"int":[2]}])", R"([{"float":[12345678901234567890]}])"}) {
    EXPECT_FALSE(SplitTypeShapes(text, out)) << text;
  }
}

class OnnxrtTest : public ::testing::Test {
 protected:
  ImportResult Import(const std::string& events) {
    const TraceFile file("[\n" + events + "\n]\n", "model.json");
    ImportRequest request;
    request.paths = {file.path()};
    request.format = "onnxrt";
    Result<ImportResult> result = ImportFiles(request, sink_);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
    return result.ok() ? *std::move(result) : ImportResult();
  }
  static std::string Node(const std::string& name, const std::string& args) {
    return R"({"cat" : "Node","pid" :1,"tid" :1,"dur" :5,"ts" :10,"ph" : "X","name" :")" + name +
           R"(","args" : {)" + args + "}}";
  }
  TextSink sink_;
};

TEST_F(OnnxrtTest, DocumentHasNodeTypeAndPrecision) {
  const ImportResult r = Import(Node(
      "fc_kernel_time",
      R"("op_name" : "Gemm","provider" : "CPUExecutionProvider","input_type_shape" : [{"float16":[1,8]},{"float16":[8,4]}])"));
  ASSERT_EQ(r.document.timeline.size(), 1u);
  EXPECT_EQ(r.document.timeline[0].op_name, "fc");
  EXPECT_EQ(r.document.timeline[0].op_type, "Gemm");
  EXPECT_EQ(r.document.software.precision, "fp16");
  EXPECT_EQ(r.document.software.backend, "onnxrt");
  EXPECT_EQ(r.document.hardware.vendor, "cpu");
  EXPECT_EQ(r.document.model.name, "model");
}

TEST_F(OnnxrtTest, VendorIsToldByTheProvider) {
  EXPECT_EQ(Import(Node("a_kernel_time", R"("provider" : "CUDAExecutionProvider")")).document.hardware.vendor,
            "nvidia");
  EXPECT_EQ(Import(Node("a_kernel_time", R"("provider" : "ROCMExecutionProvider")")).document.hardware.vendor,
            "amd");
}

TEST_F(OnnxrtTest, StreamsMayBeAddresses) {
  Import(
      R"({"cat" : "Kernel","pid" :-1,"tid" :-1,"dur" :5,"ts" :10,"ph" : "X","name" :"k","args" : {"stream" : "0x55d0c8","grid_x" : "7","block_x" : "-1"}})");
  ASSERT_EQ(sink_.RowsOf(Table::kKernel).size(), 1u);
  const std::string row = sink_.RowsOf(Table::kKernel)[0];
  EXPECT_NE(row.find("stream=5624008 "), std::string::npos) << row;
  EXPECT_NE(row.find("grid_x=7 "), std::string::npos) << row;
  EXPECT_EQ(row.find("block_x"), std::string::npos) << row;
  EXPECT_EQ(sink_.RowsOf(Table::kArgs).size(), 1u);
}

TEST(OnnxrtScore, TracesOfOthersAreNotIts) {
  const Adapter* adapter = FindAdapter("onnxrt");
  ASSERT_NE(adapter, nullptr);
  for (const char* text : {"[]", R"([{"ph":"X","cat":"Session","name":"x"}])",
                           R"([{"ph":"X","cat":"cpu_op","name":"a_kernel_time"}])",
                           R"({"traceEvents":[{"cat" : "Node","name" :"a_kernel_time"}]})"}) {
    EXPECT_EQ(adapter->Score(text, "onnxruntime_profile.json"), 0) << text;
  }
}

}  // namespace
}  // namespace nl
