// SPDX-License-Identifier: Apache-2.0
// Planted causes of known size, clean runs, and runs that lack what a rule needs.
#include "analyze/facts/findings.h"

#include <gtest/gtest.h>

#include <set>

#include "analyze/rules/engine.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;
constexpr int64_t kUs = 1000, kMs = 1'000'000;

struct Answer {
  FindingsFacts facts;
  const Finding* Find(const std::string& rule) const {
    for (const Finding& f : facts.findings) {
      if (f.rule == rule) return &f;
    }
    return nullptr;
  }
  const NotAssessed* Lacks(const std::string& rule) const {
    for (const NotAssessed& n : facts.not_assessed) {
      if (n.rule == rule) return &n;
    }
    return nullptr;
  }
  std::string Names() const {
    std::string out;
    for (const Finding& f : facts.findings) out += f.rule + " ";
    return out;
  }
};

Answer Ask(RunBuilder& run) {
  Analysis analysis = run.Finish();
  const auto facts = analysis.Need<FindingsFacts>();
  EXPECT_TRUE(facts.ok()) << (facts.ok() ? "" : facts.error().ToString());
  Answer out;
  if (facts.ok()) out.facts = **facts;
  return out;
}

// Writes operators one after the other, each with a launch and a kernel.
struct Script {
  RunBuilder run;
  ThreadId main = run.Thread("main");
  int64_t host_ns = 0, device_ns = 0;

  // Every imported run says what it is of.
  explicit Script(const char* backend = "torch", const char* vendor = "nvidia") {
    run.document()["software"]["backend"] = backend;
    run.document()["hardware"]["vendor"] = vendor;
  }

  // A kernel of `kernel_ns` launched by an operator that takes `op_ns` of the host; the launch call takes 5
  // µs.
  RowId Op(const std::string& op, const std::string& kernel, int64_t op_ns, int64_t kernel_ns,
           const std::string& dims = "", const std::string& types = "") {
    const RowId row = run.Op(main, op, host_ns, op_ns, dims, types);
    const RowId launch = run.Api(main, "cudaLaunchKernel", host_ns + op_ns - 6 * kUs, 5 * kUs, row);
    device_ns = std::max(device_ns, host_ns + op_ns);
    run.Kernel(kernel, 7, device_ns, kernel_ns, launch, row);
    device_ns += kernel_ns;
    host_ns += op_ns;
    return row;
  }
  void Step(int64_t number, int64_t from_ns) {
    run.Step("LLM@decode_step", number, from_ns, host_ns - from_ns);
    run.Range(main, "LLM@decode_step", from_ns, host_ns - from_ns);
  }
  // Compute without a flaw: few long kernels, the host far ahead of the device.
  void Clean(int kernels = 8) {
    static const char* names[] = {"nvjet_tst_a", "nvjet_tst_b", "nvjet_tst_c", "nvjet_tst_d",
                                  "nvjet_tst_e", "nvjet_tst_f", "nvjet_tst_g", "nvjet_tst_h"};
    for (int i = 0; i < kernels; ++i)
      Op("aten::mm", names[i % 8], 20 * kUs, 10 * kMs, "[[4096,4096],[4096,4096]]",
         R"(["c10::BFloat16","c10::BFloat16"])");
  }
};

TEST(Findings, ACleanRunHasNoFindings) {
  Script s;
  s.Clean();
  const Answer a = Ask(s.run);
  EXPECT_EQ(a.Names(), "");
  EXPECT_EQ(a.facts.diagnosis.bound, RunBound::kGpuCompute);
  EXPECT_GT(a.facts.diagnosis.confidence, 0.8);
  EXPECT_GE(a.facts.diagnosis.evidence.size(), 2u);
  ASSERT_NE(a.Lacks("low_occupancy"), nullptr);
  EXPECT_EQ(a.Lacks("low_occupancy")->needs, std::vector<std::string>{"kernel counters"});
}

TEST(Findings, AnEmptyRunIsUnknownAndListsTheMissingData) {
  RunBuilder run;
  const Answer a = Ask(run);
  EXPECT_EQ(a.Names(), "");
  EXPECT_EQ(a.facts.diagnosis.bound, RunBound::kUnknown);
  EXPECT_FALSE(a.facts.diagnosis.settle.empty());
  for (const char* rule :
       {"gpu_idle", "host_bound_launch", "graph_candidate", "sync_in_loop", "hot_kernel", "many_tiny_ops",
        "pageable_transfer", "memcpy_dominates", "layout_copies", "attention_unfused", "fp32_in_mixed",
        "unfused_elementwise", "no_overlap", "alloc_churn", "tensor_core_unused", "profiler_overhead"})
    EXPECT_NE(a.Lacks(rule), nullptr) << rule;
}

