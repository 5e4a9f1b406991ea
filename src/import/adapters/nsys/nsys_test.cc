// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "import/adapters/nsys/lanes.h"
#include "import/rows/launches.h"
#include "model/labels/torch_label.h"
#include "testing/import_fixture.h"

namespace nl::adapters::nsys {
namespace {

using testing_import::TextSink;

RowId Row(int64_t row) { return static_cast<RowId>(row); }
ThreadId Lane(int32_t lane) { return static_cast<ThreadId>(lane); }

TEST(TorchLabel, TakesTheTextApart) {
  const TorchLabel label = ParseTorchLabel(
      "aten::addmm, seq = 45328, op_id = 990348, sizes = [[8], [4, 16]], input_op_ids = [(990347,0)]");
  EXPECT_TRUE(label.given && label.is_op);
  EXPECT_EQ(label.name, "aten::addmm");
  EXPECT_EQ(label.sequence, 45328);
  EXPECT_EQ(label.op_id, 990348);
  EXPECT_EQ(label.sizes, "[[8], [4, 16]]");
  EXPECT_EQ(ShapesOf(label), "[[8],[4,16]]");
  EXPECT_EQ(label.input_op_ids, "[(990347,0)]");
}

TEST(TorchLabel, KnowsOpsFromLabels) {
  const std::pair<const char*, bool> texts[] = {
      {"aten::copy_, op_id = 5", true},
      {"AllToAll4D, seq = 45440, op_id = 990760", true},
      {"autograd::engine::evaluate_function: MulBackward0, op_id = 7", true},
      {"flash_attn::_flash_attn_forward, op_id = 8", true},
      {"record_param_comms, op_id = 9", true},
      {"nccl:all_to_all, op_id = 10", false},
      {"FSDP::pre_forward (blocks.0), op_id = 11", false},
      {"Optimizer.step#AdamW.step, op_id = 12", false},
      {"LLM@prefill, op_id = 13", false},
      {"forward, op_id = 14", false},
  };
  for (const auto& [text, is_op] : texts) {
    const TorchLabel label = ParseTorchLabel(text);
    EXPECT_TRUE(label.given) << text;
    EXPECT_EQ(label.is_op, is_op) << text;
    EXPECT_EQ(label.name, std::string_view(text).substr(0, std::string_view(text).find(", "))) << text;
  }
}

TEST(TorchLabel, LeavesOtherTextsAlone) {
  for (const char* text :
       {"", "LLM@prefill", "a = b", "x, seq = many", "x, op_id = ", "x, sizes = [[1]]", ", op_id = x"}) {
    const TorchLabel label = ParseTorchLabel(text);
    EXPECT_FALSE(label.given || label.is_op) << text;
    EXPECT_EQ(label.name, text);
    EXPECT_TRUE(label.sizes.empty());
  }
}

// Against the obvious: of all ops that enclose the span, the one that began last.
TEST(OpNesting, FindsTheInnermostOpInAnyOrder) {
  std::mt19937 random(7);
  struct Op {
    int32_t lane;
    int64_t start, end;
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<Op> ops;
    // Properly nested: each op is cut out of a gap of the one before or stands after it.
    for (int32_t lane = 0; lane < 3; ++lane) {
      std::vector<std::pair<int64_t, int64_t>> room{{0, 100'000}};
      for (int i = 0; i < 60; ++i) {
        const auto [low, high] = room[random() % room.size()];
        if (high - low < 10) continue;
        const int64_t a = low + 1 + static_cast<int64_t>(random() % ((high - low) / 2));
        const int64_t b = a + 1 + static_cast<int64_t>(random() % (high - a));
        const bool clashes = std::any_of(ops.begin(), ops.end(), [&](const Op& o) {
          return o.lane == lane && a < o.end && o.start < b && !(a > o.start && b < o.end) &&
                 !(o.start > a && o.end < b);
        });
        const bool touches = std::any_of(ops.begin(), ops.end(), [&](const Op& o) {
          return o.lane == lane && (o.start == a || o.end == b || o.start == b || o.end == a);
        });
        if (clashes || touches || b >= high) continue;
        ops.push_back({lane, a, b});
        room.emplace_back(a, b);
      }
    }
    std::shuffle(ops.begin(), ops.end(), random);
    OpNesting nesting;
    for (size_t i = 0; i < ops.size(); ++i)
      nesting.Add(Lane(ops[i].lane), ops[i].start, ops[i].end, Row(1000 + static_cast<int64_t>(i)));
    for (int question = 0; question < 500; ++question) {
      const auto lane = static_cast<int32_t>(random() % 4);
      const auto start = static_cast<int64_t>(random() % 100'000);
      const int64_t end = start + static_cast<int64_t>(random() % 50);
      RowId expected = RowId::kNull;
      int64_t latest = -1;
      for (size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].lane != lane || ops[i].start > start || ops[i].end < end || ops[i].start <= latest)
          continue;
        latest = ops[i].start;
        expected = Row(1000 + static_cast<int64_t>(i));
      }
      ASSERT_EQ(nesting.Enclosing(Lane(lane), start, end), expected) << lane << " " << start << " " << end;
    }
  }
}

TEST(LaunchIndex, KeepsProcessesApart) {
  LaunchIndex index;
  index.Add(100, 7, {Row(0), Row(5), WaitKind::kNone});
  index.Add(200, 7, {Row(1), RowId::kNull, WaitKind::kStream});
  index.Add(100, 9'000'000'000, {Row(2), RowId::kNull, WaitKind::kNone});
  index.Add(100, 7, {Row(3), RowId::kNull, WaitKind::kNone});
  EXPECT_EQ(index.Find(100, 7).api_call, Row(0));
  EXPECT_EQ(index.Find(100, 7).op, Row(5));
  EXPECT_EQ(index.Find(200, 7).api_call, Row(1));
  EXPECT_EQ(index.Find(200, 7).wait, WaitKind::kStream);
  EXPECT_EQ(index.Find(100, 9'000'000'000).api_call, Row(2));
  EXPECT_EQ(index.Find(300, 7).api_call, RowId::kNull);
  EXPECT_EQ(index.Find(100, 8).api_call, RowId::kNull);
  EXPECT_EQ(index.Find(100, NullOf<int64_t>::value).api_call, RowId::kNull);
  EXPECT_EQ(index.duplicates(), 1);
}

class LanesTest : public ::testing::Test {
 protected:
  static constexpr int64_t kProcess = (int64_t{1} << 48) | (int64_t{144} << 24);
  TextSink sink_;
  RunFacts facts_;
  SourceFacts about_;
  CounterSet counters_;
  ImportOptions options_;
  const testing_import::TraceFile stored_{"x"};
  std::unique_ptr<ByteSource> source_ = *OpenByteSource(stored_.path());
  ImportFile file_{*source_, stored_.path(), options_, sink_, facts_, about_, counters_};
  RowWriter writer_{file_};
  Lanes lanes_{writer_};
};

TEST_F(LanesTest, DecodesGlobalIdsAndKeepsStreamsOfContextsApart) {
  EXPECT_EQ(ProcessOf(kProcess | 145), kProcess);
  EXPECT_EQ(ProcessOf(NullOf<int64_t>::value), NullOf<int64_t>::value);
  const ThreadId main = lanes_.Host(kProcess | 144), other = lanes_.Host(kProcess | 145);
  EXPECT_NE(main, other);
  EXPECT_EQ(lanes_.Host(kProcess | 144), main);
  EXPECT_NE(lanes_.Host(NullOf<int64_t>::value), main);
  EXPECT_NE(lanes_.Beside(kProcess | 144, "OS runtime"), main);
  EXPECT_EQ(lanes_.Beside(kProcess | 144, "OS runtime"), lanes_.Beside(kProcess | 144, "OS runtime"));
  const ThreadId stream = lanes_.Stream(kProcess, 0, 1, 7).lane;
  EXPECT_NE(lanes_.Stream(kProcess, 0, 2, 7).lane, stream);
  EXPECT_NE(lanes_.Stream(kProcess, 1, 1, 7).lane, stream);
  EXPECT_NE(lanes_.Stream(kProcess + (1 << 24), 0, 1, 7).lane, stream);
  EXPECT_EQ(lanes_.Stream(kProcess, 0, 1, 7).lane, stream);
}

TEST_F(LanesTest, ContextsTellTheirDeviceUnlessTheExportContradictsItself) {
  lanes_.NoteContext(144, 2, 1);
  EXPECT_EQ(lanes_.DeviceOfContext(kProcess, 2), 1);
  EXPECT_EQ(lanes_.DeviceOfContext(kProcess, 3), NullOf<int32_t>::value);
  lanes_.Stream(kProcess, 0, 2, 7);
  EXPECT_EQ(lanes_.DeviceOfContext(kProcess, 2), NullOf<int32_t>::value);
}

TEST_F(LanesTest, VisibleDevicesAreThoseOfTheMachine) {
  lanes_.MapDevice(144, 0, 5);
  EXPECT_EQ(lanes_.Stream(kProcess, 0, 1, 7).device, 5);
  EXPECT_EQ(lanes_.Stream(kProcess + (1 << 24), 0, 1, 7).device, 0);
}

}  // namespace
}  // namespace nl::adapters::nsys
