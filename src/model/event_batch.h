// SPDX-License-Identifier: Apache-2.0
#pragma once
// EventBatch: rows of every event table, as one importer thread produced them from
// one piece of input. String and thread ids are local to the producer until the
// sink makes them the run's own.
// Thread rule: one thread at a time. Ownership: plain value.

#include <array>

#include "model/tables/api_call.h"
#include "model/tables/args.h"
#include "model/tables/collective.h"
#include "model/tables/counter_sample.h"
#include "model/tables/cpu_sample.h"
#include "model/tables/device.h"
#include "model/tables/flow.h"
#include "model/tables/graph.h"
#include "model/tables/import_log.h"
#include "model/tables/kernel.h"
#include "model/tables/kernel_counter.h"
#include "model/tables/kernel_metric.h"
#include "model/tables/memcpy.h"
#include "model/tables/memory_event.h"
#include "model/tables/memset.h"
#include "model/tables/op.h"
#include "model/tables/process.h"
#include "model/tables/python_call.h"
#include "model/tables/range.h"
#include "model/tables/step.h"
#include "model/tables/stream.h"
#include "model/tables/string.h"
#include "model/tables/sync.h"
#include "model/tables/thread.h"
#include "model/tables/tool_finding.h"

namespace nl {

// Place of each table in EventBatch::Tables() and kAllTables.
enum class Table : uint8_t {
  kProcess,
  kThread,
  kDevice,
  kStream,
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kApiCall,
  kOp,
  kPythonCall,
  kRange,
  kFlow,
  kCounterSample,
  kCpuSample,
  kMemoryEvent,
  kCollective,
  kStep,
  kGraph,
  kKernelMetric,
  kKernelCounter,
  kToolFinding,
  kString,
  kImportLog,
  kArgs,
};

struct EventBatch {
  ProcessColumns process;
  ThreadColumns thread;
  DeviceColumns device;
  StreamColumns stream;
  KernelColumns kernel;
  MemcpyColumns memcpy;
  MemsetColumns memset;
  SyncColumns sync;
  ApiCallColumns api_call;
  OpColumns op;
  PythonCallColumns python_call;
  RangeColumns range;
  FlowColumns flow;
  CounterSampleColumns counter_sample;
  CpuSampleColumns cpu_sample;
  MemoryEventColumns memory_event;
  CollectiveColumns collective;
  StepColumns step;
  GraphColumns graph;
  KernelMetricColumns kernel_metric;
  KernelCounterColumns kernel_counter;
  ToolFindingColumns tool_finding;
  StringColumns string;
  ImportLogColumns import_log;
  ArgColumns args;

  static constexpr size_t kTables = 25;

  // Every table, in the order of the members.
  std::array<ColumnSet*, kTables> Tables() {
    return {&process,      &thread,       &device,     &stream,      &kernel, &memcpy,        &memset,
            &sync,         &api_call,     &op,         &python_call, &range,  &flow,          &counter_sample,
            &cpu_sample,   &memory_event, &collective, &step,        &graph,  &kernel_metric, &kernel_counter,
            &tool_finding, &string,       &import_log, &args};
  }
  void Clear() {
    for (ColumnSet* table : Tables()) table->Clear();
  }
};

// Descriptions of every table, in the same order.
inline constexpr std::array<const TableInfo*, EventBatch::kTables> kAllTables = {
    &ProcessColumns::kInfo,     &ThreadColumns::kInfo,        &DeviceColumns::kInfo,
    &StreamColumns::kInfo,      &KernelColumns::kInfo,        &MemcpyColumns::kInfo,
    &MemsetColumns::kInfo,      &SyncColumns::kInfo,          &ApiCallColumns::kInfo,
    &OpColumns::kInfo,          &PythonCallColumns::kInfo,    &RangeColumns::kInfo,
    &FlowColumns::kInfo,        &CounterSampleColumns::kInfo, &CpuSampleColumns::kInfo,
    &MemoryEventColumns::kInfo, &CollectiveColumns::kInfo,    &StepColumns::kInfo,
    &GraphColumns::kInfo,       &KernelMetricColumns::kInfo,  &KernelCounterColumns::kInfo,
    &ToolFindingColumns::kInfo, &StringColumns::kInfo,        &ImportLogColumns::kInfo,
    &ArgColumns::kInfo};

}  // namespace nl
