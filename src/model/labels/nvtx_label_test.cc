// SPDX-License-Identifier: Apache-2.0
#include "model/labels/nvtx_label.h"

#include <gtest/gtest.h>

#include <random>

namespace nl {
namespace {

TEST(NvtxLabel, StandardFormsAreThoseOfTheTable) {
  const std::pair<const char*, const char*> rows[] = {
      {"baseline_matmul_pytorch", "compute_math:matmul_pytorch"},
      {"optimized_matmul_pytorch", "compute_math:matmul_pytorch"},
      {"matmul_baseline", "compute_math:matmul"},
      {"optimized_memory_copy_async", "transfer_async:memory_copy_async"},
      {"graph_replay", "compute_graph:graph_replay"},
      {"", "compute_kernel:unnamed"},
      {" -/ ", "compute_kernel:unnamed"},
      {"setup:inputs", "setup:inputs"},
      {"setup:", "setup:unnamed"},
      {"Tile:A-B", "tile:a_b"},
      {"Warmup  run", "warmup:warmup_run"},
      {"model init", "setup:model_init"},
      {"check/output", "verify:check_output"},
      {"teardown", "cleanup:teardown"},
      {"prefetch_copy", "prefetch:prefetch_copy"},
      {"H2D", "transfer_sync:h2d"},
      {"host-to-device (pipelined)", "transfer_async:host_to_device_pipelined"},
      {"all_reduce", "reduce:all_reduce"},
      {"reduce_batch", "reduce:reduce_batch"},
      {"stream sync", "barrier:stream_sync"},
      {"batch 3", "batch:batch_3"},
      {"iter_step", "iteration:iter_step"},
      {"train.step#4", "step:train_step_4"},
      {"softmax", "compute_math:softmax"},
      {"vector add", "compute_kernel:vector_add"},
      {"nccl:all_reduce", "reduce:nccl:all_reduce"},
      {"\xc3\xa9t\xc3\xa9", "compute_kernel:t"},
  };
  for (const auto& [in, out] : rows) EXPECT_EQ(StandardLabel(in), out) << in;
}

TEST(NvtxLabel, AStandardFormStaysAsItIs) {
  std::mt19937 random(3);
  const std::string_view parts[] = {"baseline_", "optimized_", "_baseline", "step", ":",    "::",   " ",
                                    "-",         "copy",       "async",     "A",    "tile", "LLM@", "\n"};
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (int n = 0; n < 5; ++n) text += parts[random() % std::size(parts)];
    const std::string once = StandardLabel(text);
    EXPECT_EQ(StandardLabel(once), once) << text;
    EXPECT_TRUE(IsStandardLabel(once)) << once;
  }
}

TEST(NvtxLabel, LlmStagesAndSubStages) {
  EXPECT_EQ(ParseLlmLabel("LLM@prefill")->stage, LlmStage::kPrefill);
  EXPECT_EQ(ParseLlmLabel("LLM@decode_all")->stage, LlmStage::kDecodeAll);
  EXPECT_EQ(ParseLlmLabel("LLM@decode_step")->stage, LlmStage::kDecodeStep);
  EXPECT_EQ(ParseLlmLabel("LLM@request")->stage, LlmStage::kRequest);
  const auto sub = ParseLlmLabel("LLM@prefill::vision::conv");
  ASSERT_TRUE(sub);
  EXPECT_EQ(sub->stage, LlmStage::kPrefill);
  EXPECT_EQ(sub->sub, "vision::conv");
  for (const char* text :
       {"", "LLM@", "LLM@prefil", "llm@prefill", "LLM@prefill:", "LLM@prefill::", "prefill"})
    EXPECT_FALSE(ParseLlmLabel(text)) << text;
  EXPECT_TRUE(IsStandardLabel("LLM@prefill::vision"));
  EXPECT_FALSE(IsStandardLabel("LLM@other"));
}

TEST(NvtxLabel, LabelsAreTakenFromHostCategoriesAndToldFromTheFrameworksOwn) {
  EXPECT_TRUE(IsLabelCategory("user_annotation"));
  EXPECT_TRUE(IsLabelCategory("NVTX push/pop"));
  EXPECT_FALSE(IsLabelCategory("gpu_user_annotation"));
  EXPECT_FALSE(IsLabelCategory("overhead"));
  EXPECT_FALSE(IsLabelCategory(""));
  EXPECT_TRUE(IsFrameworkLabel("ProfilerStep#12"));
  EXPECT_FALSE(IsFrameworkLabel("Optimizer"));
}

TEST(EngineLabel, TellsWhatAStepDid) {
  const auto vllm =
      ParseEngineLabel("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)");
  ASSERT_TRUE(vllm);
  EXPECT_EQ(vllm->stage(), LlmStage::kDecodeStep);
  EXPECT_EQ(vllm->generation, 32);
  EXPECT_EQ(vllm->tokens, 32);
  EXPECT_EQ(vllm->generation_keys, 55086);
  const auto older = ParseEngineLabel("execute_context_3(120)_generation_5(5)");
  ASSERT_TRUE(older);
  EXPECT_EQ(older->stage(), LlmStage::kPrefill);
  EXPECT_FALSE(older->tokens);
  EXPECT_FALSE(older->generation_keys);
  const auto sglang = ParseEngineLabel("step[EXTEND bs=4 toks=512]");
  ASSERT_TRUE(sglang);
  EXPECT_EQ(sglang->context, 4);
  EXPECT_EQ(sglang->tokens, 512);
  const auto trt = ParseEngineLabel("[Executor] _forward_step 7: 1 ctx reqs, 5 gen reqs");
  ASSERT_TRUE(trt);
  EXPECT_EQ(trt->context, 1);
  EXPECT_EQ(trt->generation, 5);
}

TEST(EngineLabel, OtherTextIsNone) {
  for (const char* text :
       {"", "step", "step[", "step[DECODE]", "step[IDLE bs=3]", "execute_", "execute_model",
        "execute_4_context_x_generation_2", "[Executor] _forward_step 7", "step[DECODE bs=0]",
        "[Executor] _forward_step 7: 0 ctx reqs, 0 gen reqs", "step[DECODE bs=99999999999999999999]"})
    EXPECT_FALSE(ParseEngineLabel(text)) << text;
}

}  // namespace
}  // namespace nl
