// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: runs the scripts of a program and writes what a profiler would have recorded.
// Discrete events in time order: a host thread takes its time for each instruction; work
// starts when its launch has reached the device, what is before it on its stream is done
// and the event it waits for has happened; kernels of several streams share the device;
// a collective moves on when every device takes part; a waiting call returns when the work
// is done. Idle time and overlap follow from that.
// Thread rule: one thread. Ownership: refers to the program and the builder.

#include <map>

#include "testing/synthetic/machine.h"
#include "testing/synthetic/noise.h"

namespace nl::synthetic {

class Simulator {
 public:
  // Without a builder nothing is recorded: only the result is wanted.
  Simulator(const Program& program, const NoiseLevel& noise, testing_analyze::RunBuilder* run)
      : program_(program), noise_(noise), run_(run) {}

  Simulated Run() {
    std::map<int32_t, bool> devices;
    for (const ThreadSpec& spec : program_.threads) {
      devices[spec.device] = true;
      Host& host = hosts_.emplace_back();
      host.spec = &spec;
      if (run_ != nullptr) host.id = run_->Thread(spec.name, spec.rank);
    }
    peers_ = devices.size();
    while (Step()) {
    }
    Simulated out;
    out.wall_ns = last_ns_ - first_ns_;
    out.works = works_;
    for (const auto& [device, state] : devices_) out.busy_ns += static_cast<double>(state.busy_ns);
    if (!devices_.empty()) out.busy_ns /= static_cast<double>(devices_.size());
    return out;
  }

 private:
  // The earliest thing that happens next; false at the end.
  bool Step() {
    Host* host = nullptr;
    for (Host& h : hosts_) {
      if (!h.ended && !h.blocked && (host == nullptr || h.now_ns < host->now_ns)) host = &h;
    }
    Stream* stream = nullptr;
    int64_t at_ns = kNever;
    for (auto& [key, s] : streams_) {
      const int64_t next = NextNs(s);
      if (next < at_ns) at_ns = next, stream = &s;
    }
    if (stream != nullptr && (host == nullptr || at_ns <= host->now_ns)) {
      Advance(devices_[stream->device], stream->device, at_ns);
      stream->running ? Finish(*stream, at_ns) : Start(*stream, at_ns);
      return true;
    }
    if (host == nullptr) return false;
    Next(*host);
    return true;
  }

  // ---- device ----
  static bool Computes(const Work& w) { return w.kind == WorkKind::kKernel && !w.communication; }
  double Rate(const Stream& s) const {
    const QueueItem& item = s.queue.front();
    if (item.work.collective != 0 && !released_.count(item.work.collective)) return 0;
    if (!Computes(item.work)) return 1;
    int others = 0;
    for (const auto& [key, other] : streams_) {
      if (&other == &s || other.device != s.device || !other.running) continue;
      others += Computes(other.queue.front().work);
    }
    return 1 / (1 + program_.contention * others);
  }

  int64_t NextNs(const Stream& s) const {
    if (s.queue.empty()) return kNever;
    const QueueItem& item = s.queue.front();
    if (s.running) {
      const double rate = Rate(s);
      return rate <= 0 ? kNever
                       : devices_.at(s.device).updated_ns + static_cast<int64_t>(std::ceil(s.left_ns / rate));
    }
    int64_t at = std::max(item.ready_ns, s.free_ns);
    if (item.wait_event != 0) {
      const auto event = events_.find(item.wait_event);
      if (event == events_.end()) return kNever;
      at = std::max(at, event->second);
    }
    return at;
  }

  void Advance(Device& device, int32_t index, int64_t to_ns) {
    std::vector<std::pair<Stream*, double>> rates;
    for (auto& [key, s] : streams_) {
      if (s.device == index && s.running) rates.push_back({&s, Rate(s)});
    }
    for (const auto& [s, rate] : rates) s->left_ns -= rate * static_cast<double>(to_ns - device.updated_ns);
    device.updated_ns = to_ns;
  }

  void Start(Stream& s, int64_t at_ns) {
    QueueItem& item = s.queue.front();
    if (item.marker) return Done(s, at_ns);
    s.running = true;
    item.start_ns = at_ns;
    const double clock = Computes(item.work) ? program_.clock : 1;
    s.left_ns = noise_.DeviceNs(item.key, item.work.us * clock);
    if (item.work.collective == 0) return;
    for (auto& [index, device] : devices_) Advance(device, index, at_ns);
    if (++joined_[item.work.collective] == peers_) released_[item.work.collective] = true;
  }

