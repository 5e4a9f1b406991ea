// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/attribution.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <set>

#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

const AttributionFacts& AttributionOf(Analysis& analysis) {
  const auto facts = analysis.Need<AttributionFacts>();
  EXPECT_TRUE(facts.ok()) << facts.error().ToString();
  return **facts;
}

template <class Rows>
const AttributionFacts::Totals& Row(const Rows& rows, const RunData& data, std::string_view name) {
  for (const auto& row : rows) {
    if (data.Text(row.name) == name) return row;
  }
  ADD_FAILURE() << "no row " << name;
  static const AttributionFacts::Totals none;
  return none;
}

TEST(Attribution, WorkBelongsToOpModuleRangeAndStepAroundItsLaunch) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Step("ProfilerStep#4", 4, 0, 50);
  run.Step("ProfilerStep#5", 5, 50, 950);
  run.Range(main, "phase", 100, 800);
  run.Python(main, "nn.Module: Model_0", 110, 700);
  run.Python(main, "model.py(3): forward", 120, 600);
  run.Python(main, "nn.Module: Linear_3", 130, 500);
  run.Op(main, "aten::linear", 140, 400);
  run.Op(main, "aten::mm", 150, 200);
  const RowId launch = run.Api(main, "cudaLaunchKernel", 160, 10);
  run.Kernel("gemm", 7, 2000, 70, launch);
  Analysis analysis = run.Finish();
  const AttributionFacts& f = AttributionOf(analysis);
  const TimelineFacts& t = **analysis.Need<TimelineFacts>();
  const RunData& data = analysis.data();
  ASSERT_EQ(f.node.size(), 1u);
  EXPECT_EQ(f.node[0], t.node_of_api[0]);
  EXPECT_EQ(f.op[0], t.node_of_op[1]);
  EXPECT_EQ(f.top_op[0], t.node_of_op[0]);
  EXPECT_EQ(f.range[0], t.node_of_range[0]);
  EXPECT_EQ(f.modules[f.module[0]].path, "Model_0.Linear_3");
  EXPECT_EQ(f.step[0], 1u) << "by the launch, although the kernel runs after the step";
  const auto& linear = Row(f.ops, data, "aten::linear");
  EXPECT_EQ(linear.device_total_ns, 70);
  EXPECT_EQ(linear.device_self_ns, 0);
  EXPECT_EQ(linear.host_total_ns, 400);
  EXPECT_EQ(linear.host_self_ns, 200);
  EXPECT_EQ(Row(f.ops, data, "aten::mm").device_self_ns, 70);
  EXPECT_EQ(Row(f.modules, data, "nn.Module: Model_0").device_total_ns, 70);
  EXPECT_EQ(Row(f.modules, data, "nn.Module: Model_0").host_self_ns, 200);
  EXPECT_EQ(Row(f.ranges, data, "phase").device_self_ns, 70);
}

TEST(Attribution, KernelsOfAGraphGoToItsLaunch) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Op(main, "replay", 0, 100);
  const RowId launch = run.Api(main, "cudaGraphLaunch", 10, 20);
  for (int i = 0; i < 5; ++i) run.Kernel("node", 7, 200 + 10 * i, 8, launch, RowId::kNull, 0, 42);
  Analysis analysis = run.Finish();
  const AttributionFacts& f = AttributionOf(analysis);
  EXPECT_EQ(Row(f.ops, analysis.data(), "replay").device_self_ns, 40);
  EXPECT_EQ(f.graph.count, 5);
  EXPECT_EQ(f.graph.device_ns, 40);
  EXPECT_EQ(f.unlinked.count, 0);
}

TEST(Attribution, AnOpInsideOneOfItsNameIsCountedOnce) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Op(main, "aten::to", 0, 100);
  run.Op(main, "aten::to", 10, 50);
  const RowId launch = run.Api(main, "cudaLaunchKernel", 20, 5);
  run.Kernel("k", 7, 200, 30, launch);
  Analysis analysis = run.Finish();
  const auto& row = Row(AttributionOf(analysis).ops, analysis.data(), "aten::to");
  EXPECT_EQ(row.calls, 2);
  EXPECT_EQ(row.host_total_ns, 100);
  EXPECT_EQ(row.host_self_ns, 100);
  EXPECT_EQ(row.device_total_ns, 30);
  EXPECT_EQ(row.device_self_ns, 30);
}

TEST(Attribution, WorkWithoutALaunchIsCountedNotGuessed) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Op(main, "aten::mm", 0, 1000);
  run.Kernel("orphan", 7, 100, 30);
  const RowId bare = run.Api(main, "cudaLaunchKernel", 2000, 5);
  run.Kernel("bare", 7, 2100, 50, bare);
  const RowId op = run.Op(main, "compiled", 3000, 10);
  run.Kernel("by_external_id", 7, 4000, 7, RowId::kNull, op);
  Analysis analysis = run.Finish();
  const AttributionFacts& f = AttributionOf(analysis);
  EXPECT_EQ(f.unlinked.device_ns, 30);
  EXPECT_EQ(f.outside_ops.device_ns, 50);
  EXPECT_EQ(f.outside_ranges.device_ns, 57);
  EXPECT_EQ(Row(f.ops, analysis.data(), "compiled").device_self_ns, 7);
  EXPECT_EQ(f.step[0], kNone);
}

