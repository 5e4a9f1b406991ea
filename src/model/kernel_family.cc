// SPDX-License-Identifier: Apache-2.0
// The family table: which words in a kernel's name say what it does. Rows are tried in order.
#include <algorithm>
#include <bitset>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "model/kernel_name.h"

namespace nl {
namespace {

using F = KernelFamily;

// Names are matched as lower-case words joined by '_', with '_' at both ends; CamelCase is split. So
// "_copy_" is the whole word and "gemm" any part of one.
enum class Where : uint8_t {
  kHead,    // the function's own name, before its template arguments
  kInside,  // anywhere: decides for wrappers, and refines elementwise and foreach kernels
  kTritonPointwise,
  kTritonReduction,
  kTritonTemplate,
};

struct Row {
  Where where;
  std::string_view pattern;  // words that must all occur, separated by a blank
  KernelFamily family;
};

constexpr Row kRows[] = {
    // clang-format off
    {Where::kHead, "nccl", F::kCommunication},
    {Where::kHead, "rccl", F::kCommunication},
    {Where::kHead, "nvshmem", F::kCommunication},
    {Where::kHead, "allreduce", F::kCommunication},
    {Where::kHead, "all_reduce", F::kCommunication},
    {Where::kHead, "all_gather", F::kCommunication},
    {Where::kHead, "allgather", F::kCommunication},
    {Where::kHead, "reduce_scatter", F::kCommunication},
    {Where::kHead, "all_to_all", F::kCommunication},
    {Where::kHead, "cross_device_reduce", F::kCommunication},
    {Where::kHead, "multimem", F::kCommunication},
    {Where::kHead, "reshape_and_cache", F::kCopy},
    {Where::kHead, "concat_and_cache", F::kCopy},
    {Where::kHead, "page_indices", F::kIndex},
    {Where::kHead, "rotary", F::kElementwise},
    {Where::kHead, "_rope_", F::kElementwise},
    {Where::kHead, "attention", F::kAttention},
    {Where::kHead, "attn", F::kAttention},
    {Where::kHead, "flash", F::kAttention},
    {Where::kHead, "fmha", F::kAttention},
    {Where::kHead, "sdpa", F::kAttention},
    {Where::kHead, "_mha_", F::kAttention},
    {Where::kHead, "_mla_", F::kAttention},
    {Where::kHead, "embedding", F::kEmbedding},
    {Where::kHead, "_embs_", F::kEmbedding},
    {Where::kHead, "_adam", F::kOptimizer},
    {Where::kHead, "_lamb_", F::kOptimizer},
    {Where::kHead, "_sgd", F::kOptimizer},
    {Where::kHead, "_amp_", F::kOptimizer},
    {Where::kHead, "adagrad", F::kOptimizer},
    {Where::kHead, "softmax", F::kSoftmax},
    {Where::kHead, "soft_max", F::kSoftmax},
    {Where::kHead, "layer_norm", F::kNorm},
    {Where::kHead, "layernorm", F::kNorm},
    {Where::kHead, "batch_norm", F::kNorm},
    {Where::kHead, "batchnorm", F::kNorm},
    {Where::kHead, "group_norm", F::kNorm},
    {Where::kHead, "groupnorm", F::kNorm},
    {Where::kHead, "rms_norm", F::kNorm},
    {Where::kHead, "rmsnorm", F::kNorm},
    {Where::kHead, "instance_norm", F::kNorm},
    {Where::kHead, "_bn_fw", F::kNorm},
    {Where::kHead, "_bn_bw", F::kNorm},
    {Where::kHead, "gamma_beta_backward", F::kNorm},
    {Where::kHead, "rowwise_moments", F::kNorm},
    {Where::kHead, "compute_internal_gradients", F::kNorm},
    {Where::kHead, "nll_loss", F::kLoss},
    {Where::kHead, "cross_entropy", F::kLoss},
    {Where::kHead, "_loss_", F::kLoss},
    {Where::kHead, "topk", F::kTopK},
    {Where::kHead, "top_k", F::kTopK},
    {Where::kHead, "topp", F::kTopK},
    {Where::kHead, "radix_find", F::kTopK},
    {Where::kHead, "fft", F::kFft},
    {Where::kHead, "max_pool", F::kPooling},
    {Where::kHead, "maxpool", F::kPooling},
    {Where::kHead, "avg_pool", F::kPooling},
    {Where::kHead, "average_pool", F::kPooling},
    {Where::kHead, "pooling", F::kPooling},
    {Where::kHead, "upsample", F::kResample},
    {Where::kHead, "interpolate", F::kResample},
    {Where::kHead, "grid_sampl", F::kResample},
    {Where::kHead, "roi_align", F::kResample},
    {Where::kHead, "searchsorted", F::kIndex},
    {Where::kHead, "_sort", F::kSort},
    {Where::kHead, "bitonic", F::kSort},
    {Where::kHead, "merge_sort", F::kSort},
    {Where::kHead, "reduce_by_key", F::kReduction},
    {Where::kHead, "device_scan", F::kScan},
    {Where::kHead, "_scan_", F::kScan},
    {Where::kHead, "cumsum", F::kScan},
    {Where::kHead, "device_select", F::kScan},
    {Where::kHead, "device_compact", F::kScan},
    {Where::kHead, "tensor_kernel_scan", F::kScan},
    {Where::kHead, "offsets_range", F::kIndex},
    {Where::kHead, "distribution", F::kRandom},
    {Where::kHead, "dropout", F::kRandom},
    {Where::kHead, "curand", F::kRandom},
    {Where::kHead, "philox", F::kRandom},
    {Where::kHead, "multinomial", F::kRandom},
    {Where::kHead, "randperm", F::kRandom},
    {Where::kHead, "threefry", F::kRandom},
    {Where::kHead, "implicit_gemm", F::kConv},
    {Where::kHead, "implicit_convolve", F::kConv},
    {Where::kHead, "winograd", F::kConv},
    {Where::kHead, "fprop", F::kConv},
    {Where::kHead, "dgrad", F::kConv},
    {Where::kHead, "wgrad", F::kConv},
    {Where::kHead, "scudnn", F::kConv},
    {Where::kHead, "hcudnn", F::kConv},
    {Where::kHead, "i8816cudnn", F::kConv},
    {Where::kHead, "conv2d", F::kConv},
    {Where::kHead, "conv3d", F::kConv},
    {Where::kHead, "conv1d", F::kConv},
    {Where::kHead, "_conv_", F::kConv},
    {Where::kHead, "convolution", F::kConv},
    {Where::kHead, "im2col", F::kConv},
    {Where::kHead, "col2im", F::kConv},
    {Where::kHead, "miopen_sp3", F::kConv},
    {Where::kHead, "compute_offsets_kernel", F::kConv},
    {Where::kHead, "compute_boffsets", F::kConv},
    {Where::kHead, "init_device_workspace", F::kConv},
    {Where::kHead, "moe_align", F::kRouting},
    {Where::kHead, "routing", F::kRouting},
    {Where::kHead, "bitmatrix", F::kRouting},
    {Where::kHead, "finalize_kernel_vec_load", F::kRouting},
    {Where::kHead, "finalize_matmul_scatter", F::kRouting},
    {Where::kHead, "expert", F::kRouting},
    {Where::kHead, "gemm", F::kGemm},
    {Where::kHead, "gemv", F::kGemm},
    {Where::kHead, "matmul", F::kGemm},
    {Where::kHead, "nvjet", F::kGemm},
    {Where::kHead, "cijk", F::kGemm},
    {Where::kHead, "_bmm_", F::kGemm},
    {Where::kHead, "_mm_", F::kGemm},
    {Where::kHead, "split_k", F::kGemm},
    {Where::kHead, "splitk", F::kGemm},
    {Where::kHead, "cublas", F::kGemm},
    {Where::kHead, "fused_moe", F::kGemm},
    {Where::kHead, "_dot_kernel", F::kGemm},
    {Where::kHead, "_trsm", F::kGemm},
    {Where::kHead, "_syrk", F::kGemm},
    {Where::kHead, "quant", F::kQuantize},
    {Where::kHead, "_fp8_", F::kQuantize},
    {Where::kHead, "amax", F::kQuantize},
    {Where::kHead, "index_elementwise", F::kIndex},
    {Where::kHead, "index_select", F::kIndex},
    {Where::kHead, "index_func", F::kIndex},
    {Where::kHead, "index_put", F::kIndex},
    {Where::kHead, "indexing_backward", F::kIndex},
    {Where::kHead, "linearize_index", F::kIndex},
    {Where::kHead, "permute_indices", F::kIndex},
    {Where::kHead, "reverse_indices", F::kIndex},
    {Where::kHead, "check_indices", F::kIndex},
    {Where::kHead, "gather", F::kIndex},
    {Where::kHead, "scatter", F::kIndex},
    {Where::kHead, "nonzero", F::kIndex},
    {Where::kHead, "to_dense", F::kIndex},
    {Where::kHead, "histogram", F::kReduction},
    {Where::kHead, "cat_array", F::kCopy},
    {Where::kHead, "copy", F::kCopy},
    {Where::kHead, "memcpy", F::kCopy},
    {Where::kHead, "memset", F::kCopy},
    {Where::kHead, "transpose", F::kCopy},
    {Where::kHead, "permute", F::kCopy},
    {Where::kHead, "nchw_to_nhwc", F::kCopy},
    {Where::kHead, "nhwc_to_nchw", F::kCopy},
    {Where::kHead, "add_padding", F::kCopy},
    {Where::kHead, "reflection_pad", F::kCopy},
    {Where::kHead, "_pad_", F::kCopy},
    {Where::kHead, "fill_buffer", F::kCopy},
    {Where::kHead, "_roll_", F::kCopy},
    {Where::kHead, "_flip_", F::kCopy},
    {Where::kHead, "_triu", F::kCopy},
    {Where::kHead, "_stack_", F::kCopy},
    {Where::kHead, "elementwise", F::kElementwise},
    {Where::kHead, "multi_tensor_apply", F::kElementwise},
    {Where::kHead, "reduce", F::kReduction},
    {Where::kHead, "reduction", F::kReduction},
    {Where::kHead, "_norm_", F::kNorm},
    {Where::kHead, "_sum_", F::kReduction},
    {Where::kHead, "_argmax", F::kReduction},
    {Where::kHead, "pointwise", F::kElementwise},
    {Where::kHead, "foreach", F::kElementwise},
    {Where::kHead, "silu", F::kElementwise},
    {Where::kHead, "gelu", F::kElementwise},
    {Where::kHead, "swiglu", F::kElementwise},
    {Where::kHead, "_act_", F::kElementwise},
    {Where::kHead, "activation", F::kElementwise},
    {Where::kHead, "op_tensor", F::kElementwise},
    {Where::kHead, "op_generic_tensor", F::kElementwise},
    {Where::kHead, "scale_packed_tensor", F::kElementwise},
    {Where::kHead, "scale_tensor", F::kElementwise},
    {Where::kHead, "addition", F::kElementwise},
    {Where::kHead, "subtract", F::kElementwise},
    {Where::kHead, "multiply", F::kElementwise},
    {Where::kHead, "divide", F::kElementwise},
    {Where::kHead, "_add_", F::kElementwise},
    {Where::kHead, "_mul_", F::kElementwise},
    {Where::kHead, "_fill_", F::kElementwise},
    {Where::kHead, "arange", F::kElementwise},
    {Where::kHead, "size_check", F::kIndex},
    {Where::kHead, "_fused_", F::kElementwise},

    // Inside a wrapper (cutlass::Kernel2<...>, ck_tile::kentry<...>, elementwise kernels): the functor decides.
    {Where::kInside, "_amp_foreach", F::kOptimizer},
    {Where::kInside, "_adam", F::kOptimizer},
    {Where::kInside, "_lamb_", F::kOptimizer},
    {Where::kInside, "_sgd", F::kOptimizer},
    {Where::kInside, "adagrad", F::kOptimizer},
    {Where::kInside, "rms_prop", F::kOptimizer},
    {Where::kInside, "multi_tensor pointwise_op", F::kOptimizer},
    {Where::kInside, "copy_kernel", F::kCopy},
    {Where::kInside, "cat_array", F::kCopy},
    {Where::kInside, "flash", F::kAttention},
    {Where::kInside, "fmha", F::kAttention},
    {Where::kInside, "attention", F::kAttention},
    {Where::kInside, "attn", F::kAttention},
    {Where::kInside, "_mha_", F::kAttention},
    {Where::kInside, "rmsnorm", F::kNorm},
    {Where::kInside, "rms_norm", F::kNorm},
    {Where::kInside, "layernorm", F::kNorm},
    {Where::kInside, "layer_norm", F::kNorm},
    {Where::kInside, "batch_norm", F::kNorm},
    {Where::kInside, "group_norm", F::kNorm},
    {Where::kInside, "lp_norm", F::kReduction},
    {Where::kInside, "softmax", F::kSoftmax},
    {Where::kInside, "soft_max", F::kSoftmax},
    {Where::kInside, "binary_cross_entropy", F::kLoss},
    {Where::kInside, "_loss", F::kLoss},
    {Where::kInside, "mse_kernel", F::kLoss},
    {Where::kInside, "masked_scatter", F::kIndex},
    {Where::kInside, "implicit_gemm", F::kConv},
    {Where::kInside, "fprop", F::kConv},
    {Where::kInside, "dgrad", F::kConv},
    {Where::kInside, "wgrad", F::kConv},
    {Where::kInside, "conv2d", F::kConv},
    {Where::kInside, "gemm", F::kGemm},
    {Where::kInside, "gemv", F::kGemm},
    {Where::kInside, "split_k", F::kGemm},
    {Where::kInside, "reduce_sum", F::kReduction},
    {Where::kInside, "reduce_op", F::kReduction},
    {Where::kInside, "elementwise", F::kElementwise},
    {Where::kInside, "functor", F::kElementwise},
    // Namespaces, present only in spellings that show them.
    {Where::kInside, "epilogue impl", F::kGemm},
    {Where::kInside, "cublas", F::kGemm},
    {Where::kInside, "cudnn", F::kConv},

    // torch.compile: triton_<poi|red|per|tem>_fused_<aten ops>_<n>.
    {Where::kTritonTemplate, "attention", F::kAttention},
    {Where::kTritonTemplate, "conv", F::kConv},
    {Where::kTritonTemplate, "_", F::kGemm},
    {Where::kTritonReduction, "softmax", F::kSoftmax},
    {Where::kTritonReduction, "amax exp sum", F::kSoftmax},
    {Where::kTritonReduction, "norm", F::kNorm},
    {Where::kTritonReduction, "rsqrt mean", F::kNorm},
    {Where::kTritonReduction, "rsqrt var", F::kNorm},
    {Where::kTritonReduction, "nll_loss", F::kLoss},
    {Where::kTritonReduction, "topk", F::kTopK},
    {Where::kTritonReduction, "sort", F::kSort},
    {Where::kTritonReduction, "cumsum", F::kScan},
    {Where::kTritonReduction, "_", F::kReduction},
    {Where::kTritonPointwise, "max_pool", F::kPooling},
    {Where::kTritonPointwise, "avg_pool", F::kPooling},
    {Where::kTritonPointwise, "_", F::kElementwise},
    // clang-format on
};

// A pointwise Triton kernel whose operations only move or convert data is a copy.
constexpr std::string_view kMovingOps[] = {"to",      "copy",  "clone",   "view",    "unsafe",   "transpose",
                                           "permute", "cat",   "slice",   "expand",  "squeeze",  "unsqueeze",
                                           "reshape", "stack", "split",   "select",  "constant", "pad",
                                           "nd",      "t",     "convert", "element", "type",     "contiguous",
                                           "with",    "sizes", "as",      "strided"};

// Kernel entry points that only wrap the type which does the work.
constexpr std::string_view kWrappers[] = {"_kernel_",        "_kernel2_", "_kentry_", "_device_kernel_",
                                          "_global_kernel_", "_main_",    "_run_",    "_kernel_entry_"};

constexpr std::string_view kFamilyNames[kKernelFamilyCount] = {
    "other",     "gemm",          "attention", "conv",  "elementwise", "reduction", "norm", "softmax",
    "copy",      "communication", "embedding", "index", "sort",        "topk",      "scan", "random",
    "optimizer", "pooling",       "resample",  "loss",  "quantize",    "routing",   "fft"};

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }

std::string Words(std::string_view name) {
  name = name.substr(0, kMaxScannedNameBytes);
  std::string words = "_";
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!IsUpper(c) && !IsLower(c) && !IsDigit(c)) {
      if (words.back() != '_') words += '_';
      continue;
    }
    const bool next_lower = i + 1 < name.size() && IsLower(name[i + 1]);
    const bool starts = IsUpper(c) && i > 0 && (IsLower(name[i - 1]) || (IsUpper(name[i - 1]) && next_lower));
    if (starts && words.back() != '_') words += '_';
    words += ToLower(c);
  }
  if (words.back() != '_') words += '_';
  return words;
}

