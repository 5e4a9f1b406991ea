// SPDX-License-Identifier: Apache-2.0
#include "report/renderers/perfetto/timeline.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "report/renderers/perfetto/nesting.h"

namespace nl::renderers::perfetto {

namespace {

constexpr std::string_view kLaunchFlow = "ac2g";  // Kineto's arrows that repeat what api_call_id says

int64_t EndOf(int64_t start_ns, int64_t dur_ns) {
  int64_t end_ns = 0;
  if (__builtin_add_overflow(start_ns, dur_ns, &end_ns)) end_ns = std::numeric_limits<int64_t>::max();
  return end_ns;
}

template <class T>
void Free(std::vector<T>& column) {
  std::vector<T>().swap(column);
}

class Loader {
 public:
  Loader(RunReader& run, const RenderOptions& options, Timeline& to)
      : run_(run), options_(options), to_(to) {}

  Status Load() {
    NL_TRY(run_.Load(to_.process, {"pid", "pid_text", "name", "labels", "sort_index", "rank"}));
    NL_TRY(run_.Load(to_.thread, {"process_id", "tid", "tid_text", "name", "sort_index"}));
    NL_TRY(run_.Load(to_.stream, {"thread_id", "device"}));
    NL_TRY(LoadHost());
    NL_TRY(LoadDevice());
    NL_TRY(LoadInstants());
    for (auto& [key, lane] : lanes_) {
      if (!lane.events.empty()) to_.lanes.push_back(std::move(lane));
    }
    NL_TRY(LoadCounters());
    NL_TRY(Arrange());
    return {};
  }

 private:
  Lane& LaneOf(ThreadId thread, bool is_async) {
    const auto row = static_cast<int32_t>(thread);
    const int32_t known = row >= 0 && static_cast<size_t>(row) < to_.thread.process_id.size() ? row : -1;
    Lane& lane = lanes_[{known, is_async}];
    lane.thread = known;
    lane.is_async = is_async;
    return lane;
  }

  void Add(Lane& lane, Kind kind, size_t row, int64_t start_ns, int64_t dur_ns, StringId name) {
    if (IsNull(start_ns)) start_ns = 0;
    TimelineEvent event;
    event.start_ns = start_ns;
    event.instant = IsNull(dur_ns) || dur_ns < 0;
    event.end_ns = event.instant ? start_ns : EndOf(start_ns, dur_ns);
    event.name = name;
    event.row = static_cast<uint32_t>(row);
    event.kind = kind;
    lane.events.push_back(event);
    SeeTime(start_ns);
  }

  void SeeTime(int64_t start_ns) {
    to_.first_ns = any_ ? std::min(to_.first_ns, start_ns) : start_ns;
    any_ = true;
  }

  // Takes the four columns all spans share, and frees them.
  template <class Columns>
  Status AddSpans(Columns& from, Kind kind) {
    for (size_t i = 0; i < from.start_ns.size(); ++i)
      Add(LaneOf(from.thread_id[i], false), kind, i, from.start_ns[i], from.dur_ns[i], from.name[i]);
    Free(from.thread_id);
    Free(from.start_ns);
    Free(from.dur_ns);
    Free(from.name);
    if (options_.Cancelled()) return Cancelled();
    return {};
  }

  Status LoadHost() {
    NL_TRY(run_.Load(to_.op, {"thread_id", "start_ns", "dur_ns", "name", "external_id", "sequence_number",
                              "input_dims", "input_types", "concrete_inputs"}));
    NL_TRY(AddSpans(to_.op, Kind::kOp));
    NL_TRY(run_.Load(to_.api_call,
                     {"thread_id", "start_ns", "dur_ns", "name", "domain", "correlation", "external_id"}));
    NL_TRY(AddSpans(to_.api_call, Kind::kApiCall));
    PythonCallColumns python;
    NL_TRY(run_.Load(python, {"thread_id", "start_ns", "dur_ns", "name"}));
    NL_TRY(AddSpans(python, Kind::kPythonCall));
    RangeColumns& range = to_.range;
    NL_TRY(run_.Load(range, {"thread_id", "start_ns", "dur_ns", "name", "category", "kind"}));
    const StringId async = run_.strings().Find("async");
    for (size_t i = 0; i < range.start_ns.size(); ++i) {
      const bool is_async = async != StringId::kNull && range.kind[i] == async;
      Add(LaneOf(range.thread_id[i], is_async), Kind::kRange, i, range.start_ns[i], range.dur_ns[i],
          range.name[i]);
    }
    return {};
  }

  template <class Columns>
  Status AddDeviceSpans(Columns& from, Kind kind) {
    to_.first_number[static_cast<size_t>(kind)] = next_number_;
    for (size_t i = 0; i < from.api_call_id.size(); ++i) {
      if (!IsNull(from.api_call_id[i]))
        to_.launches.emplace_back(static_cast<int64_t>(from.api_call_id[i]), next_number_ + i);
    }
    next_number_ += from.start_ns.size();
    return AddSpans(from, kind);
  }