// 6 steps of 40 operators, each 50 µs of host for 2 µs of device.
Script LaunchBound(const char* backend = "torch") {
  Script s(backend);
  for (int step = 0; step < 6; ++step) {
    const int64_t from = s.host_ns;
    for (int i = 0; i < 40; ++i) s.Op("aten::mul", "vectorized_elementwise_kernel<mul>", 50 * kUs, 2 * kUs);
    s.Step(step, from);
  }
  return s;
}

TEST(Findings, AdviceUsesTheWordsOfTheFrameworkAndTheDevice) {
  const auto ask = [](const char* backend) {
    Script s = LaunchBound(backend);
    return Ask(s.run);
  };
  const auto first = [&](const char* backend) {
    const Answer a = ask(backend);
    const Finding* f = a.Find("graph_candidate");
    return f == nullptr ? std::string() : f->suggestions[0];
  };
  EXPECT_NE(first("torch").find("torch."), std::string::npos);
  const Answer other = ask("cuda");
  ASSERT_NE(other.Find("graph_candidate"), nullptr);
  for (const Finding& f : other.facts.findings) {
    for (const std::string& s : f.suggestions)
      EXPECT_EQ(s.find("torch"), std::string::npos) << f.rule << ": " << s;
  }
  EXPECT_EQ(first("jax"), "") << "XLA launches by itself";
  for (const char* vendor : {"nvidia", "amd"}) {
    Script s("torch", vendor);
    s.Op("aten::foo", "some_kernel", 20 * kUs, kMs);
    const Answer a = Ask(s.run);
    ASSERT_NE(a.Find("hot_kernel"), nullptr) << vendor;
    bool ncu = false;
    for (const std::string& text : a.Find("hot_kernel")->suggestions)
      ncu = ncu || text.find("ncu") != std::string::npos;
    EXPECT_EQ(ncu, std::string_view(vendor) == "nvidia");
  }
}

TEST(Findings, RepeatedShortLaunchesAreAGraphCandidate) {
  Script s = LaunchBound();
  const Answer a = Ask(s.run);
  ASSERT_FALSE(a.facts.findings.empty());
  const Finding& f = a.facts.findings[0];
  EXPECT_EQ(f.rule, "graph_candidate");
  // The device is idle for 48 of every 50 µs.
  EXPECT_NEAR(*f.impact_ms, 240 * 0.048, 0.2);
  EXPECT_NE(f.suggestions[0].find("CUDA graph"), std::string::npos);
  EXPECT_GE(f.suggestions.size(), 3u);
  const Finding* launch = a.Find("host_bound_launch");
  ASSERT_NE(launch, nullptr);
  EXPECT_NEAR(*launch->cost_ms, 240 * 0.006, 0.1) << "5 µs of call and 1 µs of latency each";
  EXPECT_EQ(launch->counted_in, std::vector<std::string>{"graph_candidate"});
  ASSERT_NE(a.Find("gpu_idle"), nullptr);
  EXPECT_NE(a.Find("gpu_idle")->suggestions[0].find("which the device waits for"), std::string::npos);
  EXPECT_NE(a.Find("many_tiny_ops"), nullptr);
  EXPECT_EQ(a.facts.diagnosis.bound, RunBound::kLaunch);
}

TEST(Findings, IdleTimeWithoutHostEventsAsksToRecordTheHost) {
  RunBuilder run;
  for (int i = 0; i < 20; ++i) run.Kernel("k", 7, i * 100 * kUs, 10 * kUs);
  const Answer a = Ask(run);
  const Finding* f = a.Find("gpu_idle");
  ASSERT_NE(f, nullptr);
  EXPECT_NE(f->message.find("1.7 ms with no recorded cause"), std::string::npos) << f->message;
  EXPECT_NE(f->suggestions[0].find("Record the host too"), std::string::npos) << f->suggestions[0];
}

TEST(Findings, OneKernelAgainAndAgainIsNoGraphCandidateAndItsLaunchesAreReported) {
  Script s;
  for (int i = 0; i < 240; ++i) s.Op("aten::mul", "vectorized_elementwise_kernel<mul>", 50 * kUs, 2 * kUs);
  const Answer a = Ask(s.run);
  EXPECT_EQ(a.Find("graph_candidate"), nullptr);
  ASSERT_NE(a.Find("host_bound_launch"), nullptr);
  EXPECT_GT(*a.Find("host_bound_launch")->score, 0);
}

