// SPDX-License-Identifier: Apache-2.0
// `neurolens profile`: runs a model under its framework's own profiler and makes a run of it.

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "import/adapter.h"
#include "ops/open_store.h"
#include "ops/profile/backend.h"

namespace nl::ops::profile {

namespace {

constexpr const char* kSchema = R"({"type": "object",
  "required": ["run_id", "backend", "framework", "version", "runtime", "device", "inputs", "dims", "iterations", "warmup",
    "warmup_excluded", "note", "run"],
  "properties": {"run_id": {"type": "string"}, "backend": {"enum": ["onnxrt", "torch", "tensorrt"]}, "framework": {"type": "string"},
    "version": {"type": ["string", "null"]}, "runtime": {"type": "string"}, "device": {"type": "string"},
    "inputs": {"type": "array", "items": {"type": "object", "required": ["name", "type", "shape"]}},
    "dims": {"type": "array", "description": "sizes the model leaves open, and what was chosen", "items": {"type": "object",
      "required": ["name", "size", "why"]}},
    "iterations": {"type": "integer"}, "warmup": {"type": "integer"},
    "warmup_excluded": {"type": ["integer", "null"], "description": "iterations that are not in the run; null: the framework warms up by time"},
    "note": {"type": ["string", "null"]}, "run": {"type": "object", "description": "as `import` tells it"}}})";

struct BackendRow {
  const char* name;
  const char* adapter;  // that reads what its profiler writes
  Result<ProfileOutcome> (*run)(const ProfileRequest&, const std::string&, OpContext&);
};
constexpr BackendRow kBackends[] = {{"onnxrt", "onnxrt", ProfileOnnxrt},
                                    {"torch", "kineto", ProfileTorch},
                                    {"tensorrt", "tensorrt", ProfileTensorrt}};

std::string ShapeText(const Json& shape) {
  std::string out;
  for (const Json& size : shape) out += (out.empty() ? "" : " x ") + DumpJson(size);
  return out.empty() ? "scalar" : out;
}

class ProfileOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "profile";
    info.summary =
        "Run a model under ONNX Runtime, torch or TensorRT with random inputs, and keep its profile as a run";
    info.choose_when =
        "Choose it when there is a model but no profile yet; `import` takes what you recorded yourself. The "
        "framework "
        "must be installed; nothing is downloaded.";
    info.example = "neurolens profile --backend onnxrt --model bert.onnx --bs 8 --seq 128 --iters 20";
    info.cost = Cost::kMinutes;
    info.writes = true;
    info.reply_schema = SchemaFromText(kSchema);
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("backend", backend_, "Framework that runs the model")
        .Choices({"onnxrt", "torch", "tensorrt"})
        .Required();
    b.Add("model", request_.model,
          "Model: an ONNX file (onnxrt, tensorrt), an engine (tensorrt), a TorchScript file or "
          "MODULE:CALLABLE (torch)")
        .Required()
        .Path()
        .LocalOnly();
    b.Add("bs", request_.dims.batch, "Batch size, for dimensions the model leaves open").Range(1, 1e9);
    b.Add("seq", request_.dims.sequence, "Sequence length, for dimensions the model leaves open")
        .Range(1, 1e9);
    b.Add("precision", request_.precision, "Type to run in; otherwise as the model is (onnxrt: always)")
        .Choices({"fp32", "fp16", "bf16", "fp64", "fp8", "int8"});
    b.Add("iters", request_.iterations, "Iterations to record").Range(1, 1e6);
    b.Add("warmup", request_.warmup, "Iterations before them, which are not in the run").Range(0, 1e6);
    b.Add("dim", dims_, "Size of a named dimension of an ONNX model").KeyValue();
    b.Add("input", request_.inputs,
          "torch: shape and type of an input, for example bs,3,224,224:float32; one a flag");
    b.Add("max_int", request_.max_int, "Random integers are below this (token ids: the vocabulary)")
        .Range(1, 2147483647);
    b.Add("device", request_.device, "Where to run; auto takes a GPU when the framework has one")
        .Choices({"auto", "cpu", "cuda"});
    b.Add("python", request_.python, "Python to run the framework with; otherwise those on PATH are tried")
        .Path()
        .LocalOnly();
    b.Add("name", name_, "Name of the model in the run; otherwise taken from the file");
    b.Add("tag", tags_, "Tag for the new run").KeyValue();
  }

  Result<Reply> Run(OpContext& context) override {
    const BackendRow& backend = *std::find_if(std::begin(kBackends), std::end(kBackends),
                                              [this](const BackendRow& row) { return row.name == backend_; });
    NL_TRY(Check(backend));
    NL_ASSIGN(const TempDir scratch, TempDir::Make("neurolens-profile-"));
    NL_ASSIGN(ProfileOutcome outcome, backend.run(request_, scratch.path(), context));
    if (context.Cancelled()) return Cancelled();
    const std::unique_ptr<Op> import = MakeOp("import");
    NL_ASSIGN(const Reply imported, RunOp(*import, ImportArguments(outcome), context));
    if (imported.json["runs"].size() != 1 || !imported.problems.empty()) {
      if (!imported.problems.empty()) return imported.problems.front();
      return InvalidInput("what the profiler wrote is not one run").At(request_.model);
    }
    Reply reply;
    reply.json = std::move(outcome.facts);
    reply.json["run"] = imported.json["runs"][0];
    reply.json["run_id"] = reply.json["run"]["run_id"];
    reply.json["backend"] = backend_;
    reply.json["iterations"] = request_.iterations;
    reply.json["warmup"] = request_.warmup;
    for (const char* key : {"version", "note", "warmup_excluded"}) {
      if (!reply.json.contains(key)) reply.json[key] = Json();
    }
    reply.json.erase("warmup_events");
    reply.json["dims"] = DimsList(reply.json["dims"]);
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle&) const override {
    const Json& r = reply.json;
    std::string out = fmt::format("{}  {} iterations under {} {} ({}, {})\n", r["run_id"].get<std::string>(),
                                  r["iterations"].get<int64_t>(), r["framework"].get<std::string>(),
                                  r["version"].is_string() ? r["version"].get<std::string>() : "",
                                  r["runtime"].get<std::string>(), r["device"].get<std::string>());
    for (const Json& input : r["inputs"]) {
      out += fmt::format("  input {}: {} {}, random\n", input["name"].get<std::string>(),
                         ShapeText(input["shape"]),
                         input["type"].is_string() ? input["type"].get<std::string>() : "");
    }
    for (const Json& dim : r["dims"]) {
      out += fmt::format("  {} = {}: {}\n", dim["name"].get<std::string>(), DumpJson(dim["size"]),
                         dim["why"].get<std::string>());
    }
    if (r["warmup_excluded"].is_number() && r["warmup_excluded"] > 0)
      out += fmt::format("  {} warm-up iterations are not in the run\n", r["warmup_excluded"].get<int64_t>());
    if (r["note"].is_string()) out += fmt::format("  {}\n", r["note"].get<std::string>());
    const Json& run = r["run"];
    if (run.contains("events")) {
      out += fmt::format("  {} events, wall {}\n", HumanCount(run["events"]), HumanMs(run["wall_ms"]));
      for (const Json& c : run["counters"]) {
        if (c["severity"] == "info") continue;
        out += fmt::format("  {}: {} {} - {}\n", c["severity"].get<std::string>(), HumanCount(c["count"]),
                           c["name"].get<std::string>(), c["meaning"].get<std::string>());
      }
    }
    return out + "next: neurolens summary @latest\n";
  }

 private:
  Status Check(const BackendRow& backend) {
    const bool is_module = backend_ == "torch" && request_.model.find(':') != std::string::npos;
    if (!PathExists(request_.model) && !is_module) {
      return NotFound("there is no such model")
          .At(request_.model)
          .Hint(backend_ == "torch" ? "a TorchScript file, or MODULE:CALLABLE as in mypackage.net:build"
                                    : "the path of a file");
    }
    if (FindAdapter(backend.adapter) == nullptr)
      return Unsupported(fmt::format("this build reads no profiles of {}", backend_))
          .Hint("see neurolens formats");
    if (backend_ == "onnxrt" && !request_.precision.empty()) {
      return InvalidInput("ONNX Runtime runs a model in the types the file has")
          .Hint("leave --precision out, or convert the file");
    }
    if (backend_ == "torch" && (request_.precision == "int8" || request_.precision == "fp8"))
      return InvalidInput(fmt::format("torch cannot turn a model into {} on its own", request_.precision));
    if (!request_.inputs.empty() && backend_ != "torch")
      return InvalidInput("--input is for torch; an ONNX file tells its inputs itself")
          .Hint("--dim NAME=SIZE");
    for (const std::string& dim : dims_) {
      const size_t equals = dim.find('=');
      int64_t size = 0;
      const char* const end = dim.data() + dim.size();
      if (equals == std::string::npos || equals == 0 ||
          std::from_chars(dim.data() + equals + 1, end, size).ptr != end || size < 1)
        return InvalidInput(fmt::format("a dimension is NAME=SIZE, not '{}'", dim));
      request_.dims.dims[dim.substr(0, equals)] = size;
    }
    if (PathExists(request_.model)) request_.model = std::filesystem::absolute(request_.model).string();
    return {};
  }

  Json ImportArguments(const ProfileOutcome& outcome) const {
    std::string name = name_;
    if (name.empty()) name = std::filesystem::path(request_.model).stem().string();
    Json tags = Json::array();
    const auto tag = [&tags](const char* key, const std::string& value) {
      tags.push_back(fmt::format("{}={}", key, value));
    };
    tag("profiled_with", backend_);
    tag("batch_size", std::to_string(request_.dims.batch));
    const Json dims = DimsList(outcome.facts["dims"]);
    for (const Json& dim : dims) {
      if (dim["why"].get<std::string>().starts_with("sequence length")) {
        tag("sequence_length", std::to_string(request_.dims.sequence));
        break;
      }
    }
    tag("iterations", std::to_string(request_.iterations));
    tag("warmup", std::to_string(request_.warmup));
    if (!request_.precision.empty()) tag("precision", request_.precision);
    for (const std::string& own : tags_) tags.push_back(own);
    return {{"paths", Json::array({outcome.files[0]})}, {"model", name}, {"tag", tags}};
  }

  // Drivers give an object by name, the rest a list.
  static Json DimsList(const Json& dims) {
    if (!dims.is_object()) return dims.is_array() ? dims : Json::array();
    Json out = Json::array();
    for (const auto& [name, choice] : dims.items())
      out.push_back({{"name", name}, {"size", choice["size"]}, {"why", choice["why"]}});
    return out;
  }

  std::string backend_, name_;
  ProfileRequest request_;
  std::vector<std::string> dims_, tags_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ProfileOp>(); }

}  // namespace nl::ops::profile
