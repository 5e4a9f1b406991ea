// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/perfetto/trace_state.h"

#include <charconv>

namespace nl::adapters::perfetto {

namespace {
constexpr int kMaxDepth = 64;  // of tracks below each other: a loop is broken
}

bool Sequence::TakeTexts(std::string_view message) {
  WireReader r(message);
  while (r.Next()) {
    auto* const to = r.field() == 1    ? &categories
                     : r.field() == 2  ? &names
                     : r.field() == 3  ? &note_names
                     : r.field() == 29 ? &note_texts
                                       : nullptr;
    if (to == nullptr) continue;
    uint64_t id = 0;
    std::string_view text;
    WireReader entry(r.Bytes());
    while (entry.Next()) {
      if (entry.field() == 1) id = entry.Number();
      if (entry.field() == 2) text = entry.Bytes();
    }
    if (!entry.ok()) return false;
    (*to)[id] = text;
  }
  return r.ok();
}

bool Clocks::Take(std::string_view message, uint32_t sequence_id, Sequence& sequence) {
  struct Reading {
    uint32_t id = 0;
    int64_t value = 0, multiplier = 1;
    bool incremental = false;
  };
  std::vector<Reading> readings;
  WireReader r(message);
  while (r.Next()) {
    if (r.field() == 2) primary_ = static_cast<uint32_t>(r.Number());
    if (r.field() != 1) continue;
    Reading reading;
    WireReader clock(r.Bytes());
    while (clock.Next()) {
      if (clock.field() == 1) reading.id = static_cast<uint32_t>(clock.Number());
      if (clock.field() == 2) reading.value = clock.Int();
      if (clock.field() == 3) reading.incremental = clock.Number() != 0;
      if (clock.field() == 4 && clock.Int() > 0) reading.multiplier = clock.Int();
    }
    if (!clock.ok()) return false;
    readings.push_back(reading);
  }
  if (!r.ok()) return false;
  int64_t base = kNone;
  for (const Reading& reading : readings) {
    if (reading.id == primary_) base = reading.value;
  }
  for (const Reading& reading : readings) {
    int64_t ns = 0;
    if (__builtin_mul_overflow(reading.value, reading.multiplier, &ns)) continue;
    const uint32_t owner = reading.id >= kFirstOwn ? sequence_id : 0;
    if (reading.incremental) sequence.incremental[reading.id] = ns;
    Clock clock{0, reading.multiplier, reading.incremental};
    if (!IsNull(base) && !__builtin_sub_overflow(ns, base, &clock.minus_primary_ns))
      clocks_[{owner, reading.id}] = clock;
  }
  return true;
}

bool Clocks::Convert(uint32_t clock, uint32_t sequence_id, Sequence& sequence, uint64_t value,
                     int64_t& out_ns) {
  out_ns = static_cast<int64_t>(value);
  if (clock == 0) clock = sequence.default_clock;
  if (clock == 0 || clock == primary_) return true;
  const auto it = clocks_.find({clock >= kFirstOwn ? sequence_id : 0, clock});
  if (it == clocks_.end()) return false;
  if (__builtin_mul_overflow(out_ns, it->second.multiplier, &out_ns)) return false;
  if (it->second.is_incremental) {
    int64_t& last = sequence.incremental[clock];
    if (__builtin_add_overflow(out_ns, last, &out_ns)) return false;
    last = out_ns;
  }
  return !__builtin_sub_overflow(out_ns, it->second.minus_primary_ns, &out_ns);
}

Track& Tracks::At(uint64_t uuid) {
  const auto [it, added] = tracks_.try_emplace(uuid);
  if (added) {
    it->second.uuid = uuid;
    order_.push_back(uuid);
  }
  return it->second;
}

const Track* Tracks::Find(uint64_t uuid) const {
  const auto it = tracks_.find(uuid);
  return it == tracks_.end() ? nullptr : &it->second;
}

// TrackDescriptor: {1 uuid, 2 name, 3 process {1 pid, 6 process_name, 8 process_labels},
// 4 thread {1 pid, 2 tid, 5 thread_name}, 5 parent_uuid, 8 counter {4 unit_multiplier,
// 5 is_incremental}, 10 static_name, 13 atrace_name}
bool Tracks::Describe(std::string_view message) {
  uint64_t uuid = 0;
  WireReader first(message);
  while (first.Next()) {
    if (first.field() == 1) uuid = first.Number();
  }
  if (!first.ok()) return false;
  Track& track = At(uuid);
  track.described = true;
  WireReader r(message);
  while (r.Next()) {
    if (r.field() == 2 || r.field() == 10) track.name = r.Bytes();
    if (r.field() == 5) track.parent = r.Number();
    if (r.field() != 3 && r.field() != 4 && r.field() != 8) continue;
    WireReader inner(r.Bytes());
    track.is_process |= r.field() == 3;
    track.is_thread |= r.field() == 4;
    track.is_counter |= r.field() == 8;
    while (inner.Next()) {
      if (r.field() == 8) {
        if (inner.field() == 4 && inner.Int() > 0) track.multiplier = inner.Int();
        if (inner.field() == 5) track.is_incremental = inner.Number() != 0;
        continue;
      }
      if (inner.field() == 1) track.pid = static_cast<int32_t>(inner.Number());
      if (r.field() == 3 && inner.field() == 6) track.process_name = inner.Bytes();
      if (r.field() == 3 && inner.field() == 8 && track.labels.empty()) track.labels = inner.Bytes();
      if (r.field() == 4 && inner.field() == 2) track.tid = static_cast<int32_t>(inner.Number());
      if (r.field() == 4 && inner.field() == 5 && track.name.empty()) track.name = inner.Bytes();
    }
    if (!inner.ok()) return false;
  }
  if (track.is_process && !IsNull(track.pid)) process_of_.try_emplace(track.pid, uuid);
  return true;
}

const Track& Tracks::RootOf(const Track& track) const {
  const Track* at = &track;
  for (int depth = 0; depth < kMaxDepth && at->parent != 0 && !at->is_process; ++depth) {
    const Track* up = Find(at->parent);
    if (up == nullptr) break;
    at = up;
  }
  if (!at->is_process && !IsNull(at->pid)) {
    const auto it = process_of_.find(at->pid);
    if (it != process_of_.end()) return *Find(it->second);
  }
  return *at;
}

int64_t Tracks::NumberAbove(const Track& track, std::string_view word) const {
  const Track* at = &track;
  for (int depth = 0; depth < kMaxDepth && at != nullptr; ++depth) {
    for (const std::string_view name : {std::string_view(at->name), std::string_view(at->labels)}) {
      if (!name.starts_with(word) || name.size() <= word.size() || name[word.size()] != ' ') continue;
      const char* digits = name.data() + word.size() + 1;
      int64_t number = 0;
      const auto [end, code] = std::from_chars(digits, name.data() + name.size(), number);
      if (code == std::errc() && end != digits && number >= 0) return number;
    }
    at = at->parent == 0 ? nullptr : Find(at->parent);
  }
  return kNone;
}

uint64_t Tracks::LaneTrack(uint64_t uuid) const {
  const Track* track = Find(uuid);
  const Track* parent = track == nullptr ? nullptr : Find(track->parent);
  if (parent == nullptr || track->parent == 0) return uuid;
  return track->name.starts_with(parent->name + ", overlapping ") ? track->parent : uuid;
}

}  // namespace nl::adapters::perfetto
