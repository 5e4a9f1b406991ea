// SPDX-License-Identifier: Apache-2.0
// compare over stored runs and files, through RunOp as every face does.
#include <gtest/gtest.h>

#include <cmath>

#include "base/file_ops.h"
#include "base/terminal.h"
#include "ops/open_store.h"
#include "ops/settings.h"
#include "report/compare/compare_reply.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::Must;

// Steps of one gemm each, launched every 1000 us; `gemm_us` is how long it takes.
std::string Trace(int steps, int gemm_us) {
  std::string events;
  for (int i = 0; i < steps; ++i) {
    const int at = 1000 * i, id = i + 1;
    events += (i == 0 ? "" : ",\n");
    events += R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":)" + std::to_string(at) +
              R"(,"dur":50,"args":{"External id":)" + std::to_string(id) +
              R"(,"Input Dims":[[64,64],[64,64]],"Input type":["c10::BFloat16","c10::BFloat16"]}},)";
    events += R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":)" +
              std::to_string(at + 10) + R"(,"dur":5,"args":{"External id":)" + std::to_string(id) +
              R"(,"correlation":)" + std::to_string(id) + "}},";
    events += R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":)" + std::to_string(at + 20) +
              R"(,"dur":)" + std::to_string(gemm_us) + R"(,"args":{"External id":)" + std::to_string(id) +
              R"(,"correlation":)" + std::to_string(id) + R"(,"device":0,"context":1,"stream":7}})";
  }
  return R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H200"}],"traceEvents":[)" + events +
         "]}";
}

class CompareOpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_ = Must(Settings::Load(
        {{{"store", dir_.path() + "/store"}}, [](const char*) { return nullptr; }, dir_.path()}));
    context_.settings = &settings_;
    a_ = File("a.json", 8, 300);
    b_ = File("b.json", 8, 700);
  }
  std::string File(const std::string& name, int steps, int gemm_us) {
    const std::string path = dir_.path() + "/" + name;
    EXPECT_TRUE(WriteFileAtomically(path, Trace(steps, gemm_us)).ok());
    return path;
  }
  Result<Reply> Call(const Json& args) {
    op_ = MakeOp("compare");
    return RunOp(*op_, args, context_);
  }
  static double Sum(const CompareReply& reply) {
    double sum = reply.residual_ms;
    for (const CompareContribution& c : reply.contributions) sum += c.delta_ms;
    return sum;
  }

  TempDir dir_ = Must(TempDir::Make("nl-ops-"));
  Settings settings_;
  OpContext context_;
  std::unique_ptr<Op> op_;
  std::string a_, b_;
};

TEST_F(CompareOpTest, FilesAreImportedAndTheRunsCanBeNamedAfterwards) {
  const Reply files = Must(Call({{"a", {a_}}, {"b", {b_}}}));
  const auto& first = files.As<CompareReply>();
  EXPECT_NEAR(first.delta_ms, 0.4, 1e-9);
  EXPECT_NEAR(Sum(first), 0.4, 1e-9);
  EXPECT_EQ(first.runs.a[0].name, "a.json");
  EXPECT_EQ(first.runs.a[0].device, "NVIDIA H200");
  const Reply runs = Must(Call({{"a", {first.run_a}}, {"b", {b_}}}));
  Json by_id = runs.Document(), by_file = files.Document();
  by_id.erase("next");
  by_file.erase("next");
  EXPECT_EQ(by_id, by_file);
}

TEST_F(CompareOpTest, TheTextFitsTheTerminalAndStartsWithTheVerdict) {
  const Reply reply = Must(Call({{"a", {a_}}, {"b", {b_}}, {"by", "kernel"}}));
  const std::string text = op_->Text(reply, {80, false});
  EXPECT_EQ(text.find(reply.As<CompareReply>().verdict.text.substr(0, 20)), 0u) << text;
  EXPECT_NE(text.find("KERNEL"), std::string::npos) << text;
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    EXPECT_LE(DisplayWidth(text.substr(at, end - at)), 80) << text.substr(at, end - at);
  }
}

TEST_F(CompareOpTest, DeviceTimeExcludesIdleTime) {
  const Reply any = Must(Call({{"a", {a_}}, {"b", {b_}}, {"time", "device"}}));
  const auto& reply = any.As<CompareReply>();
  EXPECT_NEAR(reply.wall_a_ms, 8 * 0.3, 1e-9);
  EXPECT_NEAR(reply.wall_b_ms, 8 * 0.7, 1e-9);
  EXPECT_NEAR(Sum(reply), reply.delta_ms, 1e-9);
}

TEST_F(CompareOpTest, WithSeveralRunsASideEveryWallIsListedInTheOrderOfTheRuns) {
  const Json args{{"a", {File("a3.json", 8, 302), a_, File("a2.json", 8, 301)}},
                  {"b", {b_, File("b2.json", 8, 701)}}};
  const Reply any = Must(Call(args));
  const auto& reply = any.As<CompareReply>();
  ASSERT_EQ(reply.runs.a.size(), 3u);
  ASSERT_EQ(reply.walls_a_ms.size(), 3u);
  EXPECT_EQ(reply.walls_b_ms.size(), 2u);
  EXPECT_EQ(reply.runs.a[0].name, "a3.json");
  EXPECT_NEAR(reply.walls_a_ms[0] - reply.walls_a_ms[1], 0.002, 1e-9);
  EXPECT_NEAR(reply.walls_a_ms[2] - reply.walls_a_ms[1], 0.001, 1e-9);
  EXPECT_NEAR(Sum(reply), reply.delta_ms, 1e-9);
}

TEST_F(CompareOpTest, FilesHoldTheTimelineAndTheFlameGraph) {
  const std::string out = dir_.path() + "/new/deep/m.json", md = dir_.path() + "/m.md";
  const Reply reply = Must(Call({{"a", {a_}}, {"b", {b_}}, {"json", out}, {"md", md}, {"metric", "plain"}}));
  EXPECT_FALSE(reply.Document().contains("timeline"));
  const Json whole = Must(ParseJson(Must(ReadWholeFile(out))));
  EXPECT_EQ(whole["timeline"]["a"]["start_ms"].size(), 8u);
  EXPECT_NEAR(whole["flame"]["device"]["b_ms"], 8 * 0.7, 1e-9);
  EXPECT_EQ(whole["similarity"], whole["fingerprint"]["plain"]);
  EXPECT_EQ(Must(ReadWholeFile(md)).find("## "), 0u);
  EXPECT_EQ(reply.As<CompareReply>().files.size(), 2u);
}

TEST_F(CompareOpTest, RunsThatCannotBeComparedAreNamedInTheError) {
  EXPECT_EQ(Call({{"a", {a_}}}).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(Call({{"a", {a_}}, {"b", {"nowhere"}}}).error().code, ErrorCode::kNotFound);
  const Result<Reply> stage = Call({{"a", {a_}}, {"b", {b_}}, {"stage", "LLM@nothing"}});
  ASSERT_FALSE(stage.ok());
  EXPECT_NE(stage.error().ToString().find("LLM@nothing"), std::string::npos);
}

}  // namespace
}  // namespace nl
