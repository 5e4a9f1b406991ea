// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timeline: the events of a run by lane, each lane sorted and spread over tracks that
// nest, with the arrows between events. The step between tables and trace packets.
// Memory: some 40 bytes an event plus the columns shown as annotations.
// Thread rule: one thread at a time. Ownership: owns its columns; texts are the run's.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/event_batch.h"
#include "report/renderer.h"

namespace nl::renderers::perfetto {

// Where an event comes from. Of events with equal times the earlier kind encloses the later.
enum class Kind : uint8_t {
  kRange,
  kPythonCall,
  kOp,
  kApiCall,
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kMemoryEvent,
  kCpuSample,
};
inline constexpr size_t kKinds = 10;

struct TimelineEvent {
  int64_t start_ns = 0;
  int64_t end_ns = 0;  // of an instant: its start
  StringId name = StringId::kNull;
  uint32_t row = 0;    // in the table of its kind
  uint32_t track = 0;  // within the lane
  Kind kind = Kind::kRange;
  bool instant = false;  // has no duration
};

// Source and end of one arrow are two of these with the same number.
struct Arrow {
  size_t event = 0;  // in its lane
  uint64_t number = 0;
  bool ends = false;
};

struct Lane {
  int32_t thread = -1;                // row of table thread; -1: the source named none
  bool is_async = false;              // spans that begin and end on their own, apart from the thread's stack
  size_t tracks = 1;                  // that its spans need to nest
  std::vector<TimelineEvent> events;  // by start, of equal start the longer first
  std::vector<Arrow> arrows;          // of the source's own flows, by event
};

struct CounterTrack {
  int32_t process = -1;
  std::string name;
  bool is_bytes = false;
  std::vector<std::pair<int64_t, double>> samples;  // by time
};

struct Timeline {
  ProcessColumns process;
  ThreadColumns thread;
  StreamColumns stream;
  RangeColumns range;
  OpColumns op;
  ApiCallColumns api_call;
  KernelColumns kernel;
  MemcpyColumns memcpy;
  MemsetColumns memset;
  SyncColumns sync;
  MemoryEventColumns memory_event;
  CpuSampleColumns cpu_sample;

  std::vector<Lane> lanes;  // those with events, by thread
  std::vector<CounterTrack> counters;
  // Launch to device work, by row of api_call: one number for each kernel, copy, fill or wait.
  std::vector<std::pair<int64_t, uint64_t>> launches;
  uint64_t first_number[kKinds] = {};  // of the arrows that end in a kind; the row is added
  int64_t first_ns = 0;                // earliest time of all
};

Status LoadTimeline(RunReader& run, const RenderOptions& options, Timeline& to);

}  // namespace nl::renderers::perfetto
