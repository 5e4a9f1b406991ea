// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/perfetto/event_rows.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"
#include "import/names/copy_name.h"
#include "model/labels/step_label.h"

namespace nl::adapters::perfetto {

namespace {

bool IsApiDomain(std::string_view category) {
  if (category.ends_with("_runtime") || category.ends_with("_driver") || category.starts_with("hsa"))
    return true;
  for (const std::string_view domain : {"api_call", "osrt", "cudnn", "cublas", "rccl", "hip_compiler"}) {
    if (category == domain) return true;
  }
  return false;
}

int32_t Small(int64_t value) {
  return IsNull(value) || value < INT32_MIN + 1 || value > INT32_MAX ? NullOf<int32_t>::value
                                                                     : static_cast<int32_t>(value);
}

template <class Row>
void Place(ThreadId lane, const Event& e, int64_t dur_ns, Row& row) {
  row.thread_id = lane;
  row.start_ns = e.at_ns;
  row.dur_ns = dur_ns;
  row.name = e.name;
}

}  // namespace

EventRows::EventRows(ImportFile& file)
    : writer(file),
      file_(file),
      first_process_(file.sink.rows(Table::kProcess)),
      first_lane_(file.sink.rows(Table::kThread)) {}

StringId EventRows::Text(std::string_view text) {
  if (IsUtf8(text)) return writer.strings().Add(text);
  file_.counters.Add(kBadUtf8);
  return writer.strings().Add(ValidUtf8(text));
}

ThreadId EventRows::LaneOf(uint64_t uuid) {
  Track& track = tracks.At(tracks.LaneTrack(uuid));
  if (IsNull(track.lane)) {
    track.lane = static_cast<ThreadId>(first_lane_ + static_cast<int64_t>(lanes_.size()));
    lanes_.push_back(track.uuid);
  }
  return track.lane;
}

int64_t EventRows::TakeInt(Event& e, std::string_view name) {
  for (size_t i = 0; i < e.notes.size(); ++i) {
    if (IsNull(e.notes[i].number) || writer.strings().Text(e.notes[i].name) != name) continue;
    const int64_t value = e.notes[i].number;
    e.notes.erase(e.notes.begin() + static_cast<ptrdiff_t>(i));
    return value;
  }
  return kNone;
}

double EventRows::TakeReal(Event& e, std::string_view name) {
  for (size_t i = 0; i < e.notes.size(); ++i) {
    if (IsNull(e.notes[i].real) || writer.strings().Text(e.notes[i].name) != name) continue;
    const double value = e.notes[i].real;
    e.notes.erase(e.notes.begin() + static_cast<ptrdiff_t>(i));
    return value;
  }
  return NullOf<double>::value;
}

StringId EventRows::TakeText(Event& e, std::string_view name) {
  for (size_t i = 0; i < e.notes.size(); ++i) {
    if (e.notes[i].text.empty() || writer.strings().Text(e.notes[i].name) != name) continue;
    const StringId value = writer.strings().Add(e.notes[i].text);
    e.notes.erase(e.notes.begin() + static_cast<ptrdiff_t>(i));
    return value;
  }
  return StringId::kNull;
}

// "[16, 1, 1]"; what is something else stays an annotation.
void EventRows::TakeExtents(Event& e, std::string_view name, int32_t& x, int32_t& y, int32_t& z) {
  for (size_t i = 0; i < e.notes.size(); ++i) {
    if (writer.strings().Text(e.notes[i].name) != name) continue;
    const std::string& text = e.notes[i].text;
    int32_t values[3] = {};
    const char* p = text.data();
    const char* end = p + text.size();
    bool good = p < end && *p++ == '[';
    for (int k = 0; good && k < 3; ++k) {
      while (p < end && (*p == ' ' || *p == ',')) ++p;
      const auto [next, code] = std::from_chars(p, end, values[k]);
      good = code == std::errc();
      p = next;
    }
    if (!good || p >= end || *p != ']') return;
    x = values[0];
    y = values[1];
    z = values[2];
    e.notes.erase(e.notes.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

void EventRows::KeepNotes(Table table, RowId row, const Event& e) {
  for (const Note& note : e.notes) writer.KeepArg(table, row, writer.strings().Text(note.name), note.json);
}

template <class Row>
void EventRows::TakeWork(Row& row, uint64_t uuid) {
  const Track& track = tracks.At(uuid);
  row.device = Small(tracks.NumberAbove(track, "GPU"));
  row.stream = tracks.NumberAbove(track, "stream");
}

void EventRows::PutKernel(uint64_t track, Event& e, int64_t dur_ns) {
  KernelColumns& kernels = writer.batch.kernel;
  const RowId row = writer.NextRow(Table::kKernel, kernels);
  KernelRow r;
  Place(LaneOf(track), e, dur_ns, r);
  TakeWork(r, track);
  r.correlation = TakeInt(e, "correlation");
  r.external_id = TakeInt(e, "external_id");
  r.registers_per_thread = Small(TakeInt(e, "registers_per_thread"));
  r.shared_bytes = TakeInt(e, "shared_bytes");
  r.estimated_occupancy_pct = TakeReal(e, "estimated_occupancy_pct");
  r.graph_node_id = TakeInt(e, "graph_node_id");
  TakeExtents(e, "grid", r.grid_x, r.grid_y, r.grid_z);
  TakeExtents(e, "block", r.block_x, r.block_y, r.block_z);
  kernels.Add(r);
  KeepNotes(Table::kKernel, row, e);
}

template <class Columns, class Row>
void EventRows::PutCopy(Columns& columns, Table table, Row r, uint64_t track, Event& e, int64_t dur_ns) {
  const RowId row = writer.NextRow(table, columns);
  Place(LaneOf(track), e, dur_ns, r);
  TakeWork(r, track);
  r.bytes = TakeInt(e, "bytes");
  r.bandwidth_gbps = TakeReal(e, "bandwidth_gbps");
  r.correlation = TakeInt(e, "correlation");
  columns.Add(r);
  KeepNotes(table, row, e);
}

void EventRows::PutSync(uint64_t track, Event& e, int64_t dur_ns) {
  SyncColumns& syncs = writer.batch.sync;
  const RowId row = writer.NextRow(Table::kSync, syncs);
  SyncRow r;
  Place(LaneOf(track), e, dur_ns, r);
  TakeWork(r, track);
  r.correlation = TakeInt(e, "correlation");
  r.wait_on_stream = TakeInt(e, "wait_on_stream");
  syncs.Add(r);
  KeepNotes(Table::kSync, row, e);
}

void EventRows::PutOp(uint64_t track, Event& e, int64_t dur_ns) {
  OpColumns& ops = writer.batch.op;
  const RowId row = writer.NextRow(Table::kOp, ops);
  OpRow r;
  Place(LaneOf(track), e, dur_ns, r);
  r.external_id = TakeInt(e, "external_id");
  r.sequence_number = TakeInt(e, "sequence_number");
  r.input_dims = TakeText(e, "input_dims");
  r.input_types = TakeText(e, "input_types");
  r.concrete_inputs = TakeText(e, "concrete_inputs");
  ops.Add(r);
  KeepNotes(Table::kOp, row, e);
}

void EventRows::PutApiCall(uint64_t track, Event& e, int64_t dur_ns, std::string_view domain) {
  ApiCallColumns& calls = writer.batch.api_call;
  const RowId row = writer.NextRow(Table::kApiCall, calls);
  ApiCallRow r;
  Place(LaneOf(track), e, dur_ns, r);
  if (domain != "api_call") r.domain = e.category;
  r.correlation = TakeInt(e, "correlation");
  r.external_id = TakeInt(e, "external_id");
  calls.Add(r);
  KeepNotes(Table::kApiCall, row, e);
}

void EventRows::PutRange(uint64_t track, Event& e, int64_t dur_ns, std::string_view kind) {
  RangeColumns& ranges = writer.batch.range;
  const RowId row = writer.NextRow(Table::kRange, ranges);
  RangeRow r;
  Place(LaneOf(track), e, dur_ns, r);
  if (!IsNull(e.category) && writer.strings().Text(e.category) != "range") r.category = e.category;
  const StringId told = TakeText(e, "kind");
  r.kind = IsNull(told) ? writer.strings().Add(kind) : told;
  ranges.Add(r);
  KeepNotes(Table::kRange, row, e);
  if (IsNull(r.name) || IsNull(dur_ns) || !IsStepLabel(writer.strings().Text(r.name))) return;
  // The device's copy of a label is not a step of its own.
  if (!IsNull(r.category) && writer.strings().Text(r.category).starts_with("gpu_")) return;
  steps_.Add(r.thread_id, r.name, r.start_ns, r.dur_ns, row);
}

// Instants that have a table of their own.
bool EventRows::PutInstantRow(uint64_t track, Event& e) {
  const std::string_view category =
      IsNull(e.category) ? std::string_view() : writer.strings().Text(e.category);
  if (category == "memory_event") {
    MemoryEventColumns& events = writer.batch.memory_event;
    const RowId row = writer.NextRow(Table::kMemoryEvent, events);
    MemoryEventRow r;
    r.thread_id = LaneOf(track);
    r.start_ns = e.at_ns;
    r.name = e.name;
    r.bytes = TakeInt(e, "bytes");
    r.total_allocated_bytes = TakeInt(e, "total_allocated_bytes");
    r.device = Small(TakeInt(e, "device"));
    events.Add(r);
    KeepNotes(Table::kMemoryEvent, row, e);
    return true;
  }
  if (category != "cpu_sample") return false;
  CpuSampleRow r;
  r.thread_id = LaneOf(track);
  r.start_ns = e.at_ns;
  r.stack = TakeText(e, "stack");
  r.weight_ns = TakeInt(e, "weight_ns");
  const RowId row = writer.NextRow(Table::kCpuSample, writer.batch.cpu_sample);
  writer.batch.cpu_sample.Add(r);
  KeepNotes(Table::kCpuSample, row, e);
  return true;
}

// Arrows of launches say what the correlation says already.
void EventRows::PutFlows(ThreadId lane, const Event& e) {
  const auto put = [&](uint64_t id, const char* phase) {
    FlowRow r;
    r.thread_id = lane;
    r.start_ns = e.at_ns;
    r.phase = writer.strings().Add(phase);
    r.name = e.name;
    r.category = e.category;
    r.flow_id = static_cast<int64_t>(id);
    writer.batch.flow.Add(r);
  };
  for (const uint64_t id : e.flows) put(id, flow_begun_.emplace(id, true).second ? "s" : "t");
  for (const uint64_t id : e.ending_flows) put(id, "f");
}

Status EventRows::Put(uint64_t track, Event& e, int64_t dur_ns, std::string_view kind) {
  const std::string category(IsNull(e.category) ? std::string_view() : writer.strings().Text(e.category));
  const bool launch = std::any_of(e.notes.begin(), e.notes.end(), [&](const Note& note) {
    return !IsNull(note.number) && writer.strings().Text(note.name) == "correlation";
  });
  if (!launch && e.flows.size() + e.ending_flows.size() > 0) PutFlows(LaneOf(track), e);
  if (category == "kernel") {
    PutKernel(track, e, dur_ns);
  } else if (category == "memcpy") {
    MemcpyRow r;
    const std::string_view direction =
        ParseCopyName(IsNull(e.name) ? "" : writer.strings().Text(e.name)).kind;
    if (!direction.empty()) r.kind = writer.strings().Add(direction);
    PutCopy(writer.batch.memcpy, Table::kMemcpy, r, track, e, dur_ns);
  } else if (category == "memset") {
    PutCopy(writer.batch.memset, Table::kMemset, MemsetRow(), track, e, dur_ns);
  } else if (category == "sync") {
    PutSync(track, e, dur_ns);
  } else if (category == "op") {
    PutOp(track, e, dur_ns);
  } else if (category == "python") {
    PythonCallColumns& calls = writer.batch.python_call;
    const RowId row = writer.NextRow(Table::kPythonCall, calls);
    PythonCallRow r;
    r.thread_id = LaneOf(track);
    r.start_ns = e.at_ns;
    r.dur_ns = dur_ns;
    r.name = e.name;
    calls.Add(r);
    KeepNotes(Table::kPythonCall, row, e);
  } else if (IsApiDomain(category) || launch) {
    PutApiCall(track, e, dur_ns, category);
  } else {
    PutRange(track, e, dur_ns, kind);
  }
  return writer.Flow();
}

Status EventRows::Begin(uint64_t track, Event event) {
  tracks.At(track);
  open_[track].push_back(std::move(event));
  return {};
}

Status EventRows::End(uint64_t track, int64_t at_ns, std::vector<Note> notes) {
  std::vector<Event>& open = open_[track];
  if (open.empty()) {
    file_.counters.Add(kEndWithoutBegin);
    return {};
  }
  Event event = std::move(open.back());
  open.pop_back();
  for (Note& note : notes) event.notes.push_back(std::move(note));
  int64_t dur_ns = 0;
  if (at_ns < event.at_ns || __builtin_sub_overflow(at_ns, event.at_ns, &dur_ns)) {
    file_.counters.Add(kBadDuration);
    dur_ns = kNone;
  }
  return Put(track, event, dur_ns, "span");
}

Status EventRows::Instant(uint64_t track, Event event) {
  tracks.At(track);
  if (PutInstantRow(track, event)) return writer.Flow();
  return Put(track, event, kNone, "instant");
}

Status EventRows::Counter(uint64_t uuid, int64_t at_ns, double value, StringId name) {
  Track& track = tracks.At(uuid);
  if (track.is_incremental) value = track.sum += value;
  CounterSampleRow r;
  r.thread_id = LaneOf(uuid);
  r.start_ns = at_ns;
  r.name = track.name.empty() ? name : Text(track.name);
  r.value = value * static_cast<double>(track.multiplier);
  writer.batch.counter_sample.Add(r);
  return writer.Flow();
}

void EventRows::PutLanes() {
  std::vector<uint64_t> processes;
  std::unordered_map<uint64_t, size_t> place;
  std::vector<size_t> owners;
  for (const uint64_t uuid : lanes_) {
    const Track& root = tracks.RootOf(*tracks.Find(uuid));
    // Threads of one process without a track of its own belong together.
    const uint64_t key = !root.is_process && !IsNull(root.pid) ? ~static_cast<uint64_t>(root.pid) : root.uuid;
    const auto [it, added] = place.try_emplace(key, processes.size());
    if (added) processes.push_back(root.uuid);
    owners.push_back(it->second);
  }
  for (const uint64_t uuid : processes) {
    const Track& root = *tracks.Find(uuid);
    ProcessRow row;
    row.pid = root.pid;
    if (!root.process_name.empty()) row.name = Text(root.process_name);
    const std::string& label =
        !root.labels.empty() || root.is_process || root.is_thread ? root.labels : root.name;
    if (!label.empty()) row.labels = Text(label);
    writer.batch.process.Add(row);
  }
  for (size_t i = 0; i < lanes_.size(); ++i) {
    const Track& track = *tracks.Find(lanes_[i]);
    ThreadRow row;
    row.process_id = static_cast<ProcessId>(first_process_ + static_cast<int64_t>(owners[i]));
    row.tid = track.is_thread ? track.tid : tracks.NumberAbove(track, "stream");
    if (!track.name.empty()) row.name = Text(track.name);
    if (IsNull(row.tid))
      row.tid_text = track.name.empty() ? Text(fmt::format("track {}", track.uuid)) : row.name;
    writer.batch.thread.Add(row);
  }
}

Status EventRows::Finish() {
  for (const uint64_t uuid : std::vector<uint64_t>(tracks.order())) {
    const auto it = open_.find(uuid);
    if (it == open_.end()) continue;
    for (Event& event : it->second) {
      file_.counters.Add(kBeginWithoutEnd);
      NL_TRY(Put(uuid, event, kNone, "unfinished"));
    }
  }
  PutLanes();
  steps_.Put(writer.strings(), writer.batch.step);
  return writer.Finish();
}

}  // namespace nl::adapters::perfetto
