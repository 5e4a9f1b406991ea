// SPDX-License-Identifier: Apache-2.0
#include "model/run_document.h"

#include <gtest/gtest.h>

#include <string>

#include "model/json_fields.h"
#include "testing/document_fixture.h"

namespace nl {
namespace {

using testing_model::LoadCase;

RunDocument Loaded(const std::string& name) {
  auto document = RunDocumentFromJson(LoadCase(name));
  EXPECT_TRUE(document.ok()) << (document.ok() ? "" : document.error().ToString());
  return document.ok() ? *document : RunDocument();
}

std::string ErrorOf(const Json& json) {
  const auto document = RunDocumentFromJson(json);
  return document.ok() ? "" : document.error().message;
}

TEST(RunDocument, FullDocumentReadsIntoEveryKindOfMember) {
  const RunDocument run = Loaded("valid_full.json");
  EXPECT_EQ(run.hardware.devices.at(0).peaks->peak_dram_gbps, 4800);
  EXPECT_EQ(run.hardware.devices.at(1).driver_version, std::nullopt);
  EXPECT_EQ(run.software.frameworks->at("triton"), "3.5.0");
  EXPECT_EQ(run.source.exit_code, -9);
  EXPECT_EQ(run.timeline_aggregated, true);
  const TimelineKernel& kernel = run.timeline.at(0).kernels.at(0);
  EXPECT_EQ(kernel.grid, (Dim3{128, 2, 1}));
  EXPECT_EQ(kernel.counter_source, "pm_sampling");
  EXPECT_EQ(run.timeline[0].dtypes->at(2), std::nullopt);
  EXPECT_EQ(run.timeline[0].bytes, 123456789012);
  EXPECT_EQ(run.summary.Metric("queue_delay_ms"), -0.001);
  EXPECT_EQ(run.summary.Metric("memcpy_dtod_ms"), std::nullopt);
  EXPECT_EQ(run.config->at("compile"), Json(true));
  EXPECT_EQ(run.clock->devices->at(0).samples, 64);
  EXPECT_EQ(run.ranks->at(1).world_size, std::nullopt);
}

TEST(RunDocument, WritingAndReadingGivesAnEqualDocument) {
  for (const char* name : {"valid_full.json", "valid_minimal_cpu_only.json", "valid_hostile_names.json"}) {
    const RunDocument run = Loaded(name);
    const auto again = RunDocumentFromJson(ToJson(run));
    ASSERT_TRUE(again.ok()) << name << ": " << again.error().ToString();
    EXPECT_EQ(*again, run) << name;
    EXPECT_EQ(DumpJson(ToJson(*again)), DumpJson(ToJson(run))) << name;
  }
}

TEST(RunDocument, MinimalDocumentIsWrittenByteForByte) {
  EXPECT_EQ(DumpJson(ToJson(Loaded("valid_minimal_cpu_only.json"))),
            DumpJson(LoadCase("valid_minimal_cpu_only.json")));
}

TEST(RunDocument, NumbersKeepEveryBit) {
  RunDocument run = Loaded("valid_minimal_cpu_only.json");
  run.timeline[0].duration_ms = 0.1 + 0.2;
  run.timeline[0].start_ms = 3843684104.06317;
  run.source.files = {{"a", 9007199254740991, std::string(64, '0')}};
  const auto parsed = ParseJson(DumpJson(ToJson(run)));
  ASSERT_TRUE(parsed.ok());
  const auto again = RunDocumentFromJson(*parsed);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, run);
}

TEST(RunDocument, SchemaVersionIsWrittenFirst) {
  EXPECT_EQ(ToJson(RunDocument()).begin().key(), "schema_version");
}

TEST(RunDocument, UnmeasuredRequiredFactIsNullAndOptionalOneIsAbsent) {
  const Json json = ToJson(RunDocument());
  EXPECT_TRUE(json["hardware"]["host"].contains("cpu_model"));
  EXPECT_TRUE(json["hardware"]["host"]["cpu_model"].is_null());
  EXPECT_TRUE(json["summary"]["metrics"]["gpu_utilization"].is_null());
  EXPECT_FALSE(json["hardware"].contains("hostname_hash"));
  EXPECT_FALSE(json.contains("tags"));
}

TEST(RunDocument, NullOfAnOptionalFactReadsAsUnmeasured) {
  EXPECT_EQ(Loaded("valid_optional_fact_null.json").hardware.hostname_hash, std::nullopt);
}

TEST(RunDocument, MemberOrderOfTheInputDoesNotMatter) {
  const Json json = LoadCase("valid_full.json");
  Json reversed = Json::object();
  for (auto it = json.rbegin(); it != json.rend(); ++it) reversed[it.key()] = it.value();
  const auto document = RunDocumentFromJson(reversed);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(*document, Loaded("valid_full.json"));
}

TEST(RunDocument, WrongTypesAreRefusedWithTheirPointer) {
  Json json = LoadCase("valid_full.json");
  json["timeline"][0]["kernels"][1]["duration_ms"] = "fast";
  EXPECT_EQ(ErrorOf(json), "run document: /timeline/0/kernels/1/duration_ms: expected number");

  json = LoadCase("valid_full.json");
  json["timeline"][0]["kernels"][0]["grid"] = {1, 2};
  EXPECT_EQ(ErrorOf(json), "run document: /timeline/0/kernels/0/grid: expected 3 items");

  json = LoadCase("valid_full.json");
  json["tags"]["a/b~c"] = 1;
  EXPECT_EQ(ErrorOf(json), "run document: /tags/a~1b~0c: expected string");

  json = LoadCase("valid_full.json");
  json["summary"]["total_ops"] = 1.5;
  EXPECT_EQ(ErrorOf(json), "run document: /summary/total_ops: expected integer");

  json["summary"]["total_ops"] = uint64_t{18446744073709551615u};
  EXPECT_EQ(ErrorOf(json), "run document: /summary/total_ops: integer out of range");

  json["summary"]["total_ops"] = 1e30;
  EXPECT_EQ(ErrorOf(json), "run document: /summary/total_ops: integer out of range");

  EXPECT_EQ(ErrorOf(Json::array()), "run document: top level: expected object");
}

TEST(RunDocument, MissingAndUnknownMembersAreRefusedWithTheirPointer) {
  Json json = LoadCase("valid_full.json");
  json["hardware"]["host"].erase("kernel");
  EXPECT_EQ(ErrorOf(json), "run document: /hardware/host: member 'kernel' is missing");

  json = LoadCase("valid_full.json");
  json["timeline"][1]["speed"] = 3;
  EXPECT_EQ(ErrorOf(json), "run document: /timeline/1/speed: unknown member");
}

TEST(RunDocument, NewerSchemaVersionIsUnsupported) {
  const auto document = RunDocumentFromJson(LoadCase("invalid_schema_version_newer.json"));
  ASSERT_FALSE(document.ok());
  EXPECT_EQ(document.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(document.error().message.find("schema_version 2"), std::string::npos);
}

TEST(RunDocument, DeepNestingIsRefusedBeforeAnythingRecurses) {
  auto deep = ParseJson(std::string(400, '[') + std::string(400, ']'));
  ASSERT_TRUE(deep.ok());
  Json json = LoadCase("valid_full.json");
  json["timeline"][0]["shapes"] = *std::move(deep);
  const auto document = RunDocumentFromJson(json);
  ASSERT_FALSE(document.ok());
  EXPECT_EQ(document.error().code, ErrorCode::kLimit);
}

TEST(CheckDepth, CountsLevelsExactly) {
  const auto nested = [](int levels) {
    return *ParseJson(std::string(static_cast<size_t>(levels), '[') +
                      std::string(static_cast<size_t>(levels), ']'));
  };
  EXPECT_TRUE(CheckDepth(nested(200)).ok());
  EXPECT_FALSE(CheckDepth(nested(201)).ok());
  EXPECT_TRUE(CheckDepth(Json(1), 0).ok());
  EXPECT_FALSE(CheckDepth(Json::array(), 0).ok());
}

TEST(RunSummary, SetMetricReplacesAndKeepsOrder) {
  RunSummary summary;
  summary.SetMetric("wall_ms", 2);
  summary.SetMetric("gpu_utilization", 0.5);
  ASSERT_EQ(summary.metrics.size(), 2u);
  EXPECT_EQ(summary.metrics[0].first, "gpu_utilization");
  EXPECT_EQ(summary.Metric("gpu_utilization"), 0.5);
  EXPECT_EQ(summary.Metric("wall_ms"), 2);
  EXPECT_EQ(summary.Metric("mfu"), std::nullopt);
}

TEST(ShapesFromText, AcceptsTensorsScalarsAndTensorLists) {
  EXPECT_EQ(*ShapesFromText("[[32000, 2048], [8, 512], [], []]"),
            Json::parse("[[32000,2048],[8,512],[],[]]"));
  EXPECT_EQ(*ShapesFromText("[[[1, 512, 32], [1, -1]], []]"), Json::parse("[[[1,512,32],[1,-1]],[]]"));
  EXPECT_EQ(*ShapesFromText("[]"), Json::array());
}

TEST(ShapesFromText, IsEmptyForAnyOtherForm) {
  for (const char* text : {"", "[", "null", "{}", "[8, 512]", "[[\"s0\"]]", "[[1.5]]", "[[-2]]", "[[[[1]]]]",
                           "[{\"float\":[1]}]", "[[18446744073709551615]]", "[[9007199254740993]]"}) {
    EXPECT_FALSE(ShapesFromText(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace nl
