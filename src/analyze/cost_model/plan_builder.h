// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the model families of model_plan.h share: sizes read from a configuration, and modules made of
// kernels. Thread rule: one plan is built by one thread.

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "analyze/cost_model/model_plan.h"

namespace nl::plan {

// Sizes of a model, by name. A missing or bad one is noted once and is 1 from then on: check error() at the
// end.
class Sizes {
 public:
  Sizes(const Json& sizes, std::string place) : sizes_(sizes), place_(std::move(place)) {}
  double Need(const char* name);
  double Or(const char* name, double otherwise);
  bool Flag(const char* name, bool otherwise) const;
  std::string TextOr(const char* name, const char* otherwise) const;
  std::vector<double> List(const char* name);
  const Json& json() const { return sizes_; }
  std::optional<Error> error() const { return error_; }
  void Refuse(const std::string& what);

 private:
  double Checked(const char* name, const Json& value);
  const Json& sizes_;
  std::string place_;
  std::optional<Error> error_;
};

// One module in a stage; every call adds kernels for `instances` layers.
class ModuleBuilder {
 public:
  ModuleBuilder(PlanModule& module, double instances, double element_bytes)
      : m_(module), instances_(instances), bytes_(element_bytes) {}

  // y[rows, out] = x[rows, in] W + b
  ModuleBuilder& Linear(double rows, double out, double in, bool bias);
  // The same with weights that another module counts.
  ModuleBuilder& TiedLinear(double rows, double out, double in);
  // One kernel over `elements`, with bytes read and written per element.
  ModuleBuilder& Pass(double elements, double read, double write, double flops = 1, double kernels = 1);
  // The same for kernels that elements limit: one element read and written each.
  ModuleBuilder& Pass(KernelKind kind, double elements, double flops = 1, double kernels = 1);
  ModuleBuilder& Gelu(double elements) { return Pass(KernelKind::kGelu, elements, 8); }
  // Kernels over next to nothing, such as positions and masks.
  ModuleBuilder& Small(double kernels);
  ModuleBuilder& LayerNorm(double rows, double width, bool bias = true);
  struct Heads {
    double batch, heads, kv_heads, q_len, kv_len, width;
    double pairs;  // query and key pairs of one head of one sequence
  };
  ModuleBuilder& Attention(const Heads& h);
  struct Conv {
    double batch, in, out, kernel_area, out_pixels, in_pixels;
    bool bias;
  };
  ModuleBuilder& Convolution(const Conv& c);
  // Rows sorted by expert times the weights of `used` of all `experts`, in one kernel.
  ModuleBuilder& GroupedLinear(double rows, double out, double in, double experts, double used);
  ModuleBuilder& Parameters(double count);
  ModuleBuilder& KvCache(double bytes);

 private:
  void Add(PlanKernel kernel);
  PlanModule& m_;
  double instances_, bytes_;
};

// Causal pairs of q new tokens over kv tokens in all, each seeing at most `window` (0: all).
double CausalPairs(double q_len, double kv_len, double window = 0);

// Experts that at least one of `tokens` uses, where each uses `active` of them and all are equally likely.
double UsedExperts(double tokens, double experts, double active);

class StageBuilder {
 public:
  StageBuilder(PlanStage& stage, double element_bytes) : stage_(stage), bytes_(element_bytes) {}
  // The module of that name, made when it is first asked for; valid until the next call.
  ModuleBuilder Module(std::string name, double instances, std::initializer_list<std::string> paths);

 private:
  PlanStage& stage_;
  double bytes_;
};

struct Inputs {
  double batch = 1, prompt = 128, output = 1, element_bytes = 2;
  bool all_logits = false;
};
// One forward of new tokens.
struct Forward {
  double batch, q_len, kv_len, head_rows;
  double tokens() const { return batch * q_len; }
};

PlanStage& AddStage(ModelPlan& plan, std::string name, double executions, double tokens, double context);
// Calls forward(stage, Forward) for the prefill and, where tokens are made, the mean decode step.
template <class Fn>
void PrefillAndDecode(ModelPlan& plan, const Inputs& in, double prompt, const Fn& forward) {
  const Forward prefill{in.batch, prompt, prompt, in.all_logits ? in.batch * prompt : in.batch};
  forward(AddStage(plan, "prefill", 1, prefill.tokens(), prompt), prefill);
  const double steps = in.output - 1;
  if (steps < 1) return;
  const Forward step{in.batch, 1, prompt + (steps + 1) / 2, in.batch};
  forward(AddStage(plan, "decode_step", steps, step.tokens(), step.kv_len), step);
}

void PlanDecoder(ModelPlan& plan, Sizes& s, const Inputs& in);
void PlanGpt2(ModelPlan& plan, Sizes& s, const Inputs& in);
void PlanOpt(ModelPlan& plan, Sizes& s, const Inputs& in);
void PlanBert(ModelPlan& plan, Sizes& s, const Inputs& in);
void PlanVit(ModelPlan& plan, Sizes& s, const Inputs& in);
void PlanWhisper(ModelPlan& plan, Sizes& s, const Inputs& in);
void PlanUnet(ModelPlan& plan, Sizes& s, const Inputs& in, double latent_size);
void PlanVisionLanguage(ModelPlan& plan, Sizes& s, const Inputs& in);

}  // namespace nl::plan
