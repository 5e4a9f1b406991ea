// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/flops.h"

#include <functional>
#include <map>

#include <fmt/format.h>

#include "analyze/cost_model/flops_formulas.h"
#include "analyze/cost_model/peaks.h"

namespace nl {

namespace {

using flops::Call;
using Formula = std::function<OpCost(const Call&)>;
using FormulaTable = std::map<std::string, Formula, std::less<>>;

void AddProducts(FormulaTable& t) {
  t["aten::mm"] = [](const Call& c) { return flops::Mm(c, 0); };
  t["aten::addmm"] = t["aten::addmm_"] =
      t["aten::_addmm_activation"] = [](const Call& c) { return flops::Mm(c, 1); };
  t["aten::bmm"] = [](const Call& c) { return flops::Bmm(c, 0); };
  t["aten::baddbmm"] = t["aten::baddbmm_"] = [](const Call& c) { return flops::Bmm(c, 1); };
  t["aten::mv"] = [](const Call& c) { return flops::Mv(c, 0); };
  t["aten::addmv"] = t["aten::addmv_"] = [](const Call& c) { return flops::Mv(c, 1); };
  t["aten::dot"] = t["aten::vdot"] = flops::Dot;
  t["aten::linear"] = flops::Linear;
  t["aten::matmul"] = flops::Matmul;
  t["aten::_scaled_mm"] = flops::ScaledMm;
  t["aten::_grouped_mm"] = t["aten::_scaled_grouped_mm"] = flops::GroupedMm;
  t["_C::cutlass_scaled_mm"] = [](const Call& c) { return flops::OutMm(c, 1); };
  t["_C::cutlass_scaled_fp4_mm"] = [](const Call& c) { return flops::OutMm(c, 2); };
  t["vllm::inplace_fused_experts"] = t["vllm::outplace_fused_experts"] = flops::FusedExperts;
  t["vllm::moe_forward"] = t["vllm::moe_forward_shared"] = [](const Call&) {
    return flops::Unknown("the sizes of its experts are not among its inputs");
  };
}

// Where each op has its stride, padding, dilation, transposed, output_padding and groups.
void AddConvolutions(FormulaTable& t) {
  const auto add = [&](const char* name, flops::ConvPlaces at) {
    t[name] = [at](const Call& c) { return flops::Convolution(c, at); };
  };
  for (const char* name : {"aten::convolution", "aten::_convolution", "aten::convolution_overrideable"})
    add(name, {3, 4, 5, 6, 7, 8});
  for (const char* name : {"aten::conv1d", "aten::conv2d", "aten::conv3d"})
    add(name, {3, 4, 5, flops::kNoPlace, flops::kNoPlace, 6});
  add("aten::cudnn_convolution", {3, 2, 4, flops::kNoPlace, flops::kNoPlace, 5});
  for (const char* name : {"aten::miopen_convolution", "aten::mkldnn_convolution"})
    add(name, {4, 3, 5, flops::kNoPlace, flops::kNoPlace, 6});
  add("aten::_conv_depthwise2d", {4, 5, 6, flops::kNoPlace, flops::kNoPlace, flops::kNoPlace});
  add("aten::conv_depthwise3d", {4, 5, 6, flops::kNoPlace, flops::kNoPlace, flops::kNoPlace});
  add("aten::miopen_depthwise_convolution", {4, 3, 5, flops::kNoPlace, flops::kNoPlace, 6});
  t["aten::convolution_backward"] = flops::ConvolutionBackward;
  for (const char* maker : {"cudnn", "miopen"}) {
    const std::string base = fmt::format("aten::{}_convolution_backward", maker);
    t[base + "_input"] = [](const Call& c) { return flops::ConvolutionBackwardPart(c, false); };
    t[base + "_weight"] = [](const Call& c) { return flops::ConvolutionBackwardPart(c, true); };
  }
}

void AddAttention(FormulaTable& t) {
  const auto add = [&](const char* name, flops::Attention at) {
    t[name] = [at](const Call& c) { return flops::AttentionCost(c, at); };
  };
  add("aten::scaled_dot_product_attention", {0, 5, false, false});
  add("aten::_scaled_dot_product_flash_attention", {0, 4, false, false});
  add("aten::_scaled_dot_product_efficient_attention", {0, 6, false, false});
  add("aten::_scaled_dot_product_cudnn_attention", {0, 6, false, false});
  add("aten::_flash_attention_forward", {0, 8, true, false});
  add("aten::_efficient_attention_forward", {0, 9, true, false});
  add("aten::_cudnn_attention_forward", {0, 10, false, false});
  add("aten::_scaled_dot_product_flash_attention_backward", {1, 11, false, true});
  add("aten::_scaled_dot_product_efficient_attention_backward", {1, 11, false, true});
  add("aten::_scaled_dot_product_cudnn_attention_backward", {1, 14, false, true});
  add("aten::_flash_attention_backward", {1, 11, true, true});
  add("flash_attn::_flash_attn_forward", {0, 5, true, false});
  t["flash_attn::_flash_attn_varlen_forward"] = flops::PackedAttention;
  // The keys and values lie in a cache; how much of it is read is not among the inputs.
  for (const char* name : {"vllm::unified_attention", "vllm::unified_attention_with_output",
                           "_C::paged_attention_v1", "_C::paged_attention_v2", "_rocm_C::paged_attention"})
    t[name] = [](const Call&) {
      return flops::Unknown("the lengths of its sequences in the cache are not among its inputs");
    };
}

// mul(self, other, out): with a third tensor, that one is written.
size_t ArgsBeforeOut(std::string_view name) {
  for (const std::string_view three : {"add", "sub"}) {
    if (name == three) return 3;
  }
  for (const std::string_view two : {"mul", "div", "pow", "maximum", "minimum", "fmod", "remainder",
                                     "bitwise_and", "bitwise_or", "bitwise_xor"}) {
    if (name == two) return 2;
  }
  return 0;
}

void AddPointwise(FormulaTable& t) {
  for (const char* name : {"add",
                           "sub",
                           "rsub",
                           "mul",
                           "div",
                           "pow",
                           "neg",
                           "abs",
                           "exp",
                           "log",
                           "sqrt",
                           "rsqrt",
                           "reciprocal",
                           "square",
                           "sin",
                           "cos",
                           "tanh",
                           "sigmoid",
                           "relu",
                           "silu",
                           "gelu",
                           "elu",
                           "leaky_relu",
                           "hardtanh",
                           "hardswish",
                           "softplus",
                           "mish",
                           "erf",
                           "clamp",
                           "clamp_min",
                           "clamp_max",
                           "maximum",
                           "minimum",
                           "floor",
                           "ceil",
                           "round",
                           "sign",
                           "where",
                           "masked_fill",
                           "lerp",
                           "addcmul",
                           "addcdiv",
                           "fmod",
                           "remainder",
                           "bitwise_and",
                           "bitwise_or",
                           "bitwise_xor",
                           "bitwise_not",
                           "threshold",
                           "threshold_backward",
                           "silu_backward",
                           "gelu_backward",
                           "tanh_backward",
                           "sigmoid_backward",
                           "native_dropout_backward",
                           "tril",
                           "triu",
                           "nan_to_num"}) {
    const std::string full = std::string("aten::") + name;
    t[full] = [args = ArgsBeforeOut(name)](const Call& c) { return flops::Pointwise(c, {.args = args}); };
    t[full + "_"] = [](const Call& c) { return flops::Pointwise(c, {.in_place = true}); };
  }
  for (const char* name :
       {"aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge", "aten::logical_not",
        "aten::logical_and", "aten::logical_or", "aten::isnan", "aten::isinf"})
    t[name] = [](const Call& c) { return flops::Pointwise(c, {.out_size = 1}); };
}

void AddMoves(FormulaTable& t) {
  const flops::Traffic copy{.per_element = 0};
  for (const char* name :
       {"aten::clone", "aten::contiguous", "aten::flip", "aten::roll", "aten::repeat_interleave"})
    t[name] = [copy](const Call& c) { return flops::Pointwise(c, copy); };
  t["aten::copy_"] = [](const Call& c) {
    return flops::Pointwise(c, {.per_element = 0, .in_place = true, .reads_first = false});
  };
  t["aten::fill_"] = t["aten::zero_"] = t["aten::copy_"];
  for (const char* name : {"aten::to", "aten::_to_copy"}) {
    t[name] = [](const Call& c) {
      const auto size = flops::ScalarTypeBytes(c.Scalar(1));
      if (!size) return flops::Unknown("the type of its output was not recorded");
      return flops::Pointwise(c, {.per_element = 0, .out_size = size});
    };
  }
  for (const char* name : {"aten::cat", "aten::stack"}) {
    t[name] = [](const Call& c) {
      OpCost out = flops::Unknown("the element type of a list of tensors is not recorded");
      if (!c.inputs.empty()) out.flops = 0;
      return out;
    };
  }
  t["aten::embedding"] = [](const Call& c) { return flops::Pick(c, 0, 1, true); };
  t["aten::index_select"] = flops::IndexSelect;
  t["aten::gather"] = [](const Call& c) { return flops::Pick(c, 0, 2, false); };
}

void AddNorms(FormulaTable& t) {
  for (const char* name :
       {"aten::layer_norm", "aten::native_layer_norm", "aten::rms_norm", "aten::_fused_rms_norm",
        "aten::group_norm", "aten::native_group_norm", "aten::batch_norm", "aten::native_batch_norm",
        "aten::cudnn_batch_norm", "aten::miopen_batch_norm", "aten::instance_norm", "aten::softmax",
        "aten::_softmax", "aten::log_softmax", "aten::_log_softmax"})
    t[name] = [](const Call& c) { return flops::Norm(c, 0); };
  // Two tensors of the input's size are read.
  for (const char* name : {"aten::cudnn_batch_norm_backward", "aten::native_batch_norm_backward",
                           "aten::native_layer_norm_backward", "aten::native_group_norm_backward",
                           "aten::miopen_batch_norm_backward", "aten::_fused_rms_norm_backward",
                           "aten::_softmax_backward_data", "aten::_log_softmax_backward_data"})
    t[name] = [](const Call& c) { return flops::Norm(c, 0); };
  // vLLM: (out, input, weight, eps) and (input, residual, weight, eps), both written back.
  t["_C::rms_norm"] = [](const Call& c) { return flops::Norm(c, 1); };
  t["_C::fused_add_rms_norm"] = [](const Call& c) {
    OpCost out = flops::Norm(c, 0);
    if (out.bytes && c.Bytes(1)) *out.bytes += *c.Bytes(1);
    if (out.flops) *out.flops += flops::Numel(*c.Tensor(0));
    return out;
  };
  for (const char* name :
       {"aten::sum", "aten::mean", "aten::max", "aten::min", "aten::amax", "aten::amin", "aten::argmax",
        "aten::argmin", "aten::all", "aten::any", "aten::prod", "aten::norm", "aten::linalg_vector_norm",
        "aten::var", "aten::std", "aten::logsumexp"})
    t[name] = flops::Reduction;
  t["aten::max_pool2d_with_indices"] = flops::MaxPool;
  t["aten::max_pool2d_with_indices_backward"] = flops::MaxPoolBackward;
  for (const char* name : {"aten::cumsum", "aten::cumprod"})
    t[name] = [](const Call& c) { return flops::Pointwise(c, {}); };
}

const FormulaTable& Formulas() {
  static const FormulaTable table = [] {
    FormulaTable t;
    AddProducts(t);
    AddConvolutions(t);
    AddAttention(t);
    AddPointwise(t);
    AddMoves(t);
    AddNorms(t);
    return t;
  }();
  return table;
}

}  // namespace

OpCost OpCostOf(std::string_view name, std::string_view dims, std::string_view types,
                std::string_view concrete) {
  const auto it = Formulas().find(name);
  const bool fused =
      name.starts_with("triton_poi_") || name.starts_with("triton_red_") || name.starts_with("triton_per_");
  if (it == Formulas().end() && !fused) return flops::Unknown("no formula for this op");
  if (dims.empty() || types.empty())
    return flops::Unknown("the trace has no input shapes (record_shapes was off)");
  const flops::Call call = flops::ReadCall(dims, types, concrete);
  return fused ? flops::FusedPointwise(call) : it->second(call);
}

size_t CostTable::Hash::operator()(const Key& k) const {
  uint64_t h = 0;
  for (const StringId id : {k.name, k.dims, k.types, k.concrete})
    h = (h ^ static_cast<uint32_t>(id)) * 0x9e3779b97f4a7c15u;
  h ^= std::hash<std::string_view>{}(k.dtype);
  return static_cast<size_t>(h ^ (h >> 32));
}

namespace {

// ["bf16","bf16","Scalar"] for [[8,512],[512,64],[]]: what has dimensions is a tensor of the type.
std::string TypesOf(std::string_view dims, std::string_view dtype) {
  std::string out = "[";
  for (const std::string_view shape : ListElements(dims)) {
    if (out.size() > 1) out += ',';
    const auto parsed = ParseShape(shape);
    out += parsed && !parsed->empty() ? fmt::format("\"{}\"", dtype) : "\"Scalar\"";
  }
  return out + "]";
}

}  // namespace

uint32_t CostTable::SlotOf(size_t row, std::string_view dtype) {
  const OpView& op = data_.op;
  const auto at = [row](const ColumnView<StringId>& column) {
    return row < column.size() ? column[row] : StringId::kNull;
  };
  Key key{at(op.name), at(op.input_dims), at(op.input_types), at(op.concrete_inputs), {}};
  const bool guess = IsNull(key.types) && !IsNull(key.dims);
  if (guess) key.dtype = dtype;
  const auto [it, added] = slots_.try_emplace(key, static_cast<uint32_t>(costs_.size()));
  if (!added) return it->second;
  const std::string_view dims = data_.Text(key.dims), concrete = data_.Text(key.concrete);
  if (guess && key.dtype.empty()) {
    costs_.push_back(flops::Unknown(
        "the types of its inputs were not recorded, and the names of its kernels do not show them"));
  } else if (guess) {
    costs_.push_back(OpCostOf(data_.Text(key.name), dims, TypesOf(dims, key.dtype), concrete));
    costs_.back().type_from_kernel = true;
  } else {
    costs_.push_back(OpCostOf(data_.Text(key.name), dims, data_.Text(key.types), concrete));
  }
  return it->second;
}

}  // namespace nl
