// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nlcap/lanes.h"

#include <fmt/format.h>

#include "capture/format/records.h"

namespace nl::adapters::nlcap {

Lanes::Lanes(RowWriter& writer)
    : writer_(writer),
      first_process_(static_cast<int64_t>(writer.NextRow(Table::kProcess, writer.batch.process))),
      first_lane_(static_cast<int64_t>(writer.NextRow(Table::kThread, writer.batch.thread))) {}

void Lanes::NameThread(uint32_t pid, uint32_t tid, StringId name, bool by_program) {
  const auto [it, added] = thread_names_.try_emplace({pid, tid}, ThreadName{name, by_program});
  if (!added && (by_program || !it->second.by_program)) it->second = {name, by_program};
}

bool Lanes::IsRecorder(uint32_t pid, uint32_t tid) const {
  const auto known = thread_names_.find({pid, tid});
  return known != thread_names_.end() &&
         capture::IsRecorderThread(pid, tid, writer_.strings().Text(known->second.name));
}

ThreadId Lanes::Make(const Key& key, int64_t tid, StringId name) {
  if (last_lane_ != ThreadId::kNull && key == last_key_) return last_lane_;
  const auto [it, added] =
      lane_of_.emplace(key, static_cast<ThreadId>(first_lane_ + static_cast<int64_t>(lanes_.size())));
  if (added) {
    const int64_t device = key[0] == kHost ? -1 : key[2];
    const auto pid = static_cast<uint32_t>(key[1]);
    const auto [place, fresh] = process_at_.try_emplace({pid, device}, processes_.size());
    if (fresh) processes_.push_back({pid, device});
    lanes_.push_back({place->second, tid, name, key});
  }
  last_key_ = key;
  last_lane_ = it->second;
  return it->second;
}

ThreadId Lanes::Host(uint32_t pid, uint32_t tid) {
  return Make({kHost, pid, 0, 0, tid}, tid == 0 ? NullOf<int64_t>::value : int64_t{tid}, StringId::kNull);
}

ThreadId Lanes::Stream(uint32_t pid, uint32_t device, uint32_t context, uint32_t stream) {
  const Key key{kStream, pid, device, context, stream};
  if (last_lane_ != ThreadId::kNull && key == last_key_) return last_lane_;
  const bool known = stream != 0xffffffff;
  const StringId name = known ? writer_.strings().Add(fmt::format("stream {}", stream)) : StringId::kNull;
  return Make(key, known ? int64_t{stream} : NullOf<int64_t>::value, name);
}

ThreadId Lanes::Device(uint32_t pid, uint32_t device, std::string_view what) {
  const StringId name = writer_.strings().Add(what);
  return Make({kOther, pid, device, static_cast<int64_t>(name), 0}, NullOf<int64_t>::value, name);
}

void Lanes::Put() {
  StringPool& strings = writer_.strings();
  for (const Process& p : processes_) {
    ProcessRow row;
    row.pid = p.pid;
    if (const auto name = process_names_.find(p.pid); name != process_names_.end()) row.name = name->second;
    row.labels = strings.Add(p.device < 0             ? std::string("CPU")
                             : p.device == 0xffffffff ? std::string("GPU")
                                                      : fmt::format("GPU {}", p.device));
    if (const auto rank = ranks_.find(p.pid); rank != ranks_.end()) row.rank = rank->second;
    writer_.batch.process.Add(row);
  }
  for (const Lane& lane : lanes_) {
    ThreadRow row;
    row.process_id = static_cast<ProcessId>(first_process_ + static_cast<int64_t>(lane.process));
    row.tid = lane.tid;
    row.name = lane.name;
    if (lane.key[0] == kOther) row.tid_text = lane.name;
    const auto pid = static_cast<uint32_t>(lane.key[1]);
    const auto name = thread_names_.find({pid, static_cast<uint32_t>(lane.key[4])});
    if (lane.key[0] == kHost && name != thread_names_.end()) row.name = name->second.name;
    writer_.batch.thread.Add(row);
  }
}

}  // namespace nl::adapters::nlcap
