// SPDX-License-Identifier: Apache-2.0
// The perfetto renderer: a .pftrace of track events that ui.perfetto.dev and
// trace_processor open. docs/formats/perfetto.md says what becomes what.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "report/renderers/perfetto/packet_stream.h"
#include "report/renderers/perfetto/timeline.h"

namespace nl::renderers::perfetto {

namespace {

constexpr int64_t kMaxPid = std::numeric_limits<int32_t>::max();

class TraceWriter {
 public:
  TraceWriter(const Timeline& timeline, const StringPool& strings, const RenderOptions& options,
              const ByteSink& sink)
      : timeline_(timeline), strings_(strings), options_(options), stream_(sink, strings, timeline.first_ns) {
    for (const ThreadId thread : timeline.stream.thread_id)
      device_lanes_.insert(static_cast<int32_t>(thread));
    std::set<int32_t> ranks(timeline.process.rank.begin(), timeline.process.rank.end());
    ranks_differ_ = ranks.size() > 1;
  }

  Result<RenderCounts> Write() {
    NL_TRY(DescribeLanes());
    for (size_t i = 0; i < timeline_.lanes.size(); ++i) NL_TRY(WriteLane(timeline_.lanes[i], lane_uuids_[i]));
    for (const CounterTrack& counter : timeline_.counters) NL_TRY(WriteCounter(counter));
    NL_TRY(stream_.Flush());
    return RenderCounts{{"slices", slices_},           {"instants", instants_},
                        {"counter_samples", samples_}, {"flows", flow_ends_},
                        {"tracks", next_uuid_ - 1},    {"overlap_tracks", overlap_tracks_}};
  }

 private:
  std::string_view Text(StringId id) const { return strings_.Text(id); }

  uint64_t NewUuid() { return static_cast<uint64_t>(next_uuid_++); }

  std::string RankSuffix(int32_t process) const {
    const int32_t rank = timeline_.process.rank[static_cast<size_t>(process)];
    return ranks_differ_ && !IsNull(rank) ? fmt::format(" (rank {})", rank) : "";
  }

  // A host process gets a process track. What is none (a device that the source numbers
  // like one, a text instead of a number, a number taken already) gets a plain track.
  Result<uint64_t> ProcessTrack(int32_t process) {
    if (const auto known = process_uuids_.find(process); known != process_uuids_.end()) return known->second;
    const uint64_t uuid = NewUuid();
    process_uuids_[process] = uuid;
    const ProcessColumns& all = timeline_.process;
    const auto i = static_cast<size_t>(process);
    const std::string_view name = Text(all.name[i]), labels = Text(all.labels[i]);
    const bool is_host = !HasDeviceLane(process) && !IsNull(all.pid[i]) && all.pid[i] > 0 &&
                         all.pid[i] <= kMaxPid && pids_.insert(all.pid[i]).second;
    ProtoWriter descriptor;
    descriptor.Varint(track::kUuid, uuid);
    if (is_host) {
      host_pids_[process] = all.pid[i];
      ProtoWriter inner;
      inner.Int(track::kProcessPid, all.pid[i]);
      if (!name.empty()) inner.Bytes(track::kProcessName, std::string(name) + RankSuffix(process));
      if (!labels.empty()) inner.Bytes(track::kProcessLabels, labels);
      descriptor.Message(track::kProcess, inner);
    } else {
      const std::string device = DeviceName(process);
      std::string shown(!labels.empty()   ? labels
                        : !device.empty() ? device
                        : !name.empty()   ? name
                                          : Text(all.pid_text[i]));
      if (shown.empty()) shown = IsNull(all.pid[i]) ? "process" : fmt::format("process {}", all.pid[i]);
      descriptor.Bytes(track::kName, shown + RankSuffix(process));
    }
    descriptor.Varint(track::kChildOrder, track::kOrderExplicit);
    NL_TRY(stream_.Describe(descriptor));
    return uuid;
  }

  bool IsLaneOf(int32_t lane, int32_t process) const {
    return lane >= 0 && static_cast<size_t>(lane) < timeline_.thread.process_id.size() &&
           static_cast<int32_t>(timeline_.thread.process_id[static_cast<size_t>(lane)]) == process;
  }

  bool HasDeviceLane(int32_t process) const {
    return std::any_of(device_lanes_.begin(), device_lanes_.end(),
                       [&](int32_t lane) { return IsLaneOf(lane, process); });
  }

