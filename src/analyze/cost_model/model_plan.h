// SPDX-License-Identifier: Apache-2.0
#pragma once
// ModelPlan: what a configured model computes, from its sizes alone. Per stage (prefill, decode step,
// forward) and module: the kernels that PyTorch launches for it when it runs eagerly, each with its FLOPs and
// bytes, and the parameters. kernel_time.h turns kernels into time; docs/models.md has the formulas. Models:
// Hugging Face llama, qwen2, qwen3, mistral, mixtral, gemma, gpt2, opt, bert, vit and whisper, and the
// modules of ours in python/neurolens/models.
// Thread rule: pure functions, plain values.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace nl {

enum class KernelKind : uint8_t {
  kGemm,
  kAttention,    // fused: scores never reach memory
  kConvolution,  // as the product it is equal to
  kMemory,       // elementwise over contiguous tensors, lookups
  // Limited by elements rather than bytes:
  kStrided,     // elementwise with broadcasting, casts up, slices
  kTransposed,  // tensors of different layouts, joins (torch.cat)
  kLayout,      // NCHW to NHWC and back, around convolutions
  kNorm,        // layer norm and RMS norm in one kernel, `m` rows
  kGelu,
  kMoments  // of group norm
};

// One kernel, `count` times.
struct PlanKernel {
  KernelKind kind = KernelKind::kMemory;
  double count = 1;
  double flops = 0, read_bytes = 0, write_bytes = 0, elements = 0;
  // Of a product: [m,k] x [k,n], `groups` times in one kernel. Of attention: query rows, head width and
  // heads x batch. Of a norm: rows.
  double m = 0, n = 0, k = 0, groups = 1;
  bool causal = false;
};

struct PlanModule {
  std::string name;                // "attention.qkv"
  std::vector<std::string> paths;  // of modules in a run, numbers as *: "model.layers.*.self_attn.q_proj"
  std::vector<PlanKernel> kernels;
  double parameters = 0;        // zero where they are those of another module (a tied LM head)
  double weight_bytes = 0;      // read in one execution of the stage
  double activation_bytes = 0;  // written in one execution, without the cache
  double kv_bytes = 0;          // of the KV cache, read and written in one execution
};

struct PlanStage {
  std::string name;       // "prefill", "prefill::vision", "decode_step", "forward"
  double executions = 1;  // per request
  double tokens = 0;      // new ones, of all sequences; patches of images, latents' pixels
  double context = 0;     // tokens that the last new token attends to
  std::vector<PlanModule> modules;
};

struct ModelPlan {
  std::string name, family, dtype;
  double dtype_bytes = 2;
  std::vector<PlanStage> stages;
  double kv_cache_bytes = 0;                               // after the last token
  std::vector<std::pair<std::string, double>> parameters;  // by module, those that have some
  double total_parameters = 0;
};

// Of a resolved workload (workload_config.h). Unsupported for a model that is not among those above.
Result<ModelPlan> PlanModel(const Json& config);

// "model.layers.*.mlp" of "model.layers.11.mlp".
std::string NormalModulePath(std::string_view path);

}  // namespace nl
