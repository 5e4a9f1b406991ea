// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/model_dims.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

ModelShape ShapeOf(RunBuilder& run, const Json& config = {}) {
  AnalysisOptions options;
  options.model_config = config;
  Analysis analysis = run.Finish();
  return FindModelShape(analysis.data(), options);
}

Json LlamaConfig() {
  return {{"model_type", "llama"},   {"hidden_size", 4096},       {"intermediate_size", 14336},
          {"num_hidden_layers", 32}, {"num_attention_heads", 32}, {"num_key_value_heads", 8},
          {"vocab_size", 128256},    {"hidden_act", "silu"},      {"torch_dtype", "bfloat16"}};
}

TEST(ModelDims, ComeFromAModelConfig) {
  RunBuilder run;
  const ModelShape s = ShapeOf(run, LlamaConfig());
  EXPECT_EQ(s.layers.value, 32);
  EXPECT_EQ(s.head_dim.value, 128);
  EXPECT_EQ(s.kv_heads.value, 8);
  EXPECT_EQ(s.gated, true);
  EXPECT_EQ(s.MissingFor(), "");
  EXPECT_EQ(s.d_model.from, "model config: hidden_size");
  EXPECT_FALSE(s.inferred);
}

TEST(ModelDims, AMixtureOfExpertsUsesTheWidthOfItsExperts) {
  RunBuilder run;
  Json config = LlamaConfig();
  config["model_type"] = "qwen3_moe";
  config["num_experts"] = 128;
  EXPECT_NE(ShapeOf(run, config).MissingFor(), "") << "how many are active is not said";
  config["num_experts_per_tok"] = 8;
  config["moe_intermediate_size"] = 768;
  RunBuilder again;
  const ModelShape s = ShapeOf(again, config);
  EXPECT_EQ(s.MissingFor(), "");
  EXPECT_EQ(s.d_ff.value, 768);
  ForwardWork work{1, 0, 1, 1, 0};
  const double dense = 2.0 * (2 * 4096 * 4096 + 2 * 4096 * 1024);
  EXPECT_DOUBLE_EQ(ForwardFlops(s, work), 32 * (dense + 2.0 * 4096 * 128 + 8 * 2.0 * 3 * 4096 * 768));
}

TEST(ModelDims, AreMissingWithTheReasonNotDefaulted) {
  RunBuilder empty;
  const ModelShape none = ShapeOf(empty);
  EXPECT_EQ(none.d_model.value, std::nullopt);
  EXPECT_NE(none.MissingFor().find("record_shapes"), std::string::npos) << none.MissingFor();
  RunBuilder run;
  Json config = LlamaConfig();
  config["model_type"] = "new_thing";
  config["hidden_act"] = "gelu";
  const ModelShape unsure = ShapeOf(run, config);
  EXPECT_EQ(unsure.gated, std::nullopt);
  EXPECT_NE(unsure.MissingFor().find("gated"), std::string::npos);
  RunBuilder mla;
  config = LlamaConfig();
  config["kv_lora_rank"] = 512;
  EXPECT_NE(ShapeOf(mla, config).MissingFor().find("latent"), std::string::npos);
  RunBuilder wrong;
  config = LlamaConfig();
  config["hidden_size"] = "wide";
  config["num_hidden_layers"] = -3;
  EXPECT_EQ(ShapeOf(wrong, config).d_model.value, std::nullopt);
}

TEST(ModelDims, TheRunDocumentFillsWhatTheConfigLacks) {
  RunBuilder run;
  run.document() = {{"model", {{"dims", {{"layers", 4}, {"d_model", 64}, {"heads", nullptr}}}}},
                    {"software", {{"precision", "fp16"}}}};
  const ModelShape s = ShapeOf(run);
  EXPECT_EQ(s.layers.value, 4);
  EXPECT_EQ(s.layers.from, "run document: model.dims.layers");
  EXPECT_EQ(s.heads.value, std::nullopt);
  EXPECT_EQ(s.dtype, "fp16");
  EXPECT_EQ(s.dtype_bytes, 2);
}

