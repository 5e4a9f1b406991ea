// SPDX-License-Identifier: Apache-2.0
#include "model/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "testing/document_fixture.h"

namespace nl {
namespace {

using testing_model::LoadCase;

namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

fs::path CasesFolder() { return fs::path(NL_SOURCE_DIR) / "tests/ajv/cases"; }

std::vector<SchemaViolation> Violations(const Json& json) {
  auto result = ValidateRunDocument(json);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
  return result.ok() ? *result : std::vector<SchemaViolation>{{"?", "?", "?", "?"}};
}

std::vector<SchemaViolation> AfterChange(const std::function<void(Json&)>& change) {
  Json json = LoadCase("valid_full.json");
  change(json);
  return Violations(json);
}

void ExpectOne(const std::vector<SchemaViolation>& found, std::string_view pointer, std::string_view rule,
               std::string_view value) {
  ASSERT_EQ(found.size(), 1u) << (found.empty() ? "" : found.back().ToString());
  EXPECT_EQ(found[0].pointer, pointer);
  EXPECT_EQ(found[0].rule, rule);
  EXPECT_EQ(found[0].value, value);
  EXPECT_FALSE(found[0].message.empty());
}

// The same files are put to ajv by tests/ajv/check.mjs: the two validators must agree with their names.
TEST(Schema, AgreesWithTheNameOfEveryCase) {
  int valid = 0;
  int invalid = 0;
  for (const auto& entry : fs::directory_iterator(CasesFolder())) {
    const std::string name = entry.path().filename().string();
    const bool expect_valid = name.rfind("valid_", 0) == 0;
    ASSERT_TRUE(expect_valid || name.rfind("invalid_", 0) == 0) << name;
    const auto found = Violations(LoadCase(name));
    EXPECT_EQ(found.empty(), expect_valid) << name << ": " << (found.empty() ? "" : found[0].ToString());
    ++(expect_valid ? valid : invalid);
  }
  EXPECT_GE(valid, 5);
  EXPECT_GE(invalid, 20);
}

// A document the schema accepts is one the reader accepts, and what it writes is valid again.
TEST(Schema, EveryValidCaseReadsAndSerializes) {
  for (const auto& entry : fs::directory_iterator(CasesFolder())) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("valid_", 0) != 0) continue;
    const auto document = RunDocumentFromJson(LoadCase(name));
    ASSERT_TRUE(document.ok()) << name << ": " << document.error().ToString();
    const auto text = SerializeValid(*document);
    ASSERT_TRUE(text.ok()) << name << ": " << text.error().ToString();
    EXPECT_EQ(text->back(), '\n');
    EXPECT_EQ(*RunDocumentFromJson(*ParseJson(*text)), *document) << name;
  }
}

TEST(Schema, EmbeddedTextIsTheFile) {
  EXPECT_EQ(RunSchemaText(), ReadText(fs::path(NL_SOURCE_DIR) / "schemas/run.schema.json"));
}

TEST(Schema, WrongTypeNamesPointerRuleAndValue) {
  ExpectOne(AfterChange([](Json& j) { j["timeline"][1]["duration_ms"] = "abc"; }), "/timeline/1/duration_ms",
            "type: number", "\"abc\"");
  ExpectOne(AfterChange([](Json& j) { j["hardware"]["host"]["cores"] = 1.5; }), "/hardware/host/cores",
            "type: integer|null", "1.5");
  ExpectOne(AfterChange([](Json& j) { j["timeline"] = Json::object(); }), "/timeline", "type: array", "{}");
  ExpectOne(Violations(Json::array()), "", "type: object", "[]");
}

TEST(Schema, WrongTypeHidesFurtherRulesOfThatValue) {
  ExpectOne(AfterChange([](Json& j) { j["hardware"]["vendor"] = 5; }), "/hardware/vendor", "type: string",
            "5");
  ExpectOne(AfterChange([](Json& j) { j["schema_version"] = "1"; }), "/schema_version", "type: integer",
            "\"1\"");
}

