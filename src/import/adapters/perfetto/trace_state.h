// SPDX-License-Identifier: Apache-2.0
#pragma once
// TraceState: what the packets of a Perfetto trace say of what follows them: the texts a
// sequence has numbered, its defaults, the clocks, the tracks. Field numbers of the format
// stand where they are read; they are fixed for ever.
// Thread rule: one thread, packets in file order. Ownership: plain values.

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/read/protobuf_wire.h"
#include "model/ids.h"

namespace nl::adapters::perfetto {

inline constexpr int64_t kNone = NullOf<int64_t>::value;

struct Sequence {
  std::unordered_map<uint64_t, std::string> categories, names, note_names, note_texts;
  uint64_t default_track = 0;
  bool has_default_track = false;
  uint32_t default_clock = 0;                      // 0: not given
  int64_t thread_pid = kNone, thread_tid = kNone;  // of a thread descriptor in a packet of its own
  std::map<uint32_t, int64_t> incremental;         // last value of clocks that count on, in ns
  void ForgetTexts() {
    categories.clear();
    names.clear();
    note_names.clear();
    note_texts.clear();
  }
  // InternedData: {1 categories, 2 event_names, 3 debug_annotation_names, 29 debug_annotation_string_values},
  // each {1 iid, 2 name or str}.
  bool TakeTexts(std::string_view message);
};

struct Track {
  uint64_t uuid = 0, parent = 0;
  std::string name, process_name, labels;
  int64_t pid = kNone, tid = kNone;
  bool is_process = false, is_thread = false, is_counter = false, is_incremental = false, described = false;
  int64_t multiplier = 1;
  double sum = 0;  // of an incremental counter
  ThreadId lane = ThreadId::kNull;
};

// Clocks: 1 REALTIME, 3 MONOTONIC, 6 BOOTTIME, ...; 64 and above are a sequence's own.
class Clocks {
 public:
  // ClockSnapshot: {1 clocks {1 id, 2 timestamp, 3 is_incremental, 4 unit_multiplier_ns}, 2
  // primary_trace_clock}
  bool Take(std::string_view message, uint32_t sequence_id, Sequence& sequence);
  // `value` of a clock as time of the trace's clock, in ns. False: no snapshot relates the two.
  bool Convert(uint32_t clock, uint32_t sequence_id, Sequence& sequence, uint64_t value, int64_t& out_ns);

 private:
  static constexpr uint32_t kFirstOwn = 64, kBoottime = 6;
  struct Clock {
    int64_t minus_primary_ns = 0;  // what it shows when the trace's clock shows 0
    int64_t multiplier = 1;
    bool is_incremental = false;
  };
  std::map<std::pair<uint32_t, uint32_t>, Clock> clocks_;  // sequence (0 for all), clock
  uint32_t primary_ = kBoottime;
};

class Tracks {
 public:
  // TrackDescriptor
  bool Describe(std::string_view message);
  Track& At(uint64_t uuid);
  const Track* Find(uint64_t uuid) const;
  const std::vector<uint64_t>& order() const { return order_; }  // of first sight
  // The outermost track above one, or itself; the process track of its pid where there is one.
  const Track& RootOf(const Track& track) const;
  // The number after `word` ("stream 7", "GPU 0") in the name of a track or one above it.
  int64_t NumberAbove(const Track& track, std::string_view word) const;
  // Slices that cross others of their lane are exported to tracks of their own below it
  // ("stream 7, overlapping 1"): they belong to that lane.
  uint64_t LaneTrack(uint64_t uuid) const;

 private:
  std::unordered_map<uint64_t, Track> tracks_;
  std::vector<uint64_t> order_;
  std::map<int64_t, uint64_t> process_of_;
};

}  // namespace nl::adapters::perfetto