TEST(Findings, StepsThatDifferAreNotAGraphCandidate) {
  Script s;
  for (int step = 0; step < 6; ++step) {
    const int64_t from = s.host_ns;
    for (int i = 0; i < 40; ++i) s.Op("aten::op" + std::to_string(step), "k", 50 * kUs, 2 * kUs);
    s.Step(step, from);
  }
  EXPECT_EQ(Ask(s.run).Find("graph_candidate"), nullptr);
}

// 5 steps of one long kernel; `item` adds an .item() that drains the device.
Script Loop(bool item, bool labelled = true) {
  Script s;
  for (int step = 0; step < 5; ++step) {
    const int64_t from = s.host_ns;
    s.Op("aten::mm", "nvjet_tst_a" + std::to_string(step), 100 * kUs, 2 * kMs);
    if (item) {
      // Waits until the device is done, copies 8 bytes, and returns 20 µs later.
      const int64_t start = s.host_ns, done = s.device_ns;
      const RowId op = s.run.Op(s.main, "aten::item", start, done + 30 * kUs - start);
      const RowId inner = s.run.Op(s.main, "aten::_local_scalar_dense", start, done + 30 * kUs - start);
      const RowId copy = s.run.Api(s.main, "cudaMemcpyAsync", start + kUs, 5 * kUs, inner);
      s.run.Api(s.main, "cudaStreamSynchronize", start + 8 * kUs, done + 20 * kUs - start - 8 * kUs, inner);
      s.run.Memcpy("DtoH", "Device", "Pinned", 8, 7, done, 10 * kUs, copy, inner);
      (void)op;
      s.device_ns = done + 10 * kUs;
      s.host_ns = done + 30 * kUs;
    }
    if (labelled) s.Step(step, from);
  }
  return s;
}

TEST(Findings, ItemInEveryStepIsASyncInTheLoop) {
  Script s = Loop(true);
  const Answer a = Ask(s.run);
  const Finding* f = a.Find("sync_in_loop");
  ASSERT_NE(f, nullptr) << a.Names();
  EXPECT_EQ(f->op, "aten::item");
  EXPECT_EQ(f->stage, "decode_step");
  // From the end of the copy, 20 µs to the return and 100 µs to the next kernel, after each but the last.
  EXPECT_NEAR(*f->cost_ms, 4 * 0.12 + 0.02, 0.011);
  EXPECT_NE(f->suggestions[0].find("8 B per call"), std::string::npos);
  EXPECT_NE(f->message.find("cudaStreamSynchronize"), std::string::npos);
}

TEST(Findings, NoFindingWithoutSyncAndNotAssessedWithoutSteps) {
  Script without = Loop(false);
  const Answer silent = Ask(without.run);
  EXPECT_EQ(silent.Find("sync_in_loop"), nullptr);
  EXPECT_EQ(silent.Lacks("sync_in_loop"), nullptr);
  Script unlabelled = Loop(true, false);
  const Answer lacking = Ask(unlabelled.run);
  EXPECT_EQ(lacking.Find("sync_in_loop"), nullptr);
  EXPECT_NE(lacking.Lacks("sync_in_loop"), nullptr);
}

Script Copies(const std::string& from) {
  Script s;
  for (int i = 0; i < 3; ++i) {
    s.Clean(1);
    s.host_ns = s.device_ns;
    const RowId op = s.run.Op(s.main, "aten::to", s.host_ns, 10 * kMs);
    const RowId api = s.run.Api(s.main, "cudaMemcpyAsync", s.host_ns, 10 * kMs, op);
    s.run.Memcpy("HtoD", from, "Device", 48 << 20, 7, s.host_ns, 10 * kMs, api, op);
    s.host_ns += 10 * kMs;
    s.device_ns = s.host_ns;
  }
  return s;
}

TEST(Findings, PageableCopiesAreReportedWithTheirCaller) {
  Script s = Copies("Pageable");
  const Answer a = Ask(s.run);
  const Finding* f = a.Find("pageable_transfer");
  ASSERT_NE(f, nullptr) << a.Names();
  EXPECT_EQ(f->op, "aten::to");
  EXPECT_NEAR(*f->impact_ms, 30, 0.1);
  EXPECT_EQ(f, &a.facts.findings[0]);
  ASSERT_NE(a.Find("memcpy_dominates"), nullptr);
  EXPECT_EQ(*a.Find("memcpy_dominates")->impact_ms, 0) << "one cost, one finding";
  ASSERT_NE(a.Find("no_overlap"), nullptr);
  Script pinned = Copies("Pinned");
  const Answer b = Ask(pinned.run);
  EXPECT_EQ(b.Find("pageable_transfer"), nullptr);
  ASSERT_NE(b.Find("memcpy_dominates"), nullptr);
  EXPECT_NEAR(*b.Find("memcpy_dominates")->impact_ms, 30, 0.1);
  EXPECT_EQ(b.facts.diagnosis.bound, RunBound::kTransfer);
}