TEST(Attribution, AnOpNamedByExternalIdOnAnotherThreadTakesTheWork) {
  RunBuilder run;
  const ThreadId main = run.Thread("main"), worker = run.Thread("worker");
  const RowId op = run.Op(main, "aten::mm", 0, 100);
  const RowId launch = run.Api(worker, "cudaLaunchKernel", 20, 5);
  run.Kernel("k", 7, 200, 30, launch, op);
  Analysis analysis = run.Finish();
  const AttributionFacts& f = AttributionOf(analysis);
  EXPECT_EQ(Row(f.ops, analysis.data(), "aten::mm").device_self_ns, 30);
}

TEST(Attribution, NestedStepsGiveTheInnermostAndEndWhenTheyEnd) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Step("outer", 0, 0, 100);
  run.Step("inner", 0, 20, 20);
  for (const int64_t at : {10, 25, 50, 150})
    run.Kernel("k", 7, 1000 + at, 5, run.Api(main, "cudaLaunchKernel", at, 2));
  Analysis analysis = run.Finish();
  EXPECT_EQ(AttributionOf(analysis).step, (std::vector<uint32_t>{0, 1, 0, kNone}));
}

// A random run, attributed by looking at every span for every kernel.
TEST(Attribution, AgreesWithSearchingEverySpanForEveryKernel) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    RunBuilder run;
    struct Span {
      HostKind kind;
      std::string name;
      ThreadId thread;
      int64_t start, end;
    };
    std::vector<Span> spans;
    struct Work {
      int64_t dur;
      size_t span;  // of the launch; SIZE_MAX: none
    };
    std::vector<Work> work;
    int64_t device_clock = 1'000'000;
    const std::function<void(ThreadId, int64_t, int64_t, int)> fill = [&](ThreadId thread, int64_t from,
                                                                          int64_t to, int depth) {
      int64_t at = from;
      while (at + 20 < to) {
        const int64_t start = at + 1 + static_cast<int64_t>(random() % 10);
        const int64_t end = std::min<int64_t>(to - 1, start + 5 + static_cast<int64_t>(random() % 300));
        if (end <= start) break;
        const auto kind = static_cast<HostKind>(random() % 4);
        const std::string letter(1, static_cast<char>('a' + random() % 4));
        const std::string name = kind == HostKind::kPython && random() % 2 ? "nn.Module: " + letter : letter;
        spans.push_back({kind, name, thread, start, end});
        const size_t self = spans.size() - 1;
        const int64_t dur = end - start;
        if (kind == HostKind::kRange) run.Range(thread, name, start, dur);
        if (kind == HostKind::kPython) run.Python(thread, name, start, dur);
        if (kind == HostKind::kOp) run.Op(thread, name, start, dur);
        if (kind == HostKind::kApi) {
          const RowId api = run.Api(thread, name, start, dur);
          for (size_t n = random() % 3; n > 0; --n) {
            work.push_back({static_cast<int64_t>(random() % 50), self});
            run.Kernel("k", 7, device_clock, work.back().dur, api);
            device_clock += 60;
          }
        } else if (depth < 6) {
          fill(thread, start, end, depth + 1);
        }
        at = end;
      }
    };
    for (int n = 0; n < 2; ++n) fill(run.Thread("t"), 0, 4000, 0);
    work.push_back({33, SIZE_MAX});
    run.Kernel("k", 7, device_clock, 33);

    // The reference: names of the spans around each launch.
    std::map<std::string, int64_t> op_total, op_self, range_total, range_self, module_total, module_self;
    for (const Work& w : work) {
      if (w.span == SIZE_MAX) continue;
      const Span& launch = spans[w.span];
      std::vector<const Span*> around;
      for (const Span& s : spans) {
        if (s.thread == launch.thread && s.start <= launch.start && launch.end <= s.end) around.push_back(&s);
      }
      std::sort(around.begin(), around.end(),
                [](const Span* a, const Span* b) { return a->start < b->start; });
      std::set<std::string> ops, ranges;
      std::string op, range, path;
      for (const Span* s : around) {
        if (s->kind == HostKind::kOp) ops.insert(op = s->name);
        if (s->kind == HostKind::kRange) ranges.insert(range = s->name);
        if (!ModuleNameOf(s->name).empty()) {
          path += (path.empty() ? "" : ".") + std::string(ModuleNameOf(s->name));
          module_total[path] += w.dur;
        }
      }
      for (const std::string& name : ops) op_total[name] += w.dur;
      for (const std::string& name : ranges) range_total[name] += w.dur;
      if (!op.empty()) op_self[op] += w.dur;
      if (!range.empty()) range_self[range] += w.dur;
      if (!path.empty()) module_self[path] += w.dur;
    }

    Analysis analysis = run.Finish();
    const AttributionFacts& f = AttributionOf(analysis);
    const RunData& data = analysis.data();
    int64_t all = 0;
    for (const Work& w : work) all += w.dur;
    const auto check = [&](const auto& rows, auto& total, auto& self, const AttributionFacts::Amount& outside,
                           const auto& name_of) {
      int64_t sum = outside.device_ns + f.unlinked.device_ns;
      for (const auto& row : rows) {
        sum += row.device_self_ns;
        EXPECT_EQ(row.device_total_ns, total[name_of(row)]) << name_of(row);
        EXPECT_EQ(row.device_self_ns, self[name_of(row)]) << name_of(row);
      }
      EXPECT_EQ(sum, all);
    };
    const auto text = [&](const auto& row) { return std::string(data.Text(row.name)); };
    check(f.ops, op_total, op_self, f.outside_ops, text);
    check(f.ranges, range_total, range_self, f.outside_ranges, text);
    check(f.modules, module_total, module_self, f.outside_modules, [](const auto& row) { return row.path; });
    EXPECT_EQ(f.unlinked.device_ns, 33);
    EXPECT_EQ(f.all.device_ns, all);
  }
}

}  // namespace
}  // namespace nl