  // "GPU 0" of the streams of a device that the source gave no label; empty when it has none.
  std::string DeviceName(int32_t process) const {
    const StreamColumns& streams = timeline_.stream;
    for (size_t i = 0; i < streams.thread_id.size(); ++i) {
      if (IsLaneOf(static_cast<int32_t>(streams.thread_id[i]), process) && !IsNull(streams.device[i]))
        return fmt::format("GPU {}", streams.device[i]);
    }
    return {};
  }

  std::string LaneName(const Lane& lane) const {
    if (lane.thread < 0) return "events without a lane";
    const ThreadColumns& all = timeline_.thread;
    const auto i = static_cast<size_t>(lane.thread);
    std::string name(Text(all.name[i]));
    while (!name.empty() && name.back() == ' ') name.pop_back();
    if (name.empty()) name = Text(all.tid_text[i]);
    if (name.empty() && !IsNull(all.tid[i])) {
      name = fmt::format("{} {}", device_lanes_.count(lane.thread) > 0 ? "stream" : "thread", all.tid[i]);
    }
    if (name.empty()) name = "thread";
    return lane.is_async ? name + " (async)" : name;
  }

  Status DescribeLanes() {
    for (size_t i = 0; i < timeline_.lanes.size(); ++i) {
      NL_ASSIGN(const uint64_t uuid, DescribeLane(timeline_.lanes[i]));
      lane_uuids_.push_back(uuid);
    }
    return {};
  }

  Result<uint64_t> DescribeLane(const Lane& lane) {
    int32_t process = -1;
    if (lane.thread >= 0)
      process = static_cast<int32_t>(timeline_.thread.process_id[static_cast<size_t>(lane.thread)]);
    if (process < 0 || static_cast<size_t>(process) >= timeline_.process.pid.size()) process = -1;
    ProtoWriter descriptor;
    uint64_t parent = 0;
    if (process >= 0) {
      NL_ASSIGN(parent, ProcessTrack(process));
    }
    const uint64_t uuid = NewUuid();
    descriptor.Varint(track::kUuid, uuid);
    const std::string name = LaneName(lane);
    const int64_t tid =
        lane.thread < 0 ? NullOf<int64_t>::value : timeline_.thread.tid[static_cast<size_t>(lane.thread)];
    const bool is_thread = host_pids_.count(process) > 0 && !lane.is_async && !IsNull(tid) && tid > 0 &&
                           tid <= kMaxPid && tids_.insert(tid).second;
    if (parent != 0) descriptor.Varint(track::kParent, parent);
    if (is_thread) {
      ProtoWriter inner;
      inner.Int(track::kThreadPid, host_pids_[process]);
      inner.Int(track::kThreadTid, tid);
      inner.Bytes(track::kThreadName, name);
      descriptor.Message(track::kThread, inner);
    } else {
      descriptor.Bytes(track::kName, name);
    }
    descriptor.Int(track::kOrderRank, static_cast<int64_t>(lane_uuids_.size()));
    NL_TRY(stream_.Describe(descriptor));
    return uuid;
  }

  Status WriteLane(const Lane& lane, uint64_t uuid) {
    // Events by track: places[begin[t] .. begin[t + 1]) are those of track t, in order.
    std::vector<size_t> begin(lane.tracks + 1), places(lane.events.size());
    for (const TimelineEvent& event : lane.events) ++begin[event.track + 1];
    for (size_t t = 0; t < lane.tracks; ++t) begin[t + 1] += begin[t];
    std::vector<size_t> next(begin.begin(), begin.end() - 1);
    for (size_t i = 0; i < lane.events.size(); ++i) places[next[lane.events[i].track]++] = i;
    const std::string name = LaneName(lane);
    for (size_t t = 0; t < lane.tracks; ++t) {
      uint64_t track_uuid = uuid;
      if (t > 0) {
        track_uuid = NewUuid();
        ++overlap_tracks_;
        ProtoWriter descriptor;
        descriptor.Varint(track::kUuid, track_uuid);
        descriptor.Varint(track::kParent, uuid);
        descriptor.Bytes(track::kName, fmt::format("{}, overlapping {}", name, t));
        NL_TRY(stream_.Describe(descriptor));
      }
      stream_.Open(track_uuid);
      NL_TRY(WriteTrack(lane, &places[0] + begin[t], &places[0] + begin[t + 1]));
    }
    return {};
  }

