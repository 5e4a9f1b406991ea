// SPDX-License-Identifier: Apache-2.0
#pragma once
// OnnxrtMapper: what the events of ONNX Runtime profiles mean. One real record (1.30, CPU):
//   {"cat" : "Node","pid" :1506,"tid" :1506,"dur" :434,"ts" :92707,"ph" : "X",
//    "name" :"/relu/Relu_output_0_nchwc_kernel_time","args" : {"activation_size" : "602112",
//    "op_name" : "Conv","provider" : "CPUExecutionProvider","node_index" : "74",
//    "input_type_shape" : [{"float":[1,3,224,224]},{"float":[64,3,7,7]},{"float":[64]}],
//    "output_type_shape" : [{"float":[1,64,112,112]}],"parameter_size" : "37888",
//    "output_size" : "3211264","thread_scheduling_stats" : {...}}}
// Times are whole microseconds; 0 is a node that took less than one. Numbers in args are
// text. The session and each run of the model are events of category Session, written
// when they end, after the nodes they enclose.
// Thread rule: as EventMapper.

#include "import/trace_json/mapper.h"

namespace nl::adapters::onnxrt {

class OnnxrtMapper final : public trace_json::EventMapper {
 public:
  const trace_json::KeyTable& arg_keys() const override;

 protected:
  void MapComplete(const trace_json::TraceEvent& event, const Place& place,
                   trace_json::Worker& worker) const override;

 private:
  void MapNode(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
  void MapKernel(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
  void MapCopy(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
  void MapApiCall(const trace_json::TraceEvent& event, const Place& place, trace_json::Worker& worker) const;
};

}  // namespace nl::adapters::onnxrt
