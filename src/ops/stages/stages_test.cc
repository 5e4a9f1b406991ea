// SPDX-License-Identifier: Apache-2.0
// stages, nvtx, flame and peaks on a real trace, through RunOp as every face does.
#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "ops/flame/reply.h"
#include "ops/nvtx/reply.h"
#include "ops/open_store.h"
#include "ops/settings.h"
#include "ops/stages/reply.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::Must;

class StagesOpsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_ = Must(Settings::Load(
        {{{"store", dir_.path() + "/store"}}, [](const char*) { return nullptr; }, dir_.path()}));
    context_.settings = &settings_;
  }
  Reply Call(const char* name, const Json& args) {
    op_ = MakeOp(name);
    Result<Reply> reply = RunOp(*op_, args, context_);
    EXPECT_TRUE(reply.ok()) << reply.error().ToString();
    return reply.ok() ? *std::move(reply) : Reply{};
  }
  void Import(const std::string& name) {
    Call("import", {{"paths", Json::array({std::string(NL_SOURCE_DIR) + "/data/h200/" + name})}});
  }
  // Checks that no line is wider than the terminal.
  std::string Text(const Reply& reply) {
    const std::string text = op_->Text(reply, {80, false});
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      EXPECT_LE(end - begin, 84u) << text.substr(begin, end - begin);
      begin = end + 1;
    }
    return text;
  }

  TempDir dir_ = Must(TempDir::Make("nl-stages-"));
  Settings settings_;
  OpContext context_;
  std::unique_ptr<Op> op_;
};

TEST_F(StagesOpsTest, ALabelledRequestOnAnH200) {
  Import("base.json.gz");
  const Reply reply = Call("stages", Json::object());
  const auto& r = reply.As<ops::stages::StagesReply>();
  ASSERT_EQ(r.stages.size(), 4u);
  EXPECT_EQ(r.model.dims.layers, 8);
  EXPECT_EQ(r.model.dims.d_ff, 5632);
  EXPECT_EQ(r.model.dims.kv_heads, 8);
  const StageSummary& prefill = r.stages[1];
  EXPECT_EQ(prefill.name, "prefill");
  EXPECT_EQ(prefill.tokens, 4096);
  EXPECT_NEAR(prefill.flops.value_or(0), 3.561e12, 0.001e12);
  EXPECT_NEAR(prefill.mfu.value_or(0), 0.234, 0.001);
  EXPECT_EQ(r.stages[3].count, 12);
  EXPECT_NEAR(r.tpot_ms.value_or(0), 13.8, 0.1);
  EXPECT_EQ(Text(reply).rfind("Prefill takes 15.4 ms for 4,096 tokens (MFU 23.4 %)", 0), 0u) << Text(reply);
  const Reply labels = Call("nvtx", {{"what", "check"}});
  EXPECT_FALSE(labels.answer_is_no);
  const auto& checked = labels.As<ops::nvtx::NvtxReply>();
  EXPECT_EQ(checked.labels_total, 4);
  EXPECT_EQ(checked.labels.at(0).llm_stage, "decode_step");
}

TEST_F(StagesOpsTest, ATrainingRunHasNoStagesAndAFlameTree) {
  Import("resnet50_train_stack.json.gz");
  const Reply stages = Call("stages", Json::object());
  EXPECT_TRUE(stages.As<ops::stages::StagesReply>().stages.empty());
  EXPECT_EQ(Text(stages).rfind("No LLM stages: ", 0), 0u);
  const std::string file = dir_.path() + "/r.speedscope.json";
  const Reply flame = Call("flame", {{"out", file}});
  const Json scope = Must(ParseJson(Must(ReadWholeFile(file))));
  EXPECT_EQ(scope["profiles"].size(), 2u);
  EXPECT_NEAR(scope["profiles"][1]["endValue"].get<double>() / 1e6, flame.As<ops::flame::FlameReply>().gpu_ms,
              1e-6);
  EXPECT_GT(Call("flame", Json::object()).As<ops::flame::FlameReply>().tree.size(), 10u);
  op_ = MakeOp("flame");
  EXPECT_FALSE(RunOp(*op_, {{"out", dir_.path() + "/r.svg"}}, context_).ok());
}

TEST_F(StagesOpsTest, PeaksAreFoundByNameOrNotAtAll) {
  const Reply known = Call("peaks", {{"device", "NVIDIA H200"}});
  ASSERT_EQ(known.Document()["devices"].size(), 1u);
  EXPECT_EQ(known.Document()["devices"][0]["dram_gbps"], 4800);
  EXPECT_NE(Text(known).find("datasheet"), std::string::npos);
  const Reply unknown = Call("peaks", {{"device", "Thing"}});
  EXPECT_TRUE(unknown.answer_is_no);
  EXPECT_TRUE(unknown.Document()["devices"].empty());
}

}  // namespace
}  // namespace nl