  Status LoadDevice() {
    NL_TRY(run_.Load(to_.kernel,
                     {"thread_id", "start_ns", "dur_ns", "name", "correlation", "external_id",
                      "registers_per_thread", "shared_bytes", "grid_x", "grid_y", "grid_z", "block_x",
                      "block_y", "block_z", "estimated_occupancy_pct", "graph_node_id", "api_call_id"}));
    NL_TRY(AddDeviceSpans(to_.kernel, Kind::kKernel));
    NL_TRY(run_.Load(to_.memcpy, {"thread_id", "start_ns", "dur_ns", "name", "kind", "correlation", "bytes",
                                  "bandwidth_gbps", "api_call_id"}));
    NL_TRY(AddDeviceSpans(to_.memcpy, Kind::kMemcpy));
    NL_TRY(run_.Load(to_.memset, {"thread_id", "start_ns", "dur_ns", "name", "correlation", "bytes",
                                  "bandwidth_gbps", "api_call_id"}));
    NL_TRY(AddDeviceSpans(to_.memset, Kind::kMemset));
    NL_TRY(run_.Load(to_.sync, {"thread_id", "start_ns", "dur_ns", "name", "correlation", "wait_on_stream",
                                "api_call_id"}));
    NL_TRY(AddDeviceSpans(to_.sync, Kind::kSync));
    std::sort(to_.launches.begin(), to_.launches.end());
    return {};
  }

  Status LoadInstants() {
    constexpr int64_t kNone = NullOf<int64_t>::value;
    MemoryEventColumns& memory = to_.memory_event;
    NL_TRY(run_.Load(memory, {"thread_id", "start_ns", "name", "address", "bytes", "total_allocated_bytes",
                              "total_reserved_bytes", "device_type", "device"}));
    for (size_t i = 0; i < memory.start_ns.size(); ++i)
      Add(LaneOf(memory.thread_id[i], false), Kind::kMemoryEvent, i, memory.start_ns[i], kNone,
          memory.name[i]);
    CpuSampleColumns& samples = to_.cpu_sample;
    NL_TRY(run_.Load(samples, {"thread_id", "start_ns", "stack", "weight_ns"}));
    for (size_t i = 0; i < samples.start_ns.size(); ++i) {
      if (IsNull(samples.start_ns[i])) continue;  // a sum over a whole profile has no place in time
      Add(LaneOf(samples.thread_id[i], false), Kind::kCpuSample, i, samples.start_ns[i], kNone,
          StringId::kNull);
    }
    return {};
  }

  int32_t ProcessOf(ThreadId thread) const {
    const auto row = static_cast<int32_t>(thread);
    if (row < 0 || static_cast<size_t>(row) >= to_.thread.process_id.size()) return -1;
    const auto process = static_cast<int32_t>(to_.thread.process_id[static_cast<size_t>(row)]);
    return process >= 0 && static_cast<size_t>(process) < to_.process.pid.size() ? process : -1;
  }

  using CounterKey = std::tuple<int32_t, std::string, bool>;
  void AddSample(std::map<CounterKey, CounterTrack>& tracks, int32_t process, const std::string& name,
                 bool is_bytes, int64_t start_ns, double value) {
    CounterTrack& track = tracks[{process, name, is_bytes}];
    track.process = process;
    track.name = name;
    track.is_bytes = is_bytes;
    track.samples.emplace_back(start_ns, value);
    SeeTime(start_ns);
  }

