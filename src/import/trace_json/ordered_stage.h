// SPDX-License-Identifier: Apache-2.0
#pragma once
// OrderedStage: takes the workers' rows in file order and makes them the run's:
// local string and lane numbers become global, begin/end pairs are matched, names of
// processes and threads are remembered, row references get their final numbers.
// It is the only place where file order matters, and does as little as it can.
// Thread rule: called by one thread at a time, in file order (TraceReader's gate).

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "import/rows/run_facts.h"
#include "import/trace_json/worker.h"
#include "ledger/event_sink.h"

namespace nl::trace_json {

class OrderedStage {
 public:
  // One per file: its lanes and processes are numbered after those already in the sink.
  OrderedStage(EventSink& sink, RunFacts& facts)
      : sink_(sink),
        facts_(facts),
        first_process_(sink.rows(Table::kProcess)),
        first_lane_(sink.rows(Table::kThread)) {}

  // Takes over the worker's rows; the worker can then parse the next piece.
  void Take(Worker& worker);

  // At the end of one file: unfinished pairs, processes, threads and steps become rows.
  // `rank` is null when the file is not a part of a distributed run.
  void FinishFile(int32_t rank);

  CounterSet& counters() { return counters_; }
  int64_t events() const { return events_; }

 private:
  struct WorkerMaps {  // local number -> the run's number
    std::vector<StringId> strings;
    std::vector<ThreadId> lanes;
    uint64_t generation = 0;  // of the worker's strings
  };
  struct Process {
    std::string pid;
    StringId name = StringId::kNull, labels = StringId::kNull;
    int64_t sort_index = NullOf<int64_t>::value;
  };
  struct Lane {
    size_t process;
    std::string tid;
    StringId name = StringId::kNull;
    int64_t sort_index = NullOf<int64_t>::value;
  };
  struct Begun {  // a begin that waits for its end
    StringId name, category;
    ThreadId lane;
    int64_t start_ns, offset;
    std::vector<std::pair<StringId, StringId>> args;
  };

  void UpdateMaps(Worker& worker, WorkerMaps& maps);
  ThreadId LaneOf(const std::string& pid, const std::string& tid);
  void Renumber(Worker& worker, const WorkerMaps& maps);
  void FixOwners(Worker& worker);
  void Resolve(Worker& worker, const WorkerMaps& maps);
  void ApplyMetadata(const OrderedEvent& event);
  void CloseRange(EventBatch& batch, const OrderedEvent& event, std::vector<Begun>& open, const char* kind);
  void AddSteps(const Worker& worker);
  void PutArgs(EventBatch& batch, RowId row, const std::vector<std::pair<StringId, StringId>>& args);
  void PutUnfinished(const Begun& begun);

  EventSink& sink_;
  RunFacts& facts_;
  CounterSet counters_;
  std::unordered_map<const Worker*, WorkerMaps> maps_;
  std::vector<Process> processes_;
  std::unordered_map<std::string, size_t> process_of_;  // by pid
  std::vector<Lane> lanes_;
  std::unordered_map<std::string, ThreadId> lane_of_;
  std::unordered_map<int32_t, std::vector<Begun>> open_;                    // per lane
  std::map<std::pair<StringId, StringId>, std::vector<Begun>> open_async_;  // per category and id
  EventBatch extra_;  // rows that no worker made: steps, unfinished ranges
  const int64_t first_process_, first_lane_;
  int64_t steps_ = 0;
  int64_t events_ = 0;
  std::unordered_set<uint32_t> bad_utf8_;  // texts counted already
};

}  // namespace nl::trace_json
