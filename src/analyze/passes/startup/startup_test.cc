// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/startup.h"

#include <gtest/gtest.h>

#include "analyze/passes/startup/part_tree.h"
#include "analyze/passes/startup/stack_activity.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using passes::startup::Activity;
using passes::startup::ActivityOf;
using passes::startup::PartTree;
using testing_analyze::RunBuilder;
using Part = StartupFacts::Part;

constexpr int64_t kMsNs = 1'000'000;
const std::string kFind = "_find_and_load (<frozen importlib._bootstrap>:1360)";

void ExpectActivity(const std::string& stack, StartupKind kind, const std::string& outer,
                    const std::string& inner = "") {
  const Activity found = ActivityOf(stack);
  EXPECT_EQ(NamesOf(found.kind)[static_cast<size_t>(found.kind)], NamesOf(kind)[static_cast<size_t>(kind)])
      << stack;
  EXPECT_EQ(found.names[0], outer) << stack;
  EXPECT_EQ(found.names[1], inner) << stack;
}

TEST(StackActivity, AnImportIsNamedByThePackageAskedForAndTheOneThatRuns) {
  const std::string torch = "<module> (prog.py:1);" + kFind + ";<module> (torch/__init__.py:9)";
  ExpectActivity(torch, StartupKind::kImport, "torch", "torch itself");
  ExpectActivity(torch + ";" + kFind + ";<module> (torch/_dynamo/utils.py:3);f (re/__init__.py:1)",
                 StartupKind::kImport, "torch", "torch._dynamo");
  ExpectActivity(torch + ";" + kFind + ";<module> (sympy/core/add.py:3)", StartupKind::kImport, "torch",
                 "sympy");
  ExpectActivity("main (prog.py:2);" + kFind + ";_find_spec (<frozen importlib._bootstrap>:9)",
                 StartupKind::kImport, "finding and compiling modules");
}

TEST(StackActivity, LoadingALibraryIsNotAnImportButWhatTheLibraryImportsIs) {
  const std::string extension = "<module> (prog.py:1);" + kFind +
                                ";<module> (torch/__init__.py:9);ExtensionFileLoader.create_module "
                                "(<frozen importlib._bootstrap_external>:1289)";
  ExpectActivity(extension + ";init() [libtorch_cpu.so]", StartupKind::kLibrary, "libtorch_cpu.so");
  ExpectActivity(extension + ";" + kFind + ";<module> (numpy/__init__.py:1)", StartupKind::kImport, "torch",
                 "numpy");
  ExpectActivity("main [prog];dlopen [libc.so.6];_dl_relocate [ld-linux-x86-64.so.2]", StartupKind::kLibrary,
                 "dynamic linker");
}

TEST(StackActivity, FunctionsWaitsAndCompilersAreToldApart) {
  ExpectActivity("<module> (prog.py:1);load (prog.py:7);PyObject_Call [python3.12]", StartupKind::kPython,
                 "load (prog.py)");
  ExpectActivity("main [prog];work() [prog]", StartupKind::kNative, "work()");
  ExpectActivity("_start [python3.12];Py_InitializeFromConfig [python3.12]", StartupKind::kInterpreter, "");
  ExpectActivity("main (prog.py:2);[kernel] futex;[waits]", StartupKind::kWait, "futex", "main (prog.py)");
  ExpectActivity("read [libc.so.6];[kernel] read;[waits]", StartupKind::kWait, "read");
  ExpectActivity("main (prog.py:2);gc_collect_main [libpython3.11.so.1.0]", StartupKind::kPython,
                 "garbage collection");
  ExpectActivity("main (prog.py:2);" + kFind + ";<module> (torch/__init__.py:9);[waits for the disk]",
                 StartupKind::kWait, "the disk", "import torch");
  ExpectActivity(
      "main (prog.py:2);compile_fx (torch/_inductor/compile_fx.py:8);poll (selectors.py:1);[waits]",
      StartupKind::kCompile, "poll (selectors.py)");
  ExpectActivity("main (prog.py:2);[libnvrtc.so.13]", StartupKind::kCompile, "libnvrtc.so.13");
  ExpectActivity("main (prog.py:2);_lazy_init (torch/cuda/__init__.py:1)", StartupKind::kContext,
                 "_lazy_init (torch/cuda/__init__.py)");
  ExpectActivity("", StartupKind::kNative, "");
}

