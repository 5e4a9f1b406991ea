// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/stages.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

const StagesFacts& StagesOf(Analysis& analysis) {
  const auto facts = analysis.Need<StagesFacts>();
  EXPECT_TRUE(facts.ok()) << facts.error().ToString();
  return **facts;
}

const StagesFacts::Stage& StageOf(const StagesFacts& facts, std::string_view name) {
  const StagesFacts::Stage* found = facts.Find(name);
  EXPECT_NE(found, nullptr) << name;
  static const StagesFacts::Stage none;
  return found == nullptr ? none : *found;
}

// Ops of one forward of a model with 1 layer, d 256, 4 heads of 64, 2 kv heads, gated 704, vocabulary 1000.
void Forward(RunBuilder& run, ThreadId thread, int64_t at, int64_t batch, int64_t q_len, int64_t kv_len) {
  const auto op = [&](const std::string& name, const std::string& dims) {
    run.Op(thread, name, at, 5, dims, R"(["c10::BFloat16","c10::BFloat16"])");
    at += 10;
  };
  const int64_t m = batch * q_len;
  op("aten::embedding", fmt::format("[[1000,256],[{},{}]]", batch, q_len));
  op("aten::mm", fmt::format("[[{},256],[256,256]]", m));
  op("aten::mm", fmt::format("[[{},256],[256,128]]", m));
  op("aten::mm", fmt::format("[[{},256],[256,128]]", m));
  op("aten::scaled_dot_product_attention",
     fmt::format("[[{0},4,{1},64],[{0},2,{2},64],[{0},2,{2},64]]", batch, q_len, kv_len));
  op("aten::mm", fmt::format("[[{},256],[256,256]]", m));
  op("aten::mm", fmt::format("[[{},256],[256,704]]", m));
  op("aten::mm", fmt::format("[[{},256],[256,704]]", m));
  op("aten::mm", fmt::format("[[{},704],[704,256]]", m));
  op("aten::mm", fmt::format("[[{},256],[256,1000]]", batch));
}
void Launch(RunBuilder& run, ThreadId thread, int64_t at, int64_t dur, int64_t kernel_at, int64_t kernel_dur,
            const std::string& name = "gemm") {
  run.Kernel(name, 7, kernel_at, kernel_dur, run.Api(thread, "cudaLaunchKernel", at, dur));
}

constexpr double kParams = 2.0 * 256 * 256 + 2.0 * 256 * 128 + 3.0 * 256 * 704;

// A request of 3 sequences of 8 tokens and two steps; kernels end long after the host is done with their
// stage.
void AddRequest(RunBuilder& run, bool labels) {
  run.Device(0, "NVIDIA H200");
  const ThreadId main = run.Thread("main");
  if (labels) {
    run.Range(main, "LLM@request", 0, 3000);
    run.Range(main, "LLM@prefill", 100, 900);
    run.Range(main, "LLM@decode_all", 1000, 2000);
    run.Range(main, "LLM@decode_step", 1000, 500);
    run.Range(main, "LLM@decode_step", 1500, 500);
  }
  Forward(run, main, 110, 3, 8, 8);
  Launch(run, main, 300, 90, 2000, 3000);
  Forward(run, main, 1010, 3, 1, 9);
  Launch(run, main, 1200, 20, 5000, 800);
  Forward(run, main, 1510, 3, 1, 10);
  Launch(run, main, 1700, 30, 6000, 500);
}

TEST(Stages, ALabelInsideTheSameLabelIsNotAnotherInstance) {
  testing_analyze::RunBuilder run;
  const ThreadId main = run.Thread("main"), second = run.Thread("second");
  run.Range(main, "LLM@decode_step", 0, 500);
  run.Range(main, "LLM@decode_step", 10, 400);
  run.Range(main, "LLM@decode_step", 500, 500);
  run.Range(second, "LLM@decode_step", 100, 100);
  Analysis analysis = run.Finish();
  const auto made = analysis.Need<StagesFacts>();
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  ASSERT_EQ((*made)->stages.size(), 1u);
  EXPECT_EQ((*made)->stages[0].instances.size(), 3u);
}

