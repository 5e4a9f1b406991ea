// SPDX-License-Identifier: Apache-2.0
#include "base/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/record_json.h"

namespace nl {
namespace {

enum class Colour : uint8_t { kRed, kGreen };
std::span<const std::string_view> NamesOf(Colour) {
  static constexpr std::string_view kNames[] = {"red", "green"};
  return kNames;
}

struct Leaf {
  std::string name;
  double dur_ms = 0;
};
void Describe(Record<Leaf>& r) {
  r.Name("Leaf", "A leaf");
  r.Field("name", &Leaf::name, "Its name");
  r.Field("dur_ms", &Leaf::dur_ms, Unit::kMs, "Its duration");
}

struct Parent {
  int64_t before = 7;
};
void Describe(Record<Parent>& r) {
  r.Name("Parent", "A base");
  r.Field("before", &Parent::before, "From the base");
}

struct Everything : Leaf, Parent {
  bool yes = true;
  int32_t minus = -3;
  uint64_t large = std::numeric_limits<uint64_t>::max();
  Colour colour = Colour::kGreen;
  std::optional<double> none;
  std::optional<Leaf> some = Leaf{"inner", 0.5};
  std::vector<Leaf> leaves = {{"a", 1}, {"b", 2.25}};
  std::vector<std::optional<std::string>> texts = {std::nullopt, "\"quoted\" \x01 \xff"};
  std::map<std::string, int64_t> counts = {{"x", 1}, {"y", 2}};
  std::vector<Scalar> cells = {std::monostate(), true, int64_t{5}, 0.1, std::string("s")};
  Json document = {{"free", {1, 2}}};
  double not_finite = NAN;
  std::vector<int64_t> empty;
};
void Describe(Record<Everything>& r) {
  r.Name("Everything", "One of each");
  r.Base<Parent>();
  r.Base<Leaf>();
  r.Field("yes", &Everything::yes, "A truth");
  r.Field("minus", &Everything::minus, "Negative");
  r.Field("large", &Everything::large, "Beyond int64");
  r.Field("colour", &Everything::colour, "An enum");
  r.Field("none", &Everything::none, Unit::kShare, "Not known");
  r.Field("some", &Everything::some, "Known");
  r.Field("leaves", &Everything::leaves, "A list");
  r.Field("texts", &Everything::texts, "Texts that need escapes");
  r.Field("counts", &Everything::counts, "A map");
  r.Field("cells", &Everything::cells, "Cells");
  r.Field("document", &Everything::document, "Free");
  r.Field("not_finite", &Everything::not_finite, "Null in JSON");
  r.Field("empty", &Everything::empty, "Empty list");
}

Json Expected() {
  Json leaf_a{{"name", "a"}, {"dur_ms", 1.0}}, leaf_b{{"name", "b"}, {"dur_ms", 2.25}};
  Json out{{"before", 7}, {"name", ""}, {"dur_ms", 0.0}, {"yes", true}, {"minus", -3}};
  out["large"] = std::numeric_limits<uint64_t>::max();
  out["colour"] = "green";
  out["none"] = nullptr;
  out["some"] = Json{{"name", "inner"}, {"dur_ms", 0.5}};
  out["leaves"] = Json::array({leaf_a, leaf_b});
  out["texts"] = Json::array({nullptr, "\"quoted\" \x01 \xff"});
  out["counts"] = Json{{"x", 1}, {"y", 2}};
  out["cells"] = Json::array({nullptr, true, 5, 0.1, "s"});
  out["document"] = Json{{"free", {1, 2}}};
  out["not_finite"] = nullptr;
  out["empty"] = Json::array();
  return out;
}

TEST(Record, JsonIsWhatTheDocumentWriterGives) {
  for (const int indent : {-1, 0, 2})
    EXPECT_EQ(ToJsonText(Everything(), indent), DumpJson(Expected(), indent));
}

TEST(Record, DocumentEqualsTheText) {
  EXPECT_EQ(DumpJson(ToDocument(Everything())), ToJsonText(Everything()));
}

TEST(Record, SchemaIsStrictAndTyped) {
  const Json schema = JsonSchema(RecordOf<Everything>());
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"].size(), RecordOf<Everything>().fields.size());
  EXPECT_EQ(schema["properties"]["none"]["type"], Json({"number", "null"}));
  EXPECT_EQ(schema["properties"]["none"]["x-unit"], "share");
  EXPECT_EQ(schema["properties"]["colour"]["enum"], Json({"red", "green"}));
  EXPECT_EQ(schema["properties"]["leaves"]["items"]["$ref"], "#/definitions/Leaf");
  EXPECT_EQ(schema["properties"]["some"]["anyOf"][0]["$ref"], "#/definitions/Leaf");
  EXPECT_EQ(schema["properties"]["counts"]["additionalProperties"]["type"], "integer");
  EXPECT_EQ(schema["definitions"]["Leaf"]["additionalProperties"], false);
  EXPECT_FALSE(schema["definitions"].contains("Parent")) << "a base is part of the record";
}

TEST(Record, TypeScriptNamesEveryRecordOnce) {
  const std::string text = TypeScript({&RecordOf<Everything>(), &RecordOf<Leaf>()});
  EXPECT_NE(text.find("export interface Everything {\n"), std::string::npos);
  EXPECT_NE(text.find("  leaves: Leaf[];\n"), std::string::npos);
  EXPECT_NE(text.find("  texts: (string | null)[];\n"), std::string::npos);
  EXPECT_NE(text.find("  colour: \"red\" | \"green\";\n"), std::string::npos);
  EXPECT_NE(text.find("  counts: Record<string, number>;\n"), std::string::npos);
  const size_t first = text.find("export interface Leaf {");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("export interface Leaf {", first + 1), std::string::npos);
}

TEST(Record, DocTableHasTypeAndUnit) {
  EXPECT_NE(DocTable(RecordOf<Leaf>()).find("| `dur_ms` | number | ms | Its duration |\n"),
            std::string::npos);
}

TEST(Record, DescribedGivesItsOwnTypeOnly) {
  const Described any = Described::Of(Leaf{"x", 1});
  ASSERT_NE(any.As<Leaf>(), nullptr);
  EXPECT_EQ(any.As<Leaf>()->name, "x");
  EXPECT_EQ(any.As<Parent>(), nullptr);
  EXPECT_TRUE(Described().empty());
}

struct Sparse {
  std::optional<Leaf> leaf;
  std::optional<std::vector<int64_t>> counts;
  DescribedMap others;
};
void Describe(Record<Sparse>& r) {
  static const TypeInfo leaf = *record_detail::TypeOf<Leaf>();
  r.Name("Sparse", "Fields that may be absent");
  r.OptionalField("leaf", &Sparse::leaf, "A record");
  r.OptionalField("counts", &Sparse::counts, "A list");
  for (const char* name : {"other", "leaf"}) {
    if (!r.HasField(name)) r.OptionalField(name, &Sparse::others, leaf, "Found by its name");
  }
}

TEST(Record, AnOptionalFieldIsAbsentInsteadOfNull) {
  for (const int indent : {-1, 2}) EXPECT_EQ(ToJsonText(Sparse(), indent), "{}");
  Sparse some;
  some.counts.emplace();
  some.others.emplace("other", Described::Of(Leaf{"x", 2}));
  some.others.emplace("unknown", Described::Of(Leaf()));
  EXPECT_EQ(ToJsonText(some), R"({"counts":[],"other":{"name":"x","dur_ms":2.0}})");
  EXPECT_EQ(DumpJson(ToDocument(some)), ToJsonText(some));
}

TEST(Record, AnOptionalFieldIsNotRequiredAndNeverNull) {
  const Json schema = JsonSchema(RecordOf<Sparse>());
  EXPECT_TRUE(schema["required"].empty());
  EXPECT_EQ(schema["properties"]["other"]["allOf"][0]["$ref"], "#/definitions/Leaf");
  EXPECT_EQ(schema["properties"]["counts"]["type"], "array");
  const std::string text = TypeScript({&RecordOf<Sparse>()});
  EXPECT_NE(text.find("  counts?: number[];\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  other?: Leaf;\n"), std::string::npos) << text;
  EXPECT_NE(DocTable(RecordOf<Sparse>()).find("| `leaf` | Leaf or absent |"), std::string::npos);
}

}  // namespace
}  // namespace nl
