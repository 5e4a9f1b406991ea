// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/record_json.h"

namespace nl {
namespace {

struct Params {
  std::string name = "default";
  int64_t limit = 10;
  double share = 0.5;
  bool deep = false;
  std::vector<std::string> runs;
  std::string format = "table";

  ParamBinder Bind() {
    ParamBinder b;
    b.Add("name", name, "A name");
    b.Add("limit", limit, "Most rows").Range(1, 100);
    b.Add("share", share, "A share").Range(0, 1);
    b.Add("deep", deep, "Go deep");
    b.Add("runs", runs, "Runs").Positional().Required().Run();
    b.Add("format", format, "Form").Choices({"table", "csv"});
    return b;
  }
  Status Fill(const char* json) { return Bind().Fill(Json::parse(json)); }
};

TEST(ParamBinder, FillsEveryKindAndLeavesDefaults) {
  Params p;
  ASSERT_TRUE(p.Fill(R"({"runs": ["a", "b"], "limit": 5, "share": 1, "deep": true, "format": "csv"})").ok());
  EXPECT_EQ(p.runs, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(p.limit, 5);
  EXPECT_EQ(p.share, 1.0);
  EXPECT_TRUE(p.deep);
  EXPECT_EQ(p.format, "csv");
  EXPECT_EQ(p.name, "default");
}

TEST(ParamBinder, NullMeansNotGiven) {
  Params p;
  ASSERT_TRUE(p.Fill(R"({"runs": ["a"], "limit": null})").ok());
  EXPECT_EQ(p.limit, 10);
}

TEST(ParamBinder, EveryMistakeNamesItsParameter) {
  const std::pair<const char*, const char*> mistakes[] = {{R"({"runs": ["a"], "nmae": "x"})", "nmae"},
                                                          {R"({"runs": ["a"], "limit": "5"})", "limit"},
                                                          {R"({"runs": ["a"], "limit": 2.5})", "limit"},
                                                          {R"({"runs": ["a"], "limit": 101})", "limit"},
                                                          {R"({"runs": ["a"], "limit": 0})", "limit"},
                                                          {R"({"runs": ["a"], "share": 1.01})", "share"},
                                                          {R"({"runs": ["a"], "share": "x"})", "share"},
                                                          {R"({"runs": ["a"], "deep": 1})", "deep"},
                                                          {R"({"runs": ["a"], "name": 1})", "name"},
                                                          {R"({"runs": ["a"], "format": "xml"})", "format"},
                                                          {R"({"runs": "a"})", "runs"},
                                                          {R"({"runs": [1]})", "runs"},
                                                          {R"({"runs": []})", "runs"},
                                                          {R"({})", "runs"},
                                                          {R"({"runs": null})", "runs"}};
  for (const auto& [json, name] : mistakes) {
    Params p;
    const Status status = p.Fill(json);
    ASSERT_FALSE(status.ok()) << json;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput) << json;
    EXPECT_NE(status.error().message.find(std::string("'") + name + "'"), std::string::npos)
        << status.error().message;
  }
}

TEST(ParamBinder, ParametersAreAnObject) {
  for (const char* json : {"[]", "5", "\"x\""}) {
    Params p;
    EXPECT_FALSE(p.Fill(json).ok()) << json;
  }
}

TEST(ParamSchema, AcceptsWhatFillAcceptsAndRefusesWhatItRefuses) {
  Params p;
  const Json schema = ParamSchema(p.Bind().params());
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], Json::parse(R"(["runs"])"));
  EXPECT_EQ(schema["properties"]["limit"]["type"], "integer");
  EXPECT_EQ(schema["properties"]["limit"]["maximum"], 100);
  EXPECT_EQ(schema["properties"]["limit"]["default"], 10);
  EXPECT_EQ(schema["properties"]["format"]["enum"], Json::parse(R"(["table", "csv"])"));
  EXPECT_EQ(schema["properties"]["runs"]["type"], "array");
}

TEST(AllOps, AreDescribedFully) {
  std::set<std::string> names;
  for (const OpEntry& entry : AllOps()) {
    const std::unique_ptr<Op> op = entry.make();
    const OpInfo info = op->Info();
    EXPECT_EQ(entry.name, info.name) << "the folder gives the name of the command, see cmake/registry.cmake";
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_EQ(info.summary.find('\n'), std::string::npos) << info.name;
    EXPECT_EQ(info.example.rfind("neurolens " + info.name, 0), 0u) << info.name << ": " << info.example;
    ASSERT_NE(info.reply, nullptr) << info.name;
    ParamBinder binder;
    op->Bind(binder);
    std::set<std::string> params;
    for (const ParamInfo& p : binder.params()) {
      EXPECT_TRUE(params.insert(p.name).second) << info.name << "." << p.name;
      EXPECT_FALSE(p.help.empty()) << info.name << "." << p.name;
      EXPECT_EQ(p.name.find('-'), std::string::npos) << info.name << "." << p.name;
      EXPECT_FALSE(p.kind == ParamKind::kChoice && p.choices.empty()) << info.name << "." << p.name;
    }
    EXPECT_NE(MakeOp(info.name), nullptr);
  }
  EXPECT_EQ(MakeOp("no such op"), nullptr);
}

// Records become TypeScript interfaces and schema definitions: one name, one record.
TEST(AllOps, RecordsOfRepliesHaveUniqueNamesAndEveryFieldIsDocumented) {
  std::map<std::string, const RecordInfo*> by_name;
  for (const OpEntry& entry : AllOps()) {
    const OpInfo info = entry.make()->Info();
    ASSERT_NE(info.reply, nullptr) << info.name;
    for (const RecordInfo* record : RecordsOf(info.reply())) {
      const auto [it, added] = by_name.emplace(record->name, record);
      EXPECT_EQ(it->second, record) << entry.name << ": two records are called " << record->name;
      EXPECT_STRNE(record->doc, "") << record->name;
      std::set<std::string> fields;
      for (const FieldInfo& field : record->fields) {
        EXPECT_TRUE(fields.insert(field.name).second) << record->name << "." << field.name;
        EXPECT_STRNE(field.doc, "") << record->name << "." << field.name;
      }
    }
  }
}

}  // namespace
}  // namespace nl