TEST(PartTree, WhatIsTooShortIsInOthersSoThatEveryLevelSums) {
  PartTree tree;
  tree.Add(StartupKind::kImport, "torch", "torch.nn", 60);
  tree.Add(StartupKind::kImport, "torch", "re", 5);
  tree.Add(StartupKind::kImport, "site", "", 3);
  tree.Add(StartupKind::kPython, "main (a.py)", "", 90);
  const std::vector<Part> rows = tree.Rows(0, 10);
  ASSERT_EQ(rows.size(), 7u);
  const auto expect = [&](size_t i, int32_t depth, const char* name, int64_t ns) {
    EXPECT_EQ(rows[i].depth, depth) << i;
    EXPECT_EQ(rows[i].name, name) << i;
    EXPECT_EQ(rows[i].ns, ns) << i;
  };
  expect(0, 0, "Python functions", 90);
  expect(1, 1, "main (a.py)", 90);
  expect(2, 0, "Python imports", 68);
  expect(3, 1, "torch", 65);
  expect(4, 2, "torch.nn", 60);
  expect(5, 2, "others", 5);
  expect(6, 1, "others", 3);
  EXPECT_EQ(tree.total_ns(), 158);
}

// A program that imports, creates a context, and launches the same kernels in each step.
struct StartupProgram {
  RunBuilder run;
  ThreadId main = run.Thread("main");
  int64_t at_ns = 0;

  void Sample(const std::string& stack, int64_t ns) {
    CpuSampleRow row;
    row.thread_id = main;
    row.start_ns = at_ns;
    row.stack = run.Name(stack);
    row.weight_ns = ns;
    run.data().cpu_sample.Add(row);
    at_ns += ns;
  }
  void Call(const char* name, int64_t ns) {
    run.Api(main, name, at_ns, ns);
    at_ns += ns;
  }
  void Launch(const std::string& kernel, int64_t ns = 5000) {
    const RowId call = run.Api(main, "cudaLaunchKernel", at_ns, ns);
    run.Kernel(kernel, 7, at_ns + ns, 3000, call);
    at_ns += ns + 2000;
  }
  void Step(int number, int64_t first_launch_ns = 5000) {
    const int64_t start_ns = at_ns;
    Launch("gemm", first_launch_ns);
    for (int i = 0; i < 5; ++i) Launch("relu" + std::to_string(i));
    run.Range(main, "ProfilerStep#" + std::to_string(number), start_ns, at_ns - start_ns);
    run.Step("ProfilerStep", number, start_ns, at_ns - start_ns);
  }
};

const Part* Find(const std::vector<Part>& parts, StartupKind kind) {
  for (const Part& part : parts) {
    if (part.kind == kind && part.depth == 0) return &part;
  }
  return nullptr;
}
int64_t SumNs(const std::vector<Part>& parts) {
  int64_t sum_ns = 0;
  for (const Part& part : parts) sum_ns += part.depth == 0 ? part.ns : 0;
  return sum_ns;
}

StartupFacts Explained(StartupProgram& program) {
  Analysis analysis = program.run.Finish();
  const auto made = analysis.Need<StartupFacts>();
  EXPECT_TRUE(made.ok()) << made.error().ToString();
  const StartupFacts facts = **made;
  EXPECT_EQ(SumNs(facts.parts), facts.end_ns - facts.start_ns);
  if (!facts.warmup_parts.empty()) {
    EXPECT_EQ(SumNs(facts.warmup_parts), facts.warmup_extra_ns);
  }
  return facts;
}

TEST(Startup, PartsSumToTheTimeBeforeTheFirstStep) {
  StartupProgram p;
  p.Sample("<module> (prog.py:1);" + kFind + ";<module> (torch/__init__.py:9)", 40 * kMsNs);
  p.Sample("<module> (prog.py:2);load (prog.py:7)", 10 * kMsNs);
  p.at_ns += 30 * kMsNs;  // a sample stands for at most twice its weight
  p.Call("cuDevicePrimaryCtxRetain", 25 * kMsNs);
  p.Call("cuLibraryLoadData", 5 * kMsNs);
  p.Call("cudaMalloc", kMsNs);
  for (int i = 0; i < 12; ++i) p.Step(i);
  const StartupFacts facts = Explained(p);
  EXPECT_EQ(facts.start_ns, 0);
  EXPECT_EQ(facts.end_ns, 111 * kMsNs);
  EXPECT_EQ(facts.before_ns, 80 * kMsNs);
  EXPECT_EQ(facts.explains, PhaseKind::kStartup);
  const auto expect = [&](StartupKind kind, int64_t ns) {
    const Part* part = Find(facts.parts, kind);
    ASSERT_NE(part, nullptr) << LabelOf(kind);
    EXPECT_EQ(part->ns, ns) << LabelOf(kind);
  };
  expect(StartupKind::kImport, 40 * kMsNs);
  expect(StartupKind::kPython, 20 * kMsNs);
  expect(StartupKind::kUnknown, 20 * kMsNs);
  expect(StartupKind::kContext, 25 * kMsNs);
  expect(StartupKind::kModule, 5 * kMsNs);
  expect(StartupKind::kAllocation, kMsNs);
  EXPECT_EQ(facts.imports_reason, "");
}