TEST(Findings, CopiesDuringKernelsOverlap) {
  Script s;
  s.Clean();
  const RowId api = s.run.Api(s.main, "cudaMemcpyAsync", s.host_ns, 5 * kUs);
  s.run.Memcpy("HtoD", "Pinned", "Device", 1 << 20, 9, 20 * kMs, 10 * kMs, api);
  EXPECT_EQ(Ask(s.run).Find("no_overlap"), nullptr);
}

TEST(Findings, AllocationsAfterWarmUpAreChurn) {
  const auto with = [](int64_t from_ns) {
    Script s;
    s.run.Op(s.main, "aten::zeros", 0, kUs);
    for (int i = 0; i < 6; ++i) {
      const RowId op = s.run.Op(s.main, "aten::empty", from_ns + i * kMs, 200 * kUs);
      s.run.Api(s.main, "cudaMalloc", from_ns + i * kMs, 100 * kUs, op);
    }
    s.host_ns = 70 * kMs;
    s.Clean();
    return Ask(s.run);
  };
  const Answer late = with(50 * kMs);
  ASSERT_NE(late.Find("alloc_churn"), nullptr) << late.Names();
  EXPECT_EQ(late.Find("alloc_churn")->op, "aten::empty");
  EXPECT_NEAR(*late.Find("alloc_churn")->impact_ms, 0.6, 1e-9);
  EXPECT_EQ(with(0).Find("alloc_churn"), nullptr) << "warm-up may allocate";
}

// GEMM, scale, softmax, GEMM of 8 heads, beside other work.
Script Attention(bool softmax) {
  Script s;
  const std::string half = R"(["c10::BFloat16","c10::BFloat16"])";
  for (int layer = 0; layer < 4; ++layer) {
    s.run.Python(s.main, "nn.Module: LlamaAttention_" + std::to_string(layer), s.host_ns, 80 * kUs);
    s.Op("aten::bmm", "nvjet_tst_a", 20 * kUs, kMs, "[[8,512,64],[8,64,512]]", half);
    s.Op("aten::mul", "vectorized_elementwise_kernel<mul>", 20 * kUs, kMs, "[[8,512,512],[]]", half);
    if (softmax) s.Op("aten::_softmax", "cunn_SoftMaxForward", 20 * kUs, kMs, "[[8,512,512],[],[]]", half);
    s.Op("aten::bmm", "nvjet_tst_b", 20 * kUs, kMs, "[[8,512,512],[8,512,64]]", half);
    s.Op("aten::mm", "nvjet_tst_c", 20 * kUs, 3 * kMs, "[[512,512],[512,512]]", half);
  }
  return s;
}

TEST(Findings, UnfusedAttentionIsReportedWithItsModule) {
  Script s = Attention(true);
  const Answer a = Ask(s.run);
  const Finding* f = a.Find("attention_unfused");
  ASSERT_NE(f, nullptr) << a.Names();
  EXPECT_EQ(f->module, "LlamaAttention");
  EXPECT_NEAR(*f->cost_ms, 16, 1e-9);
  Script other = Attention(false);
  EXPECT_EQ(Ask(other.run).Find("attention_unfused"), nullptr);
}

// mm to 4x, silu, mm back, in `type`; a 16-bit projection beside it.
Script Mlp(const std::string& type, bool modules, const std::string& projection = "c10::BFloat16") {
  Script s;
  const std::string both = "[\"" + type + "\",\"" + type + "\"]",
                    half = "[\"" + projection + "\",\"" + projection + "\"]";
  for (int layer = 0; layer < 4; ++layer) {
    s.Op("aten::mm", "nvjet_tst_q", 20 * kUs, kMs, "[[64,256],[256,256]]", half);
    if (modules) s.run.Python(s.main, "nn.Module: LlamaMLP_" + std::to_string(layer), s.host_ns, 80 * kUs);
    if (type == "float")
      s.Op("aten::copy_", "elementwise_copy", 20 * kUs, kMs, "[[256,1024],[256,1024],[]]",
           R"(["float","c10::BFloat16","Scalar"])");
    s.Op("aten::mm", "cutlass_80_simt_sgemm_a", 20 * kUs, 2 * kMs, "[[64,256],[256,1024]]", both);
    s.Op("aten::silu", "silu_kernel", 20 * kUs, 10 * kUs, "[[64,1024]]", both);
    s.Op("aten::mm", "cutlass_80_simt_sgemm_b", 20 * kUs, 2 * kMs, "[[64,1024],[1024,256]]", both);
  }
  return s;
}