TEST(Stages, TimesRunUntilTheLastKernelThatTheStageLaunched) {
  RunBuilder run;
  AddRequest(run, true);
  Analysis analysis = run.Finish();
  const StagesFacts& f = StagesOf(analysis);
  EXPECT_EQ(f.source, "labels");
  const auto& prefill = StageOf(f, "prefill");
  EXPECT_EQ(prefill.total_ns, 4900);
  EXPECT_FALSE(prefill.inferred);
  EXPECT_EQ(prefill.kernels, 1);
  const auto& step = StageOf(f, "decode_step");
  ASSERT_EQ(step.instances.size(), 2u);
  EXPECT_EQ(step.instances[0].duration_ns(), 800) << "the host was ahead: from the end of the prefill";
  EXPECT_EQ(step.instances[1].duration_ns(), 700);
  EXPECT_EQ(step.total_ns, 1500);
  EXPECT_DOUBLE_EQ(step.p50_ns, 750);
  EXPECT_DOUBLE_EQ(step.p95_ns, 795);
  EXPECT_DOUBLE_EQ(step.p99_ns, 799);
  EXPECT_EQ(StageOf(f, "decode_all").total_ns, 5500);
  EXPECT_EQ(StageOf(f, "request").total_ns, 6500);
  EXPECT_EQ(StageOf(f, "request").kernels, 3);
  EXPECT_EQ(f.ttft_ns, 5000) << "from the start of the request";
  EXPECT_EQ(f.tpot_ns, 750);
}

TEST(Stages, SharesAreRelativeToTheStage) {
  RunBuilder run;
  AddRequest(run, true);
  Analysis analysis = run.Finish();
  const StagesFacts& f = StagesOf(analysis);
  EXPECT_DOUBLE_EQ(*StageOf(f, "prefill").launch_share, 90.0 / 4900);
  EXPECT_DOUBLE_EQ(*StageOf(f, "prefill").idle_share, 1900.0 / 4900);
  EXPECT_EQ(StageOf(f, "decode_step").instances[0].idle_ns, 0);
  EXPECT_EQ(StageOf(f, "decode_step").instances[1].idle_ns, 200);
}

TEST(Stages, UtilisationIsExactlyTheFormula) {
  RunBuilder run;
  AddRequest(run, true);
  Analysis analysis = run.Finish();
  const StagesFacts& f = StagesOf(analysis);
  const auto& prefill = StageOf(f, "prefill");
  const double prefill_flops = 2 * 24 * kParams + 3 * 2.0 * 256 * 8 * 8 + 2.0 * 3 * 256 * 1000;
  EXPECT_DOUBLE_EQ(*prefill.flops, prefill_flops);
  EXPECT_DOUBLE_EQ(*prefill.tokens, 24);
  EXPECT_DOUBLE_EQ(*prefill.tokens_per_s, 24 / 4900e-9);
  EXPECT_DOUBLE_EQ(*prefill.mfu, prefill_flops / (989e12 * 4900e-9));
  const auto& step = StageOf(f, "decode_step");
  const double weights = 2 * (kParams + 256 * 1000), kv = 2.0 * 2 * 64 * 3 * (9 + 10) * 2;
  EXPECT_DOUBLE_EQ(*step.tokens, 6);
  EXPECT_DOUBLE_EQ(*step.weight_bytes, 2 * weights);
  EXPECT_DOUBLE_EQ(*step.kv_bytes, kv);
  EXPECT_DOUBLE_EQ(*step.mbu, (2 * weights + kv) / (4800e9 * 1500e-9));
  EXPECT_DOUBLE_EQ(*StageOf(f, "decode_all").tokens, 6);
  EXPECT_DOUBLE_EQ(*StageOf(f, "request").flops, prefill_flops + *step.flops);
  const StagePeak peak = SectionOf(f).stages[1].peak;
  EXPECT_EQ(peak.tflops, 989);
  EXPECT_EQ(peak.gbps, 4800);
  EXPECT_NE(peak.source.value_or("").find("H200"), std::string::npos);
}

TEST(Stages, AnUnknownValueIsNullWithAReason) {
  RunBuilder run;
  run.Device(0, "Thing 9000");
  const ThreadId main = run.Thread("main");
  run.Range(main, "LLM@prefill", 0, 100);
  Launch(run, main, 10, 5, 50, 200);
  Analysis analysis = run.Finish();
  const StagesFacts& f = StagesOf(analysis);
  const auto& prefill = StageOf(f, "prefill");
  EXPECT_EQ(prefill.total_ns, 250);
  EXPECT_FALSE(prefill.tokens || prefill.mfu || prefill.mbu || prefill.flops);
  EXPECT_NE(prefill.mfu_reason.find("record_shapes"), std::string::npos) << prefill.mfu_reason;
  EXPECT_EQ(f.tpot_reason, "the run has no decode_step stage");
  EXPECT_NE(f.peaks_reason.find("Thing 9000"), std::string::npos);
}

