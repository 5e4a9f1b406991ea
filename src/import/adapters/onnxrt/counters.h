// SPDX-License-Identifier: Apache-2.0
#pragma once
// What ONNX Runtime profiles can lack, and what it means.

#include "base/counter.h"

namespace nl::adapters::onnxrt {

inline constexpr CounterInfo kBadTypeShape{"bad_type_shape", Severity::kNotice,
                                           "Node whose input_type_shape is not a list of {type: [extents]}",
                                           "Its input shapes and types are null; the text is kept in args"};
inline constexpr CounterInfo kDeviceProfileFailed{
    "device_profile_failed", Severity::kDataLoss, "ONNX Runtime could not record what ran on the device",
    "CUPTI was taken or refused: close other profilers, allow performance counters, record again"};
inline constexpr CounterInfo kDeviceWorkMissing{
    "device_work_missing", Severity::kNotice,
    "Nodes ran on a device provider, but the profile has no device work: node times are of the host, which "
    "launches and continues",
    "Take an ONNX Runtime built with profiling of its provider, or record the program with nsys"};

inline constexpr CounterInfo kNodeOnNvidia{
    "node_on_nvidia_provider", Severity::kInfo, "Node that a CUDA or TensorRT provider ran",
    "Its time is what the host took to launch it; table kernel has the device's, where it was recorded"};
inline constexpr CounterInfo kNodeOnAmd{
    "node_on_amd_provider", Severity::kInfo, "Node that a ROCm or MIGraphX provider ran",
    "Its time is what the host took to launch it; table kernel has the device's, where it was recorded"};

}  // namespace nl::adapters::onnxrt