TEST(Findings, Fp32GemmsInA16BitModelNameTheMlp) {
  for (const bool modules : {true, false}) {
    Script s = Mlp("float", modules);
    const Answer a = Ask(s.run);
    const Finding* f = a.Find("fp32_in_mixed");
    ASSERT_NE(f, nullptr) << a.Names();
    EXPECT_EQ(f->module, modules ? "LlamaMLP" : "MLP (inferred)");
    EXPECT_NEAR(*f->cost_ms, 4 * (2 + 2 + 1), 1e-9) << "products and the casts that feed them";
    EXPECT_EQ(f, &a.facts.findings[0]);
    const Finding* tensor = a.Find("tensor_core_unused");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(*tensor->impact_ms, 0);
  }
}

TEST(Findings, ASingleTypeIsNotMixedPrecision) {
  Script half = Mlp("c10::BFloat16", true);
  EXPECT_EQ(Ask(half.run).Find("fp32_in_mixed"), nullptr);
  Script fp32 = Mlp("float", true, "float");
  const Answer a = Ask(fp32.run);
  EXPECT_EQ(a.Find("fp32_in_mixed"), nullptr);
  ASSERT_NE(a.Find("tensor_core_unused"), nullptr) << "told by the kernel's name";
  EXPECT_GT(*a.Find("tensor_core_unused")->impact_ms, 0);
}

TEST(Findings, DoublePrecisionIsNamedAndScalarsOfDoubleAreNot) {
  const auto ask = [](const char* kernel, const char* backend = "torch") {
    Script s(backend);
    for (int i = 0; i < 8; ++i) s.Op("aten::mul", kernel, 20 * kUs, 200 * kUs);
    return Ask(s.run);
  };
  const Answer a = ask("vectorized_elementwise_kernel<4, at::native::BinaryFunctor<double, double, double>>");
  const Finding* f = a.Find("wide_type");
  ASSERT_NE(f, nullptr) << a.Names();
  EXPECT_NEAR(*f->impact_ms, 0.8, 1e-9) << "half of the bytes";
  EXPECT_EQ(ask("vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float>>")
                .Find("wide_type"),
            nullptr);
  EXPECT_EQ(ask("multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>, float const*, double, double>")
                .Find("wide_type"),
            nullptr)
      << "a learning rate";
  EXPECT_EQ(ask("vectorized_elementwise_kernel<4, BinaryFunctor<double>>", "jax").Find("wide_type"), nullptr)
      << "JAX has it only where it was asked for";
}

TEST(Findings, ChainsOfPointwiseKernelsCostWhatFusionSaves) {
  const auto with = [](const char* second_dims) {
    Script s;
    s.Clean(4);
    for (int i = 0; i < 10; ++i) {
      s.Op("aten::mul", "vectorized_elementwise_kernel<mul>", 20 * kUs, kMs, "[[64,64],[]]");
      s.Op("aten::add", "vectorized_elementwise_kernel<add>", 20 * kUs, 2 * kMs, second_dims);
      s.Op("aten::neg", "vectorized_elementwise_kernel<neg>", 20 * kUs, kMs, "[[64,64]]");
      s.Op("aten::mean", "reduce_kernel", 20 * kUs, kMs, "[[64,64]]");
    }
    return Ask(s.run);
  };
  const Answer a = with("[[64,64],[]]");
  const Finding* f = a.Find("unfused_elementwise");
  ASSERT_NE(f, nullptr) << a.Names();
  EXPECT_NEAR(*f->cost_ms, 10 * 2, 1e-9) << "all but the longest of each";
  EXPECT_EQ(with("[[32,32],[]]").Find("unfused_elementwise"), nullptr);
}

TEST(Findings, CopiesWithinTheDeviceAreLayoutCopies) {
  const auto with = [](const char* types) {
    Script s;
    s.Clean(4);
    for (int i = 0; i < 4; ++i)
      s.Op("aten::copy_", "direct_copy_kernel_cuda", 20 * kUs, 2 * kMs, "[[64,64],[64,64],[]]", types);
    return Ask(s.run);
  };
  const Answer a = with(R"(["float","float","Scalar"])");
  ASSERT_NE(a.Find("layout_copies"), nullptr) << a.Names();
  EXPECT_NEAR(*a.Find("layout_copies")->impact_ms, 8, 1e-9);
  EXPECT_EQ(with(R"(["float","c10::BFloat16","Scalar"])").Find("layout_copies"), nullptr)
      << "a cast does work";
}