  Status WriteTrack(const Lane& lane, const size_t* from, const size_t* to) {
    std::vector<int64_t> open;  // ends, innermost last
    for (; from != to; ++from) {
      const TimelineEvent& event = lane.events[*from];
      while (!open.empty() && open.back() <= event.start_ns) {
        NL_TRY(stream_.Emit(event::kSliceEnd, open.back()));
        open.pop_back();
      }
      PutEvent(event);
      PutArrows(lane, *from);
      NL_TRY(stream_.Emit(event.instant ? event::kInstant : event::kSliceBegin, event.start_ns));
      ++(event.instant ? instants_ : slices_);
      if (!event.instant) open.push_back(event.end_ns);
      if (((slices_ + instants_) & 0xffff) == 0 && options_.Cancelled()) return Cancelled();
    }
    for (; !open.empty(); open.pop_back()) NL_TRY(stream_.Emit(event::kSliceEnd, open.back()));
    return {};
  }

  void PutArrows(const Lane& lane, size_t event) {
    auto arrow = std::lower_bound(lane.arrows.begin(), lane.arrows.end(), event,
                                  [](const Arrow& a, size_t value) { return a.event < value; });
    for (; arrow != lane.arrows.end() && arrow->event == event; ++arrow) {
      stream_.Flow(arrow->number, arrow->ends);
      flow_ends_ += arrow->ends ? 1 : 0;
    }
  }

  void PutLaunched(const TimelineEvent& event, RowId api_call) {
    if (IsNull(api_call)) return;
    stream_.Flow(timeline_.first_number[static_cast<size_t>(event.kind)] + event.row, true);
    ++flow_ends_;
  }

  void NoteInt(Word word, int64_t value) {
    if (!IsNull(value)) stream_.Note(word, value);
  }
  void NoteInt(Word word, int32_t value) {
    if (!IsNull(value)) stream_.Note(word, int64_t{value});
  }
  void NoteNumber(Word word, double value) {
    if (!IsNull(value)) stream_.Note(word, value);
  }
  void NoteText(Word word, StringId value) {
    if (!IsNull(value) && !Text(value).empty()) stream_.Note(word, value);
  }
  void NoteExtents(Word word, int32_t x, int32_t y, int32_t z) {
    if (!IsNull(x) && !IsNull(y) && !IsNull(z))
      stream_.Note(word, std::string_view(fmt::format("[{}, {}, {}]", x, y, z)));
  }

  void PutEvent(const TimelineEvent& event) {
    const size_t i = event.row;
    stream_.Name(event.name);
    switch (event.kind) {
      case Kind::kRange: return PutRange(event);
      case Kind::kPythonCall: return stream_.Category(Word::kPythonCall);
      case Kind::kOp: return PutOp(i);
      case Kind::kApiCall: return PutApiCall(i);
      case Kind::kKernel: return PutKernel(event);
      case Kind::kMemcpy: return PutCopy(event, timeline_.memcpy, Word::kMemcpy);
      case Kind::kMemset: return PutCopy(event, timeline_.memset, Word::kMemset);
      case Kind::kSync:
        stream_.Category(Word::kSync);
        NoteInt(Word::kCorrelation, timeline_.sync.correlation[i]);
        NoteInt(Word::kWaitOnStream, timeline_.sync.wait_on_stream[i]);
        return PutLaunched(event, timeline_.sync.api_call_id[i]);
      case Kind::kMemoryEvent:
        stream_.Category(Word::kMemoryEvent);
        NoteInt(Word::kBytes, timeline_.memory_event.bytes[i]);
        NoteInt(Word::kTotal, timeline_.memory_event.total_allocated_bytes[i]);
        return NoteInt(Word::kDevice, timeline_.memory_event.device[i]);
      case Kind::kCpuSample:
        stream_.Name(Word::kCpuSample);
        stream_.Category(Word::kCpuSample);
        NoteText(Word::kStack, timeline_.cpu_sample.stack[i]);
        return NoteInt(Word::kWeight, timeline_.cpu_sample.weight_ns[i]);
    }
  }

  void PutRange(const TimelineEvent& event) {
    const StringId category = timeline_.range.category[event.row];
    if (IsNull(category) || Text(category).empty()) {
      stream_.Category(Word::kRange);
    } else {
      stream_.Category(category);
    }
    if (Text(timeline_.range.kind[event.row]) != "span")
      NoteText(Word::kKind, timeline_.range.kind[event.row]);
  }

  void PutOp(size_t i) {
    const OpColumns& op = timeline_.op;
    stream_.Category(Word::kOp);
    NoteText(Word::kInputDims, op.input_dims[i]);
    NoteText(Word::kInputTypes, op.input_types[i]);
    NoteText(Word::kConcreteInputs, op.concrete_inputs[i]);
    NoteInt(Word::kExternalId, op.external_id[i]);
    NoteInt(Word::kSequenceNumber, op.sequence_number[i]);
  }

