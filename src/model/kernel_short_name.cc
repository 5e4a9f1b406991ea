// SPDX-License-Identifier: Apache-2.0
// Short labels: one writer per naming scheme, the first that recognises a normalized name wins.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "model/kernel_name.h"

namespace nl {
namespace {

struct Rename {
  std::string_view from;
  std::string_view to;
};

constexpr Rename kTypes[] = {
    // clang-format off
    {"float", "f32"}, {"double", "f64"}, {"BFloat16", "bf16"}, {"__nv_bfloat16", "bf16"},
    {"bfloat16_t", "bf16"}, {"__hip_bfloat16", "bf16"}, {"hip_bfloat16", "bf16"}, {"Half", "f16"},
    {"__half", "f16"}, {"half_t", "f16"}, {"half", "f16"}, {"_Float16", "f16"}, {"tfloat32_t", "tf32"},
    {"Float8_e4m3fn", "e4m3"}, {"Float8_e5m2", "e5m2"}, {"float_e4m3_t", "e4m3"}, {"float_e5m2_t", "e5m2"},
    {"__nv_fp8_e4m3", "e4m3"}, {"__nv_fp8_e5m2", "e5m2"}, {"Float8_e4m3fnuz", "e4m3"}, {"bool", "bool"},
    {"int", "i32"}, {"long", "i64"}, {"short", "i16"}, {"unsigned int", "u32"}, {"unsigned long", "u64"},
    {"unsigned char", "u8"}, {"signed char", "i8"}, {"char", "i8"}, {"long long", "i64"},
    {"unsigned long long", "u64"}, {"int8_t", "i8"}, {"uint8_t", "u8"},
    // clang-format on
};

// Parts of a functor's name that only say "functor".
constexpr std::string_view kFunctorPrefixes[] = {"CUDAFunctorOnSelf_", "CUDAFunctorOnOther_", "CUDAFunctor_",
                                                 "launch_", "gpu_"};
constexpr std::string_view kFunctorSuffixes[] = {
    "_kernel_cuda", "_kernel_impl", "CUDAKernelImpl", "_cuda_out", "_cuda_kernel", "_kernel",
    "KernelImpl",   "_functor",     "Functor",        "Ops",       "_cuda_",       "_cuda"};
// Templates around the functor proper.
// clang-format off
constexpr std::string_view kFunctorWrappers[] = {
    "gpu_kernel_impl_nocast", "gpu_kernel_impl", "gpu_index_kernel", "BinaryFunctor", "AUnaryFunctor",
    "BUnaryFunctor", "UnaryFunctor", "ReduceOp", "func_wrapper_t", "operator", "lambda", "array", "const",
    "unsigned", "anonymous", "namespace", "TensorListMetadata", "TensorListScalarListMetadata",
    "FusedOptimizerTensorListMetadata", "UnaryOpFunctor", "uint4", "OpaqueType",
    "opmath_gpu_kernel_with_scalars",
};
// clang-format on

bool IsWord(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <size_t N>
bool In(const std::string_view (&set)[N], std::string_view item) {
  return std::find(std::begin(set), std::end(set), item) != std::end(set);
}

std::string_view DataType(std::string_view name) {
  for (const Rename& type : kTypes) {
    if (type.from == name) return type.to;
  }
  return {};
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    if (end != 0 && !text.empty()) parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// 128x64 or 128x64x32.
bool IsTile(std::string_view text) {
  if (text.empty() || !IsDigit(text.front()) || !IsDigit(text.back())) return false;
  int crosses = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == 'x' && IsDigit(text[i - 1])) {
      ++crosses;
    } else if (!IsDigit(text[i])) {
      return false;
    }
  }
  return crosses == 1 || crosses == 2;
}

bool IsLayout(std::string_view text) {
  return (text.size() == 2 || text.size() == 3) && text.find_first_not_of("ntNT") == std::string_view::npos;
}

std::string Join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) {
    if (part.empty()) continue;
    if (!out.empty()) out += ' ';
    out += part;
  }
  return out;
}

std::string_view FirstDigits(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return text.substr(0, end);
}