TEST(Findings, AHotKernelGetsAdviceForItsFamily) {
  for (const char* name :
       {"nvjet_tst_hot", "cudnn::conv2d_fprop", "flash_fwd_kernel", "vectorized_elementwise_kernel<add>",
        "layer_norm_kernel", "ncclDevKernel_AllReduce_Sum_f32", "radixSortKVInPlace"}) {
    Script s;
    s.Clean(8);
    s.Op("aten::x", name, 20 * kUs, 30 * kMs);
    const Answer a = Ask(s.run);
    const Finding* f = a.Find("hot_kernel");
    ASSERT_NE(f, nullptr) << name;
    EXPECT_GE(f->suggestions.size(), 2u) << name;
    EXPECT_NEAR(*f->impact_ms, 30, 1e-9);
  }
}

TEST(Findings, RecordedCountersAreNotAskedFor) {
  const auto asks = [](bool measured) {
    Script s;
    s.Clean(8);
    s.Op("aten::x", "sm90_xmma_gemm_f32f32_tn", 20 * kUs, 30 * kMs);
    if (measured) {
      KernelCounterRow row;
      row.kernel_id = static_cast<RowId>(s.run.data().kernel.size() - 1);
      row.achieved_occupancy = 0.5;
      s.run.data().kernel_counter.Add(row);
    }
    const Answer a = Ask(s.run);
    const Finding* f = a.Find("hot_kernel");
    EXPECT_NE(f, nullptr);
    return f != nullptr &&
           std::any_of(f->suggestions.begin(), f->suggestions.end(), [](const std::string& text) {
             return text.find("Attach an ncu report") != std::string::npos;
           });
  };
  EXPECT_TRUE(asks(false));
  EXPECT_FALSE(asks(true));
}

TEST(Findings, DataLossComesFirst) {
  Script s = LaunchBound();
  ImportLogRow row;
  row.reason = s.run.Name("bad_event");
  row.severity = s.run.Name("data_loss");
  row.count = 3;
  s.run.data().import_log.Add(row);
  const Answer a = Ask(s.run);
  ASSERT_GE(a.facts.findings.size(), 2u);
  EXPECT_EQ(a.facts.findings[0].rule, "data_loss");
  EXPECT_EQ(a.facts.findings[0].score, std::nullopt);
}

TEST(Findings, ProfilerOverheadIsReported) {
  const auto with = [](int64_t overhead_ns) {
    Script s;
    s.Clean();
    s.run.Range(s.main, "Activity Buffer Request", 0, overhead_ns, "overhead");
    return Ask(s.run);
  };
  ASSERT_NE(with(8 * kMs).Find("profiler_overhead"), nullptr);
  EXPECT_NEAR(*with(8 * kMs).Find("profiler_overhead")->impact_ms, 8, 0.01);
  EXPECT_EQ(with(kMs).Find("profiler_overhead"), nullptr);
}

// Rules on counters, with values set by hand.
TEST(Findings, CounterRulesFireOnTheirValues) {
  const struct {
    const char* rule;
    std::map<std::string, double, std::less<>> fires, silent;
  } cases[] = {
      {"memory_bound_low_ai",
       {{"features.ai", 4}, {"features.dram_norm", 0.7}, {"features.lat_norm", 0.1}},
       {{"features.ai", 9}}},
      {"low_occupancy",
       {{"features.occ", 0.3}, {"features.warp_eff", 0.5}, {"features.lat_norm", 0.1}},
       {{"features.occ", 0.5}}},
      {"poor_l2_locality",
       {{"features.l2_hit", 0.3}, {"features.dram_norm", 0.6}, {"features.lat_norm", 0.1}},
       {{"features.l2_hit", 0.5}}},
      {"warp_divergence",
       {{"features.warp_eff", 0.5}, {"features.occ", 0.5}, {"features.lat_norm", 0.1}},
       {{"features.warp_eff", 0.7}}},
      {"compute_bound_kernel",
       {{"kernel.sm_pct", 0.6},
        {"kernel.dram_pct", 0.3},
        {"kernel.share", 0.1},
        {"kernel.slack", 0.3},
        {"kernel.is_gemm", 1}},
       {{"kernel.slack", 0.1}}},
      {"memory_bound_kernel",
       {{"kernel.sm_pct", 0.3}, {"kernel.dram_pct", 0.6}, {"kernel.share", 0.1}, {"kernel.slack", 0.3}},
       {{"kernel.slack", 0.1}}},
      {"register_spill", {{"kernel.local_sectors", 1}}, {{"kernel.local_sectors", 0}}},
      {"bank_conflicts", {{"kernel.bank_conflicts", 1001}}, {{"kernel.bank_conflicts", 1000}}},
      {"uncoalesced", {{"kernel.coalescing", 0.4}}, {{"kernel.coalescing", 0.6}}},
      {"stall_memory", {{"kernel.stall_memory", 0.31}}, {{"kernel.stall_memory", 0.3}}},
      {"stall_sync", {{"kernel.stall_sync", 0.21}}, {{"kernel.stall_sync", 0.2}}},
      {"stall_dependency", {{"kernel.stall_dependency", 0.26}}, {{"kernel.stall_dependency", 0.25}}},
      {"stall_contention", {{"kernel.stall_contention", 0.16}}, {{"kernel.stall_contention", 0.15}}},
  };
  const RuleSet set = *RuleSet::Shipped();
  for (const auto& c : cases) {
    const bool kernel = set.Find(c.rule)->scope == RuleScope::kKernel;
    const auto fired = [&](const std::map<std::string, double, std::less<>>& values) {
      Features features;
      features.available = {"kernel_counters", "ncu_metrics"};
      FeatureSubject subject;
      subject.numbers = values;
      for (const FeatureInfo& name : FeatureNames()) {
        if (name.unit == "text")
          subject.texts[std::string(name.name)] = "x";  // suggestions without a name are left out
      }
      (kernel ? features.kernels : features.ops).push_back(subject);
      for (const Finding& f : ApplyRules(set, features).findings) {
        if (f.rule == c.rule) return f.suggestions.size() >= 3;
      }
      return false;
    };
    EXPECT_TRUE(fired(c.fires)) << c.rule;
    std::map<std::string, double, std::less<>> changed = c.fires;
    for (const auto& [name, value] : c.silent) changed[name] = value;
    EXPECT_FALSE(fired(changed)) << c.rule;
    changed = c.fires;
    changed.erase(changed.begin());
    EXPECT_FALSE(fired(changed)) << c.rule << " with a value missing";
  }
}