TEST(Stages, AModelConfigThatIsNotAnObjectIsRejected) {
  RunBuilder run;
  AnalysisOptions options;
  options.model_config = Json::array({1});
  Analysis analysis = run.Finish(options);
  EXPECT_FALSE(analysis.Need<StagesFacts>().ok());
}

TEST(Stages, SubStagesHaveTheirOwnRows) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Range(main, "LLM@prefill", 0, 1000);
  run.Range(main, "LLM@prefill::vision", 0, 300);
  run.Range(main, "LLM@prefill::vision::conv", 0, 100);
  Launch(run, main, 10, 5, 2000, 200);
  Launch(run, main, 200, 5, 2200, 200);
  Launch(run, main, 500, 5, 2400, 200);
  Analysis analysis = run.Finish();
  const StagesFacts& f = StagesOf(analysis);
  ASSERT_EQ(f.stages.size(), 3u);
  EXPECT_EQ(StageOf(f, "prefill").total_ns, 2600);
  EXPECT_EQ(StageOf(f, "prefill").kernels, 3);
  EXPECT_EQ(StageOf(f, "prefill::vision").total_ns, 2400);
  EXPECT_EQ(StageOf(f, "prefill::vision").parent, "prefill");
  EXPECT_EQ(StageOf(f, "prefill::vision::conv").total_ns, 2200);
  EXPECT_EQ(StageOf(f, "prefill::vision::conv").parent, "prefill::vision");
  EXPECT_EQ(f.ttft_ns, 2600);
}

TEST(Stages, AWorkerThreadWithoutLabelsCountsForTheStageOfItsProcess) {
  RunBuilder run;
  const ThreadId main = run.Thread("main"), worker = run.Thread("worker"), other = run.Thread("other");
  run.data().thread.process_id[1] = run.data().thread.process_id[0];
  run.Range(main, "LLM@prefill", 0, 1000);
  Launch(run, worker, 500, 5, 2000, 100);
  Launch(run, other, 500, 5, 5000, 100);  // of another process
  Launch(run, worker, 1500, 5, 3000, 100);
  Analysis analysis = run.Finish();
  EXPECT_EQ(StageOf(StagesOf(analysis), "prefill").total_ns, 2100);
  EXPECT_EQ(StageOf(StagesOf(analysis), "prefill").kernels, 1);
}

TEST(Stages, ConcurrentThreadsKeepTheirOwnWork) {
  RunBuilder run;
  const ThreadId a = run.Thread("a"), b = run.Thread("b");
  run.data().thread.process_id[1] = run.data().thread.process_id[0];
  run.Range(a, "LLM@prefill", 0, 1000);
  run.Range(b, "LLM@prefill", 100, 1000);
  Launch(run, a, 200, 5, 2000, 100);
  Launch(run, b, 300, 5, 4000, 100);
  Analysis analysis = run.Finish();
  const auto& prefill = StageOf(StagesOf(analysis), "prefill");
  EXPECT_EQ(prefill.instances[0].end_ns, 2100);
  EXPECT_EQ(prefill.instances[1].end_ns, 4100);
}

TEST(Stages, StagesInferredFromShapesAreMarked) {
  RunBuilder run;
  AddRequest(run, false);
  Analysis analysis = run.Finish();
  const StagesFacts& f = StagesOf(analysis);
  EXPECT_EQ(f.source, "op shapes");
  const auto& prefill = StageOf(f, "prefill");
  EXPECT_TRUE(prefill.inferred);
  EXPECT_EQ(prefill.instances.size(), 1u);
  EXPECT_DOUBLE_EQ(*prefill.tokens, 24);
  EXPECT_EQ(prefill.instances[0].start_ns, 110);
  EXPECT_EQ(prefill.instances[0].end_ns, 5000);
  EXPECT_EQ(StageOf(f, "decode_step").instances.size(), 2u);
}

TEST(Stages, TrainingRunsHaveNoStages) {
  RunBuilder run;
  AddRequest(run, false);
  run.Op(run.Thread("autograd"), "autograd::engine::evaluate_function: MmBackward0", 9000, 10);
  Analysis analysis = run.Finish();
  EXPECT_TRUE(StagesOf(analysis).stages.empty());
  EXPECT_NE(StagesOf(analysis).reason.find("training"), std::string::npos);
}

