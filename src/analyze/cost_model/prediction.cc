// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/prediction.h"

#include <algorithm>

namespace nl {

void PredictedWork::Add(const PredictedWork& o) {
  flops += o.flops;
  read_bytes += o.read_bytes;
  write_bytes += o.write_bytes;
  weight_bytes += o.weight_bytes;
  activation_bytes += o.activation_bytes;
  kv_bytes += o.kv_bytes;
  kernels += o.kernels;
  compute_ms += o.compute_ms;
  memory_ms += o.memory_ms;
  device_ms += o.device_ms;
  launch_ms += o.launch_ms;
}

void PredictedWork::Decide() {
  if (launch_ms > device_ms)
    bound = KernelBound::kLaunch;
  else
    bound = compute_ms >= memory_ms ? KernelBound::kCompute : KernelBound::kMemory;
}

namespace {

PredictedModule PredictModule(const PlanModule& m, const DeviceRates& device) {
  PredictedModule out;
  out.name = m.name;
  out.paths = m.paths;
  out.parameters = m.parameters;
  out.weight_bytes = m.weight_bytes;
  out.activation_bytes = m.activation_bytes;
  out.kv_bytes = m.kv_bytes;
  for (const PlanKernel& k : m.kernels) {
    const KernelTime time = TimeOf(k, device);
    out.flops += k.count * k.flops;
    out.read_bytes += k.count * k.read_bytes;
    out.write_bytes += k.count * k.write_bytes;
    out.kernels += k.count;
    out.device_ms += k.count * time.us / 1e3;
    out.launch_ms += k.count * device.efficiency.launch_us / 1e3;
    // A kernel's time counts for what limits it.
    (time.bound == KernelBound::kCompute ? out.compute_ms : out.memory_ms) +=
        k.count * std::max(time.compute_us, time.memory_us) / 1e3;
  }
  out.Decide();
  return out;
}

template <class T>
void DescribeWork(Record<T>& r) {
  r.Field("flops", &T::flops, Unit::kFlops, "Floating-point operations of one execution");
  r.Field("read_bytes", &T::read_bytes, Unit::kBytes,
          "Bytes that the kernels read: weights, activations, cache");
  r.Field("write_bytes", &T::write_bytes, Unit::kBytes, "Bytes that the kernels write");
  r.Field("weight_bytes", &T::weight_bytes, Unit::kBytes, "Weights among what is read");
  r.Field("activation_bytes", &T::activation_bytes, Unit::kBytes,
          "Results of all kernels, intermediate ones too");
  r.Field("kv_bytes", &T::kv_bytes, Unit::kBytes,
          "Traffic of the KV cache: read by attention, copied when it grows");
  r.Field("kernels", &T::kernels, "Kernels; a mean where routing decides");
  r.Field("compute_ms", &T::compute_ms, Unit::kMs,
          "Time of the kernels that arithmetic limits, without their floor");
  r.Field("memory_ms", &T::memory_ms, Unit::kMs, "Time of the others, without their floor");
  r.Field("device_ms", &T::device_ms, Unit::kMs, "Predicted device time: all kernels one after the other");
  r.Field("launch_ms", &T::launch_ms, Unit::kMs, "Host time to launch them one by one");
  r.Field("bound", &T::bound,
          "What limits it: compute, memory, or launch where the host takes longer than the device");
  r.Field("measured_ms", &T::measured_ms, Unit::kMs,
          "Device time in the run, median of the executions; null without a run or match");
  r.Field("ratio", &T::ratio, Unit::kRatio, "Measured / predicted device time");
}

}  // namespace

std::vector<PredictedStage> Predict(const ModelPlan& plan, const DeviceRates& device) {
  std::vector<PredictedStage> out;
  for (const PlanStage& s : plan.stages) {
    PredictedStage stage;
    stage.name = s.name;
    stage.executions = s.executions;
    stage.tokens = s.tokens;
    stage.context = s.context;
    for (const PlanModule& m : s.modules) {
      stage.modules.push_back(PredictModule(m, device));
      stage.Add(stage.modules.back());
    }
    stage.Decide();
    stage.predicted_ms = std::max(stage.device_ms, stage.launch_ms);
    out.push_back(std::move(stage));
  }
  return out;
}

void Describe(Record<PredictedModule>& r) {
  r.Name("PredictedModule", "One kind of module in a stage, all layers together");
  r.Field("name", &PredictedModule::name, "Name, such as attention.qkv");
  r.Field("parameters", &PredictedModule::parameters, "Parameters; 0 where they are another module's");
  r.Field("paths", &PredictedModule::paths, "Modules of the run that it stands for, numbers as *");
  DescribeWork(r);
}

void Describe(Record<PredictedStage>& r) {
  r.Name("PredictedStage", "One stage; its modules sum to it");
  r.Field("name", &PredictedStage::name, "prefill, prefill::vision, decode_step, forward");
  r.Field("executions", &PredictedStage::executions, "Executions per request");
  r.Field("tokens", &PredictedStage::tokens,
          "New tokens of one execution, of all sequences; patches or pixels of images");
  r.Field("context", &PredictedStage::context,
          "Tokens that the last new token attends to; of a decode step the mean");
  DescribeWork(r);
  r.Field("predicted_ms", &PredictedStage::predicted_ms, Unit::kMs, "The longer of device_ms and launch_ms");
  r.Field("measured_wall_ms", &PredictedStage::measured_wall_ms, Unit::kMs,
          "From the start of the stage to the end of its last kernel in the run, median");
  r.Field("unmatched_ms", &PredictedStage::unmatched_ms, Unit::kMs,
          "Device time of the stage in the run outside the modules listed here, median");
  r.Field("measured_executions", &PredictedStage::measured_executions, "Executions in the run");
  r.Field("modules", &PredictedStage::modules, "Modules");
}

}  // namespace nl
