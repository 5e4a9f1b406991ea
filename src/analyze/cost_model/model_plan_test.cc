// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/model_plan.h"

#include <cmath>

#include <gtest/gtest.h>

#include "analyze/cost_model/plan_builder.h"
#include "analyze/cost_model/prediction.h"
#include "analyze/cost_model/workload_config.h"

namespace nl {
namespace {

ModelPlan PlanOf(const std::string& name, const std::vector<std::string>& sets = {}) {
  const Result<std::string> text = ReadWorkload(name, false);
  const Result<Json> config = ResolveWorkload(*text, name, sets);
  EXPECT_TRUE(config.ok()) << config.error().ToString();
  const Result<ModelPlan> plan = PlanModel(*config);
  EXPECT_TRUE(plan.ok()) << plan.error().ToString();
  return plan.ok() ? *plan : ModelPlan();
}

const PlanStage& StageOf(const ModelPlan& plan, const std::string& name) {
  for (const PlanStage& stage : plan.stages) {
    if (stage.name == name) return stage;
  }
  ADD_FAILURE() << "no stage " << name;
  return plan.stages.front();
}

const PlanModule& ModuleOf(const PlanStage& stage, const std::string& name) {
  for (const PlanModule& module : stage.modules) {
    if (module.name == name) return module;
  }
  ADD_FAILURE() << "no module " << name;
  return stage.modules.front();
}

double FlopsOf(const PlanModule& module, KernelKind kind) {
  double out = 0;
  for (const PlanKernel& k : module.kernels) out += k.kind == kind ? k.count * k.flops : 0;
  return out;
}

// As torch counts them on the meta device (bench/models/h200/counts.json); published for most.
TEST(ModelPlan, ParametersAreThoseOfTheRealModels) {
  const std::pair<const char*, int64_t> counts[] = {
      {"bert_base", 109482240},      {"deepseek_ocr", 3335408896}, {"gemma_7b", 8537680896},
      {"gpt2", 124439808},           {"llama_8b", 8030261248},     {"mistral_7b", 7241732096},
      {"mixtral_8x7b", 46702792704}, {"opt_6_7b", 6658473984},     {"qwen_7b", 7615616512},
      {"sd_unet", 859520964},        {"vit_base", 86567656},       {"whisper_small", 241734912}};
  for (const auto& [name, count] : counts)
    EXPECT_EQ(static_cast<int64_t>(PlanOf(name).total_parameters), count) << name;
}

TEST(ModelPlan, LlamaByHand) {
  const ModelPlan plan = PlanOf("llama_8b");  // 8 x 1024 tokens, 32 to make
  const PlanStage& prefill = StageOf(plan, "prefill");
  EXPECT_EQ(prefill.tokens, 8192);
  // 2 x tokens x (4096 x (4096 + 1024 + 1024)) x 32 layers
  const PlanModule& qkv = ModuleOf(prefill, "attention.qkv");
  EXPECT_EQ(FlopsOf(qkv, KernelKind::kGemm), 2.0 * 8192 * 4096 * 6144 * 32);
  EXPECT_EQ(qkv.weight_bytes, 2.0 * 4096 * 6144 * 32);
  // 4 x batch x heads x 128 x (1024 x 1025 / 2) pairs x 32 layers
  EXPECT_EQ(FlopsOf(ModuleOf(prefill, "attention.scores"), KernelKind::kAttention),
            4.0 * 8 * 32 * 128 * (1024.0 * 1025 / 2) * 32);
  // Only the last token of each sequence has logits.
  EXPECT_EQ(FlopsOf(ModuleOf(prefill, "lm_head"), KernelKind::kGemm), 2.0 * 8 * 4096 * 128256);
  const PlanStage& step = StageOf(plan, "decode_step");
  EXPECT_EQ(step.executions, 31);
  EXPECT_EQ(step.context, 1024 + 16);
  EXPECT_EQ(FlopsOf(ModuleOf(step, "attention.scores"), KernelKind::kAttention),
            4.0 * 8 * 32 * 128 * 1040 * 32);
  // Keys and values, 32 layers, 8 heads of 128, bf16; the last token is not fed back.
  EXPECT_EQ(plan.kv_cache_bytes, 2.0 * 32 * 8 * 128 * 8 * (1024 + 31) * 2);
}

TEST(ModelPlan, AllLogitsWhenAskedFor) {
  const ModelPlan plan = PlanOf("llama_8b", {"workload.logits=all"});
  EXPECT_EQ(FlopsOf(ModuleOf(StageOf(plan, "prefill"), "lm_head"), KernelKind::kGemm),
            2.0 * 8192 * 4096 * 128256);
}

TEST(ModelPlan, CausalPairsAgainstCounting) {
  for (const double window : {0.0, 1.0, 3.0, 5.0, 9.0, 20.0}) {
    for (int before = 0; before < 8; ++before) {
      for (int fresh = 1; fresh < 8; ++fresh) {
        double counted = 0;
        for (int i = 0; i < fresh; ++i) {
          const double seen = before + i + 1;
          counted += window > 0 ? std::min(seen, window) : seen;
        }
        EXPECT_EQ(plan::CausalPairs(fresh, before + fresh, window), counted)
            << window << " " << before << " " << fresh;
      }
    }
  }
}

TEST(ModelPlan, ExpertsThatAreUsed) {
  EXPECT_DOUBLE_EQ(plan::UsedExperts(1, 64, 6), 6);
  EXPECT_NEAR(plan::UsedExperts(1e6, 64, 6), 64, 1e-9);
  EXPECT_NEAR(plan::UsedExperts(4, 64, 6), 64 * (1 - std::pow(58.0 / 64, 4)), 1e-9);
  EXPECT_DOUBLE_EQ(plan::UsedExperts(3, 8, 8), 8);
}

TEST(ModelPlan, UnknownModelsAreRefused) {
  const Result<Json> other = ResolveWorkload("model: {task: causal_lm, hf: {model_type: rwkv}}", "x", {});
  const Result<ModelPlan> plan = PlanModel(*other);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().ToString().find("rwkv"), std::string::npos);
  EXPECT_FALSE(PlanModel(*ResolveWorkload("model: {target: 'mine:build'}", "x", {})).ok());
  EXPECT_FALSE(PlanModel(*ResolveWorkload("model: {hf: {model_type: llama}}", "x", {})).ok());
  EXPECT_FALSE(
      PlanModel(
          *ResolveWorkload(
              "model: {hf: {model_type: gpt2, vocab_size: -1, n_embd: 1, n_layer: 1, n_head: 1}}", "x", {}))
          .ok());
}

TEST(ModelPlan, PathsHaveStarsForNumbers) {
  EXPECT_EQ(NormalModulePath("model.layers.11.mlp"), "model.layers.*.mlp");
  EXPECT_EQ(NormalModulePath("h.0"), "h.*");
  EXPECT_EQ(NormalModulePath("fc1"), "fc1");
}

DeviceRates Ideal() {
  DeviceRates d;
  d.flops_per_us = 100e6;
  d.bytes_per_us = 1e6;
  d.efficiency = MeasuredEfficiency();
  return d;
}

TEST(KernelTime, TheLargerOfArithmeticAndTraffic) {
  const DeviceRates d = Ideal();  // no multiprocessor count: no waves
  PlanKernel gemm;
  gemm.kind = KernelKind::kGemm;
  gemm.m = gemm.n = gemm.k = 8192;
  gemm.flops = 2.0 * 8192 * 8192 * 8192;
  gemm.read_bytes = 4.0 * 8192 * 8192;
  gemm.write_bytes = 2.0 * 8192 * 8192;
  const KernelTime time = TimeOf(gemm, d);
  EXPECT_EQ(time.bound, KernelBound::kCompute);
  EXPECT_NEAR(time.us, gemm.flops / (100e6 * d.efficiency.gemm_share) + d.efficiency.kernel_us, 1e-6);
  PlanKernel copy;
  copy.read_bytes = copy.write_bytes = 1e9;
  EXPECT_EQ(TimeOf(copy, d).bound, KernelBound::kMemory);
  EXPECT_NEAR(TimeOf(copy, d).us, 2e9 / (1e6 * d.efficiency.bandwidth_share) + d.efficiency.kernel_us, 1e-6);
  EXPECT_EQ(TimeOf(PlanKernel(), d).bound, KernelBound::kLaunch);
  EXPECT_EQ(TimeOf(PlanKernel(), d).us, d.efficiency.kernel_us);
}

TEST(KernelTime, AProductShortOfTilesLeavesMultiprocessorsIdle) {
  DeviceRates d = Ideal();
  d.sm_count = 132;
  const auto us_of = [&d](double rows) {
    PlanKernel k;
    k.kind = KernelKind::kGemm;
    k.m = rows, k.n = 256, k.k = 4096;
    k.flops = 2 * rows * 256 * 4096;
    return TimeOf(k, d).compute_us;
  };
  EXPECT_EQ(us_of(128 * 100), us_of(128 * 132));        // one wave either way
  EXPECT_GT(us_of(128 * 133), 1.2 * us_of(128 * 132));  // a second wave for one tile
}

TEST(Prediction, ModulesSumToTheirStage) {
  DeviceRates d = Ideal();
  d.sm_count = 132;
  for (const std::string& name : ShippedWorkloads()) {
    for (const PredictedStage& stage : Predict(PlanOf(name), d)) {
      PredictedWork sum;
      for (const PredictedModule& module : stage.modules) sum.Add(module);
      EXPECT_DOUBLE_EQ(sum.device_ms, stage.device_ms) << name;
      EXPECT_DOUBLE_EQ(sum.flops, stage.flops) << name;
      EXPECT_DOUBLE_EQ(sum.read_bytes, stage.read_bytes) << name;
      EXPECT_GT(stage.device_ms, 0) << name;
      EXPECT_TRUE(std::isfinite(stage.predicted_ms)) << name;
      EXPECT_EQ(stage.predicted_ms, std::max(stage.device_ms, stage.launch_ms)) << name;
    }
  }
}

}  // namespace
}  // namespace nl