  void PutApiCall(size_t i) {
    const ApiCallColumns& call = timeline_.api_call;
    if (IsNull(call.domain[i])) {
      stream_.Category(Word::kApiCall);
    } else {
      stream_.Category(call.domain[i]);
    }
    NoteInt(Word::kCorrelation, call.correlation[i]);
    NoteInt(Word::kExternalId, call.external_id[i]);
    const std::pair<int64_t, uint64_t> first{static_cast<int64_t>(i), 0};
    auto launch = std::lower_bound(timeline_.launches.begin(), timeline_.launches.end(), first);
    for (; launch != timeline_.launches.end() && launch->first == first.first; ++launch)
      stream_.Flow(launch->second, false);
  }

  void PutKernel(const TimelineEvent& event) {
    const KernelColumns& k = timeline_.kernel;
    const size_t i = event.row;
    stream_.Category(Word::kKernel);
    NoteExtents(Word::kGrid, k.grid_x[i], k.grid_y[i], k.grid_z[i]);
    NoteExtents(Word::kBlock, k.block_x[i], k.block_y[i], k.block_z[i]);
    NoteInt(Word::kRegisters, k.registers_per_thread[i]);
    NoteInt(Word::kSharedBytes, k.shared_bytes[i]);
    NoteNumber(Word::kOccupancy, k.estimated_occupancy_pct[i]);
    NoteInt(Word::kCorrelation, k.correlation[i]);
    NoteInt(Word::kExternalId, k.external_id[i]);
    NoteInt(Word::kGraphNode, k.graph_node_id[i]);
    PutLaunched(event, k.api_call_id[i]);
  }

  template <class Columns>
  void PutCopy(const TimelineEvent& event, const Columns& copies, Word category) {
    const size_t i = event.row;
    stream_.Category(category);
    NoteInt(Word::kBytes, copies.bytes[i]);
    NoteNumber(Word::kBandwidth, copies.bandwidth_gbps[i]);
    NoteInt(Word::kCorrelation, copies.correlation[i]);
    PutLaunched(event, copies.api_call_id[i]);
  }

  Status WriteCounter(const CounterTrack& counter) {
    uint64_t parent = 0;
    if (counter.process >= 0) {
      NL_ASSIGN(parent, ProcessTrack(counter.process));
    }
    const uint64_t uuid = NewUuid();
    ProtoWriter descriptor, inner;
    if (counter.is_bytes) inner.Varint(track::kCounterUnit, track::kUnitBytes);
    descriptor.Varint(track::kUuid, uuid);
    descriptor.Bytes(track::kName, counter.name);
    if (parent != 0) descriptor.Varint(track::kParent, parent);
    descriptor.Message(track::kCounter, inner);
    NL_TRY(stream_.Describe(descriptor));
    stream_.Open(uuid);
    for (const auto& [at_ns, value] : counter.samples)
      NL_TRY(stream_.EmitCounter(at_ns, value, counter.is_bytes));
    samples_ += static_cast<int64_t>(counter.samples.size());
    return {};
  }

  const Timeline& timeline_;
  const StringPool& strings_;
  const RenderOptions& options_;
  PacketStream stream_;
  std::set<int32_t> device_lanes_;
  std::map<int32_t, uint64_t> process_uuids_;
  std::map<int32_t, int64_t> host_pids_;
  std::set<int64_t> pids_, tids_;
  std::vector<uint64_t> lane_uuids_;
  bool ranks_differ_ = false;
  int64_t next_uuid_ = 1;
  int64_t slices_ = 0, instants_ = 0, samples_ = 0, flow_ends_ = 0, overlap_tracks_ = 0;
};

class PerfettoRenderer final : public Renderer {
 public:
  RendererInfo Info() const override {
    return {.name = "perfetto",
            .summary = "a trace for ui.perfetto.dev",
            .extension = ".pftrace",
            .next_step = "open it at https://ui.perfetto.dev (the file stays on this machine)"};
  }

  Result<RenderCounts> Render(RunReader& run, const RenderOptions& options,
                              const RenderTarget& target) const override {
    Timeline timeline;
    NL_TRY(LoadTimeline(run, options, timeline));
    return TraceWriter(timeline, run.strings(), options, target.append).Write();
  }
};

}  // namespace

const Renderer& Describe() {
  static const PerfettoRenderer renderer;
  return renderer;
}

}  // namespace nl::renderers::perfetto