TEST(Stages, StagesAreInferredFromThePeriodOfAKernelOnlyTrace) {
  RunBuilder run;
  int64_t at = 0;
  const auto kernel = [&](const std::string& name, int64_t dur) {
    run.Kernel(name, 7, at, dur);
    at += dur + 10;
  };
  const auto forward = [&](const std::string& kind, int64_t dur) {
    kernel("embedding_kernel", dur);
    for (int layer = 0; layer < 3; ++layer) {
      kernel("gemm_" + kind, dur);
      kernel("flash_fwd_splitkv_kernel", dur);
    }
    kernel("argmax_kernel", dur);
  };
  forward("large", 1000);
  for (int step = 0; step < 6; ++step) forward("small", 100);
  Analysis analysis = run.Finish();
  const StagesFacts& f = StagesOf(analysis);
  EXPECT_EQ(f.source, "kernel sequence");
  const auto& step = StageOf(f, "decode_step");
  EXPECT_TRUE(step.inferred);
  ASSERT_EQ(step.instances.size(), 6u);
  for (const auto& i : step.instances) EXPECT_EQ(i.duration_ns(), 8 * 100 + 7 * 10);
  EXPECT_EQ(step.kernels, 48);
  EXPECT_EQ(StageOf(f, "prefill").total_ns, 8 * 1000 + 7 * 10);
  EXPECT_FALSE(step.launch_share);
}

// `layers` times the kernels of a layer, `forwards` times.
std::string WhyNoStages(const char* attention, int layers, int forwards) {
  RunBuilder run;
  int64_t at = 0;
  const auto kernel = [&](const std::string& name) { run.Kernel(name, 7, at += 100, 50); };
  for (int f = 0; f < forwards; ++f) {
    kernel("embedding_kernel");
    for (int layer = 0; layer < layers; ++layer) {
      for (const char* name : {"norm_kernel", "gemm_qkv", attention, "gemm_out", "gemm_ff"}) kernel(name);
    }
    kernel("argmax_kernel");
  }
  Analysis analysis = run.Finish();
  EXPECT_TRUE(StagesOf(analysis).stages.empty());
  return StagesOf(analysis).reason;
}

TEST(Stages, LayersAreNotSteps) {
  EXPECT_NE(WhyNoStages("flash_fwd_splitkv_kernel", 36, 1).find("one layer of a model"), std::string::npos);
}

TEST(Stages, DenoisingStepsAndImageBatchesAreNotDecodeSteps) {
  EXPECT_NE(WhyNoStages("flash_fwd_kernel", 4, 12).find("no kernel reads a key-value cache"),
            std::string::npos);
}

TEST(Stages, KernelsOfABackwardPassShowTraining) {
  EXPECT_NE(WhyNoStages("fmha_cutlassB_wgrad_f16", 4, 12).find("training"), std::string::npos);
}

TEST(Stages, AnEncoderThatLooksTokenIdsUpHasNoPrefill) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  for (int64_t at = 0; at < 4000; at += 1000) {
    run.Op(main, "aten::embedding", at + 10, 10, "[[1000,256],[2,12]]", "");
    run.Op(main, "aten::scaled_dot_product_attention", at + 30, 20, "[[2,4,12,64],[2,4,12,64],[2,4,12,64]]",
           "");
    Launch(run, main, at + 40, 5, at + 60, 50);
  }
  Analysis analysis = run.Finish();
  EXPECT_TRUE(StagesOf(analysis).stages.empty());
  EXPECT_NE(StagesOf(analysis).reason.find("token by token"), std::string::npos) << StagesOf(analysis).reason;
}

TEST(Stages, LabelsOfServingEnginesAreRead) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Range(main, "execute_8192_context_9(sq8155sk8430sqsq1sqsk1)_generation_37(sq37sk34489sqsq37sqsk34489)",
            0, 100);
  run.Range(main, "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32768sqsq32sqsk32768)", 200,
            100);
  run.Range(main, "step[DECODE bs=32]", 210, 80);
  run.Range(main, "[Executor] _forward_step 3: 0 ctx reqs, 16 gen reqs", 400, 100);
  for (const int64_t at : {10, 220, 410}) Launch(run, main, at, 5, at + 10, 80);
  Analysis analysis = run.Finish();
  const StagesFacts& f = StagesOf(analysis);
  EXPECT_EQ(f.source, "labels");
  EXPECT_EQ(StageOf(f, "prefill").instances.size(), 1u);
  EXPECT_DOUBLE_EQ(*StageOf(f, "prefill").tokens, 8192);
  const auto& step = StageOf(f, "decode_step");
  ASSERT_EQ(step.instances.size(), 2u) << "one label inside another of its stage is the same step";
  EXPECT_DOUBLE_EQ(*step.instances[0].tokens, 32);
  EXPECT_DOUBLE_EQ(*step.instances[1].tokens, 16);
  EXPECT_EQ(step.instances[0].duration_ns(), 80) << "what the device did; the label began earlier";
}

