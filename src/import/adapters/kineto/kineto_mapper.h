// SPDX-License-Identifier: Apache-2.0
#pragma once
// KinetoMapper: what the categories and arguments of PyTorch profiler traces mean.
// One real record (torch 2.11, H200):
//   {"ph": "X", "cat": "kernel",
//    "name": "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(...)",
//    "pid": 0, "tid": 7, "ts": 3843684104063.170, "dur": 2.528,
//    "args": {"External id": 48, "queued": 0, "device": 0, "context": 1, "stream": 7,
//             "correlation": 109, "registers per thread": 80, "shared memory": 25600,
//             "blocks per SM": 0.030303, "warps per SM": 0.121212, "grid": [4, 1, 1],
//             "block": [128, 1, 1], "est. achieved occupancy %": 0}}
// ts and dur are microseconds with nanosecond decimals; pid is the device and tid the
// stream for device work. The category decides what an event is, never its arguments:
// Triton launchers are cpu_op events with a "stream".

#include "import/trace_json/mapper.h"

namespace nl::adapters::kineto {

class KinetoMapper final : public trace_json::EventMapper {
 public:
  const trace_json::KeyTable& arg_keys() const override;
  int32_t Rank(const trace_json::TraceText& text) const override;

 protected:
  void MapComplete(const trace_json::TraceEvent& event, const Place& place,
                   trace_json::Worker& worker) const override;
  void MapInstant(const trace_json::TraceEvent& event, const Place& place,
                  trace_json::Worker& worker) const override;

 private:
  // Gives every argument to `take`; keeps in args what it refuses, and makes a row of
  // table collective when arguments of one are among them.
  template <class Take>
  static void TakeArgs(const trace_json::TraceEvent& event, trace_json::Worker& worker, Table table,
                       size_t row, Take take);

  void MapKernel(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
  void MapCopy(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
  void MapFill(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
  void MapSync(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
  void MapMtia(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
  void MapApiCall(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
  void MapOp(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
  void MapPython(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
  void MapAnnotation(const trace_json::TraceEvent& event, const Place& place,
                     trace_json::Worker& worker) const;
};

}  // namespace nl::adapters::kineto