// Two layers, d 256, 4 heads of 64, 1 kv head, gated 704, vocabulary 1000; `forwards` forwards.
void AddOps(RunBuilder& run, int forwards, bool repeated_kv) {
  const ThreadId main = run.Thread("main");
  int64_t at = 0;
  const auto op = [&](const std::string& name, const std::string& dims) {
    run.Op(main, name, at, 5, dims, R"(["c10::BFloat16","c10::BFloat16"])");
    at += 10;
  };
  for (int f = 0; f < forwards; ++f) {
    op("aten::embedding", "[[1000,256],[2,16],[],[],[]]");
    for (int layer = 0; layer < 2; ++layer) {
      op("aten::mm", "[[32,256],[256,256]]");
      op("aten::mm", "[[32,256],[256,64]]");
      op("aten::mm", "[[32,256],[256,64]]");
      op("aten::scaled_dot_product_attention",
         repeated_kv ? "[[2,4,16,64],[2,4,16,64],[2,4,16,64]]" : "[[2,4,16,64],[2,1,16,64],[2,1,16,64]]");
      op("aten::mm", "[[32,256],[256,256]]");
      op("aten::mm", "[[32,256],[256,704]]");
      op("aten::mm", "[[32,256],[256,704]]");
      op("aten::mm", "[[32,704],[704,256]]");
    }
    op("aten::mm", "[[2,256],[256,1000]]");
  }
}

TEST(ModelDims, AreInferredFromOpShapes) {
  for (const bool repeated_kv : {false, true}) {
    RunBuilder run;
    AddOps(run, 3, repeated_kv);
    const ModelShape s = ShapeOf(run);
    EXPECT_EQ(s.MissingFor(), "");
    EXPECT_TRUE(s.inferred);
    EXPECT_EQ(s.layers.value, 2);
    EXPECT_EQ(s.d_model.value, 256);
    EXPECT_EQ(s.d_ff.value, 704);
    EXPECT_EQ(s.heads.value, 4);
    EXPECT_EQ(s.kv_heads.value, 1) << repeated_kv;
    EXPECT_EQ(s.head_dim.value, 64);
    EXPECT_EQ(s.vocab.value, 1000);
    EXPECT_EQ(s.gated, true);
    EXPECT_EQ(s.dtype, "bf16");
    EXPECT_EQ(s.layers.from.rfind("inferred from ", 0), 0u);
  }
}

TEST(ModelDims, FlopsAreThoseOfTheFormula) {
  RunBuilder run;
  AddOps(run, 1, false);
  const ModelShape s = ShapeOf(run);
  const double params = 2.0 * 256 * 256 + 2 * 256 * 64 + 3 * 256 * 704;
  ForwardWork prefill{32, 2, 2, 16, 16};
  EXPECT_DOUBLE_EQ(ForwardFlops(s, prefill),
                   2 * (2 * 32 * params + 2 * 2.0 * 256 * 16 * 16) + 2.0 * 2 * 256 * 1000);
  ForwardWork decode{2, 2, 2, 1, 17};
  EXPECT_DOUBLE_EQ(ForwardFlops(s, decode), 2 * (2 * 2 * params + 2 * 4.0 * 256 * 17) + 2.0 * 2 * 256 * 1000);
  ForwardWork chunk{16, 0, 1, 16, 48};
  EXPECT_DOUBLE_EQ(ForwardFlops(s, chunk), 2 * (2 * 16 * params + 4.0 * 256 * (16 * 32 + 16 * 8)));
  EXPECT_DOUBLE_EQ(ForwardWeightBytes(s, decode), 2 * (2 * params + 256 * 1000));
  EXPECT_DOUBLE_EQ(ForwardKvBytes(s, decode), 2.0 * 2 * 64 * 2 * 17 * 2);
}

}  // namespace
}  // namespace nl
