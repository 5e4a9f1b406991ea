// SPDX-License-Identifier: Apache-2.0
#pragma once
// HostParts: divides windows of one thread's time into parts, by the calls and operators recorded on it and
// by its CPU samples (facts/startup.h has the order in which they count). Thread rule: one thread. Ownership:
// refers to the run and its timeline.

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyze/facts/timeline.h"
#include "analyze/passes/startup/part_tree.h"
#include "analyze/passes/startup/stack_activity.h"
#include "analyze/program/main_thread.h"
#include "analyze/run_data.h"
#include "analyze/waits/cold_calls.h"
#include "analyze/waits/host_segments.h"
#include "base/intervals.h"
#include "model/api_kind.h"

namespace nl::passes::startup {

using program::MainThread;

inline constexpr Reads kHostPartsReads = NL_READS(CpuSample, thread_id, start_ns, stack, weight_ns);

class HostParts {
 public:
  // Spans that begin at `until_ns` or later are not looked at.
  HostParts(const RunData& data, const TimelineFacts& timeline, const MainThread& main, int64_t until_ns);

  bool sampled() const { return !samples_.empty(); }
  // Work that only warm-up has: calls that launch it and waits while it runs are a part of their own.
  void SetWarmupWork(const std::vector<uint32_t>& work);

  // Windows may come in any order.
  PartTree Divide(int64_t from_ns, int64_t to_ns);

 private:
  struct Sample {
    int64_t start_ns, end_ns;
    StringId stack;
  };
  struct Owner {
    StartupKind kind = StartupKind::kUnknown;
    StringId name = StringId::kNull;
    bool call = false;  // samples inside do not count
  };
  void TakeSamples(ThreadId thread, int64_t until_ns);
  void TakeCopies(int64_t until_ns);
  StartupKind KindOfCall(uint32_t node);
  Owner OwnerOf(uint32_t node);
  void AddPiece(const Owner& owner, int64_t from_ns, int64_t to_ns);
  void AddOwned(const Owner& owner, int64_t from_ns, int64_t to_ns);
  void AddNamed(StartupKind kind, StringId name, int64_t ns);
  PartTree TakeTree();

  const RunData& data_;
  const TimelineFacts& t_;
  HostSegments segments_;
  ApiKinds kinds_;
  std::optional<ColdCalls> cold_;
  IntervalCover captures_;  // of graphs, on this thread
  const IntervalCover paused_;
  StackActivities activities_;
  std::vector<Sample> samples_;                    // by time, not overlapping
  size_t next_sample_ = 0;                         // the first that ends after the piece at hand begins
  std::unordered_map<uint32_t, StringId> copied_;  // work by the call that makes it
  std::unordered_set<uint32_t> warmup_launches_;
  IntervalCover warmup_work_;
  // Time of the window at hand.
  std::unordered_map<uint64_t, int64_t> by_name_;      // kind and name
  std::unordered_map<uint64_t, int64_t> by_operator_;  // its name and a stack sampled in it
  std::unordered_map<uint32_t, int64_t> by_stack_;
};

}  // namespace nl::passes::startup