TEST(Schema, MissingMemberIsReportedAtItsObject) {
  const auto found = AfterChange([](Json& j) { j["hardware"]["host"].erase("os"); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].pointer, "/hardware/host");
  EXPECT_EQ(found[0].rule, "required: os");
  EXPECT_EQ(found[0].value.substr(0, 26), "{\"cpu_model\":\"Example CPU\"");
  EXPECT_EQ(found[0].message, "member 'os' is missing");
}

TEST(Schema, EveryUnknownMemberIsReportedAtItself) {
  const auto found = AfterChange([](Json& j) {
    j["summary"]["metrics"]["speed"] = 1;
    j["summary"]["metrics"]["a/b~"] = nullptr;
  });
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].pointer, "/summary/metrics/speed");
  EXPECT_EQ(found[0].rule, "additionalProperties");
  EXPECT_EQ(found[0].value, "1");
  EXPECT_EQ(found[1].pointer, "/summary/metrics/a~1b~0");
  EXPECT_EQ(found[1].value, "null");
}

TEST(Schema, EachRuleIsNamedWithItsLimit) {
  ExpectOne(AfterChange([](Json& j) { j["hardware"]["vendor"] = "apple"; }), "/hardware/vendor",
            "enum: [\"nvidia\",\"amd\",\"intel\",\"other\",\"cpu\"]", "\"apple\"");
  ExpectOne(AfterChange([](Json& j) { j["schema_version"] = 2; }), "/schema_version", "const: 1", "2");
  ExpectOne(AfterChange([](Json& j) { j["source"]["files"][0]["sha256"] = "xyz"; }), "/source/files/0/sha256",
            "pattern: ^[0-9a-f]{64}$", "\"xyz\"");
  ExpectOne(AfterChange([](Json& j) { j["timeline"][0]["duration_ms"] = -1; }), "/timeline/0/duration_ms",
            "minimum: 0", "-1");
  ExpectOne(AfterChange([](Json& j) { j["timeline"][0]["kernels"][0]["l2_hit_rate"] = 1.5; }),
            "/timeline/0/kernels/0/l2_hit_rate", "maximum: 1", "1.5");
  ExpectOne(AfterChange([](Json& j) { j["timeline"] = Json::array(); }), "/timeline", "minItems: 1", "[]");
  ExpectOne(AfterChange([](Json& j) {
              j["timeline"][0]["kernels"][0]["grid"] = {1, 2, 3, 4};
            }),
            "/timeline/0/kernels/0/grid", "maxItems: 3", "[1,2,3,4]");
  ExpectOne(AfterChange([](Json& j) { j["tags"]["n"] = 1; }), "/tags/n", "type: string", "1");
  ExpectOne(AfterChange([](Json& j) { j["source"]["files"][0]["bytes"] = uint64_t{18446744073709551615u}; }),
            "/source/files/0/bytes", "type: integer", "18446744073709551615");
}

TEST(Schema, MostSpecificViolationComesFirst) {
  const auto found = AfterChange([](Json& j) {
    j.erase("run_id");
    j["hardware"]["vendor"] = "apple";
    j["timeline"][0]["kernels"][0]["name"] = nullptr;
  });
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].pointer, "/timeline/0/kernels/0/name");
  EXPECT_EQ(found[1].pointer, "/hardware/vendor");
  EXPECT_EQ(found[2].rule, "required: run_id");
}

TEST(Schema, ForeignSchemaVersionComesBeforeWhatFollowsFromIt) {
  const auto found = AfterChange([](Json& j) {
    j["timeline"][0]["kernels"][0]["new_counter"] = 1;
    j["schema_version"] = 7;
  });
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].pointer, "/schema_version");
}

