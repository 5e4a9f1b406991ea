// SPDX-License-Identifier: Apache-2.0
#pragma once
// RunData: the columns of one run that the passes read, loaded once from a Snapshot
// (or filled by a test), and the run document.
// Thread rule: read-only once loaded; any thread may read. Ownership: owns the columns;
// the string pool belongs to the snapshot and must outlive this.

#include <string>
#include <string_view>
#include <vector>

#include "base/intervals.h"
#include "base/json.h"
#include "base/result.h"
#include "ledger/snapshot.h"
#include "model/event_batch.h"

namespace nl {

// Times in which recording paused, as a run document has them; in order.
std::vector<Interval> PausesOf(const Json& document);

struct RunData {
  ProcessColumns process;
  ThreadColumns thread;
  DeviceColumns device;
  KernelColumns kernel;
  MemcpyColumns memcpy;
  MemsetColumns memset;
  SyncColumns sync;
  ApiCallColumns api_call;
  OpColumns op;
  PythonCallColumns python_call;
  RangeColumns range;
  StepColumns step;
  CollectiveColumns collective;
  CpuSampleColumns cpu_sample;
  MemoryEventColumns memory_event;
  KernelCounterColumns kernel_counter;
  ToolFindingColumns tool_finding;
  ImportLogColumns import_log;
  Json document = Json::object();  // run.json
  const StringPool* strings = nullptr;

  std::string_view Text(StringId id) const { return strings->Text(id); }
  // Were its durations measured one by one, so that starts tell the order only?
  bool OrderOnly() const;
  std::vector<Interval> Pauses() const { return PausesOf(document); }
};

// Loads the columns that passes read, of every table above.
Status LoadRunData(Snapshot& snapshot, RunData& to);

}  // namespace nl
