// SPDX-License-Identifier: Apache-2.0
// `neurolens profile`: runs a model under its framework's own profiler and makes a run of it.

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "import/adapter.h"
#include "ops/import_recording.h"
#include "ops/open_store.h"
#include "ops/profile/backend.h"

namespace nl::ops::profile {

static void Describe(Record<ProfileInput>& r) {
  r.Name("ProfileInput", "An input of the model");
  r.Field("name", &ProfileInput::name, "Name");
  r.Field("type", &ProfileInput::type, "Data type of its values");
  r.Field("shape", &ProfileInput::shape, "Size of each dimension; empty: a scalar");
}

static void Describe(Record<DimChoice>& r) {
  r.Name("ProfileDim", "A size that the model leaves open");
  r.Field("name", &DimChoice::name, "Name of the dimension");
  r.Field("size", &DimChoice::size, "Size that was used");
  r.Field("why", &DimChoice::why, "Why this size");
}

namespace {

enum class ProfileBackend : uint8_t { kOnnxrt, kTorch, kTensorrt };
std::span<const std::string_view> NamesOf(ProfileBackend) {
  static constexpr std::string_view kNames[] = {"onnxrt", "torch", "tensorrt"};
  return kNames;
}

struct ProfileReply : ProfileFacts {
  std::string run_id;
  ProfileBackend backend = ProfileBackend::kOnnxrt;
  int64_t iterations = 0, warmup = 0;
  ImportedRun run;
};
void Describe(Record<ProfileReply>& r) {
  r.Name("ProfileReply", "Reply of `neurolens profile`");
  r.Field("run_id", &ProfileReply::run_id, "The run");
  r.Field("backend", &ProfileReply::backend, "Framework that was asked for");
  r.Field("framework", &ProfileReply::framework, "Framework that ran the model");
  r.Field("version", &ProfileReply::version, "Version of the framework");
  r.Field("runtime", &ProfileReply::runtime, "Program that ran the framework");
  r.Field("device", &ProfileReply::device, "Device or execution provider");
  r.Field("inputs", &ProfileReply::inputs, "Inputs of the model, filled with random values");
  r.Field("dims", &ProfileReply::dims, "Sizes that the model leaves open, and what was used");
  r.Field("iterations", &ProfileReply::iterations, "Iterations recorded");
  r.Field("warmup", &ProfileReply::warmup, "Warm-up iterations asked for");
  r.Field("warmup_excluded", &ProfileReply::warmup_excluded,
          "Warm-up iterations left out of the run; null: the framework warms up by time");
  r.Field("note", &ProfileReply::note, "Note on the recording, for people");
  r.Field("run", &ProfileReply::run, "The run as `import` describes it");
}

struct BackendRow {
  ProfileBackend backend;
  const char* adapter;  // reads what its profiler writes
  Result<ProfileOutcome> (*run)(const ProfileRequest&, const std::string&, OpContext&);
};
constexpr BackendRow kBackends[] = {{ProfileBackend::kOnnxrt, "onnxrt", ProfileOnnxrt},
                                    {ProfileBackend::kTorch, "kineto", ProfileTorch},
                                    {ProfileBackend::kTensorrt, "tensorrt", ProfileTensorrt}};

const BackendRow& BackendOf(const std::string& name) {
  const auto names = NamesOf(ProfileBackend());
  return kBackends[std::find(names.begin(), names.end(), name) - names.begin()];
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, " x "));
}

class ProfileOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "profile";
    info.local = true;
    info.summary =
        "Run a model in ONNX Runtime, torch or TensorRT with random inputs, and import its profile as a run";
    info.choose_when =
        "Choose it when you have a model but no profile yet; `import` reads a profile you recorded yourself. "
        "The framework must be installed; nothing is downloaded.";
    info.example = "neurolens profile --backend onnxrt --model bert.onnx --bs 8 --seq 128 --iters 20";
    info.cost = Cost::kMinutes;
    info.writes = true;
    info.reply = ReplyOf<ProfileReply>();
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
        .Path();
    b.Add("bs", request_.dims.batch, "Batch size, for dimensions without a size in the model").Range(1, 1e9);
    b.Add("seq", request_.dims.sequence, "Sequence length, for dimensions without a size in the model")
        .Range(1, 1e9);
    b.Add("precision", request_.precision, "Data type to run in; default: that of the model (onnxrt: always)")
        .Choices({"fp32", "fp16", "bf16", "fp64", "fp8", "int8"});
    b.Add("iters", request_.iterations, "Iterations to record").Range(1, 1e6);
    b.Add("warmup", request_.warmup, "Warm-up iterations before them, which are not in the run")
        .Range(0, 1e6);
    b.Add("dim", dims_, "Size of a named dimension of an ONNX model").KeyValue();
    b.Add("input", request_.inputs,
          "torch: shape and type of an input, such as bs,3,224,224:float32; one input per flag");
    b.Add("max_int", request_.max_int,
          "Upper limit of random integers, exclusive (token ids: the size of the vocabulary)")
        .Range(1, 2147483647);
    b.Add("device", request_.device, "Where to run; auto: on a GPU if the framework can use one")
        .Choices({"auto", "cpu", "cuda"});
    b.Add("python", request_.python, "Python interpreter that has the framework; default: those on PATH")
        .Path();
    b.Add("name", name_, "Name of the model in the run; default: from the file name");
    b.Add("tag", tags_, "Tag for the new run").KeyValue();
  }

  Result<Reply> Run(OpContext& context) override {
    const BackendRow& backend = BackendOf(backend_);
    NL_TRY(Check(backend));
    NL_ASSIGN(const TempDir scratch, TempDir::Make("neurolens-profile-"));
    NL_ASSIGN(ProfileOutcome outcome, backend.run(request_, scratch.path(), context));
    if (context.Cancelled()) return Cancelled();
    NL_ASSIGN(const std::vector<ImportedRun> runs, ImportAll(context, RequestOf(outcome)));
    if (runs.size() != 1)
      return InvalidInput(fmt::format("the profiler wrote {} runs; one is expected", runs.size()))
          .At(request_.model);
    ProfileReply reply;
    static_cast<ProfileFacts&>(reply) = std::move(outcome.facts);
    reply.run_id = runs[0].run_id;
    reply.backend = backend.backend;
    reply.iterations = request_.iterations;
    reply.warmup = request_.warmup;
    reply.run = runs[0];
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle&) const override {
    const auto& r = any.As<ProfileReply>();
    std::string out = fmt::format("{}  {} iterations in {} {} ({}, {})\n", r.run_id, r.iterations,
                                  r.framework, r.version.value_or(""), r.runtime, r.device);
    for (const ProfileInput& input : r.inputs)
      out += fmt::format("  input {}: {} {}, random\n", input.name, ShapeText(input.shape),
                         input.type.value_or(""));
    for (const DimChoice& dim : r.dims) out += fmt::format("  {} = {}: {}\n", dim.name, dim.size, dim.why);
    if (r.warmup_excluded.value_or(0) > 0)
      out += fmt::format("  {} warm-up iterations are not in the run\n", *r.warmup_excluded);
    if (r.note) out += fmt::format("  {}\n", *r.note);
    if (r.run.events)
      out += fmt::format("  {} events, wall {}\n", HumanCount(*r.run.events),
                         HumanMs(r.run.wall_ms.value_or(0)));
    for (const ImportCounter& c : r.run.counters) {
      if (c.severity == SeverityName(Severity::kInfo)) continue;
      out += fmt::format("  {}: {} {} - {}\n", c.severity, HumanCount(c.count), c.name, c.meaning);
    }
    return out + "next: neurolens summary @latest\n";
  }

 private:
  Status Check(const BackendRow& backend) {
    const bool is_module = backend_ == "torch" && request_.model.find(':') != std::string::npos;
    if (!PathExists(request_.model) && !is_module) {
      return NotFound("the model does not exist")
          .At(request_.model)
          .Hint(backend_ == "torch"
                    ? "give a TorchScript file, or MODULE:CALLABLE such as mypackage.net:build"
                    : "give the path of a file");
    }
    if (FindAdapter(backend.adapter) == nullptr)
      return Unsupported(fmt::format("this build cannot read profiles of {}", backend_))
          .Hint("`neurolens formats` lists what it reads");
    if (backend_ == "onnxrt" && !request_.precision.empty()) {
      return InvalidInput("ONNX Runtime runs a model in the data types of the file")
          .Hint("omit --precision, or convert the file");
    }
    if (backend_ == "torch" && (request_.precision == "int8" || request_.precision == "fp8"))
      return InvalidInput(fmt::format("torch cannot convert a model to {} by itself", request_.precision));
    if (!request_.inputs.empty() && backend_ != "torch")
      return InvalidInput("--input is for torch; an ONNX file defines its inputs")
          .Hint("set open sizes with --dim NAME=SIZE");
    for (const std::string& dim : dims_) {
      const size_t equals = dim.find('=');
      int64_t size = 0;
      const char* const end = dim.data() + dim.size();
      if (equals == std::string::npos || equals == 0 ||
          std::from_chars(dim.data() + equals + 1, end, size).ptr != end || size < 1)
        return InvalidInput(fmt::format("'{}' is not a dimension; write NAME=SIZE", dim));
      request_.dims.dims[dim.substr(0, equals)] = size;
    }
    if (PathExists(request_.model)) request_.model = std::filesystem::absolute(request_.model).string();
    return {};
  }

  ImportArguments RequestOf(const ProfileOutcome& outcome) const {
    ImportArguments out;
    out.paths = {outcome.files[0]};
    out.more["model"] = name_.empty() ? std::filesystem::path(request_.model).stem().string() : name_;
    const auto tag = [&out](const char* key, const std::string& value) {
      out.tags.push_back(fmt::format("{}={}", key, value));
    };
    tag("profiled_with", backend_);
    tag("batch_size", std::to_string(request_.dims.batch));
    const bool has_sequence =
        std::any_of(outcome.facts.dims.begin(), outcome.facts.dims.end(),
                    [](const DimChoice& dim) { return dim.why.starts_with("sequence length"); });
    if (has_sequence) tag("sequence_length", std::to_string(request_.dims.sequence));
    tag("iterations", std::to_string(request_.iterations));
    tag("warmup", std::to_string(request_.warmup));
    if (!request_.precision.empty()) tag("precision", request_.precision);
    out.tags.insert(out.tags.end(), tags_.begin(), tags_.end());
    return out;
  }

  std::string backend_, name_;
  ProfileRequest request_;
  std::vector<std::string> dims_, tags_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ProfileOp>(); }

}  // namespace nl::ops::profile