TEST(Findings, ClockRuleFiresBelowNineTenths) {
  const RuleSet set = *RuleSet::Shipped();
  Features features;
  features.available = {"clock_samples"};
  features.run.numbers = {{"run.clock_ratio", 0.8}, {"run.device_busy_ms", 100}};
  RuleResults results = ApplyRules(set, features);
  ASSERT_EQ(results.findings.size(), 1u);
  EXPECT_EQ(results.findings[0].rule, "clock_throttled");
  EXPECT_NEAR(*results.findings[0].impact_ms, 20, 1e-9);
  features.run.numbers["run.clock_ratio"] = 0.95;
  EXPECT_TRUE(ApplyRules(set, features).findings.empty());
}

TEST(Findings, ScoreIsWeightTimesImpactTimesConfidence) {
  Script s = LaunchBound();
  const Answer a = Ask(s.run);
  double before = 1e300;
  for (const Finding& f : a.facts.findings) {
    ASSERT_TRUE(f.score) << f.rule;
    EXPECT_DOUBLE_EQ(*f.score, SeverityWeight(f.severity) * *f.impact_ms * f.confidence);
    EXPECT_LE(*f.score, before) << "the costliest first";
    before = *f.score;
    EXPECT_FALSE(f.evidence.empty());
  }
}

TEST(Findings, HostileNamesAreText) {
  Script s;
  const std::string bad = "<script>\n|\"{run.wall_ms}\x1b[31m" + std::string(100'000, 'x');
  s.Clean(2);
  for (int i = 0; i < 3; ++i) s.Op(bad, bad, 20 * kUs, 30 * kMs, "[[1", "{");
  const Answer a = Ask(s.run);
  ASSERT_NE(a.Find("hot_kernel"), nullptr);
  EXPECT_NE(a.Find("hot_kernel")->message.find("{run.wall_ms}"), std::string::npos)
      << "not read as a template";
}

TEST(Findings, MissingNamesAreHandled) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  ApiCallRow api;
  api.thread_id = main;
  api.start_ns = 0;
  api.dur_ns = 10;
  run.data().api_call.Add(api);
  run.data().api_call.op_id.push_back(RowId::kNull);
  KernelRow kernel;
  kernel.start_ns = 20;
  kernel.dur_ns = 10;
  run.data().kernel.Add(kernel);
  run.data().kernel.api_call_id.push_back(static_cast<RowId>(0));
  run.data().kernel.op_id.push_back(RowId::kNull);
  run.document() = {{"model", {{"name", 3}}}, {"capture", 4}};
  const Answer a = Ask(run);
  EXPECT_NE(a.Find("hot_kernel"), nullptr) << a.Names();
}

