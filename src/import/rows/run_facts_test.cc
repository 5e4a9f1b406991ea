// SPDX-License-Identifier: Apache-2.0
#include "import/rows/run_facts.h"

#include <limits>
#include <random>

#include "testing/import_fixture.h"

namespace nl {
namespace {

using testing_import::TextSink;

constexpr int64_t kNull = NullOf<int64_t>::value;

PackedColumn Column(const std::vector<int64_t>& values) {
  PackedColumn column;
  for (const int64_t v : values) column.Add(v);
  return column;
}

void ExpectHolds(const std::vector<int64_t>& values) {
  const PackedColumn column = Column(values);
  ASSERT_EQ(column.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(column.At(i), values[i]) << "row " << i;
}

TEST(PackedColumn, HoldsEveryValue) {
  ExpectHolds({});
  ExpectHolds({0});
  ExpectHolds({kNull});
  ExpectHolds({kNull, 5, kNull, 6});
  ExpectHolds({INT64_MAX, INT64_MAX - 1, 0, -1, INT64_MIN + 1, kNull});
  ExpectHolds({INT64_MIN + 1, kNull, INT64_MAX, INT64_MIN + 2});
  ExpectHolds({1'000'000'000'000, 1, 1'000'000'000'000 + 0xfffffffeLL, 1'000'000'000'000 - (1 << 20) - 1});
  ExpectHolds({0, 0xfffffffdLL - (1 << 20), 0xfffffffeLL - (1 << 20), 0xffffffffLL - (1 << 20),
               0x100000000LL - (1 << 20)});
  std::mt19937_64 random(3);
  std::vector<int64_t> values;
  for (int i = 0; i < 5000; ++i) values.push_back(static_cast<int64_t>(random() >> (random() % 64)));
  ExpectHolds(values);
}

TEST(PackedColumn, ClearedItStartsAnew) {
  PackedColumn column = Column({1'000'000'000'000'000, 2});
  column.Clear();
  EXPECT_EQ(column.size(), 0u);
  column.Add(-7);
  EXPECT_EQ(column.At(0), -7);
}

// Against the obvious: the first row with the id.
void ExpectFinds(const std::vector<int64_t>& ids, int64_t first_row) {
  const PackedColumn column = Column(ids);
  const IdIndex index(column, first_row);
  std::map<int64_t, int64_t> first;
  int64_t duplicates = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != kNull) duplicates += !first.emplace(ids[i], first_row + static_cast<int64_t>(i)).second;
  }
  EXPECT_EQ(index.duplicates(), duplicates);
  for (const int64_t id : ids) {
    for (const int64_t near : {id, id == INT64_MAX ? id : id + 1, id == INT64_MIN ? id : id - 1}) {
      const auto it = near == kNull ? first.end() : first.find(near);
      ASSERT_EQ(index.Find(near), it == first.end() ? kNull : it->second) << near;
    }
  }
  EXPECT_EQ(index.Find(kNull), kNull);
}

TEST(IdIndex, FindsTheFirstRowOfEachIdWhereverIdsLie) {
  ExpectFinds({}, 0);
  ExpectFinds({kNull, kNull}, 5);
  ExpectFinds({7}, 0);
  ExpectFinds({1, 2, 3, 4, 5}, 100);
  ExpectFinds({5, 4, 3, 3, kNull, 5, 9}, 2);
  ExpectFinds({INT64_MAX, INT64_MIN + 1, 0, INT64_MAX}, 0);
  ExpectFinds({1, 1'000'000'000'000, 3, 1, 1'000'000'000'000, -50}, 10);
  std::mt19937_64 random(11);
  std::vector<int64_t> dense, sparse;
  for (int i = 0; i < 3000; ++i) {
    dense.push_back(static_cast<int64_t>(random() % 6000));
    sparse.push_back(static_cast<int64_t>(random() % 3000) * 1'000'003);
  }
  ExpectFinds(dense, 1);
  ExpectFinds(sparse, 1);
}

TEST(IdIndex, LookUpsInAnyOrderFindTheSame) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 500; ++i) ids.push_back(i * 100'000);
  const PackedColumn column = Column(ids);
  const IdIndex index(column, 0);
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const int64_t row = random() % 500;
    ASSERT_EQ(index.Find(row * 100'000), row);
    ASSERT_EQ(index.Find(row * 100'000 + 1), kNull);
  }
}

class LinkTest : public ::testing::Test {
 protected:
  void AddOp(int64_t external, const char* name) {
    OpRow r;
    r.thread_id = static_cast<ThreadId>(0);
    r.start_ns = 0;
    r.dur_ns = 10;
    r.name = sink_.strings().Add(name);
    r.external_id = external;
    batch_.op.Add(r);
  }
  void AddCall(int64_t correlation, int64_t external) {
    ApiCallRow r;
    r.thread_id = static_cast<ThreadId>(0);
    r.start_ns = 1;
    r.dur_ns = 2;
    r.name = sink_.strings().Add("cudaLaunchKernel");
    r.correlation = correlation;
    r.external_id = external;
    batch_.api_call.Add(r);
  }
  void AddKernel(int64_t correlation, int64_t external, int64_t dur_ns = 5) {
    KernelRow r;
    r.thread_id = static_cast<ThreadId>(1);
    r.start_ns = 3;
    r.dur_ns = dur_ns;
    r.device = 0;
    r.stream = 7;
    r.name = sink_.strings().Add("gemm");
    r.correlation = correlation;
    r.external_id = external;
    batch_.kernel.Add(r);
  }
  void Take() {
    facts_.Observe(batch_, sink_);
    sink_.Append(batch_);
    batch_.Clear();
  }
  std::string Row(Table table, size_t i) { return sink_.RowsOf(table).at(i); }
  static bool Has(const std::string& row, const std::string& part) {
    return row.find(part) != std::string::npos;
  }

  TextSink sink_;
  RunFacts facts_;
  EventBatch batch_;
  CounterSet counters_;
};

TEST_F(LinkTest, KernelsFindTheirLaunchAndOpAcrossBatches) {
  AddKernel(70, 2);  // before its launch in the file
  Take();
  AddOp(1, "aten::linear");
  AddOp(2, "aten::mm");
  AddCall(71, 1);
  AddCall(70, 2);
  Take();
  facts_.ResolveLinks(counters_);
  ASSERT_TRUE(facts_.WriteLinks(sink_).ok());
  EXPECT_TRUE(Has(Row(Table::kKernel, 0), "api_call_id=1 op_id=1 ")) << Row(Table::kKernel, 0);
  EXPECT_TRUE(Has(Row(Table::kApiCall, 0), "op_id=0 "));
  EXPECT_TRUE(counters_.empty());
}

TEST_F(LinkTest, TheLaneOfAStreamDoesNotDependOnTheBatches) {
  for (const bool split : {false, true}) {
    RunFacts facts;
    for (const int32_t lane : {1, 2, 0, 3}) {
      KernelRow r;
      r.thread_id = static_cast<ThreadId>(lane);
      r.start_ns = lane;
      r.dur_ns = 1;
      r.device = 0;
      r.stream = 7;
      batch_.kernel.Add(r);
      if (!split) continue;
      facts.Observe(batch_, sink_);
      batch_.Clear();
    }
    facts.Observe(batch_, sink_);
    batch_.Clear();
    ASSERT_EQ(facts.streams().size(), 1u);
    EXPECT_EQ(facts.streams().begin()->second.thread, static_cast<ThreadId>(0)) << "split: " << split;
  }
}

TEST_F(LinkTest, WhatIsNotRecordedIsNullAndCounted) {
  AddKernel(99, 98);
  AddKernel(kNull, kNull);
  Take();
  facts_.ResolveLinks(counters_);
  ASSERT_TRUE(facts_.WriteLinks(sink_).ok());
  EXPECT_FALSE(Has(Row(Table::kKernel, 0), "api_call_id="));
  EXPECT_EQ(counters_.Count("launch_not_recorded"), 1) << "a kernel without a correlation misses nothing";
}

TEST_F(LinkTest, TheFirstOfTwoEqualIdsIsMeantAndTheSecondCounted) {
  AddOp(5, "first");
  AddOp(5, "second");
  AddKernel(1, 5);
  Take();
  facts_.ResolveLinks(counters_);
  ASSERT_TRUE(facts_.WriteLinks(sink_).ok());
  EXPECT_TRUE(Has(Row(Table::kKernel, 0), "op_id=0 "));
  EXPECT_EQ(counters_.Count("duplicate_id"), 1);
}

TEST_F(LinkTest, IdsDoNotReachFromOneFileIntoAnother) {
  AddOp(5, "of rank 0");
  AddCall(1, 5);
  AddKernel(1, 5);
  Take();
  facts_.ResolveLinks(counters_);
  AddOp(5, "of rank 1");
  AddCall(1, 5);
  AddKernel(1, 5);
  Take();
  facts_.ResolveLinks(counters_);
  ASSERT_TRUE(facts_.WriteLinks(sink_).ok());
  EXPECT_TRUE(Has(Row(Table::kKernel, 0), "api_call_id=0 op_id=0 "));
  EXPECT_TRUE(Has(Row(Table::kKernel, 1), "api_call_id=1 op_id=1 "));
  EXPECT_EQ(counters_.Count("duplicate_id"), 0);
}

TEST_F(LinkTest, DeviceTimeGoesToTheCallSiteOfTheOp) {
  AddOp(1, "aten::mm");
  AddOp(2, "aten::mm");
  AddKernel(1, 1, 5);
  AddKernel(2, 2, 7);
  AddKernel(3, 2, kNull);
  Take();
  facts_.ResolveLinks(counters_);
  ASSERT_EQ(facts_.op_sites().size(), 1u);
  EXPECT_EQ(facts_.op_sites()[0].calls, 2);
  EXPECT_EQ(facts_.op_sites()[0].device_ns, 12);
  EXPECT_EQ(facts_.op_sites()[0].kernels, 3);
  EXPECT_EQ(facts_.gpu_rows(), 3);
}

// Spans on one thread, and the API calls within.
class OpsByCallsTest : public LinkTest {
 protected:
  OpsByCallsTest() { facts_.FindOpsByCalls(); }
  void Op(int64_t external, int64_t start_ns, int64_t dur_ns) {
    AddOp(external, "op");
    batch_.op.start_ns.back() = start_ns;
    batch_.op.dur_ns.back() = dur_ns;
  }
  void Call(int64_t correlation, int64_t external, int64_t start_ns) {
    AddCall(correlation, external);
    batch_.api_call.start_ns.back() = start_ns;
  }
  void Resolve() {
    Take();
    facts_.ResolveLinks(counters_);
    ASSERT_TRUE(facts_.WriteLinks(sink_).ok());
  }
};

TEST_F(OpsByCallsTest, ExternalIdsThatAreCorrelationsAreNotBelieved) {
  Op(1, 0, 100'000);
  Op(2, 10'000, 20'000);
  Op(3, 40'000, 20'000);
  for (int64_t i = 0; i < 3; ++i) {  // in op 2, op 3 and op 1 itself
    Call(i + 1, i + 1, i < 2 ? 15'000 + i * 30'000 : 80'000);
    AddKernel(i + 1, i + 1);
  }
  Resolve();
  EXPECT_TRUE(Has(Row(Table::kKernel, 0), "op_id=1 ")) << Row(Table::kKernel, 0);
  EXPECT_TRUE(Has(Row(Table::kKernel, 1), "op_id=2 ")) << Row(Table::kKernel, 1);
  EXPECT_TRUE(Has(Row(Table::kKernel, 2), "op_id=0 ")) << Row(Table::kKernel, 2);
  EXPECT_TRUE(Has(Row(Table::kApiCall, 1), "op_id=2 ")) << Row(Table::kApiCall, 1);
  EXPECT_EQ(counters_.Count("external_id_disagrees"), 3);
}

TEST_F(OpsByCallsTest, AKernelWhoseLaunchIsMissingKeepsItsExternalIdOnlyWhereTheFileIsRightOtherwise) {
  for (const bool right : {true, false}) {
    Op(1, 0, 20'000);
    Op(2, 40'000, 20'000);
    Call(11, right ? 1 : 2, 5'000);
    Call(12, right ? 2 : 1, 45'000);
    AddKernel(99, 2);
    Take();
    facts_.ResolveLinks(counters_);
  }
  ASSERT_TRUE(facts_.WriteLinks(sink_).ok());
  EXPECT_TRUE(Has(Row(Table::kKernel, 0), "op_id=1 ")) << Row(Table::kKernel, 0);
  EXPECT_FALSE(Has(Row(Table::kKernel, 1), "op_id=")) << Row(Table::kKernel, 1);
}

TEST_F(OpsByCallsTest, WithoutAnyLaunchExternalIdsCountUnlessTheyAreCorrelations) {
  Op(5, 0, 20'000);
  AddKernel(70, 5);
  Take();
  facts_.ResolveLinks(counters_);
  Op(5, 0, 20'000);
  AddKernel(5, 5);
  Take();
  facts_.ResolveLinks(counters_);
  ASSERT_TRUE(facts_.WriteLinks(sink_).ok());
  EXPECT_TRUE(Has(Row(Table::kKernel, 0), "op_id=0 ")) << Row(Table::kKernel, 0);
  EXPECT_FALSE(Has(Row(Table::kKernel, 1), "op_id=")) << Row(Table::kKernel, 1);
}

TEST_F(OpsByCallsTest, OfAFileThatIsRightTheOpAroundTheInnermostIsTaken) {
  for (int64_t i = 0; i < 10; ++i) {
    Op(i, i * 10'000, 8'000);
    Call(i, i, i * 10'000 + 1'000);
  }
  Op(10, 200'000, 50'000);
  Op(11, 210'000, 20'000);
  Call(10, 10, 215'000);
  AddKernel(10, 10);
  Resolve();
  EXPECT_TRUE(Has(Row(Table::kKernel, 0), "op_id=10 ")) << Row(Table::kKernel, 0);
  EXPECT_EQ(counters_.Count("external_id_disagrees"), 1);
}

TEST_F(LinkTest, TimesBeyondReasonBecomeNullAndAreCounted) {
  AddKernel(1, 1, -5);
  AddKernel(2, 1, INT64_MAX);
  AddKernel(3, 1, 5);
  batch_.kernel.start_ns[2] = INT64_MAX - 2;
  AddKernel(4, 1, 5);
  Take();
  facts_.ResolveLinks(counters_);
  EXPECT_EQ(counters_.Count("time_out_of_range"), 3);
  EXPECT_FALSE(Has(Row(Table::kKernel, 0), "dur_ns=")) << Row(Table::kKernel, 0);
  EXPECT_EQ(facts_.first_start_ns(), 3);
  EXPECT_EQ(facts_.last_end_ns(), 8);
}

TEST_F(LinkTest, SizesThatCannotBeBecomeNullAndAreCountedByColumn) {
  AddKernel(1, 1, 5);
  AddKernel(2, 1, 5);
  batch_.kernel.shared_bytes = {-1, int64_t{1} << 60};
  batch_.kernel.block_x = {-128, 128};
  batch_.kernel.blocks_per_sm = {-0.5, std::numeric_limits<double>::infinity()};
  batch_.kernel.stream = {-5, 7};  // a number of the driver's: any value may be
  Take();
  facts_.ResolveLinks(counters_);
  EXPECT_EQ(counters_.Count("value_out_of_range"), 5);
  std::vector<std::string> texts;
  for (const CounterSample& sample : counters_.samples()) {
    if (!sample.text.empty()) texts.push_back(sample.text);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"kernel.block_x: -128", "kernel.blocks_per_sm: -0.5",
                                             "kernel.shared_bytes: -1"}));
  EXPECT_FALSE(Has(Row(Table::kKernel, 0), "shared_bytes=")) << Row(Table::kKernel, 0);
  EXPECT_TRUE(Has(Row(Table::kKernel, 0), "stream=-5")) << Row(Table::kKernel, 0);
  EXPECT_TRUE(Has(Row(Table::kKernel, 1), "block_x=128")) << Row(Table::kKernel, 1);
}

TEST_F(LinkTest, TotalsOfAbsurdDurationsStayInRange) {
  constexpr int64_t kYearNs = int64_t{366} * 24 * 3600 * 1'000'000'000;
  for (int i = 0; i < 400; ++i) AddKernel(i, 1, kYearNs);
  AddOp(1, "aten::mm");
  Take();
  facts_.ResolveLinks(counters_);
  for (const auto& [name, total] : facts_.kernel_totals()) EXPECT_GT(total.total_ns, 0);
  EXPECT_GT(facts_.op_sites()[0].device_ns, 0);
}

// An adapter that knows its links gives them; correlation 7 of two processes stays apart.
TEST(RunFacts, TakesLinksTheAdapterKnows) {
  TextSink sink;
  RunFacts facts;
  EventBatch batch;
  const auto put = [&](auto& columns, auto row, RowId op) {
    row.start_ns = 10;
    row.dur_ns = 5;
    row.correlation = 7;
    columns.Add(row);
    columns.op_id.push_back(op);
  };
  OpRow op;
  op.start_ns = 1;
  op.dur_ns = 20;
  op.name = sink.strings().Add("aten::mm");
  batch.op.Add(op);
  put(batch.api_call, ApiCallRow(), RowId::kNull);
  put(batch.api_call, ApiCallRow(), static_cast<RowId>(0));
  for (const RowId api : {static_cast<RowId>(1), static_cast<RowId>(0), RowId::kNull}) {
    put(batch.kernel, KernelRow(), api == static_cast<RowId>(1) ? static_cast<RowId>(0) : RowId::kNull);
    batch.kernel.api_call_id.push_back(api);
  }
  facts.Observe(batch, sink);
  sink.Append(batch);
  facts.NoteDuplicateIds(2);
  CounterSet counters;
  facts.ResolveLinks(counters);
  ASSERT_TRUE(facts.WriteLinks(sink).ok());
  EXPECT_EQ(counters.Count("launch_not_recorded"), 1);
  EXPECT_EQ(counters.Count("duplicate_id"), 2);
  EXPECT_NE(sink.RowsOf(Table::kKernel)[0].find("api_call_id=1 op_id=0 "), std::string::npos);
  EXPECT_NE(sink.RowsOf(Table::kKernel)[1].find("api_call_id=0 "), std::string::npos);
  EXPECT_EQ(sink.RowsOf(Table::kKernel)[2].find("api_call_id"), std::string::npos);
  EXPECT_NE(sink.RowsOf(Table::kApiCall)[1].find("op_id=0 "), std::string::npos);
  ASSERT_EQ(facts.op_sites().size(), 1u);
  EXPECT_EQ(facts.op_sites()[0].kernels, 1);
  EXPECT_EQ(facts.op_sites()[0].device_ns, 5);
}

CpuSampleRow SampleRow(ThreadId thread, int64_t start_ns, int64_t weight_ns) {
  CpuSampleRow row;
  row.thread_id = thread;
  row.start_ns = start_ns;
  row.weight_ns = weight_ns;
  return row;
}

TEST(RunFacts, CpuSamplesAloneSpanTheRun) {
  TextSink sink;
  EventBatch batch;
  batch.cpu_sample.Add(SampleRow(ThreadId{0}, 500, 100));
  batch.cpu_sample.Add(SampleRow(ThreadId{1}, 300, kNull));
  batch.cpu_sample.Add(SampleRow(ThreadId{0}, 900, 50));
  batch.cpu_sample.Add(SampleRow(ThreadId{0}, kNull, 5000));  // a sum, not on the timeline
  RunFacts facts;
  facts.Observe(batch, sink);
  EXPECT_TRUE(facts.empty());
  facts.UseSamplesWithoutDevices();
  EXPECT_EQ(facts.first_start_ns(), 300);
  EXPECT_EQ(facts.last_end_ns(), 950);
}

TEST(RunFacts, CpuSamplesWithoutTimesAreAsLongAsTheBusiestThread) {
  TextSink sink;
  EventBatch batch;
  for (const auto& [thread, ns] : {std::pair(0, 40), {1, 70}, {0, 50}})
    batch.cpu_sample.Add(SampleRow(static_cast<ThreadId>(thread), kNull, ns));
  RunFacts facts;
  facts.Observe(batch, sink);
  facts.UseSamplesWithoutDevices();
  EXPECT_EQ(facts.last_end_ns() - facts.first_start_ns(), 90);
}

TEST(RunFacts, WithoutDeviceWorkTheWallHasSamplesSpansAndTheProgram) {
  TextSink sink;
  EventBatch batch;
  batch.cpu_sample.Add(SampleRow(ThreadId{0}, 100, 5000));
  RangeRow range;
  range.start_ns = 1000;
  range.dur_ns = 10;
  batch.range.Add(range);
  ThreadLifeRow life;
  life.thread_id = ThreadId{0};
  life.start_ns = 50;
  life.dur_ns = 5000;
  batch.thread_life.Add(life);
  RunFacts facts;
  facts.Observe(batch, sink);
  facts.UseSamplesWithoutDevices();
  EXPECT_EQ(facts.first_start_ns(), 50) << "start of the program";
  EXPECT_EQ(facts.last_end_ns(), 5100) << "end of the last sample";
}

}  // namespace
}  // namespace nl
