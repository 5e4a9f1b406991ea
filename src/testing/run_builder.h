// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: builds the columns of a run by hand, so that a test can plant a cause of
// known size and ask the passes for it. Times are plain ns.
//   RunBuilder run;
//   const ThreadId main = run.Thread("main");
//   const RowId launch = run.Api(main, "cudaLaunchKernel", 100, 5);
//   run.Kernel("gemm", 7, 110, 40, launch);
//   Analysis analysis = run.Finish();

#include <memory>
#include <string>

#include "analyze/analysis.h"

namespace nl::testing_analyze {

class RunBuilder {
 public:
  RunBuilder() : strings_(std::make_unique<StringPool>()) {}

  ThreadId Thread(const std::string& name, int32_t rank = NullOf<int32_t>::value) {
    ProcessRow process;
    process.rank = rank;
    data_.process.Add(process);
    ThreadRow thread;
    thread.process_id = static_cast<ProcessId>(data_.process.size() - 1);
    thread.name = Name(name);
    data_.thread.Add(thread);
    return static_cast<ThreadId>(data_.thread.size() - 1);
  }
  RowId Op(ThreadId thread, const std::string& name, int64_t start_ns, int64_t dur_ns,
           const std::string& dims = "", const std::string& types = "", const std::string& concrete = "") {
    OpRow row;
    Span(row, thread, name, start_ns, dur_ns);
    if (!dims.empty()) row.input_dims = Name(dims);
    if (!types.empty()) row.input_types = Name(types);
    if (!concrete.empty()) row.concrete_inputs = Name(concrete);
    return Put(data_.op, row);
  }
  RowId Api(ThreadId thread, const std::string& name, int64_t start_ns, int64_t dur_ns,
            RowId op = RowId::kNull) {
    ApiCallRow row;
    Span(row, thread, name, start_ns, dur_ns);
    data_.api_call.op_id.push_back(op);
    return Put(data_.api_call, row);
  }
  RowId Python(ThreadId thread, const std::string& name, int64_t start_ns, int64_t dur_ns) {
    PythonCallRow row;
    Span(row, thread, name, start_ns, dur_ns);
    return Put(data_.python_call, row);
  }
  RowId Range(ThreadId thread, const std::string& name, int64_t start_ns, int64_t dur_ns,
              const std::string& category = "user_annotation") {
    RangeRow row;
    Span(row, thread, name, start_ns, dur_ns);
    row.category = Name(category);
    row.kind = Name("span");
    return Put(data_.range, row);
  }
  RowId Kernel(const std::string& name, int64_t stream, int64_t start_ns, int64_t dur_ns,
               RowId api = RowId::kNull, RowId op = RowId::kNull, int32_t device = 0,
               int64_t graph_id = NullOf<int64_t>::value) {
    KernelRow row;
    Work(row, name, stream, start_ns, dur_ns, device);
    row.graph_id = graph_id;
    return Link(data_.kernel, row, api, op);
  }
  RowId Memcpy(const std::string& kind, const std::string& from, const std::string& to, int64_t bytes,
               int64_t stream, int64_t start_ns, int64_t dur_ns, RowId api = RowId::kNull,
               RowId op = RowId::kNull, int32_t device = 0) {
    MemcpyRow row;
    Work(row, "Memcpy " + kind, stream, start_ns, dur_ns, device);
    row.kind = Name(kind);
    row.src_memory = Name(from);
    row.dst_memory = Name(to);
    row.bytes = bytes;
    return Link(data_.memcpy, row, api, op);
  }
  RowId Step(const std::string& name, int64_t number, int64_t start_ns, int64_t dur_ns) {
    StepRow row;
    row.name = Name(name);
    row.number = number;
    row.start_ns = start_ns;
    row.dur_ns = dur_ns;
    return Put(data_.step, row);
  }
  void Device(int32_t device, const std::string& name, int32_t sm_count = 132) {
    DeviceRow row;
    row.device = device;
    row.name = Name(name);
    row.sm_count = sm_count;
    data_.device.Add(row);
  }
  Json& document() { return data_.document; }
  RunColumns& data() { return data_; }
  StringId Name(const std::string& text) { return strings_->Add(text); }

  // The builder must outlive the analysis: it keeps the strings.
  Analysis Finish(AnalysisOptions options = {}) {
    data_.strings = strings_.get();
    return Analysis(std::move(data_), std::move(options));
  }

 private:
  template <class Row>
  void Span(Row& row, ThreadId thread, const std::string& name, int64_t start_ns, int64_t dur_ns) {
    row.thread_id = thread;
    row.name = Name(name);
    row.start_ns = start_ns;
    row.dur_ns = dur_ns;
  }
  template <class Row>
  void Work(Row& row, const std::string& name, int64_t stream, int64_t start_ns, int64_t dur_ns,
            int32_t device) {
    Span(row, ThreadId::kNull, name, start_ns, dur_ns);
    row.device = device;
    row.context = 1;
    row.stream = stream;
  }
  template <class Columns, class Row>
  RowId Put(Columns& to, const Row& row) {
    to.Add(row);
    return static_cast<RowId>(to.size() - 1);
  }
  template <class Columns, class Row>
  RowId Link(Columns& to, const Row& row, RowId api, RowId op) {
    to.api_call_id.push_back(api);
    to.op_id.push_back(op);
    return Put(to, row);
  }

  std::unique_ptr<StringPool> strings_;
  RunColumns data_;
};

}  // namespace nl::testing_analyze