TEST(Stages, AWaitInFrontOfTheWorkOfAnEngineStepIsNotTheStep) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Range(main, "step[DECODE bs=32]", 0, 10'000);
  Launch(run, main, 10, 5, 20, 4);
  for (const int64_t at : {9000, 9100, 9300}) Launch(run, main, at, 5, at + 10, 80);
  Analysis analysis = run.Finish();
  const auto& step = StageOf(StagesOf(analysis), "decode_step");
  ASSERT_EQ(step.instances.size(), 1u);
  EXPECT_EQ(step.total_ns, 380);
  EXPECT_EQ(step.kernels, 4);
}

TEST(Stages, StepsThatTheHostQueuesAheadDoNotAddUpToMoreThanTheirTime) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  for (int64_t i = 0; i < 10; ++i) {  // 20 ns of host and 100 ns of device each
    run.Range(main, "LLM@decode_step", i * 20, 20);
    Launch(run, main, i * 20 + 5, 5, 20 + i * 100, 100);
  }
  Analysis analysis = run.Finish();
  const auto& step = StageOf(StagesOf(analysis), "decode_step");
  EXPECT_EQ(step.total_ns, 20 + 10 * 100) << "from the first launch to the end of the last kernel";
  EXPECT_EQ(step.instances[5].duration_ns(), 100);
}

TEST(Stages, RepeatingKernelsWithoutAttentionAreNotALanguageModel) {
  RunBuilder run;
  for (int i = 0; i < 60; ++i) run.Kernel(fmt::format("conv_{}", i % 6), 7, i * 100, 50);
  Analysis analysis = run.Finish();
  EXPECT_TRUE(StagesOf(analysis).stages.empty());
  EXPECT_NE(StagesOf(analysis).reason.find("attention"), std::string::npos);
}

TEST(Stages, DeviceLabelsAreUsedWhenThereAreNoHostLabels) {
  RunBuilder run;
  const ThreadId lane = run.Thread("stream 7");
  run.Range(lane, "LLM@prefill", 1000, 500, "gpu_user_annotation");
  run.Kernel("k", 7, 1000, 100);
  run.Kernel("k", 7, 1400, 100);
  run.Kernel("k", 7, 1600, 100);
  Analysis analysis = run.Finish();
  const auto& prefill = StageOf(StagesOf(analysis), "prefill");
  EXPECT_EQ(prefill.total_ns, 500);
  EXPECT_EQ(prefill.kernels, 2);
}

TEST(Stages, BatchAndLengthOfTheRunDocumentReplaceMissingShapes) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  run.document() = {{"model", {{"name", "m"}, {"batch_size", 4}, {"sequence_length", 100}}},
                    {"software", {{"precision", "bf16"}}}};
  const ThreadId main = run.Thread("main");
  run.Range(main, "LLM@prefill", 0, 100);
  run.Range(main, "LLM@decode_step", 200, 100);
  Launch(run, main, 10, 5, 20, 100);
  Launch(run, main, 210, 5, 220, 100);
  AnalysisOptions options;
  options.model_config = {{"model_type", "llama"},  {"hidden_size", 256},       {"intermediate_size", 704},
                          {"num_hidden_layers", 1}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},
                          {"vocab_size", 1000}};
  Analysis analysis = run.Finish(options);
  const StagesFacts& f = StagesOf(analysis);
  EXPECT_DOUBLE_EQ(*StageOf(f, "prefill").tokens, 400);
  EXPECT_DOUBLE_EQ(*StageOf(f, "decode_step").flops,
                   2 * 4 * kParams + 4 * 4.0 * 256 * 101 + 2.0 * 4 * 256 * 1000);
  EXPECT_TRUE(StageOf(f, "decode_step").mbu);
}

}  // namespace
}  // namespace nl