// Arguments of "name<a, b<c, d>, e>" at the first level; at most `limit` of them.
std::vector<std::string_view> TemplateArgs(std::string_view name, size_t limit) {
  std::vector<std::string_view> args;
  size_t start = name.find('<');
  if (start == std::string_view::npos) return args;
  int depth = 0;
  for (size_t i = start++; i < name.size() && args.size() < limit; ++i) {
    const char c = name[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
    if ((c == ',' && depth == 1) || depth == 0) {
      args.push_back(name.substr(start, i - start));
      start = i + 2;
      if (depth == 0) break;
    }
  }
  return args;
}

std::string_view BaseName(std::string_view text) { return text.substr(0, text.find_first_of("<({")); }

struct Functor {
  std::string name;
  std::string_view type;
};

std::string CleanFunctorName(std::string_view name) {
  for (std::string_view prefix : kFunctorPrefixes) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  for (std::string_view suffix : kFunctorSuffixes) {
    if (name.ends_with(suffix) && name.size() > suffix.size()) name.remove_suffix(suffix.size());
  }
  while (name.starts_with("_")) name.remove_prefix(1);
  std::string out(name);
  out = ToLower(out);
  if (out == "direct_copy") return "copy";
  if (out == "bfloat16_copy") return "copy to bf16 from";
  if (out == "float16_copy") return "copy to f16 from";
  return out;
}

// The first word that names an operation and the first that names a type, in reading order.
Functor FindFunctor(std::string_view text) {
  Functor found;
  for (size_t i = 0; i < text.size() && (found.name.empty() || found.type.empty());) {
    if (!IsWord(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsWord(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    i = end;
    if (IsDigit(word[0]) || In(kFunctorWrappers, word)) continue;
    const std::string_view type = DataType(word);
    if (!type.empty()) {
      if (found.type.empty()) found.type = type;
    } else if (found.name.empty()) {
      found.name = CleanFunctorName(word);
    }
  }
  return found;
}

// ---- one writer per scheme; an empty result means "not mine" ----

std::string ShortNvjet(std::string_view name) {
  if (!name.starts_with("nvjet_")) return {};
  std::string_view type, tile, cluster, layout;
  std::string depth, extra, arch;
  for (std::string_view part : Split(name.substr(6), '_')) {
    if (part.starts_with("sm") && part.size() > 2 && IsDigit(part[2])) {
      arch = "(" + std::string(part) + ")";
    } else if (IsTile(part)) {
      if (tile.empty()) {
        tile = part;
      } else if (depth.empty()) {
        depth = "x" + std::string(FirstDigits(part));
      } else if (cluster.empty()) {
        cluster = part;
      }
    } else if (IsLayout(part) && part.size() == 3 && part.find_first_of("nt") == std::string_view::npos) {
      layout = part;
    } else if (type.empty()) {
      type = part == "tst" ? "bf16" : part == "hsh" ? "f16" : part == "sss" ? "f32" : part;
    } else if (part.starts_with("coop") || part.starts_with("split") || part == "bias" || part == "2cta") {
      extra += (extra.empty() ? "" : " ") + std::string(part);
    }
  }
  return Join({"nvjet gemm", type, layout, std::string(tile) + depth, cluster.empty() ? "" : "cluster",
               cluster, extra, arch});
}

// bf16bf16 is "bf16".
std::string_view LeadingType(std::string_view part) {
  for (std::string_view type : {"bf16", "tf32", "f16", "f32", "e4m3", "e5m2", "f64", "i8"}) {
    if (part.starts_with(type)) return type;
  }
  return {};
}

std::string ShortXmma(std::string_view name) {
  const size_t at = name.find("xmma_");
  if (at == std::string_view::npos) return {};
  std::string_view arch = name.substr(0, at);
  while (arch.ends_with("_")) arch.remove_suffix(1);
  std::string_view op, type, layout, tile;
  for (std::string_view part : Split(name.substr(at + 5), '_')) {
    if (op.empty()) {
      op = part;
    } else if (type.empty() && !LeadingType(part).empty()) {
      type = LeadingType(part);
    } else if (layout.empty() && (IsLayout(part) || part == "nhwc" || part == "nchw")) {
      layout = part;
    } else if (tile.empty() && part.starts_with("tile")) {
      tile = part.substr(std::min(part.size(), part.find_first_of("0123456789")));
    }
  }
  const bool conv = op == "fprop" || op == "dgrad" || op == "wgrad";
  const std::string suffix = arch.empty() ? "" : "(" + std::string(arch) + ")";
  return Join({"xmma", conv ? "conv" : "", op, type, layout, tile, suffix});
}

// cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x256_32x4_nn_align8, ampere_sgemm_128x64_nn,
// ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn,
// cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1.
std::string ShortLibraryGemm(std::string_view name) {
  constexpr std::string_view kArchs[] = {"volta",   "turing", "ampere",   "hopper",
                                         "maxwell", "pascal", "blackwell"};
  constexpr std::string_view kTypeWords[] = {"bf16", "f16", "fp16", "tf32", "f32", "e4m3", "e5m2", "f64"};
  const std::vector<std::string_view> parts = Split(name, '_');
  if (parts.size() < 3) return {};
  const bool cutlass = parts[0] == "cutlass";
  const bool cudnn = parts[0] == "cudnn" && Contains(name, "scudnn");
  if (!cutlass && !cudnn && !In(kArchs, parts[0])) return {};
  std::string_view op, type, layout, tile, extra;
  std::string arch, depth;
  for (std::string_view part : parts) {
    if (In(kArchs, part)) {
      arch = part;
    } else if (cutlass && arch.empty() && part.size() <= 3 && FirstDigits(part) == part) {
      arch = "sm" + std::string(part);
    } else if (op.empty() && (Contains(part, "gemm") || Contains(part, "gemv"))) {
      op = "gemm";
      if (part == "sgemm") type = "f32";
      if (part == "dgemm") type = "f64";
      if (part == "hgemm") type = "f16";
      if (type.empty() && part.starts_with("s1688")) type = "tf32";
    } else if (op.empty() &&
               (part.ends_with("fprop") || part.ends_with("dgrad") || part.ends_with("wgrad"))) {
      op = part.substr(part.size() - 5);
    } else if (op.empty() && part == "scudnn") {
      op = "conv";
      type = "f32";
    } else if (In(kTypeWords, part)) {
      type = part == "fp16" ? "f16" : part;
    } else if (IsTile(part)) {
      if (tile.empty()) {
        tile = part;
      } else if (depth.empty()) {
        depth = "x" + std::string(FirstDigits(part));
      }
    } else if (IsLayout(part) || part == "nhwc" || part == "nchw") {
      layout = part;
    } else if (part == "winograd" || part.starts_with("sliced") || part == "splitK") {
      extra = part;
    }
  }
  if (op.empty() || tile.empty()) return {};
  const std::string_view library = cutlass ? "cutlass" : cudnn ? "cudnn" : "cublas";
  const std::string_view conv = op == "fprop" || op == "dgrad" || op == "wgrad" ? "conv" : "";
  const std::string suffix = arch.empty() ? "" : "(" + arch + ")";
  return Join({library, conv, op, type, layout, std::string(tile) + depth, extra, suffix});
}

// AMD Tensile: Cijk_<A index>_<B index>_<types>_..._MT128x128x32_...; Alik is a transposed A, Bjlk a
// transposed B, and the first letter after the indices is the data type.
std::string ShortTensile(std::string_view name) {
  if (!name.starts_with("Cijk_")) return {};
  const std::vector<std::string_view> parts = Split(name.substr(0, 512), '_');
  if (parts.size() < 4) return {};
  const std::string layout = std::string(parts[1] == "Alik" ? "T" : "N") + (parts[2] == "Bjlk" ? "T" : "N");
  std::string_view type, tile;
  switch (parts[3][0]) {
    case 'B': type = "bf16"; break;
    case 'H': type = "f16"; break;
    case 'S': type = "f32"; break;
    case 'D': type = "f64"; break;
    case 'F': type = "fp8"; break;
    case 'I': type = "i8"; break;
    default: type = parts[3]; break;
  }
  for (std::string_view part : parts) {
    if (tile.empty() && part.starts_with("MT") && IsTile(part.substr(2))) tile = part;
  }
  return Join({"tensile gemm", layout, tile, type});
}

// ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...), ncclKernel_AllReduce_RING_LL_Sum_float.
std::string ShortNccl(std::string_view name) {
  std::string_view library = "nccl";
  if (name.starts_with("rccl")) library = "rccl";
  if (!name.starts_with("ncclDevKernel_") && !name.starts_with("ncclKernel_") &&
      !name.starts_with("rcclDevKernel_") && !name.starts_with("ncclDevKernelDebug_")) {
    return {};
  }
  std::string_view op, reduce, type;
  std::string algorithm;
  for (std::string_view part : Split(name.substr(name.find('_') + 1), '_')) {
    if (op.empty()) {
      op = part;
    } else if (part == "Sum" || part == "Prod" || part == "Max" || part == "Min" || part == "MinMax" ||
               part == "PreMulSum" || part == "SumPostDiv" || part == "Avg") {
      reduce = part;
    } else if (part.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == std::string_view::npos) {
      algorithm += (algorithm.empty() ? "" : "_") + std::string(part);
    } else if (part != "t") {
      const std::string_view known = DataType(part);
      type = !known.empty() ? known : part == "int8" ? "i8" : part == "uint8" ? "u8" : part;
    }
  }
  return Join({library, op, reduce, type, algorithm});
}

// flash_fwd_kernel<Flash_fwd_kernel_traits<hdim, block_m, block_n, warps, ...>, ...>.
std::string ShortFlash(std::string_view name) {
  if (!name.starts_with("flash_")) return {};
  const size_t traits = name.find("_kernel_traits<");
  if (traits == std::string_view::npos) return {};
  const std::vector<std::string_view> args = TemplateArgs(name.substr(traits), 12);
  if (args.size() < 3) return {};
  std::string_view op = BaseName(name);
  if (op.ends_with("_kernel")) op.remove_suffix(7);
  std::string_view type;
  for (std::string_view arg : args) {
    if (type.empty()) type = DataType(arg);
  }
  return Join({op, "hdim" + std::string(args[0]), std::string(args[1]) + "x" + std::string(args[2]), type});
}

std::string ShortCudnnSdpa(std::string_view name) {
  const size_t at = name.find("sdpa_sm");
  if (!name.starts_with("cudnn_generated") || at == std::string_view::npos) return {};
  const std::vector<std::string_view> parts = Split(name.substr(at), '_');
  std::string_view pass, type, tile;
  for (std::string_view part : parts) {
    if (part == "fprop" || part == "bprop") pass = part;
    if (part == "f16" || part == "bf16" || part == "fp8" || part == "e4m3") type = part;
    if (tile.empty() && IsTile(part)) tile = part;
  }
  return Join({"cudnn sdpa", pass, type, tile, "(" + std::string(parts[1]) + ")"});
}

// OpaqueType<4> stands for any type of four bytes.
std::string OpaqueBytes(std::string_view text) {
  constexpr std::string_view kOpaque = "OpaqueType<";
  const size_t at = text.find(kOpaque);
  if (at == std::string_view::npos) return std::string(FindFunctor(text).type);
  return std::string(FirstDigits(text.substr(at + kOpaque.size()))) + "B";
}

std::string ShortElementwise(std::string_view name) {
  const std::string_view base = BaseName(name);
  if (!Contains(base, "elementwise_kernel") && base != "distribution_elementwise_grid_stride_kernel")
    return {};
  const std::vector<std::string_view> args = TemplateArgs(name, 3);
  if (args.empty()) return {};
  std::string variant;
  size_t functor_arg = args.size() - 1;
  if (base.starts_with("vectorized_")) {
    variant = "(vec" + std::string(args[0]) + ")";
    functor_arg = std::min<size_t>(1, args.size() - 1);
  } else if (base.starts_with("unrolled_")) {
    variant = "(unrolled)";
    functor_arg = 0;
  } else if (base.ends_with("manual_unroll")) {
    variant = "(manual unroll)";
  } else if (base == "elementwise_kernel") {
    variant = "(strided)";
  }
  if (base.starts_with("index_") || base.starts_with("_scatter_gather")) {
    return Join({base.starts_with("index_") ? "index" : "scatter_gather", OpaqueBytes(name)});
  }
  const std::string_view kind = base.starts_with("distribution_") ? "random" : "elementwise";
  const Functor functor = FindFunctor(args[functor_arg]);
  return Join({kind, functor.name, functor.type, variant});
}

std::string ShortReduce(std::string_view name) {
  if (!name.starts_with("reduce_kernel<")) return {};
  const std::vector<std::string_view> args = TemplateArgs(name, 3);
  if (args.size() < 3) return {};
  const Functor functor = FindFunctor(args[2]);
  return Join({"reduce", functor.name, functor.type});
}

std::string ShortForeach(std::string_view name) {
  if (!name.starts_with("multi_tensor_apply_kernel<")) return {};
  const std::vector<std::string_view> args = TemplateArgs(name, 4);
  if (args.size() < 2) return {};
  // UnaryOpFunctor and its kin are wrappers: the operation is the argument after them.
  Functor functor = FindFunctor(args[1]);
  const bool wrapper = In(kFunctorWrappers, BaseName(args[1])) || Contains(functor.name, "op");
  if (wrapper && args.size() > 2) {
    const std::string inner = FindFunctor(args[2]).name;
    if (!inner.empty()) functor.name = inner;
  }
  return Join({"foreach", functor.name, functor.type});
}

std::string ShortCat(std::string_view name) {
  if (!name.starts_with("CatArrayBatchedCopy")) return {};
  const std::vector<std::string_view> args = TemplateArgs(name, 3);
  if (args.size() < 3) return {};
  const std::string type = OpaqueBytes(args[0]);
  const std::string_view variant = BaseName(name).substr(19);
  const std::string suffix = variant.empty() ? "" : "(" + std::string(variant.substr(1)) + ")";
  return Join({"cat", type, std::string(args[2]) + "d", suffix});
}

std::string ShortGemv(std::string_view name) {
  if (!name.starts_with("gemvx::kernel<")) return {};
  for (std::string_view arg : TemplateArgs(name, 4)) {
    const std::string_view type = DataType(arg);
    if (!type.empty() && type[0] != 'i') return Join({"gemv", type, "(gemvx)"});
  }
  return "gemv (gemvx)";
}

// cutlass::Kernel2<X>, ck_tile::kentry<1, X>: the name is X's.
std::string_view Unwrap(std::string_view name) {
  constexpr std::string_view kWrappers[] = {"Kernel", "Kernel2", "kentry", "device_kernel", "kernel_entry"};
  for (int level = 0; level < 3 && In(kWrappers, BaseName(name)); ++level) {
    std::string_view inner;
    for (std::string_view arg : TemplateArgs(name, 4)) {
      if (FirstDigits(arg).empty() && !arg.empty()) {
        inner = arg;
        break;
      }
    }
    if (inner.empty()) break;
    name = inner;
  }
  return name;
}

// Any other C++ name: template arguments folded to types, numbers and base names.
std::string ShortGeneric(std::string_view name) {
  std::string out(BaseName(name));
  if (out.size() == name.size()) return out;
  const std::vector<std::string_view> args = TemplateArgs(name, 16);
  std::string list;
  for (std::string_view arg : args) {
    std::string_view text = DataType(arg);
    if (text.empty()) text = arg.substr(0, arg.find_first_of("<({"));
    if (text.ends_with("::")) text.remove_suffix(2);
    if (text.empty()) continue;
    const size_t length = out.size() + list.size() + text.size() + 9;  // "<", ", ", ", ...", ">"
    if (length > kMaxShortNameBytes) {
      list += list.empty() ? "..." : ", ...";
      break;
    }
    if (!list.empty()) list += ", ";
    list += text;
  }
  return list.empty() ? out : out + "<" + list + ">";
}

// Keeps both ends, where kernel names differ, and never splits a UTF-8 character.
std::string Fit(std::string text) {
  if (text.size() <= kMaxShortNameBytes) return text;
  const auto inside = [&](size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  size_t head = (kMaxShortNameBytes - 3) * 2 / 3;
  size_t tail = text.size() - (kMaxShortNameBytes - 3 - head);
  for (int i = 0; i < 3 && head > 0 && inside(head); ++i) --head;
  for (int i = 0; i < 3 && tail < text.size() && inside(tail); ++i) ++tail;
  return text.substr(0, head) + "..." + text.substr(tail);
}

}  // namespace

std::string ShortKernelName(std::string_view normalized) {
  using Writer = std::string (*)(std::string_view);
  constexpr Writer kWriters[] = {ShortNvjet,  ShortXmma,    ShortLibraryGemm, ShortTensile,
                                 ShortNccl,   ShortFlash,   ShortCudnnSdpa,   ShortElementwise,
                                 ShortReduce, ShortForeach, ShortCat,         ShortGemv};
  if (normalized.find('<') == std::string_view::npos && normalized.size() > kMaxScannedNameBytes) {
    return Fit(std::string(normalized));
  }
  const std::string_view name = Unwrap(normalized.substr(0, kMaxScannedNameBytes));
  for (Writer writer : kWriters) {
    std::string label = writer(name);
    if (!label.empty()) return Fit(std::move(label));
  }
  return Fit(ShortGeneric(name));
}

std::string_view KernelDtype(std::string_view short_name) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"bf16", "bf16"}, {"f16", "fp16"}, {"f32", "fp32"}, {"tf32", "tf32"},
      {"e4m3", "fp8"},  {"e5m2", "fp8"}, {"f64", "fp64"}, {"i8", "int8"}};
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (size_t at = 0; at < short_name.size();) {
    size_t end = at;
    while (end < short_name.size() && is_word(short_name[end])) ++end;
    for (const auto& [word, dtype] : kTypes) {
      if (short_name.substr(at, end - at) == word) return dtype;
    }
    at = end + 1;
  }
  return {};
}

}  // namespace nl
