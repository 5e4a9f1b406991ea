// SPDX-License-Identifier: Apache-2.0
#pragma once
// Backend: runs a model in a framework that the user has installed, under the framework's own
// profiler. The drivers (Python, JavaScript) are part of the program; they are written to a scratch
// folder beside their request, exchange files there, and never go through a shell.
// Thread rule: one call, one thread. Ownership: the files are in the scratch folder of the caller.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

struct ProfileInput {
  std::string name;
  std::optional<std::string> type;
  std::vector<int64_t> shape;
};
// What was run, and how.
struct ProfileFacts {
  std::string framework;
  std::optional<std::string> version;
  std::string runtime, device;
  std::vector<ProfileInput> inputs;
  std::vector<DimChoice> dims;  // sizes that the model leaves open
  std::optional<int64_t> warmup_excluded;
  std::optional<std::string> note;
};
struct ProfileOutcome {
  ProfileFacts facts;
  std::vector<std::string> files;  // paths of what the profiler wrote
};

Result<ProfileOutcome> ProfileOnnxrt(const ProfileRequest& request, const std::string& scratch,
                                     OpContext& context);
Result<ProfileOutcome> ProfileTorch(const ProfileRequest& request, const std::string& scratch,
                                    OpContext& context);
Result<ProfileOutcome> ProfileTensorrt(const ProfileRequest& request, const std::string& scratch,
                                       OpContext& context);

// The last lines of a program's output, without colours.
std::string LastLines(std::string_view text, size_t lines = 6);

}  // namespace nl::ops::profile