bool Matches(std::string_view words, std::string_view pattern) {
  while (!pattern.empty()) {
    const size_t blank = pattern.find(' ');
    if (words.find(pattern.substr(0, blank)) == std::string_view::npos) return false;
    pattern = blank == std::string_view::npos ? std::string_view() : pattern.substr(blank + 1);
  }
  return true;
}

// Which pairs of neighbouring characters a text has, by their hash: a pattern whose first pair is not there
// need not be searched for, which leaves a few of hundreds.
class Pairs {
 public:
  explicit Pairs(std::string_view text) {
    for (size_t i = 1; i < text.size(); ++i) has_.set(Hash(text[i - 1], text[i]));
  }
  bool MayHave(std::string_view pattern) const {
    return pattern.size() < 2 || pattern[1] == ' ' || has_.test(Hash(pattern[0], pattern[1]));
  }

 private:
  // Words are lower-case letters, digits and '_'.
  static constexpr size_t kBits = 1024;
  static size_t Hash(char a, char b) {
    return ((static_cast<unsigned char>(a) & 31u) << 5 | (static_cast<unsigned char>(b) & 31u)) % kBits;
  }
  std::bitset<kBits> has_;
};

KernelFamily Find(Where where, std::string_view words) {
  const Pairs pairs(words);
  for (const Row& row : kRows) {
    if (row.where == where && pairs.MayHave(row.pattern) && Matches(words, row.pattern)) return row.family;
  }
  return F::kOther;
}

