// SPDX-License-Identifier: Apache-2.0
// TensorRT through trtexec: builds the engine of an ONNX file, or loads one, and times its layers.

#include <cctype>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/run_program.h"
#include "ops/profile/backend.h"

namespace nl::ops::profile {

namespace {

bool IsEngine(std::string_view path) {
  return path.ends_with(".engine") || path.ends_with(".plan") || path.ends_with(".trt");
}

// "[TensorRT v8601]" as 8.6.1; newer ones write "v100300" for 10.3.0.
std::string VersionIn(std::string_view said) {
  const size_t at = said.find("[TensorRT v");
  if (at == std::string_view::npos) return "";
  std::string digits;
  for (size_t i = at + 11; i < said.size() && std::isdigit(static_cast<unsigned char>(said[i])) != 0; ++i)
    digits.push_back(said[i]);
  const long number = digits.size() > 3 && digits.size() < 8 ? std::stol(digits) : 0;
  if (number == 0) return digits;
  return digits.size() > 5 ? fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100)
                           : fmt::format("{}.{}.{}", number / 1000, number / 100 % 10, number % 100);
}

// "--shapes=ids:8x128,mask:8x128" when the model leaves a size open; fills inputs and sizes of `facts`.
Result<std::string> Shapes(const ProfileRequest& request, ProfileFacts& facts) {
  NL_ASSIGN(const std::vector<OnnxInput> inputs, OnnxInputsOfFile(request.model));
  std::string text;
  for (const OnnxInput& input : inputs) {
    const std::vector<int64_t> shape = ChooseShape(input, request.dims, facts.dims);
    facts.inputs.push_back(
        {input.name, input.type.empty() ? std::nullopt : std::optional(input.type), shape});
    if (!shape.empty())
      text += fmt::format("{}{}:{}", text.empty() ? "" : ",", input.name, fmt::join(shape, "x"));
  }
  return facts.dims.empty() ? std::string() : "--shapes=" + text;
}

}  // namespace

Result<ProfileOutcome> ProfileTensorrt(const ProfileRequest& request, const std::string& scratch,
                                       OpContext& context) {
  const std::string trtexec = FindProgram("trtexec");
  if (trtexec.empty()) {
    return Unsupported("TensorRT is not installed: trtexec is not on PATH")
        .Hint(
            "it comes with TensorRT: apt-get install libnvinfer-bin from NVIDIA's repository, or add "
            "/usr/src/tensorrt/bin to PATH");
  }
  ProfileOutcome out;
  out.facts.framework = "tensorrt";
  out.facts.runtime = "trtexec";
  out.facts.device = "cuda";
  std::vector<std::string> arguments = {trtexec};
  if (IsEngine(request.model)) {
    arguments.push_back("--loadEngine=" + request.model);
  } else {
    arguments.push_back("--onnx=" + request.model);
    NL_ASSIGN(const std::string shapes, Shapes(request, out.facts));
    if (!shapes.empty()) arguments.push_back(shapes);
    if (!request.precision.empty() && request.precision != "fp32")
      arguments.push_back("--" + request.precision);
    if (request.precision == "fp32") arguments.push_back("--noTF32");
  }
  const std::string layers = scratch + "/layer_info.json", times = scratch + "/times.json",
                    profile = scratch + "/profile.json";
  for (std::string flag :
       {fmt::format("--iterations={}", request.iterations), std::string("--duration=0"),
        // trtexec warms up by time, in ms, not by iterations.
        std::string(request.warmup > 0 ? "--warmUp=200" : "--warmUp=0"), std::string("--separateProfileRun"),
        std::string("--profilingVerbosity=detailed"), "--exportProfile=" + profile,
        "--exportLayerInfo=" + layers, "--exportTimes=" + times}) {
    arguments.push_back(std::move(flag));
  }
  const auto keep_going = [&] {
    if (context.progress) context.progress("running under trtexec", 0, 0);
    return !context.Cancelled();
  };
  NL_ASSIGN(const ProgramResult result, RunProgram(arguments, keep_going));
  if (result.status != 0) {
    const std::string said = LastLines(result.err.empty() ? result.out : result.err);
    return InvalidInput(fmt::format("trtexec failed with exit status {}{}{}", result.status,
                                    said.empty() ? "" : ":\n", said))
        .At(request.model);
  }
  for (const std::string& file : {profile, layers, times}) {
    if (PathExists(file)) out.files.push_back(file);
  }
  if (out.files.empty() || out.files[0] != profile)
    return InvalidInput("trtexec succeeded, but wrote no profile").At(request.model);
  const std::string version = VersionIn(result.out.empty() ? result.err : result.out);
  if (!version.empty()) out.facts.version = version;
  out.facts.note = request.warmup > 0 ? "trtexec warms up for 200 ms, not by iterations" : "no warm-up";
  return out;
}

}  // namespace nl::ops::profile
