// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime and torch, through drivers that are embedded in the program.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/run_program.h"
#include "ops/profile/backend.h"
#include "report/report_value.h"

namespace nl::embedded {
extern const std::string_view kOnnxrtDriverPython, kOnnxrtDriverNode, kTorchDriver;
}

namespace nl::ops::profile {

namespace {

constexpr int kMissing = 3;  // exit status of a driver whose framework is not installed

// One way to run a driver: an interpreter and the driver for it.
struct Way {
  std::string program;
  std::string_view driver;
  const char* file;
};

Status WriteText(const std::string& path, std::string_view text) {
  std::ofstream to(path, std::ios::binary);
  to << text;
  to.close();
  return to ? Status() : Status(FileError("write", path));
}

// Interpreters on PATH, then the system's own, which may have packages that the first one lacks.
std::vector<std::string> Pythons(const std::string& asked) {
  if (!asked.empty()) return {asked};
  std::vector<std::string> out;
  for (const std::string_view name : {"python3", "python", "/usr/bin/python3"}) {
    const std::string found = FindProgram(name);
    if (!found.empty() && std::find(out.begin(), out.end(), found) == out.end()) out.push_back(found);
  }
  return out;
}

std::string ProgressOf(const std::string& scratch, const char* what) {
  std::ifstream file(scratch + "/progress");
  int64_t done = 0, total = 0;
  if (!(file >> done >> total)) return fmt::format("starting {}", what);
  return fmt::format("running under {}: iteration {} of {}", what, std::min(done + 1, total), total);
}

// What a driver wrote about its run; none when its framework is missing (`lacking` gives the reason).
Result<std::optional<Json>> RunDriver(const Way& way, Json request, const std::string& scratch,
                                      const char* what, OpContext& context, std::string& lacking) {
  const std::string driver = scratch + "/" + way.file, asked = scratch + "/request.json";
  request["out"] = scratch;
  NL_TRY(WriteText(driver, way.driver));
  NL_TRY(WriteText(asked, DumpJson(request)));
  const auto keep_going = [&] {
    if (context.progress) context.progress(ProgressOf(scratch, what), 0, 0);
    return !context.Cancelled();
  };
  NL_ASSIGN(const ProgramResult result, RunProgram({way.program, driver, asked}, keep_going));
  if (result.status != 0 && result.status != kMissing) {
    const std::string said = LastLines(result.err.empty() ? result.out : result.err);
    return InvalidInput(fmt::format("{} failed under {} with exit status {}{}{}", way.program, what,
                                    result.status, said.empty() ? "" : ":\n", said))
        .At(request["model"].get<std::string>());
  }
  NL_ASSIGN(const std::string text, ReadWholeFile(scratch + "/facts.json"));
  Result<Json> facts = ParseJson(text);
  if (!facts.ok() || !facts->is_object())
    return InvalidInput(fmt::format("{} did not describe its run: facts.json is not valid", way.program));
  if (result.status == 0) return std::optional<Json>(*std::move(facts));
  lacking = fmt::format("{} has no {} ({})", way.program, facts->value("missing", std::string(what)),
                        facts->value("said", std::string()));
  return std::optional<Json>();
}

std::optional<std::string> TextOrNone(const Json& object, const char* key) {
  const Json& value = ChildAt(object, key);
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

int64_t IntegerAt(const Json& object, const char* key) {
  return static_cast<int64_t>(NumberAt(object, key).value_or(0));
}

// facts.json of a driver. Inputs and sizes are in it where the driver chose them (torch).
ProfileFacts FactsOf(const Json& json) {
  ProfileFacts out;
  out.framework = TextAt(json, "framework");
  out.version = TextOrNone(json, "version");
  out.runtime = TextAt(json, "runtime");
  out.device = TextAt(json, "device");
  for (const Json& input : ListAt(json, "inputs")) {
    ProfileInput& to = out.inputs.emplace_back();
    to.name = TextAt(input, "name");
    to.type = TextOrNone(input, "type");
    for (const Json& size : ListAt(input, "shape")) {
      if (size.is_number_integer()) to.shape.push_back(size.get<int64_t>());
    }
  }
  if (const Json& dims = ChildAt(json, "dims"); dims.is_object()) {
    for (const auto& [name, choice] : dims.items())
      out.dims.push_back({name, IntegerAt(choice, "size"), TextAt(choice, "why")});
  }
  if (NumberAt(json, "warmup_excluded")) out.warmup_excluded = IntegerAt(json, "warmup_excluded");
  out.note = TextOrNone(json, "note");
  return out;
}

Result<ProfileOutcome> RunFirst(const std::vector<Way>& ways, const Json& request, const std::string& scratch,
                                const char* what, const char* install, OpContext& context) {
  std::string all_lacking;
  for (const Way& way : ways) {
    std::string lacking;
    NL_ASSIGN(std::optional<Json> facts, RunDriver(way, request, scratch, what, context, lacking));
    if (!facts) {
      all_lacking += (all_lacking.empty() ? "" : "; ") + lacking;
      continue;
    }
    ProfileOutcome out;
    for (const Json& file : ListAt(*facts, "files"))
      out.files.push_back(scratch + "/" + (file.is_string() ? file.get<std::string>() : ""));
    out.facts = FactsOf(*facts);
    return out;
  }
  if (all_lacking.empty()) all_lacking = "no interpreter for it is on PATH";
  return Unsupported(fmt::format("{} is not installed: {}", what, all_lacking)).Hint(install);
}

Json Request(const ProfileRequest& r) {
  return {{"model", r.model},     {"precision", r.precision},   {"device", r.device},
          {"max_int", r.max_int}, {"iterations", r.iterations}, {"warmup", r.warmup}};
}

}  // namespace

std::string LastLines(std::string_view text, size_t lines) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {  // a colour: up to its letter
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    if (text[i] != '\r') plain.push_back(text[i]);
  }
  while (!plain.empty() && (plain.back() == '\n' || plain.back() == ' ')) plain.pop_back();
  size_t from = plain.size();
  for (size_t n = 0; n < lines && from != std::string::npos && from > 0; ++n)
    from = plain.rfind('\n', from - 1);
  return from == std::string::npos || from == 0 ? plain : plain.substr(from + 1);
}

Result<ProfileOutcome> ProfileOnnxrt(const ProfileRequest& request, const std::string& scratch,
                                     OpContext& context) {
  NL_ASSIGN(const std::vector<OnnxInput> inputs, OnnxInputsOfFile(request.model));
  Json asked = Request(request);
  asked["inputs"] = Json::array();
  std::vector<ProfileInput> chosen_inputs;
  std::vector<DimChoice> chosen;
  for (const OnnxInput& input : inputs) {
    if (input.type.empty()) {
      return Unsupported(fmt::format("cannot make random values for the type of input '{}'", input.name))
          .At(request.model);
    }
    std::vector<int64_t> shape = ChooseShape(input, request.dims, chosen);
    asked["inputs"].push_back({{"name", input.name}, {"type", input.type}, {"shape", shape}});
    chosen_inputs.push_back({input.name, input.type, std::move(shape)});
  }
  std::vector<Way> ways;
  for (const std::string& python : Pythons(request.python))
    ways.push_back({python, embedded::kOnnxrtDriverPython, "onnxrt_driver.py"});
  if (const std::string node = FindProgram("node"); !node.empty() && request.python.empty())
    ways.push_back({node, embedded::kOnnxrtDriverNode, "onnxrt_driver.cjs"});
  NL_ASSIGN(
      ProfileOutcome out,
      RunFirst(ways, asked, scratch, "ONNX Runtime",
               "install it: pip install onnxruntime, or for Node.js: npm install onnxruntime-node", context));
  out.facts.inputs = std::move(chosen_inputs);
  out.facts.dims = std::move(chosen);
  return out;
}

Result<ProfileOutcome> ProfileTorch(const ProfileRequest& request, const std::string& scratch,
                                    OpContext& context) {
  Json asked = Request(request);
  asked["batch"] = request.dims.batch;
  asked["sequence"] = request.dims.sequence;
  asked["inputs"] = request.inputs;
  std::vector<Way> ways;
  for (const std::string& python : Pythons(request.python))
    ways.push_back({python, embedded::kTorchDriver, "torch_driver.py"});
  return RunFirst(ways, asked, scratch, "torch", "install it: pip install torch", context);
}

}  // namespace nl::ops::profile