  void Finish(Stream& s, int64_t at_ns) {
    const QueueItem& item = s.queue.front();
    Device& device = devices_[s.device];
    const int64_t from = std::max(item.start_ns, device.busy_until_ns);
    if (at_ns > from) device.busy_ns += at_ns - from;
    device.busy_until_ns = std::max(device.busy_until_ns, at_ns);
    Bounds(item.start_ns, at_ns);
    ++works_;
    if (run_ != nullptr) Record(s, item, at_ns);
    s.running = false;
    Done(s, at_ns);
  }

  void Done(Stream& s, int64_t at_ns) {
    const QueueItem& item = s.queue.front();
    if (item.record_event != 0) events_[item.record_event] = at_ns;
    const bool graph = item.work.graph_id != 0;
    s.free_ns = item.marker ? std::max(s.free_ns, at_ns) : at_ns + (graph ? kGraphGapNs : kGapNs);
    s.queue.pop_front();
    ++s.done;
    for (Host& host : hosts_) Wake(host, at_ns);
  }

  void Record(const Stream& s, const QueueItem& item, int64_t end_ns) {
    const Work& w = item.work;
    const int64_t dur_ns = end_ns - item.start_ns;
    const ThreadId lane = devices_[s.device].lane;
    RunColumns& data = run_->data();
    switch (w.kind) {
      case WorkKind::kKernel:
        run_->Kernel(w.name, w.stream, item.start_ns, dur_ns, item.api, RowId::kNull, s.device,
                     w.graph_id == 0 ? NullOf<int64_t>::value : w.graph_id);
        data.kernel.grid_x.back() = static_cast<int32_t>(w.grid);
        data.kernel.grid_y.back() = data.kernel.grid_z.back() = 1;
        data.kernel.thread_id.back() = lane;
        return;
      case WorkKind::kMemcpy:
        run_->Memcpy(w.copy_kind, w.from, w.to, w.bytes, w.stream, item.start_ns, dur_ns, item.api,
                     RowId::kNull, s.device);
        data.memcpy.name.back() = run_->Name("Memcpy " + w.copy_kind + " (" + w.from + " -> " + w.to + ")");
        data.memcpy.thread_id.back() = lane;
        return;
      case WorkKind::kMemset: {
        MemsetRow row;
        row.thread_id = lane;
        row.start_ns = item.start_ns;
        row.dur_ns = dur_ns;
        row.device = s.device;
        row.context = 1;
        row.stream = w.stream;
        row.name = run_->Name("Memset (Device)");
        data.memset.api_call_id.push_back(item.api);
        data.memset.op_id.push_back(RowId::kNull);
        data.memset.Add(row);
      }
    }
  }

  // ---- host ----
  int64_t StreamKey(int32_t device, int64_t stream) const { return device * 1000 + stream; }

  void Next(Host& host) {
    while (host.at == host.script.instructions.size()) {
      host.script = Script();
      host.at = 0;
      if (host.spec->background && OthersEnded()) return End(host);
      Writer writer(host.script, texts_, program_.recording, program_.edits);
      writer.host_scale = program_.host_scale;
      if (!host.spec->write(host.piece++, writer)) return End(host);
    }
    const Instruction& i = host.script.instructions[host.at++];
    switch (i.act) {
      case Act::kOpen: return OpenSpanOf(host, i);
      case Act::kClose: return CloseSpan(host);
      case Act::kHost: host.now_ns += noise_.HostNs(i.key, i.block, i.us); return;
      case Act::kCall: return CallApi(host, i);
      case Act::kSignal:
        signals_[i.signal] = host.now_ns;
        for (Host& h : hosts_) Wake(h, host.now_ns);
        return;
      case Act::kAwait:
        host.awaits = i.signal;
        host.blocked = true;
        return Wake(host, host.now_ns);
    }
  }

  void End(Host& host) { host.ended = true; }
  bool OthersEnded() const {
    for (const Host& h : hosts_) {
      if (!h.spec->background && !h.ended) return false;
    }
    return true;
  }

  void OpenSpanOf(Host& host, const Instruction& i) {
    OpenSpan span{i.span, i.hidden, 0, host.now_ns, i.name};
    if (!i.hidden && run_ != nullptr) {
      const std::string& name = texts_.Of(i.name);
      const RowId row = i.span == SpanKind::kOp
                            ? run_->Op(host.id, name, host.now_ns, 0, texts_.Of(i.dims), texts_.Of(i.types))
                        : i.span == SpanKind::kRange ? run_->Range(host.id, name, host.now_ns, 0)
                                                     : run_->Python(host.id, name, host.now_ns, 0);
      span.row = static_cast<size_t>(row);
    }
    host.open.push_back(span);
  }