TEST(Schema, CpuOnlyRunWithoutDevicesIsValid) {
  const Json json = LoadCase("valid_minimal_cpu_only.json");
  ASSERT_TRUE(json["hardware"]["devices"].empty());
  EXPECT_TRUE(Violations(json).empty());
}

TEST(Schema, LongValuesAreCutBetweenCharacters) {
  for (const char* unit : {"x", "\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x94\xa5"}) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += unit;
    const auto found = AfterChange([&](Json& j) { j["hardware"]["vendor"] = text; });
    ASSERT_EQ(found.size(), 1u);
    EXPECT_LE(found[0].value.size(), 80u);
    EXPECT_GE(found[0].value.size(), 74u);
    EXPECT_EQ(found[0].value.substr(found[0].value.size() - 3), "...");
    EXPECT_TRUE(ParseJson("\"" + found[0].value.substr(1) + "\"").ok()) << found[0].value;
  }
}

TEST(Schema, NotANumberIsNeverANumber) {
  ExpectOne(AfterChange([](Json& j) { j["timeline"][0]["duration_ms"] = std::nan(""); }),
            "/timeline/0/duration_ms", "type: number", "nan");
  ExpectOne(AfterChange(
                [](Json& j) { j["summary"]["total_duration_ms"] = std::numeric_limits<double>::infinity(); }),
            "/summary/total_duration_ms", "type: number", "inf");
}

TEST(Schema, DeepNestingIsRefusedWithALimitError) {
  auto deep = ParseJson(std::string(400, '[') + std::string(400, ']'));
  ASSERT_TRUE(deep.ok());
  const auto result = ValidateRunDocument(*deep);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kLimit);
  EXPECT_NE(result.error().message.find("200 levels"), std::string::npos);
}

TEST(Schema, HugeNumberOfViolationsIsCapped) {
  Json json = LoadCase("valid_minimal_cpu_only.json");
  json["timeline"] = std::vector<int>(500'000, 0);
  json["tags"] = Json::object();
  for (int i = 0; i < 3000; ++i) json["tags"][std::to_string(i)] = 0;
  const auto found = Violations(json);
  EXPECT_EQ(found.size(), 200u);
}

TEST(Schema, MegabyteStringsAreCheckedWithoutOverflow) {
  const std::string huge(4'000'000, 'a');
  const auto found = AfterChange([&](Json& j) {
    j["run_id"] = huge;
    j["created_at"] = std::string(4'000'000, '1');
    j[huge] = 1;
  });
  ASSERT_EQ(found.size(), 3u);
  for (const auto& violation : found) EXPECT_LE(violation.value.size(), 80u);
}

TEST(Schema, ThreadsValidateAtTheSameTime) {
  const Json good = LoadCase("valid_full.json");
  const Json bad = LoadCase("invalid_duration_text.json");
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        if (!ValidateRunDocument(good)->empty() || ValidateRunDocument(bad)->size() != 1) ++wrong[t];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(SerializeValid, RefusesAnInvalidDocumentNamingTheViolation) {
  auto document = *RunDocumentFromJson(LoadCase("valid_full.json"));
  document.timeline[1].duration_ms = -3;
  const auto text = SerializeValid(document);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::kInternal);
  EXPECT_NE(text.error().message.find("/timeline/1/duration_ms"), std::string::npos) << text.error().message;
  EXPECT_NE(text.error().message.find("minimum: 0"), std::string::npos) << text.error().message;
}

TEST(SerializeValid, RefusesADocumentWithoutTimeline) {
  auto document = *RunDocumentFromJson(LoadCase("valid_minimal_cpu_only.json"));
  document.timeline.clear();
  EXPECT_FALSE(SerializeValid(document).ok());
}

TEST(SerializeValid, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  auto document = *RunDocumentFromJson(LoadCase("valid_minimal_cpu_only.json"));
  document.timeline[0].op_name = "a\xff";
  const auto text = SerializeValid(document);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("a\xef\xbf\xbd"), std::string::npos);
}

}  // namespace
}  // namespace nl