TEST(Findings, EveryValueHasAName) {
  Script s = Mlp("float", true);
  Analysis analysis = s.run.Finish();
  const Features f =
      ComputeFeatures(analysis.data(), **analysis.Need<TimelineFacts>(), **analysis.Need<IdleFacts>());
  std::vector<const FeatureSubject*> all = {&f.run};
  for (const auto* list : {&f.ops, &f.kernels, &f.stages}) {
    for (const FeatureSubject& subject : *list) all.push_back(&subject);
  }
  for (const FeatureSubject* subject : all) {
    for (const auto& [name, value] : subject->numbers) {
      ASSERT_NE(FindFeature(name), nullptr) << name;
      EXPECT_NE(FindFeature(name)->unit, "text") << name;
    }
    for (const auto& [name, text] : subject->texts) {
      ASSERT_NE(FindFeature(name), nullptr) << name;
      EXPECT_EQ(FindFeature(name)->unit, "text") << name;
    }
  }
}

TEST(Features, WorkThatRanOnIntoAPauseIsBusyAndNotPaused) {
  testing_analyze::RunBuilder run;
  run.Kernel("gemm", 7, 0, 400);
  run.Kernel("gemm", 7, 900, 100);
  run.data().document["capture"]["pauses"] = {{{"start_ns", 100}, {"end_ns", 800}}};
  Analysis analysis = run.Finish();
  const Features f =
      ComputeFeatures(analysis.data(), **analysis.Need<TimelineFacts>(), **analysis.Need<IdleFacts>());
  EXPECT_NEAR(f.run.numbers.at("run.paused_ms"), 400e-6, 1e-12);
  EXPECT_NEAR(f.run.numbers.at("run.gpu_utilization"), 500.0 / 600, 1e-9);
}

// Two devices copy for 80 of 100 ms, and one kernel runs on both at once: costs are those of the mean device,
// on the scale of the wall.
TEST(Findings, CostsOfSeveralDevicesAreThoseOfTheMeanDevice) {
  RunBuilder run;
  for (const int32_t device : {0, 1}) {
    run.Memcpy("HtoD", "Pinned", "Device", 1 << 20, 7, 0, 80 * kMs, RowId::kNull, RowId::kNull, device);
    run.Kernel("gemm", 7, 80 * kMs, 20 * kMs, RowId::kNull, RowId::kNull, device);
  }
  const Answer answer = Ask(run);
  const Finding* copies = answer.Find("copies_outweigh_work");
  ASSERT_NE(copies, nullptr) << answer.Names();
  EXPECT_DOUBLE_EQ(copies->cost_ms.value_or(0), 80);
  EXPECT_NE(copies->message.find("80.0 ms of the 100.0 ms"), std::string::npos) << copies->message;
  EXPECT_NE(copies->message.find("means over 2 devices"), std::string::npos) << copies->message;
  const Finding* hot = answer.Find("hot_kernel");
  ASSERT_NE(hot, nullptr) << answer.Names();
  EXPECT_DOUBLE_EQ(hot->cost_ms.value_or(0), 20);
}

// Copies and the recorder's time before the part, such as those of loading a model, are not of it.
TEST(Findings, APartIsJudgedByWhatIsInIt) {
  RunBuilder run;
  const ThreadId recorder = run.Thread("recorder");
  run.Memcpy("HtoD", "Pageable", "Device", 1 << 20, 7, 0, 80 * kMs);
  run.Range(recorder, "flush", 0, 80 * kMs, "overhead");
  run.Memcpy("HtoD", "Pageable", "Device", 1 << 20, 7, 80 * kMs, 2 * kMs);
  run.Range(recorder, "flush", 80 * kMs, 1 * kMs, "overhead");
  run.Kernel("gemm", 7, 82 * kMs, 18 * kMs);
  Analysis analysis = run.Finish();
  ASSERT_TRUE(analysis.Need<FindingsFacts>().ok());
  const auto facts = analysis.FactsOf({80 * kMs, 100 * kMs}, FindingsFacts::kName);
  ASSERT_TRUE(facts.ok()) << facts.error().ToString();
  const Answer answer{facts->Get<FindingsFacts>()};
  EXPECT_EQ(answer.Find("memcpy_dominates"), nullptr) << answer.Names();
  const Finding* overhead = answer.Find("profiler_overhead");
  EXPECT_EQ(overhead, nullptr) << overhead->message;
}

// Kernels that run at the same time on one device sum to more than the wall.
TEST(Findings, NoCostIsLargerThanTheWall) {
  RunBuilder run;
  for (int64_t stream = 7; stream < 10; ++stream) run.Kernel("gemm", stream, 0, 10 * kMs);
  const Answer answer = Ask(run);
  const Finding* hot = answer.Find("hot_kernel");
  ASSERT_NE(hot, nullptr) << answer.Names();
  EXPECT_DOUBLE_EQ(hot->cost_ms.value_or(0), 10);
}

}  // namespace
}  // namespace nl