bool OnlyMovesValues(std::string_view ops) {
  bool any = false;
  while (!ops.empty()) {
    const size_t end = ops.find('_');
    const std::string_view op = ops.substr(0, end);
    ops = end == std::string_view::npos ? std::string_view() : ops.substr(end + 1);
    if (op.empty() || IsDigit(op[0])) continue;
    if (std::find(std::begin(kMovingOps), std::end(kMovingOps), op) == std::end(kMovingOps)) return false;
    any = true;
  }
  return any;
}

KernelFamily ClassifyTriton(std::string_view words) {
  constexpr std::string_view kPrefix = "_triton_";
  const std::string_view kind = words.substr(kPrefix.size(), 4);
  const std::string_view rest = words.substr(std::min(words.size(), kPrefix.size() + 4));
  constexpr std::string_view kFused = "fused_";
  if (kind == "poi_") {
    const bool fused = rest.substr(0, kFused.size()) == kFused;
    if (fused && OnlyMovesValues(rest.substr(kFused.size()))) return F::kCopy;
    return Find(Where::kTritonPointwise, words);
  }
  if (kind == "red_" || kind == "per_") return Find(Where::kTritonReduction, words);
  if (kind == "tem_" || words.substr(kPrefix.size(), 3) == "mm_") return Find(Where::kTritonTemplate, words);
  return F::kOther;
}

}  // namespace

std::string_view KernelFamilyName(KernelFamily family) {
  const auto index = static_cast<size_t>(family);
  return index < std::size(kFamilyNames) ? kFamilyNames[index] : kFamilyNames[0];
}

KernelFamily ClassifyKernel(std::string_view normalized, std::string_view demangled) {
  const std::string_view name = normalized.substr(0, normalized.find('<'));
  const std::string head = Words(name);
  if (head.compare(0, 8, "_triton_") == 0) {
    const KernelFamily family = ClassifyTriton(head);
    if (family != F::kOther) return family;
  }
  const bool wrapper = std::find(std::begin(kWrappers), std::end(kWrappers), head) != std::end(kWrappers);
  const KernelFamily by_head = wrapper ? F::kOther : Find(Where::kHead, head);
  if (by_head != F::kOther && by_head != F::kElementwise) return by_head;
  const KernelFamily inside = Find(Where::kInside, Words(normalized));
  if (inside != F::kOther) return inside;
  if (by_head != F::kOther) return by_head;
  // Parameters would mislead here; the qualified name may still carry a telling namespace.
  return Find(Where::kInside, Words(demangled.substr(0, demangled.find('('))));
}

}  // namespace nl