  void CloseSpan(Host& host) {
    const OpenSpan span = host.open.back();
    host.open.pop_back();
    if (span.hidden) return;
    Bounds(span.start_ns, host.now_ns);
    if (run_ == nullptr) return;
    RunColumns& data = run_->data();
    auto& dur_ns = span.kind == SpanKind::kOp      ? data.op.dur_ns
                   : span.kind == SpanKind::kRange ? data.range.dur_ns
                                                   : data.python_call.dur_ns;
    dur_ns[span.row] = host.now_ns - span.start_ns;
    const std::string& name = texts_.Of(span.name);
    const bool profiler = name.rfind("ProfilerStep#", 0) == 0;
    if (span.kind == SpanKind::kRange && (profiler || name == "LLM@decode_step"))
      run_->Step(name, static_cast<int64_t>(data.step.size()), span.start_ns, host.now_ns - span.start_ns);
  }

  void CallApi(Host& host, const Instruction& i) {
    host.call_start_ns = host.now_ns;
    host.call_hidden = i.hidden;
    RowId api = RowId::kNull;
    if (!i.hidden && run_ != nullptr) {
      api = run_->Api(host.id, texts_.Of(i.name), host.now_ns, 0);
      host.api_row = static_cast<size_t>(api);
    }
    host.now_ns += noise_.HostNs(i.key, i.block, i.us);
    const int32_t device = host.spec->device;
    if (i.works == 0 && (i.record_event != 0 || i.wait_event != 0)) {
      QueueItem marker;
      marker.marker = true;
      Push(device, i.stream, marker, i, host.now_ns);
    }
    for (uint32_t k = 0; k < i.works; ++k) {
      QueueItem item;
      item.work = host.script.works[i.first_work + k];
      item.key = compare::HashPair(i.key, k + 17);
      item.api = api;
      Push(device, item.work.stream, item, i, host.now_ns + static_cast<int64_t>(kLatencyUs * 1e3));
    }
    if (i.waits != Waits::kNo) {
      for (const auto& [key, s] : streams_) {
        if (s.device != device || (i.waits == Waits::kStream && key != StreamKey(device, i.stream))) continue;
        host.until.push_back({key, s.pushed});
      }
      host.blocked = true;
      if (Drained(host)) return Return(host, host.now_ns);
      return;
    }
    Return(host, host.now_ns);
  }

  void Push(int32_t device, int64_t stream, QueueItem item, const Instruction& i, int64_t ready_ns) {
    const auto [it, added] = devices_.try_emplace(device);
    if (added && run_ != nullptr) {
      run_->Device(device, "NVIDIA H200");
      const int32_t rank = hosts_.front().spec->rank;
      if (!IsNull(rank)) it->second.lane = run_->Thread("stream", RankOf(device));
    }
    Stream& s = streams_[StreamKey(device, stream)];
    s.device = device;
    item.ready_ns = ready_ns;
    item.wait_event = i.wait_event;
    item.record_event = i.record_event;
    s.queue.push_back(std::move(item));
    ++s.pushed;
  }
  int32_t RankOf(int32_t device) const {
    for (const Host& h : hosts_) {
      if (h.spec->device == device) return h.spec->rank;
    }
    return 0;
  }

  bool Drained(const Host& host) const {
    for (const auto& [key, count] : host.until) {
      if (streams_.at(key).done < count) return false;
    }
    return true;
  }
  void Wake(Host& host, int64_t at_ns) {
    if (!host.blocked) return;
    if (host.awaits != 0) {
      const auto signal = signals_.find(host.awaits);
      if (signal == signals_.end()) return;
      host.now_ns = std::max(host.now_ns, signal->second);
      host.awaits = 0;
      host.blocked = false;
      return;
    }
    if (!host.until.empty() && Drained(host)) Return(host, std::max(host.now_ns, at_ns) + kWakeNs);
  }
  void Return(Host& host, int64_t at_ns) {
    host.now_ns = at_ns;
    host.until.clear();
    host.blocked = false;
    if (host.call_hidden) return;
    Bounds(host.call_start_ns, at_ns);
    if (run_ != nullptr) run_->data().api_call.dur_ns[host.api_row] = at_ns - host.call_start_ns;
  }

  void Bounds(int64_t from_ns, int64_t to_ns) {
    first_ns_ = std::min(first_ns_, from_ns);
    last_ns_ = std::max(last_ns_, to_ns);
  }

  const Program& program_;
  Noise noise_;
  testing_analyze::RunBuilder* const run_;
  Texts texts_;
  std::vector<Host> hosts_;
  std::map<int64_t, Stream> streams_;
  std::map<int32_t, Device> devices_;
  std::unordered_map<int64_t, int64_t> events_;
  std::unordered_map<uint32_t, int64_t> signals_;
  std::unordered_map<uint64_t, size_t> joined_;
  std::unordered_map<uint64_t, bool> released_;
  size_t peers_ = 1;  // devices that a collective needs
  int64_t first_ns_ = INT64_MAX, last_ns_ = 0, works_ = 0;
};

}  // namespace nl::synthetic
