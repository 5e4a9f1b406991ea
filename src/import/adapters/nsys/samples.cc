// SPDX-License-Identifier: Apache-2.0
// What was sampled: metrics of the GPUs, and stacks of the host threads.
// One real metric (documented schema, 2023.4 to 2026.2): timestamp, typeId, metricId, value,
// with its name in TARGET_INFO_GPU_METRICS; the low byte of typeId is the GPU.
// A host sample is a row of COMPOSITE_EVENTS, its frames are rows of SAMPLING_CALLCHAINS with
// the same id, depth 0 the innermost.

#include <algorithm>

#include "import/adapters/nsys/export_file.h"

namespace nl::adapters::nsys {

namespace {

struct Metric {
  ThreadId lane;
  StringId name, series;
};

class StackReader {
 public:
  explicit StackReader(ExportFile& e) : e_(e) {}

  // Frames come sample by sample and by depth, as nsys writes them; a file somebody
  // rearranged is sorted first.
  Status Read() {
    if (e_.reader.Find(kTable) == nullptr) return {};
    e_.Expect(kTable, kColumns);
    bool in_order = true;
    NL_TRY(ReadOnce("", in_order));
    if (in_order) return {};
    stacks_.clear();
    in_order = true;
    return ReadOnce("ORDER BY id, stackDepth", in_order);
  }

  StringId Find(int64_t id) const {
    const auto at = std::lower_bound(stacks_.begin(), stacks_.end(), id,
                                     [](const auto& stack, int64_t wanted) { return stack.first < wanted; });
    return at == stacks_.end() || at->first != id ? StringId::kNull : at->second;
  }

 private:
  static constexpr const char* kTable = "SAMPLING_CALLCHAINS";
  static constexpr const char* kColumns[] = {"id", "symbol", "stackDepth", "module"};

  Status ReadOnce(const char* clause, bool& in_order) {
    NL_ASSIGN(SqliteRows rows, e_.reader.Read(kTable, kColumns, clause));
    int64_t id = NullOf<int64_t>::value, depth = -1;
    while (in_order && rows.Next()) {
      const int64_t next = rows.Int(0), next_depth = rows.Int(2);
      if (IsNull(next)) continue;
      if (next != id) {
        Close(id);
        in_order = next > id;
        id = next;
      } else {
        in_order = next_depth > depth;
      }
      depth = next_depth;
      frames_.push_back(rows.Int(1));
    }
    Close(id);
    Status status = rows.status();
    if (status.ok() || !e_.file.options.allow_truncated || status.error().code != ErrorCode::kInvalidInput)
      return status;
    e_.file.counters.Add(kDamagedTable, -1, status.error().message);
    return {};
  }

  // Outermost first, separated by semicolons.
  void Close(int64_t id) {
    if (frames_.empty()) return;
    const auto [it, added] = texts_.try_emplace(frames_, StringId::kNull);
    if (added) {
      std::string text;
      for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
        std::string name(e_.strings.Text(*frame));
        std::replace(name.begin(), name.end(), ';', ':');
        text += (text.empty() ? "" : ";") + (name.empty() ? "[unknown]" : name);
      }
      it->second = e_.strings.Add(text);
    }
    stacks_.emplace_back(id, it->second);
    frames_.clear();
  }

  ExportFile& e_;
  std::vector<int64_t> frames_;
  std::map<std::vector<int64_t>, StringId> texts_;
  std::vector<std::pair<int64_t, StringId>> stacks_;  // by sample, rising
};

}  // namespace

Status ReadGpuMetrics(ExportFile& e) {
  std::map<std::pair<int64_t, int64_t>, Metric> metrics;  // type, metric
  static constexpr const char* kNameColumns[] = {"typeId", "metricId", "metricName", "typeName", "sourceId"};
  if (e.reader.Find("GPU_METRICS") == nullptr) return {};
  NL_TRY(e.ForFew("TARGET_INFO_GPU_METRICS", kNameColumns, [&](const SqliteRows& rows) {
    Metric& metric = metrics[{rows.Int(0), rows.Int(1)}];
    metric.name = e.strings.Add(rows.Text(2));
    metric.series = rows.IsNull(3) ? StringId::kNull : e.strings.Add(rows.Text(3));
    metric.lane = ThreadId::kNull;
  }));
  static constexpr const char* kColumns[] = {"timestamp", "typeId", "metricId", "value"};
  CounterSampleColumns& samples = e.writer.batch.counter_sample;
  return e.ForEach("GPU_METRICS", kColumns, 1, [&](const SqliteRows& rows) -> Status {
    const RowId row = e.writer.NextRow(Table::kCounterSample, samples);
    CounterSampleRow r;
    if (!e.InstantOf(rows, 0, r.start_ns)) return {};
    const int64_t type = rows.Int(1), id = rows.Int(2);
    const auto [it, added] =
        metrics.try_emplace({type, id}, Metric{ThreadId::kNull, StringId::kNull, StringId::kNull});
    Metric& metric = it->second;
    if (IsNull(metric.lane)) {
      const int32_t gpu = IsNull(type) ? NullOf<int32_t>::value : static_cast<int32_t>(type & 0xff);
      metric.lane = e.lanes.Device(NullOf<int64_t>::value, gpu, "GPU metrics");
    }
    r.thread_id = metric.lane;
    r.name = metric.name;
    r.series = metric.series;
    r.value = rows.Double(3);
    samples.Add(r);
    if (IsNull(metric.name)) {
      e.file.counters.Add(kMissingString);
      if (!IsNull(id)) e.writer.KeepArg(Table::kCounterSample, row, "metricId", id);
    }
    return {};
  });
}

Status ReadCpuSamples(ExportFile& e) {
  static constexpr const char* kColumns[] = {"start", "globalTid", "id"};
  if (e.reader.Find("COMPOSITE_EVENTS") == nullptr) return {};
  StackReader stacks(e);
  NL_TRY(stacks.Read());
  CpuSampleColumns& samples = e.writer.batch.cpu_sample;
  return e.ForEach("COMPOSITE_EVENTS", kColumns, 1, [&](const SqliteRows& rows) -> Status {
    CpuSampleRow r;
    if (!e.InstantOf(rows, 0, r.start_ns)) return {};
    r.thread_id = e.lanes.Host(rows.Int(1));
    r.stack = stacks.Find(rows.Int(2));
    samples.Add(r);
    return {};
  });
}

}  // namespace nl::adapters::nsys
