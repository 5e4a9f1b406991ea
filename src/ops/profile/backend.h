// SPDX-License-Identifier: Apache-2.0
#pragma once
// Backend: runs a model with a framework the user has, under that framework's own profiler, and says
// what it wrote. The drivers (Python, JavaScript) are part of the program; they are put beside their
// request in a scratch folder, talk by files in it, and never through a shell.
// Thread rule: one call, one thread. Ownership: files lie in the scratch folder of the caller.

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "ops/op.h"
#include "ops/profile/onnx_signature.h"

namespace nl::ops::profile {

struct ProfileRequest {
  std::string model, precision, device = "auto", python;
  std::vector<std::string> inputs;  // torch: "bs,3,224,224:float32"
  DimRequest dims;
  int64_t iterations = 20, warmup = 5, max_int = 100;
};

struct ProfileOutcome {
  // framework, version, runtime, device, inputs [{name, type, shape}], dims [{name, size, why}],
  // warmup_excluded (iterations; null: by time), note (null or text)
  Json facts;
  std::vector<std::string> files;  // what the profiler wrote, as paths
};

Result<ProfileOutcome> ProfileOnnxrt(const ProfileRequest& request, const std::string& scratch,
                                     OpContext& context);
Result<ProfileOutcome> ProfileTorch(const ProfileRequest& request, const std::string& scratch,
                                    OpContext& context);
Result<ProfileOutcome> ProfileTensorrt(const ProfileRequest& request, const std::string& scratch,
                                       OpContext& context);

// The last lines of what a program said, without colours.
std::string LastLines(std::string_view text, size_t lines = 6);

}  // namespace nl::ops::profile