  Status LoadCounters() {
    std::map<CounterKey, CounterTrack> tracks;
    CounterSampleColumns samples;
    NL_TRY(run_.Load(samples, {"thread_id", "start_ns", "name", "series", "value"}));
    for (size_t i = 0; i < samples.start_ns.size(); ++i) {
      if (IsNull(samples.start_ns[i]) || IsNull(samples.value[i])) continue;
      const std::string_view name = run_.strings().Text(samples.name[i]);
      const std::string_view series = run_.strings().Text(samples.series[i]);
      const std::string shown =
          series.empty() || series == name ? std::string(name) : fmt::format("{} {}", name, series);
      AddSample(tracks, ProcessOf(samples.thread_id[i]), shown, false, samples.start_ns[i], samples.value[i]);
    }
    const MemoryEventColumns& memory = to_.memory_event;
    for (size_t i = 0; i < memory.start_ns.size(); ++i) {
      const std::string where = memory.device_type[i] == 0 || IsNull(memory.device[i])
                                    ? "host"
                                    : fmt::format("device {}", memory.device[i]);
      const int32_t process = ProcessOf(memory.thread_id[i]);
      const auto add = [&](const char* what, int64_t bytes) {
        if (IsNull(bytes) || IsNull(memory.start_ns[i])) return;
        AddSample(tracks, process, fmt::format("{} memory {}", where, what), true, memory.start_ns[i],
                  static_cast<double>(bytes));
      };
      add("allocated", memory.total_allocated_bytes[i]);
      add("reserved", memory.total_reserved_bytes[i]);
    }
    for (auto& [key, track] : tracks) {
      std::stable_sort(track.samples.begin(), track.samples.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      to_.counters.push_back(std::move(track));
    }
    return {};
  }

  struct FlowEnd {
    int64_t start_ns;
    uint64_t number;
    bool ends;
  };

  // The source's own arrows by lane; their ids are unique within a category and a rank only.
  Result<std::map<int32_t, std::vector<FlowEnd>>> LoadFlows() {
    std::map<int32_t, std::vector<FlowEnd>> by_thread;
    FlowColumns flow;
    NL_TRY(run_.Load(flow, {"thread_id", "start_ns", "phase", "name", "category", "flow_id"}));
    std::map<std::tuple<int32_t, StringId, StringId, int64_t>, uint64_t> numbers;
    for (size_t i = 0; i < flow.start_ns.size(); ++i) {
      if (IsNull(flow.flow_id[i]) || IsNull(flow.start_ns[i])) continue;
      if (run_.strings().Text(flow.category[i]) == kLaunchFlow) continue;
      const int32_t process = ProcessOf(flow.thread_id[i]);
      const int32_t rank = process < 0 ? 0 : to_.process.rank[static_cast<size_t>(process)];
      const auto [it, fresh] =
          numbers.try_emplace({rank, flow.category[i], flow.name[i], flow.flow_id[i]}, next_number_);
      if (fresh) ++next_number_;
      by_thread[static_cast<int32_t>(flow.thread_id[i])].push_back(
          {flow.start_ns[i], it->second, run_.strings().Text(flow.phase[i]) == "f"});
    }
    for (auto& [thread, ends] : by_thread) {
      std::stable_sort(ends.begin(), ends.end(),
                       [](const FlowEnd& a, const FlowEnd& b) { return a.start_ns < b.start_ns; });
    }
    return by_thread;
  }

  // Sorts every lane, gives each span its track and each flow the span it is drawn from.
  Status Arrange() {
    NL_ASSIGN(auto flows, LoadFlows());
    std::unordered_map<uint64_t, int> bound;  // arrow number: ends found
    for (Lane& lane : to_.lanes) {
      if (options_.Cancelled()) return Cancelled();
      std::sort(lane.events.begin(), lane.events.end(), [](const TimelineEvent& a, const TimelineEvent& b) {
        if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
        if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
        return std::tie(a.kind, a.row) < std::tie(b.kind, b.row);
      });
      static const std::vector<FlowEnd> none;
      const auto found = lane.is_async ? flows.end() : flows.find(lane.thread);
      ArrangeLane(lane, found == flows.end() ? none : found->second);
      for (const Arrow& arrow : lane.arrows) ++bound[arrow.number];
    }
    for (Lane& lane : to_.lanes) {  // an arrow needs two ends
      lane.arrows.erase(std::remove_if(lane.arrows.begin(), lane.arrows.end(),
                                       [&](const Arrow& arrow) { return bound[arrow.number] < 2; }),
                        lane.arrows.end());
      std::sort(lane.arrows.begin(), lane.arrows.end(),
                [](const Arrow& a, const Arrow& b) { return a.event < b.event; });
    }
    return {};
  }

  static void ArrangeLane(Lane& lane, const std::vector<FlowEnd>& flows) {
    Nesting nesting;
    size_t next_flow = 0;
    const auto bind = [&](const FlowEnd& flow) {
      if (const auto event = nesting.Innermost(flow.start_ns))
        lane.arrows.push_back({*event, flow.number, flow.ends});
    };
    for (size_t i = 0; i < lane.events.size(); ++i) {
      TimelineEvent& event = lane.events[i];
      while (next_flow < flows.size() && flows[next_flow].start_ns < event.start_ns) bind(flows[next_flow++]);
      if (!event.instant) event.track = static_cast<uint32_t>(nesting.Place(i, event.start_ns, event.end_ns));
    }
    while (next_flow < flows.size()) bind(flows[next_flow++]);
    lane.tracks = nesting.tracks();
  }

  RunReader& run_;
  const RenderOptions& options_;
  Timeline& to_;
  std::map<std::pair<int32_t, bool>, Lane> lanes_;
  uint64_t next_number_ = 1;
  bool any_ = false;
};

}  // namespace

Status LoadTimeline(RunReader& run, const RenderOptions& options, Timeline& to) {
  return Loader(run, options, to).Load();
}

}  // namespace nl::renderers::perfetto
