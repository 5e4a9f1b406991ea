// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: what the simulator runs (threads with scripts) and the state of its threads,
// streams and devices.
// Thread rule: plain values.

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "testing/run_builder.h"
#include "testing/synthetic/script.h"

namespace nl::synthetic {

inline constexpr double kLatencyUs = 1.5;    // from the end of a launch to the device
inline constexpr int64_t kGapNs = 900;       // between two items of a stream
inline constexpr int64_t kGraphGapNs = 500;  // between two nodes of a graph
inline constexpr int64_t kWakeNs = 2000;     // from the last item to the return of a waiting call
inline constexpr int64_t kNever = INT64_MAX;

struct ThreadSpec {
  std::string name = "main";
  int32_t rank = NullOf<int32_t>::value;
  int32_t device = 0;
  bool background = false;  // stops when all others have ended
  // Writes the next piece of the thread's script; false: there is no more.
  std::function<bool(int piece, Writer& to)> write;
};

struct Program {
  std::vector<ThreadSpec> threads;
  Recording recording;
  std::vector<Edit> edits;
  double clock = 1;         // kernels take this times as long
  double host_scale = 1;    // host work takes this times as long
  double contention = 0.6;  // how much a kernel of another stream slows a kernel down
};

struct Simulated {
  int64_t wall_ns = 0;
  double busy_ns = 0;  // device time, overlap counted once, mean over devices
  int64_t works = 0;
};

struct QueueItem {
  Work work;
  bool marker = false;  // only waits for or records an event
  int64_t ready_ns = 0, start_ns = 0;
  int64_t wait_event = 0, record_event = 0;
  uint64_t key = 0;
  RowId api = RowId::kNull;
};
struct Stream {
  int32_t device = 0;
  std::deque<QueueItem> queue;  // the first may be running
  bool running = false;
  double left_ns = 0;
  int64_t free_ns = INT64_MIN / 2;  // when the one before ended
  int64_t pushed = 0, done = 0;
};
struct Device {
  int64_t updated_ns = 0, busy_until_ns = INT64_MIN, busy_ns = 0;
  ThreadId lane = ThreadId::kNull;
};
struct OpenSpan {
  SpanKind kind;
  bool hidden;
  size_t row;
  int64_t start_ns;
  uint32_t name;
};
struct Host {
  const ThreadSpec* spec = nullptr;
  ThreadId id = ThreadId::kNull;
  int64_t now_ns = 0;
  int piece = 0;
  size_t at = 0;
  bool ended = false, blocked = false;
  Script script;
  std::vector<OpenSpan> open;
  std::vector<std::pair<int64_t, int64_t>> until;  // stream key and what must be done on it
  uint32_t awaits = 0;
  bool call_hidden = false;
  size_t api_row = 0;
  int64_t call_start_ns = 0;
};

}  // namespace nl::synthetic
