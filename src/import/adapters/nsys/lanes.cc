// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nsys/lanes.h"

#include <fmt/format.h>

#include "import/adapters/nsys/counters.h"

namespace nl::adapters::nsys {

namespace {

enum LaneKind : int64_t { kThreadLane, kBesideLane, kStreamLane, kDeviceLane };
constexpr int32_t kSeveral = -1;  // devices of one context: the export contradicts itself

int64_t PidOf(int64_t global_id) { return IsNull(global_id) ? global_id : global_id >> 24 & 0xffffff; }
int64_t TidOf(int64_t global_id) { return IsNull(global_id) ? global_id : global_id & 0xffffff; }

}  // namespace

Lanes::Lanes(RowWriter& writer)
    : writer_(writer),
      first_process_(static_cast<int64_t>(writer.NextRow(Table::kProcess, writer.batch.process))),
      first_lane_(static_cast<int64_t>(writer.NextRow(Table::kThread, writer.batch.thread))) {}

StringId Lanes::NameOf(const std::unordered_map<int64_t, StringId>& names, int64_t id) const {
  const auto it = names.find(id);
  return it == names.end() ? StringId::kNull : it->second;
}

size_t Lanes::ProcessAt(int64_t global_pid, int64_t device) {
  const auto [it, added] = process_at_.try_emplace({global_pid, device}, processes_.size());
  if (added) processes_.push_back({global_pid, device});
  return it->second;
}

ThreadId Lanes::Make(const Key& key, int64_t tid, StringId name, StringId text) {
  const auto [it, added] =
      lane_of_.emplace(key, static_cast<ThreadId>(first_lane_ + static_cast<int64_t>(lanes_.size())));
  if (added) lanes_.push_back({ProcessAt(key[0], key[1]), tid, name, text});
  return it->second;
}

ThreadId Lanes::Host(int64_t global_tid) {
  if (global_tid == last_host_ && last_lane_ != ThreadId::kNull) return last_lane_;
  const auto [it, added] = host_of_.try_emplace(global_tid, ThreadId::kNull);
  if (added) {
    it->second = Make({ProcessOf(global_tid), kHost, 0, TidOf(global_tid), kThreadLane}, TidOf(global_tid),
                      StringId::kNull, StringId::kNull);
  }
  last_host_ = global_tid;
  last_lane_ = it->second;
  return it->second;
}

ThreadId Lanes::Beside(int64_t global_tid, std::string_view what) {
  const auto [it, added] = beside_of_.try_emplace(global_tid, ThreadId::kNull);
  if (!added) return it->second;
  const int64_t tid = TidOf(global_tid);
  const StringId text =
      writer_.strings().Add(IsNull(tid) ? std::string(what) : fmt::format("{} {}", tid, what));
  it->second = Make({ProcessOf(global_tid), kHost, 0, tid, kBesideLane}, NullOf<int64_t>::value,
                    writer_.strings().Add(what), text);
  return it->second;
}

StreamLane Lanes::Stream(int64_t global_pid, int32_t cuda_id, int64_t context, int64_t stream) {
  const Key key{global_pid, cuda_id, context, stream, kStreamLane};
  const uint64_t mixed = static_cast<uint64_t>(global_pid >> 24) * 31 + static_cast<uint64_t>(stream) * 7 +
                         static_cast<uint64_t>(context) * 3 + static_cast<uint64_t>(cuda_id);
  CachedStream& recent = recent_[mixed % recent_.size()];
  if (recent.lane.lane != ThreadId::kNull && recent.key == key) return recent.lane;
  const int32_t device = GpuOf(global_pid, cuda_id);
  NoteContext(PidOf(global_pid), context, cuda_id);
  const StringId name =
      IsNull(stream) ? StringId::kNull : writer_.strings().Add(fmt::format("stream {}", stream));
  recent = {
      key, {Make({global_pid, device, context, stream, kStreamLane}, stream, name, StringId::kNull), device}};
  return recent.lane;
}

ThreadId Lanes::Device(int64_t global_pid, int32_t gpu, std::string_view what) {
  const StringId text = writer_.strings().Add(what);
  return Make({global_pid, gpu, static_cast<int64_t>(text), 0, kDeviceLane}, NullOf<int64_t>::value, text,
              text);
}

StreamLane Lanes::DevicePart(int64_t global_pid, int32_t cuda_id, std::string_view what) {
  const int32_t gpu = GpuOf(global_pid, cuda_id);
  return {Device(global_pid, gpu, what), gpu};
}

int32_t Lanes::GpuOf(int64_t global_pid, int32_t cuda_id) const {
  const auto gpu = gpus_.find({PidOf(global_pid), cuda_id});
  return gpu == gpus_.end() ? cuda_id : gpu->second;
}

void Lanes::NoteContext(int64_t pid, int64_t context, int32_t cuda_id) {
  if (IsNull(context) || IsNull(cuda_id)) return;
  const auto [it, added] = contexts_.try_emplace({pid, context}, cuda_id);
  if (!added && it->second != cuda_id) it->second = kSeveral;
}

int32_t Lanes::DeviceOfContext(int64_t global_pid, int64_t context) const {
  const auto it = contexts_.find({PidOf(global_pid), context});
  return it == contexts_.end() || it->second == kSeveral ? NullOf<int32_t>::value : it->second;
}

void Lanes::Put(CounterSet& counters) {
  StringPool& strings = writer_.strings();
  std::unordered_map<int64_t, bool> seen;
  for (const Process& p : processes_) {
    ProcessRow row;
    row.pid = PidOf(p.global_pid);
    row.name = NameOf(process_names_, p.global_pid);
    row.labels = strings.Add(p.device == kHost                    ? "CPU"
                             : p.device == NullOf<int32_t>::value ? "GPU"
                                                                  : fmt::format("GPU {}", p.device));
    if (const auto rank = ranks_.find(p.global_pid); rank != ranks_.end()) row.rank = rank->second;
    writer_.batch.process.Add(row);
    seen[p.global_pid] = true;
  }
  for (const Lane& lane : lanes_) {
    const Process& process = processes_[lane.process];
    const bool is_thread = process.device == kHost && !IsNull(lane.tid);
    const int64_t global_tid = is_thread ? process.global_pid | lane.tid : lane.tid;
    ThreadRow row;
    row.process_id = static_cast<ProcessId>(first_process_ + static_cast<int64_t>(lane.process));
    row.tid = lane.tid;
    row.tid_text = lane.text;
    row.name = is_thread ? NameOf(thread_names_, global_tid) : lane.name;
    writer_.batch.thread.Add(row);
    if (is_thread) seen[global_tid] = true;
  }
  int64_t unused = 0;
  for (const auto* names : {&process_names_, &thread_names_}) {
    for (const auto& [id, name] : *names) unused += seen.count(id) == 0;
  }
  if (unused > 0) counters.Add(kLaneWithoutEvents, -1, {}, unused);
}

}  // namespace nl::adapters::nsys
