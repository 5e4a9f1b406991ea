// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/page.h"

#include <gtest/gtest.h>

#include "base/record_json.h"

namespace nl::mcp {
namespace {

struct Row {
  std::string name;
  double ms = 0;
};
void Describe(Record<Row>& r) {
  r.Name("Row", "");
  r.Field("name", &Row::name, "");
  r.Field("ms", &Row::ms, Unit::kMs, "");
}
struct Sample {
  double wall_ms = 0, start_ms = 0;
  std::optional<double> share;
  std::string raw_name;
  std::vector<Row> rows, others;
  std::vector<Scalar> cells;
  Json document;
};
void Describe(Record<Sample>& r) {
  r.Name("Sample", "");
  r.Field("wall_ms", &Sample::wall_ms, "");
  r.Field("start_ms", &Sample::start_ms, "");
  r.Field("share", &Sample::share, "");
  r.Field("raw_name", &Sample::raw_name, "");
  r.Field("rows", &Sample::rows, "");
  r.Field("others", &Sample::others, "");
  r.Field("cells", &Sample::cells, "");
  r.Field("document", &Sample::document, "");
}

Json Lists(size_t rows, size_t others) {
  Json out{{"total", rows}, {"rows", Json::array()}, {"inner", {{"others", Json::array()}}}};
  for (size_t i = 0; i < rows; ++i)
    out["rows"].push_back({{"name", "row " + std::to_string(i)}, {"evidence", {i, i}}});
  for (size_t i = 0; i < others; ++i) out["inner"]["others"].push_back("other " + std::to_string(i));
  return out;
}

// All pages of a document, put together again.
Json Joined(const Json& document, size_t bytes, size_t& pages) {
  Json out;
  std::string cursor;
  for (pages = 0; pages == 0 || !cursor.empty(); ++pages) {
    Result<Page> page = PageOf(document, bytes, cursor);
    EXPECT_TRUE(page.ok());
    if (!page.ok() || pages > 1000) return out;
    if (pages == 0) {
      out = page->value;
    } else {
      for (const Json& row : page->value["rows"]) out["rows"].push_back(row);
      for (const Json& row : page->value["inner"]["others"]) out["inner"]["others"].push_back(row);
    }
    cursor = page->next_cursor;
  }
  return out;
}

TEST(Page, WhatFitsStaysWhole) {
  const Json document = Lists(5, 5);
  const Result<Page> page = PageOf(document, 10'000, "");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->value, document);
  EXPECT_TRUE(page->next_cursor.empty());
  EXPECT_TRUE(page->parts.empty());
}

TEST(Page, PagesHaveEveryRowOnceAndKeepTheirSize) {
  const Json document = Lists(100, 30);
  for (const size_t bytes : {200u, 300u, 1000u, 4000u}) {
    size_t pages = 0;
    EXPECT_EQ(Joined(document, bytes, pages), document) << bytes;
    EXPECT_GT(pages, 1u);
    std::string cursor;
    do {
      const Result<Page> page = PageOf(document, bytes, cursor);
      ASSERT_TRUE(page.ok());
      EXPECT_LE(DumpJson(page->value).size(), bytes);
      cursor = page->next_cursor;
    } while (!cursor.empty());
  }
}

TEST(Page, MembersStayWhenListsAreCut) {
  const Result<Page> page = PageOf(Lists(100, 0), 200, "rows=50");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->value["total"], 100);
  EXPECT_TRUE(page->value["inner"]["others"].is_array());
  EXPECT_EQ(page->value["rows"][0]["name"], "row 50");
  ASSERT_EQ(page->parts.size(), 1u);
  EXPECT_EQ(page->parts[0].list, "rows");
  EXPECT_EQ(page->parts[0].first, 50u);
  EXPECT_EQ(page->parts[0].total, 100u);
}

TEST(Page, ARowLargerThanThePageIsShortened) {
  Json document{{"rows", Json::array({{{"name", std::string(100'000, 'x')}, {"list", Json::array()}},
                                      {{"name", "b"}}})}};
  for (int i = 0; i < 500; ++i) document["rows"][0]["list"].push_back(i);
  const Result<Page> page = PageOf(document, 400, "");
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->value["rows"].size(), 2u);
  EXPECT_LE(DumpJson(page->value).size(), 400u);
  EXPECT_LT(page->value["rows"][0]["list"].size(), 500u);
  EXPECT_EQ(page->value["rows"][1]["name"], "b");
  const Result<Page> cells = PageOf({{"rows", {{1, std::string(5000, 'x')}}}}, 300, "");
  ASSERT_TRUE(cells.ok());
  EXPECT_EQ(cells->value["rows"][0].size(), 2u);
}

TEST(Page, TheFirstRowOfAListComesBeforeTheRestOfOthers) {
  Json document{{"small", Json::array()}, {"large", Json::array()}};
  for (int i = 0; i < 12; ++i) document["small"].push_back("a name of some length");
  for (int i = 0; i < 5; ++i)
    document["large"].push_back({{"text", std::string(300, 'x')}, {"list", {1, 2, 3}}});
  const Result<Page> page = PageOf(document, 400, "");
  ASSERT_TRUE(page.ok());
  EXPECT_GE(page->value["large"].size(), 1u);
  EXPECT_GE(page->value["small"].size(), 1u);
  EXPECT_LE(DumpJson(page->value).size(), 400u);
}

TEST(Page, CutTextStaysUtf8) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\xE2\x82\xAC";
  const Result<Page> page = PageOf({{"rows", {{{"name", text}}}}}, 200, "");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(DumpJson(page->value).find("\xEF\xBF\xBD"), std::string::npos);
}

TEST(Page, CursorsOfOthersAreRefused) {
  for (const char* cursor :
       {"x", "rows", "rows=", "rows=a", "rows=100", "rows=-1", "none=0", "rows=1,,", "="}) {
    const Result<Page> page = PageOf(Lists(100, 0), 500, cursor);
    ASSERT_FALSE(page.ok()) << cursor;
    EXPECT_EQ(page.error().code, ErrorCode::kInvalidInput);
  }
}

TEST(Page, KeysThatATraceChoosesAreNotPaged) {
  const Result<Page> page = PageOf({{"map", {{"a=1,b", {1, 2, 3}}}}, {"rows", {1, 2, 3}}}, 30, "");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->next_cursor.find("a=1"), std::string::npos);
}

TEST(Page, NumbersAreRoundedWherePeopleMeasure) {
  Sample sample{1234.5678,           100.1234567, 0.123456,  std::string(200, 'k'),
                {{"a", 0.00123456}}, {},          {12.3456}, {{"x", 1.23456}}};
  Json json = ToDocument(sample);
  RoundNumbers(json, RecordOf<Sample>());
  EXPECT_EQ(json["wall_ms"], 1230.0);
  EXPECT_EQ(json["start_ms"], 100.123);
  EXPECT_EQ(json["share"], 0.123);
  EXPECT_EQ(json["rows"][0]["ms"], 0.00123);
  EXPECT_EQ(json["cells"][0], 12.3456);
  EXPECT_EQ(json["document"]["x"], 1.23456);
  EXPECT_LT(json["raw_name"].get<std::string>().size(), 100u);
}

}  // namespace
}  // namespace nl::mcp
