// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/rocprof/recording.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "import/names/copy_name.h"
#include "model/labels/step_label.h"

namespace nl::adapters::rocprof {

namespace {

constexpr int64_t kYearNs = int64_t{366} * 24 * 3600 * 1'000'000'000;
enum LaneKind : int64_t { kThreadLane, kBesideLane, kStreamLane, kQueueLane, kPartLane };

// HIP_RUNTIME_API_EXT -> hip_runtime, as PyTorch's traces of ROCm spell it.
std::string DomainOf(std::string_view kind) {
  for (const std::string_view end : {"_EXT", "_API"}) {
    if (kind.ends_with(end)) kind.remove_suffix(end.size());
  }
  return ToLower(kind);
}

int32_t Small(int64_t value) {
  return IsNull(value) || value < 0 || value > INT32_MAX ? NullOf<int32_t>::value
                                                         : static_cast<int32_t>(value);
}

// Blocks that a grid of work-items makes; the last may not be full.
int32_t Blocks(int64_t items, int64_t workgroup) {
  if (IsNull(items) || IsNull(workgroup) || items < 0 || workgroup <= 0) return NullOf<int32_t>::value;
  return Small(items / workgroup + (items % workgroup != 0));
}

}  // namespace

size_t Recording::ResourceHash::operator()(const Resources& r) const {
  uint64_t hash = 0;
  for (const int64_t v : {r.kernel_id, r.queue, r.scratch_bytes, r.vgpr, r.accum_vgpr, r.sgpr, r.wave_size})
    hash = (hash ^ static_cast<uint64_t>(v)) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

Recording::Recording(ImportFile& f)
    : file(f),
      writer(f),
      kernel_table_(f.sink.strings().Add("kernel")),
      resources_key_(f.sink.strings().Add("resources")),
      span_(f.sink.strings().Add("span")),
      instant_(f.sink.strings().Add("instant")),
      roctx_(f.sink.strings().Add("roctx")),
      first_process_(f.sink.rows(Table::kProcess)),
      first_lane_(f.sink.rows(Table::kThread)) {}

StringId Recording::Text(std::string_view text) {
  if (text.empty()) return StringId::kNull;
  if (IsUtf8(text)) return writer.strings().Add(text);
  file.counters.Add(kBadUtf8);
  return writer.strings().Add(ValidUtf8(text));
}

void Recording::LeaveOut(const CounterInfo& counter, std::string_view what) {
  if (left_out_.emplace(std::string(counter.name) + ":" + std::string(what), true).second)
    file.counters.Add(counter, -1, what);
}

bool Recording::TimeOf(const Times& times, Table table, RowId row, int64_t place, std::string_view text,
                       int64_t& start_ns, int64_t& dur_ns) {
  const bool usable = !IsNull(times.start_ns) && times.start_ns >= 0 && times.start_ns < 200 * kYearNs &&
                      (times.start_ns > 0 || times.end_ns > 0);
  if (!usable) {
    file.counters.Add(kBadTimestamp, place, text);
    return false;
  }
  start_ns = times.start_ns;
  dur_ns = kNone;
  if (!IsNull(times.end_ns) && times.end_ns >= times.start_ns && times.end_ns - times.start_ns < kYearNs) {
    dur_ns = times.end_ns - times.start_ns;
    return true;
  }
  file.counters.Add(kBadDuration, place, text);
  if (!IsNull(times.end_ns)) writer.KeepArg(table, row, "end_timestamp", times.end_ns);
  return true;
}

ThreadId Recording::LaneOf(const LaneKey& key, int64_t tid, std::string_view name) {
  if (key == last_key_ && !IsNull(last_lane_)) return last_lane_;
  const auto [it, added] =
      lane_of_.try_emplace(key, static_cast<ThreadId>(first_lane_ + static_cast<int64_t>(lanes_.size())));
  if (added) {
    const auto [process, fresh] = process_at_.try_emplace({key[0], key[1]}, processes_.size());
    if (fresh) processes_.push_back({key[0], key[1]});
    const StringId text = name.empty() ? StringId::kNull : writer.strings().Add(name);
    lanes_.push_back({process->second, tid, text, IsNull(tid) ? text : StringId::kNull});
  }
  last_key_ = key;
  last_lane_ = it->second;
  return it->second;
}

ThreadId Recording::Host(int64_t pid, int64_t tid, bool beside) {
  // Calls of HSA are made inside HIP's: on the same lane they would hide which call waited.
  if (beside) {
    const LaneKey lane{pid, kNone, kBesideLane, tid};
    if (lane == last_key_) return last_lane_;
    return LaneOf(lane, kNone, IsNull(tid) ? "HSA" : fmt::format("{} HSA", tid));
  }
  return LaneOf({pid, kNone, kThreadLane, tid}, tid, "");
}

ThreadId Recording::Stream(int64_t pid, int32_t device, int64_t stream, int64_t queue) {
  const int64_t key = IsNull(device) ? -1 : device;
  if (!IsNull(stream)) {
    const LaneKey lane{pid, key, kStreamLane, stream};
    if (lane == last_key_) return last_lane_;
    return LaneOf(lane, stream, fmt::format("stream {}", stream));
  }
  if (!IsNull(queue)) return LaneOf({pid, key, kQueueLane, queue}, queue, fmt::format("queue {}", queue));
  return LaneOf({pid, key, kPartLane, 0}, kNone, "device");
}

int32_t Recording::DeviceOf(const AgentPlace& agent) {
  if (!agent.known) file.counters.Add(kUnknownAgent);
  return agent.device;
}

StringId Recording::ResourceText(const Resources& r) {
  const auto [it, added] = resource_texts_.try_emplace(r, StringId::kNull);
  if (!added) return it->second;
  Json json = Json::object();
  const auto put = [&json](const char* key, int64_t value) {
    if (!IsNull(value)) json[key] = value;
  };
  put("kernel_id", r.kernel_id);
  put("queue", r.queue);
  put("scratch_bytes", r.scratch_bytes);
  put("vgpr", r.vgpr);
  put("accum_vgpr", r.accum_vgpr);
  put("sgpr", r.sgpr);
  put("wave_size", r.wave_size);
  if (!json.empty()) it->second = writer.strings().Add(DumpJson(json));
  return it->second;
}

Result<RowId> Recording::AddKernel(const Dispatch& d, int64_t place, std::string_view text) {
  KernelColumns& kernels = writer.batch.kernel;
  const RowId row = writer.NextRow(Table::kKernel, kernels);
  KernelRow r;
  if (!TimeOf(d.times, Table::kKernel, row, place, text, r.start_ns, r.dur_ns)) return RowId::kNull;
  r.device = DeviceOf(d.agent);
  r.stream = IsNull(d.stream) ? d.resources.queue : d.stream;
  r.thread_id = Stream(d.pid, r.device, d.stream, d.resources.queue);
  r.name = d.name;
  if (IsNull(d.name)) file.counters.Add(kMissingName, place, text);
  r.correlation = d.correlation == 0 ? kNone : d.correlation;
  const int64_t arch = d.resources.vgpr, accum = d.resources.accum_vgpr;
  if (!IsNull(arch)) r.registers_per_thread = Small(arch + (IsNull(accum) || accum < 0 ? 0 : accum));
  r.shared_bytes = d.lds_bytes;
  r.queued_ns = d.queued_ns;
  int32_t* blocks[] = {&r.grid_x, &r.grid_y, &r.grid_z};
  int32_t* threads[] = {&r.block_x, &r.block_y, &r.block_z};
  for (size_t i = 0; i < 3; ++i) {
    *blocks[i] = Blocks(d.grid[i], d.workgroup[i]);
    *threads[i] = Small(d.workgroup[i]);
  }
  if (const StringId resources = ResourceText(d.resources); !IsNull(resources)) {
    ArgsRow arg;
    arg.owner = kernel_table_;
    arg.owner_id = row;
    arg.key = resources_key_;
    arg.value = resources;
    writer.batch.args.Add(arg);
  }
  kernels.Add(r);
  if (!IsNull(d.dispatch_id)) kernels_.emplace_back(d.dispatch_id, row);
  NL_TRY(writer.Flow());
  return row;
}

Status Recording::AddCopy(const Copy& c, int64_t place, std::string_view text) {
  MemcpyColumns& copies = writer.batch.memcpy;
  const RowId row = writer.NextRow(Table::kMemcpy, copies);
  MemcpyRow r;
  if (!TimeOf(c.times, Table::kMemcpy, row, place, text, r.start_ns, r.dur_ns)) return {};
  const std::string_view kind = ParseCopyName(c.direction).kind;
  StringPool& strings = writer.strings();
  const AgentPlace& gpu = kind.starts_with('D') || !c.to.is_gpu ? c.from : c.to;
  r.device = DeviceOf(gpu);
  r.stream = c.stream;
  r.thread_id = IsNull(c.stream)
                    ? LaneOf({c.pid, IsNull(r.device) ? -1 : r.device, kPartLane, 1}, kNone, "copies")
                    : Stream(c.pid, r.device, c.stream, kNone);
  r.name = strings.Add(kind.empty() ? "Memcpy" : fmt::format("Memcpy {}", kind));
  if (!kind.empty()) {
    r.kind = strings.Add(kind);
    if (kind[0] == 'D') r.src_memory = strings.Add("Device");
    if (kind[3] == 'D') r.dst_memory = strings.Add("Device");
  } else {
    writer.KeepArg(Table::kMemcpy, row, "direction", DumpJson(Json(ValidUtf8(c.direction))));
  }
  r.bytes = c.bytes;
  r.correlation = c.correlation == 0 ? kNone : c.correlation;
  if (c.from.is_gpu && c.to.is_gpu && !IsNull(c.to.device) && c.to.device != r.device)
    writer.KeepArg(Table::kMemcpy, row, "destination_device", c.to.device);
  copies.Add(r);
  return writer.Flow();
}

Status Recording::AddCall(const Call& c, int64_t place, std::string_view text) {
  ApiCallColumns& calls = writer.batch.api_call;
  const RowId row = writer.NextRow(Table::kApiCall, calls);
  ApiCallRow r;
  if (!TimeOf(c.times, Table::kApiCall, row, place, text, r.start_ns, r.dur_ns)) return {};
  if (IsNull(domain_.id) || domain_.kind != c.domain)
    domain_ = {std::string(c.domain), DomainOf(c.domain), StringId::kNull};
  r.thread_id = Host(c.pid, c.tid, domain_.text.starts_with("hsa"));
  r.name = c.name;
  if (IsNull(c.name)) file.counters.Add(kMissingName, place, text);
  if (IsNull(domain_.id)) domain_.id = writer.strings().Add(domain_.text);
  r.domain = domain_.id;
  r.correlation = c.correlation == 0 ? kNone : c.correlation;
  calls.Add(r);
  return writer.Flow();
}

Status Recording::AddMarker(const Call& m, int64_t place, std::string_view text) {
  RangeColumns& ranges = writer.batch.range;
  const RowId row = writer.NextRow(Table::kRange, ranges);
  RangeRow r;
  if (!TimeOf(m.times, Table::kRange, row, place, text, r.start_ns, r.dur_ns)) return {};
  r.thread_id = Host(m.pid, m.tid, false);
  r.name = m.name;
  if (IsNull(m.name)) file.counters.Add(kMissingName, place, text);
  r.category = roctx_;
  const bool mark = r.dur_ns == 0;
  r.kind = mark ? instant_ : span_;
  if (mark) r.dur_ns = kNone;
  ranges.Add(r);
  if (!mark && !IsNull(r.name) && IsStepLabel(writer.strings().Text(r.name)))
    steps_.Add(r.thread_id, r.name, r.start_ns, r.dur_ns, row);
  return writer.Flow();
}

Status Recording::AddAllocation(const Allocation& a, int64_t place, std::string_view text) {
  MemoryEventColumns& events = writer.batch.memory_event;
  const RowId row = writer.NextRow(Table::kMemoryEvent, events);
  MemoryEventRow r;
  int64_t dur_ns = kNone;
  if (!TimeOf(a.times, Table::kMemoryEvent, row, place, text, r.start_ns, dur_ns)) return {};
  r.thread_id = Host(a.pid, a.tid, false);
  r.name = Text(a.operation);
  r.address = a.address;
  const bool release = a.operation.find("FREE") != std::string_view::npos;
  if (!release) {
    r.bytes = a.bytes;
    if (!IsNull(a.address) && !IsNull(a.bytes)) allocated_[a.address] = a.bytes;
  } else if (const auto it = allocated_.find(a.address); it != allocated_.end()) {
    r.bytes = -it->second;  // a release is recorded without its size
    allocated_.erase(it);
  }
  if (a.agent.known) {
    r.device_type = a.agent.is_gpu ? 1 : 0;
    r.device = a.agent.is_gpu ? a.agent.device : -1;
  }
  if (!IsNull(dur_ns)) writer.KeepArg(Table::kMemoryEvent, row, "dur_ns", dur_ns);
  events.Add(r);
  return writer.Flow();
}

Status Recording::AddDeviceSpan(const Call& s, const AgentPlace& agent, std::string_view lane, int64_t place,
                                std::string_view text) {
  RangeColumns& ranges = writer.batch.range;
  const RowId row = writer.NextRow(Table::kRange, ranges);
  RangeRow r;
  if (!TimeOf(s.times, Table::kRange, row, place, text, r.start_ns, r.dur_ns)) return {};
  const int32_t device = DeviceOf(agent);
  const StringId category = writer.strings().Add(lane);
  r.thread_id = LaneOf({s.pid, IsNull(device) ? -1 : device, kPartLane, 2 + static_cast<int64_t>(category)},
                       kNone, lane);
  r.name = s.name;
  r.category = category;
  r.kind = span_;
  ranges.Add(r);
  return writer.Flow();
}

void Recording::AddMetric(RowId kernel, StringId name, double value) {
  KernelMetricRow r;
  r.kernel_id = kernel;
  r.name = name;
  r.value = value;
  writer.batch.kernel_metric.Add(r);
  if (const Known known = KnownOf(name); known != Known::kNone && value >= 0)
    known_values_.push_back({kernel, known, value});
}

// Derived counters of rocprofiler (AMD's documentation of 6.x and 7.x): FETCH_SIZE and WRITE_SIZE are
// kilobytes of 1024 bytes from and to video memory, the others percentages.
Recording::Known Recording::KnownOf(StringId name) {
  const auto [it, added] = known_names_.try_emplace(static_cast<uint32_t>(name), Known::kNone);
  if (added && !IsNull(name)) {
    const std::string_view text = writer.strings().Text(name);
    if (text == "FETCH_SIZE" || text == "FetchSize") it->second = Known::kFetchKilobytes;
    if (text == "WRITE_SIZE" || text == "WriteSize") it->second = Known::kWriteKilobytes;
    if (text == "L2CacheHit") it->second = Known::kL2HitPercent;
    if (text == "OccupancyPercent") it->second = Known::kOccupancyPercent;
  }
  return it->second;
}

void Recording::PutCounters() {
  std::stable_sort(known_values_.begin(), known_values_.end(),
                   [](const KnownValue& a, const KnownValue& b) { return a.kernel < b.kernel; });
  constexpr double kKilobyte = 1024;
  for (size_t i = 0; i < known_values_.size();) {
    KernelCounterRow row;
    row.kernel_id = known_values_[i].kernel;
    row.source = writer.strings().Add("rocprof");
    row.joined_by = writer.strings().Add("recorded");
    for (; i < known_values_.size() && known_values_[i].kernel == row.kernel_id; ++i) {
      const auto& [kernel, counter, value] = known_values_[i];
      const bool is_percent = value <= 100;  // more is a sum over instances, not the derived counter
      if (counter == Known::kFetchKilobytes) row.dram_read_bytes = value * kKilobyte;
      if (counter == Known::kWriteKilobytes) row.dram_write_bytes = value * kKilobyte;
      if (counter == Known::kL2HitPercent && is_percent) row.l2_hit_rate = value / 100;
      if (counter == Known::kOccupancyPercent && is_percent) row.achieved_occupancy = value / 100;
    }
    if (!IsNull(row.dram_read_bytes) && !IsNull(row.dram_write_bytes))
      row.dram_bytes = row.dram_read_bytes + row.dram_write_bytes;
    writer.batch.kernel_counter.Add(row);
  }
  known_values_.clear();
}

RowId Recording::KernelOf(int64_t dispatch_id) {
  if (sorted_kernels_ != kernels_.size()) {
    std::stable_sort(kernels_.begin(), kernels_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    sorted_kernels_ = kernels_.size();
  }
  const auto it = std::lower_bound(kernels_.begin(), kernels_.end(), dispatch_id,
                                   [](const auto& entry, int64_t wanted) { return entry.first < wanted; });
  return it != kernels_.end() && it->first == dispatch_id ? it->second : RowId::kNull;
}

void Recording::PutLanes() {
  StringPool& strings = writer.strings();
  for (const Process& p : processes_) {
    ProcessRow row;
    row.pid = p.pid;
    if (const auto it = process_names_.find(p.pid); it != process_names_.end()) row.name = it->second;
    row.labels = strings.Add(IsNull(p.device) ? "CPU"
                             : p.device < 0   ? "GPU"
                                              : fmt::format("GPU {}", p.device));
    writer.batch.process.Add(row);
  }
  for (const Lane& lane : lanes_) {
    ThreadRow row;
    row.process_id = static_cast<ProcessId>(first_process_ + static_cast<int64_t>(lane.process));
    row.tid = lane.tid;
    row.tid_text = lane.text;
    row.name = lane.name;
    writer.batch.thread.Add(row);
  }
}

Status Recording::Finish() {
  PutLanes();
  PutCounters();
  steps_.Put(writer.strings(), writer.batch.step);
  file.about.header = std::move(header);
  agents.Put(writer.batch, writer.strings(), file.about);
  file.about.vendor = "amd";
  return writer.Finish();
}

}  // namespace nl::adapters::rocprof