TEST(Startup, BeforeTheLaunchingThreadExistsTheMainThreadIsLookedAt) {
  StartupProgram p;
  const ThreadId worker = p.main;
  p.main = p.run.Thread("starter");
  for (size_t i = 0; i < 2; ++i) p.run.data().process.pid[i] = 7;
  p.run.data().thread.tid[0] = 8;
  p.run.data().thread.tid[1] = 7;
  p.Sample("<module> (prog.py:1);" + kFind + ";<module> (torch/__init__.py:9)", 40 * kMsNs);
  p.main = worker;
  p.Sample("run (threading.py:1);load (prog.py:7)", 10 * kMsNs);
  for (int i = 0; i < 12; ++i) p.Step(i);
  const StartupFacts facts = Explained(p);
  ASSERT_NE(Find(facts.parts, StartupKind::kImport), nullptr);
  EXPECT_EQ(Find(facts.parts, StartupKind::kImport)->ns, 40 * kMsNs);
  EXPECT_EQ(Find(facts.parts, StartupKind::kPython)->ns, 10 * kMsNs);
}

TEST(Startup, WithoutSamplesImportsAreNotKnown) {
  StartupProgram p;
  p.Call("cudaFree", 300 * kMsNs);
  for (int i = 0; i < 12; ++i) p.Step(i);
  const StartupFacts facts = Explained(p);
  ASSERT_NE(Find(facts.parts, StartupKind::kContext), nullptr)
      << "a free that takes long creates the context";
  EXPECT_NE(facts.imports_reason, "");
  const StartupSection section = SectionOf(facts);
  EXPECT_FALSE(section.imports_ms.has_value());
  EXPECT_TRUE(section.imports_reason.has_value());
}

TEST(Startup, WarmupIsExplainedByWhatSteadyStepsHaveLessOf) {
  StartupProgram p;
  p.Step(0, 50 * kMsNs);
  for (int i = 1; i < 14; ++i) p.Step(i);
  const StartupFacts facts = Explained(p);
  EXPECT_EQ(facts.warmup_steps, 1);
  const Part* loading = Find(facts.warmup_parts, StartupKind::kModule);
  ASSERT_NE(loading, nullptr) << "the first launch of a kernel brings it to the device";
  EXPECT_NEAR(static_cast<double>(loading->ns), 50e6, 1e5);
}

TEST(Startup, KernelsOfWarmupOnlyAreAPartOfTheirOwn) {
  StartupProgram p;
  const int64_t start_ns = p.at_ns;
  for (int i = 0; i < 20; ++i) p.Launch("candidate" + std::to_string(i));
  for (int i = 0; i < 6; ++i) p.Launch(i == 0 ? "gemm" : "relu" + std::to_string(i - 1));
  p.run.Range(p.main, "ProfilerStep#0", start_ns, p.at_ns - start_ns);
  p.run.Step("ProfilerStep", 0, start_ns, p.at_ns - start_ns);
  for (int i = 1; i < 14; ++i) p.Step(i);
  const StartupFacts facts = Explained(p);
  EXPECT_EQ(facts.warmup_steps, 1);
  const Part* tuning = Find(facts.warmup_parts, StartupKind::kWarmupKernels);
  ASSERT_NE(tuning, nullptr);
  EXPECT_EQ(tuning->ns, 20 * 5000);
}

TEST(Startup, ARunWithoutStepsIsExplainedAsAWhole) {
  StartupProgram p;
  p.Sample("<module> (prog.py:1);" + kFind + ";<module> (json/__init__.py:9)", 40 * kMsNs);
  p.Sample("<module> (prog.py:2);work (prog.py:7)", 60 * kMsNs);
  const StartupFacts facts = Explained(p);
  EXPECT_EQ(facts.explains, PhaseKind::kWhole);
  EXPECT_EQ(facts.reason, "");
  EXPECT_EQ(Find(facts.parts, StartupKind::kImport)->ns, 40 * kMsNs);
  EXPECT_NE(facts.warmup_reason, "");
}

TEST(Startup, AnEmptyRunSaysWhyNothingIsExplained) {
  StartupProgram p;
  const StartupFacts facts = Explained(p);
  EXPECT_NE(facts.reason, "");
  EXPECT_FALSE(SectionOf(facts).ms.has_value());
}

}  // namespace
}  // namespace nl
