// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/tensorrt/export_files.h"
#include "import/file_sets.h"
#include "testing/import_fixture.h"

namespace nl {
namespace {

using adapters::tensorrt::Kind;
using adapters::tensorrt::KindOf;
using adapters::tensorrt::SetName;
using testing_import::TextSink;
using testing_import::WriteText;

const char kProfile[] = R"([ { "count" : 4 }
, { "name" : "a", "timeMs" : 4, "averageMs" : 1, "medianMs" : 1, "percentage" : 25 }
, { "name" : "b", "timeMs" : 12, "averageMs" : 3, "medianMs" : 3, "percentage" : 75 } ])";
const char kLayers[] =
    R"({"Layers": [{"Name": "b", "LayerType": "CaskConvolution", "ParameterType": "Convolution", "TacticName": "tactic_b",
  "Inputs": [{"Name": "x", "Dimensions": [1,8], "Format/Datatype": "Row major linear FP16 format"}]},
  {"Name": "a", "LayerType": "Reformat"}], "Bindings": []})";
const char kTimes[] = R"([ { "startComputeMs" : 1, "computeMs" : 2, "latencyMs" : 2 }
, { "startComputeMs" : 4, "computeMs" : 4, "latencyMs" : 4 } ])";

TEST(TensorrtSet, NamesOfPartsAreTakenOff) {
  EXPECT_EQ(SetName("bert.profile.json.gz"), "bert");
  EXPECT_EQ(SetName("bert_fp16.graph.json"), "bert_fp16");
  EXPECT_EQ(SetName("bert.build.metadata.json"), "bert");
  EXPECT_EQ(SetName("Bert-Times.json.zst"), "Bert");
  EXPECT_EQ(SetName("bert_layer_info.json"), "bert");
  EXPECT_EQ(SetName("profile.json"), FileRole::kFolder);
  EXPECT_EQ(SetName("myprofile.json"), "");
  EXPECT_EQ(SetName(".profile.json"), "");
  EXPECT_EQ(SetName("x.json"), "");
}

TEST(TensorrtKind, IsToldByContent) {
  EXPECT_EQ(KindOf(kProfile), Kind::kProfile);
  EXPECT_EQ(KindOf(kLayers), Kind::kLayers);
  EXPECT_EQ(KindOf(kTimes), Kind::kTimes);
  EXPECT_EQ(KindOf(R"({"model_options": {}, "build_options": {}})"), Kind::kBuildMetadata);
  for (const char* other : {"", "[]", "{}", R"([{"ph":"X"}])", R"({"a": {"Layers": 1}})", "Layers"})
    EXPECT_EQ(KindOf(other), Kind::kNone) << other;
}

class TensorrtTest : public ::testing::Test {
 protected:
  std::string Put(const std::string& name, std::string_view text) {
    const std::string path = folder_.path() + "/" + name;
    WriteText(path, text);
    return path;
  }
  Result<ImportResult> Import(const std::vector<std::string>& paths) {
    ImportRequest request;
    request.paths = paths;
    return ImportFiles(request, sink_);
  }
  TempDir folder_ = *TempDir::Make("nl-trt-");
  TextSink sink_;
};

TEST_F(TensorrtTest, PartsMeetByLayerNameInAnyOrder) {
  const auto result =
      Import({Put("e.times.json", kTimes), Put("e.layers.json", kLayers), Put("e.profile.json", kProfile)});
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  const RunDocument& doc = result->document;
  ASSERT_EQ(doc.timeline.size(), 2u);
  EXPECT_EQ(doc.timeline[1].op_name, "b");
  EXPECT_EQ(doc.timeline[1].op_type, "Conv");
  ASSERT_EQ(doc.timeline[1].kernels.size(), 1u);
  EXPECT_EQ(doc.timeline[1].kernels[0].name, "tactic_b");
  EXPECT_EQ(doc.software.precision, "fp16");
  EXPECT_EQ(doc.model.name, "e");
  EXPECT_EQ(doc.source.files.size(), 3u);
  EXPECT_FALSE(doc.ranks.has_value());
  EXPECT_DOUBLE_EQ(*doc.summary.Metric("p50_ms"), 3);
  EXPECT_DOUBLE_EQ(*doc.summary.Metric("latency_ms"), 3);
  EXPECT_DOUBLE_EQ(doc.summary.total_duration_ms, 4);
}

TEST_F(TensorrtTest, OnePartTwiceIsAnError) {
  const auto result = Import({Put("e.profile.json", kProfile), Put("f.profile.json", kProfile)});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("two files are the layer profile of one run"), std::string::npos)
      << result.error().message;
}

TEST_F(TensorrtTest, AnotherFormatIsNoPart) {
  const std::string trace =
      Put("t.json", R"({"traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]})");
  for (const auto& paths : {std::vector<std::string>{Put("e.profile.json", kProfile), trace},
                            std::vector<std::string>{trace, Put("e.profile.json", kProfile)}}) {
    const auto result = Import(paths);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(result.error().message.find("are not one run"), std::string::npos) << result.error().message;
  }
}

std::vector<std::vector<std::string>> GroupedPaths(const std::vector<std::string>& given) {
  std::vector<std::vector<std::string>> out;
  for (const FileSet& set : GroupParts(given)) out.push_back(set.paths);
  return out;
}

TEST_F(TensorrtTest, PartsAreFoundBesideAndPutTogether) {
  const std::string profile = Put("e.profile.json", kProfile), layers = Put("e.graph.json", kLayers),
                    times = Put("e.timing.json", kTimes), other = Put("f.graph.json", kLayers);
  Put("e.notes.txt", "no profile");
  const FileSet set = WithPartsBeside(profile);
  EXPECT_EQ(set.paths, (std::vector<std::string>{profile, layers, times}));
  ASSERT_EQ(set.siblings.size(), 2u);
  EXPECT_EQ(set.siblings[0].reason, "same name 'e'");
  using Groups = std::vector<std::vector<std::string>>;
  EXPECT_EQ(GroupedPaths({times, profile, other, layers}), (Groups{{times, profile, layers}, {other}}));
  const std::string a = Put("a.json", kProfile), b = Put("b.json", kLayers), c = Put("c.json", kLayers);
  EXPECT_EQ(GroupedPaths({a, b}), (Groups{{a, b}}));
  EXPECT_EQ(GroupedPaths({a, b, c}), (Groups{{a, b}, {c}}));
  EXPECT_EQ(GroupedPaths({"-", "absent.json"}), (Groups{{"-"}, {"absent.json"}}));
}

}  // namespace
}  // namespace nl
