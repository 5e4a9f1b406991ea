// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/model_plan.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyze/cost_model/peaks.h"
#include "analyze/cost_model/plan_builder.h"

namespace nl {

namespace plan {

namespace {
constexpr double kMostSize = 1e12;
}

void Sizes::Refuse(const std::string& what) {
  if (!error_) error_ = Unsupported(fmt::format("{}: {}", place_, what));
}

double Sizes::Checked(const char* name, const Json& value) {
  if (value.is_number() && value.get<double>() > 0 && value.get<double>() <= kMostSize)
    return value.get<double>();
  if (!error_)
    error_ = InvalidInput(fmt::format("{}.{} must be a number above 0, not {}", place_, name, value.dump()));
  return 1;
}

double Sizes::Need(const char* name) {
  if (sizes_.contains(name)) return Checked(name, sizes_[name]);
  if (!error_) error_ = InvalidInput(fmt::format("{}.{} is missing", place_, name));
  return 1;
}

double Sizes::Or(const char* name, double otherwise) {
  return sizes_.contains(name) && !sizes_[name].is_null() ? Checked(name, sizes_[name]) : otherwise;
}

bool Sizes::Flag(const char* name, bool otherwise) const {
  const auto it = sizes_.find(name);
  return it != sizes_.end() && it->is_boolean() ? it->get<bool>() : otherwise;
}

std::string Sizes::TextOr(const char* name, const char* otherwise) const {
  const auto it = sizes_.find(name);
  return it != sizes_.end() && it->is_string() ? it->get<std::string>() : otherwise;
}

std::vector<double> Sizes::List(const char* name) {
  std::vector<double> out;
  if (!sizes_.contains(name) || !sizes_[name].is_array()) {
    if (!error_) error_ = InvalidInput(fmt::format("{}.{} must be a list", place_, name));
    return out;
  }
  for (const Json& value : sizes_[name])
    out.push_back(value.is_boolean()                              ? (value.get<bool>() ? 1 : 0)
                  : value.is_number() && value.get<double>() == 0 ? 0
                                                                  : Checked(name, value));
  return out;
}

void ModuleBuilder::Add(PlanKernel kernel) {
  kernel.count *= instances_;
  m_.activation_bytes += kernel.count * kernel.write_bytes;
  m_.kernels.push_back(kernel);
}

ModuleBuilder& ModuleBuilder::Parameters(double count) {
  m_.parameters += instances_ * count;
  return *this;
}

ModuleBuilder& ModuleBuilder::TiedLinear(double rows, double out, double in) {
  PlanKernel k;
  k.kind = KernelKind::kGemm;
  k.m = rows, k.n = out, k.k = in;
  k.flops = 2 * rows * out * in;
  k.read_bytes = bytes_ * (rows * in + out * in);
  k.write_bytes = bytes_ * rows * out;
  m_.weight_bytes += instances_ * bytes_ * out * in;
  Add(k);
  return *this;
}

ModuleBuilder& ModuleBuilder::Linear(double rows, double out, double in, bool bias) {
  return TiedLinear(rows, out, in).Parameters(out * in + (bias ? out : 0));
}

ModuleBuilder& ModuleBuilder::GroupedLinear(double rows, double out, double in, double experts, double used) {
  PlanKernel k;
  k.kind = KernelKind::kGemm;
  k.groups = used, k.m = rows / used, k.n = out, k.k = in;
  k.flops = 2 * rows * out * in;
  k.read_bytes = bytes_ * (rows * in + used * out * in);
  k.write_bytes = bytes_ * rows * out;
  m_.weight_bytes += instances_ * bytes_ * used * out * in;
  Add(k);
  return Parameters(experts * out * in);
}

ModuleBuilder& ModuleBuilder::Pass(double elements, double read, double write, double flops, double kernels) {
  PlanKernel k;
  k.count = kernels;
  k.flops = flops * elements / kernels;
  k.read_bytes = read * elements / kernels;
  k.write_bytes = write * elements / kernels;
  Add(k);
  return *this;
}

ModuleBuilder& ModuleBuilder::Pass(KernelKind kind, double elements, double flops, double kernels) {
  PlanKernel k;
  k.kind = kind;
  k.count = kernels;
  k.elements = elements / kernels;
  k.flops = flops * k.elements;
  k.read_bytes = k.write_bytes = bytes_ * k.elements;
  Add(k);
  return *this;
}

ModuleBuilder& ModuleBuilder::Small(double kernels) {
  PlanKernel k;
  k.count = kernels;
  Add(k);
  return *this;
}

ModuleBuilder& ModuleBuilder::LayerNorm(double rows, double width, bool bias) {
  PlanKernel k;
  k.kind = KernelKind::kNorm;
  k.m = rows;
  k.elements = rows * width;
  k.flops = 8 * k.elements;
  k.read_bytes = k.write_bytes = bytes_ * k.elements;
  Add(k);
  return Parameters(bias ? 2 * width : width);
}

ModuleBuilder& ModuleBuilder::Attention(const Heads& h) {
  PlanKernel k;
  k.kind = KernelKind::kAttention;
  k.m = h.q_len, k.n = h.kv_len, k.k = h.width, k.groups = h.batch * h.heads;
  k.flops = 4 * h.batch * h.heads * h.width * h.pairs;
  k.causal = h.pairs < h.q_len * h.kv_len;
  k.read_bytes = bytes_ * h.batch * h.width * (h.heads * h.q_len + 2 * h.kv_heads * h.kv_len);
  k.write_bytes = bytes_ * h.batch * h.width * h.heads * h.q_len;
  Add(k);
  return *this;
}

ModuleBuilder& ModuleBuilder::Convolution(const Conv& c) {
  PlanKernel k;
  k.kind = KernelKind::kConvolution;
  k.m = c.batch * c.out_pixels, k.n = c.out, k.k = c.in * c.kernel_area;
  k.flops = 2 * k.m * k.n * k.k;
  k.read_bytes = bytes_ * (c.batch * c.in_pixels * c.in + k.n * k.k);
  k.write_bytes = bytes_ * k.m * k.n;
  m_.weight_bytes += instances_ * bytes_ * k.n * k.k;
  Add(k);
  // cuDNN wants NHWC: input, weights and output change their layout; the bias is added by a kernel of its
  // own.
  if (c.kernel_area > 1) {
    Pass(KernelKind::kLayout, c.batch * c.in_pixels * c.in, 0).Pass(KernelKind::kLayout, k.n * k.k, 0);
    Pass(KernelKind::kLayout, k.m * k.n, 0);
  }
  if (c.bias) Pass(KernelKind::kStrided, k.m * k.n);
  return Parameters(k.n * k.k + (c.bias ? c.out : 0));
}

ModuleBuilder& ModuleBuilder::KvCache(double bytes) {
  m_.kv_bytes += instances_ * bytes;
  return *this;
}

double CausalPairs(double q_len, double kv_len, double window) {
  const double before = kv_len - q_len;
  if (window <= 0 || window >= kv_len)
    return q_len > 1 ? q_len * before + q_len * (q_len + 1) / 2 : q_len * kv_len;
  // The first `growing` new tokens see all before them and themselves; the others see `window`.
  const double growing = std::clamp(window - before, 0.0, q_len);
  return growing * before + growing * (growing + 1) / 2 + (q_len - growing) * window;
}

ModuleBuilder StageBuilder::Module(std::string name, double instances,
                                   std::initializer_list<std::string> paths) {
  for (PlanModule& known : stage_.modules) {
    if (known.name == name) return ModuleBuilder(known, instances, bytes_);
  }
  PlanModule module;
  module.name = std::move(name);
  module.paths = paths;
  stage_.modules.push_back(std::move(module));
  return ModuleBuilder(stage_.modules.back(), instances, bytes_);
}

double UsedExperts(double tokens, double experts, double active) {
  return experts * (1 - std::pow(1 - active / experts, tokens));
}

PlanStage& AddStage(ModelPlan& plan, std::string name, double executions, double tokens, double context) {
  PlanStage stage;
  stage.name = std::move(name);
  stage.executions = executions;
  stage.tokens = tokens;
  stage.context = context;
  plan.stages.push_back(std::move(stage));
  return plan.stages.back();
}

namespace {

struct Family {
  const char* model_type;
  void (*make)(ModelPlan&, Sizes&, const Inputs&);
};
constexpr Family kFamilies[] = {{"llama", PlanDecoder},   {"qwen2", PlanDecoder},   {"qwen3", PlanDecoder},
                                {"mistral", PlanDecoder}, {"mixtral", PlanDecoder}, {"gemma", PlanDecoder},
                                {"gpt2", PlanGpt2},       {"opt", PlanOpt},         {"bert", PlanBert},
                                {"vit", PlanVit},         {"whisper", PlanWhisper}};

Inputs InputsOf(const Json& config, double element_bytes) {
  const Json& work = config["workload"];
  Inputs in;
  in.batch = work.value("batch", 1.0);
  in.prompt = work.value("prompt_tokens", 128.0);
  in.output = work.value("output_tokens", 1.0);
  in.all_logits = work.value("logits", "last") == "all";
  in.element_bytes = element_bytes;
  return in;
}

// A module that several stages run has its parameters once.
void SumParameters(ModelPlan& plan) {
  for (const PlanStage& stage : plan.stages) {
    for (const PlanModule& m : stage.modules) {
      const bool known = std::any_of(plan.parameters.begin(), plan.parameters.end(),
                                     [&m](const auto& entry) { return entry.first == m.name; });
      if (m.parameters > 0 && !known) plan.parameters.emplace_back(m.name, m.parameters);
    }
  }
  for (const auto& [name, count] : plan.parameters) plan.total_parameters += count;
}

Status MakeHuggingFace(ModelPlan& plan, const Json& hf, const Inputs& in) {
  plan.family = hf["model_type"].get<std::string>();
  for (const Family& family : kFamilies) {
    if (plan.family != family.model_type) continue;
    Sizes sizes(hf, "model.hf");
    family.make(plan, sizes, in);
    if (sizes.error()) return *sizes.error();
    return {};
  }
  std::vector<std::string_view> known;
  for (const Family& family : kFamilies) known.emplace_back(family.model_type);
  return Unsupported(fmt::format("the modules of model_type '{}' are not known to predict", plan.family))
      .Hint(fmt::format("known are {}", fmt::join(known, ", ")));
}

Status MakeTarget(ModelPlan& plan, const Json& config, const Inputs& in) {
  const std::string target = config["model"]["target"].get<std::string>();
  const Json args = config["model"].value("args", Json::object());
  if (!args.is_object()) return InvalidInput("model.args must have names in it");
  Sizes sizes(args, "model.args");
  if (target == "neurolens.models.sd_unet:build") {
    plan.family = "unet";
    PlanUnet(plan, sizes, in, config["workload"].value("latent_size", 64.0));
  } else if (target == "neurolens.models.deepseek_ocr:build") {
    plan.family = "vision_language";
    PlanVisionLanguage(plan, sizes, in);
  } else {
    return Unsupported(fmt::format("the modules of model.target {} are not known to predict", target))
        .Hint(
            "a model of your own can be recorded: neurolens run -- python3 -m neurolens.models run --config "
            "FILE");
  }
  if (sizes.error()) return *sizes.error();
  return {};
}

}  // namespace

}  // namespace plan

Result<ModelPlan> PlanModel(const Json& config) {
  ModelPlan out;
  out.name = config.value("name", Json("")).is_string() ? config["name"].get<std::string>() : "";
  out.dtype = NormalDtype(config["dtype"].get<std::string>());
  out.dtype_bytes = DtypeBytes(out.dtype).value_or(2);
  const plan::Inputs in = plan::InputsOf(config, out.dtype_bytes);
  const Json& model = config["model"];
  if (model.contains("target") && !model["target"].is_null()) {
    NL_TRY(plan::MakeTarget(out, config, in));
  } else {
    NL_TRY(plan::MakeHuggingFace(out, model["hf"], in));
  }
  plan::SumParameters(out);
  return out;
}

std::string NormalModulePath(std::string_view path) {
  std::string out;
  while (true) {
    const size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    out += number ? std::string_view("*") : part;
    if (dot == std::string_view::npos) return out;
    out += '.';
    path.remove_prefix(dot + 1);
  }
}

}  // namespace nl
