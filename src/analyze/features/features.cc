// SPDX-License-Identifier: Apache-2.0
#include "analyze/features/features.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "analyze/cost_model/recorder_price.h"
#include "analyze/features/parts.h"
#include "analyze/program/per_name.h"
#include "analyze/program/sampled_host.h"
#include "analyze/program/training.h"
#include "base/has_any.h"
#include "model/loss_reason.h"

namespace nl {

namespace features {

namespace {

constexpr size_t kMostKernels = 400;

// What a GEMM's or convolution's name says of tensor instructions; nullopt when it says nothing.
std::optional<bool> TensorCore(std::string_view raw) {
  if (HasAny(raw, {"simt", "sgemm", "gemmSN", "f32f32_f32f32_f32", "scudnn", "dgemm", "fp32_ffma"}))
    return false;
  if (HasAny(raw, {"tensorop", "16816", "1688", "884", "wgmma", "gmma", "nvjet", "tf32", "mfma", "bf16bf16",
                   "f16f16", "hmma", "MFMA", "_MI", "i8816"})) {
    return true;
  }
  return std::nullopt;
}
std::optional<bool> NameSaysFp32(std::string_view raw) {
  if (HasAny(raw, {"sgemm", "f32f32_f32f32_f32", "gemmSN_TN_kernel<float", "gemmSN_NN_kernel<float"}))
    return true;
  return HasAny(raw, {"bf16", "f16", "half", "BFloat16", "Half"}) ? std::optional(false) : std::nullopt;
}

struct KernelTotal {
  int64_t calls = 0, ns = 0, longest_ns = -1;
  uint32_t longest = kNone;  // in the device work
  double occupancy_weighted = 0, occupancy_ns = 0;
};

void AddKernelCounters(const CounterSum* sum, std::map<std::string, double, std::less<>>& numbers) {
  static constexpr std::pair<const char*, Counter> kFeatures[] = {
      {"kernel.sm_pct", Counter::kSmThroughput},
      {"kernel.dram_pct", Counter::kDramThroughput},
      {"kernel.local_sectors", Counter::kLocalSectors},
      {"kernel.bank_conflicts", Counter::kBankConflicts},
      {"kernel.coalescing", Counter::kCoalescing},
      {"kernel.stall_memory", Counter::kStallMemory},
      {"kernel.stall_sync", Counter::kStallSync},
      {"kernel.stall_dependency", Counter::kStallDependency},
      {"kernel.stall_contention", Counter::kStallContention}};
  for (const auto& [name, counter] : kFeatures) {
    const auto mean = sum == nullptr ? std::nullopt : sum->Mean(counter);
    if (mean) numbers[name] = *mean;
  }
}

// Rows of a 16-bit matrix begin at a multiple of 16 bytes only where its width is a multiple of 8.
void AddOddWidth(const Program& p, uint32_t op, std::map<std::string, double, std::less<>>& n) {
  constexpr int64_t kAligned = 8, kPadTo = 64;
  const auto gemm = GemmOf(p.data.Text(p.timeline.host.name[op]), p.InputsOf(p.timeline.host.row[op]).dims);
  if (!gemm || gemm->n <= kAligned || gemm->k <= kAligned) return;
  for (const int64_t width : {gemm->n, gemm->k}) {
    if (width % kAligned == 0) continue;
    n["kernel.odd_width"] = static_cast<double>(width);
    n["kernel.padded_width"] = static_cast<double>((width + kPadTo - 1) / kPadTo * kPadTo);
    return;
  }
}

// Sizes of the product of an operator.
void AddProduct(const Program& p, uint32_t op, FeatureSubject& out) {
  constexpr int64_t kTile = 64, kFewRows = 128;
  if (op == kNone) return;
  const auto gemm = GemmOf(p.data.Text(p.timeline.host.name[op]), p.InputsOf(p.timeline.host.row[op]).dims);
  if (!gemm || gemm->m <= 0 || gemm->n <= 0 || gemm->k <= 0) return;
  out.texts["kernel.shape"] = fmt::format("{} x {} x {}", gemm->m, gemm->n, gemm->k);
  auto& n = out.numbers;
  // Libraries compute [m,k] x [k,n] as its transpose as well.
  n["kernel.rows"] = static_cast<double>(std::min(gemm->m, gemm->n));
  n["kernel.is_aligned"] = gemm->m % kTile == 0 && gemm->n % kTile == 0 && gemm->k % kTile == 0;
  n["kernel.has_shape"] = 1;
  if (std::min(gemm->m, gemm->n) < kFewRows) n["kernel.reads_weights"] = 1;
}

// What the name of a kernel says of how it was made and what it is for.
void AddKindOfKernel(std::string_view raw, FeatureSubject& out) {
  auto& n = out.numbers;
  n["kernel.is_gemv"] = HasAny(raw, {"gemv", "GemV", "gemvx"});
  n["kernel.is_reformat"] = HasAny(raw, {"Reformat", "reformat", "copyVectorizedKernel"});
  n["kernel.is_generated"] =
      raw.starts_with("triton_") || HasAny(raw, {"_fusion", "fused_computation", "loop_", "input_"});
  n["kernel.converts"] = HasAny(raw, {"convert"});
  n["kernel.transposes"] = HasAny(raw, {"transpose"});
  n["kernel.is_aligned"] = n["kernel.has_shape"] = 0;
  n["kernel.reads_weights"] = n["kernel.is_gemv"];
}

FeatureSubject KernelSubject(const Program& p, const KernelTotal& total) {
  const DeviceWork& w = p.timeline.work;
  const KernelName& name = p.timeline.KernelNameOf(w.name[total.longest]);
  const std::string_view raw = p.data.Text(w.name[total.longest]);
  const uint32_t op = w.op[total.longest], row = w.row[total.longest];
  FeatureSubject out;
  out.texts["kernel.name"] = name.short_name;
  out.texts["kernel.raw_name"] = std::string(raw.substr(0, 2000));
  out.texts["kernel.family"] = std::string(KernelFamilyName(name.family));
  const std::string_view op_name = op == kNone ? "" : p.data.Text(p.timeline.host.name[op]);
  uint32_t module = op == kNone ? kNone : p.module_of[op];
  if (op != kNone && module == kNone) {
    const auto leaf = std::lower_bound(p.leaves.begin(), p.leaves.end(), op,
                                       [](const LeafOp& l, uint32_t node) { return l.node < node; });
    if (leaf != p.leaves.end() && leaf->node == op) module = leaf->block;
  }
  const uint32_t stage = op == kNone ? kNone : p.stage_of[op];
  out.texts["kernel.op"] = std::string(op_name);
  out.texts["kernel.module"] = p.modules.Text(module);
  out.texts["kernel.stage"] = p.stages.Text(stage);
  if (!op_name.empty()) out.texts["kernel.place"] = p.Place(op_name, module, stage);
  auto& n = out.numbers;
  n["kernel.calls"] = static_cast<double>(total.calls);
  n["kernel.total_ms"] = Ms(total.ns);
  n["kernel.mean_us"] = static_cast<double>(total.ns) / 1e3 / static_cast<double>(total.calls);
  if (p.device_ns > 0) n["kernel.share"] = Ratio(total.ns, p.device_ns);
  if (total.occupancy_ns > 0)
    n["kernel.occupancy_estimate"] = total.occupancy_weighted / total.occupancy_ns / 100;
  using F = KernelFamily;
  n["kernel.is_gemm"] = name.family == F::kGemm;
  n["kernel.is_conv"] = name.family == F::kConv;
  n["kernel.is_attention"] = name.family == F::kAttention;
  n["kernel.is_elementwise"] =
      name.family == F::kElementwise || name.family == F::kCopy || name.family == F::kIndex;
  n["kernel.is_reduction"] =
      name.family == F::kReduction || name.family == F::kNorm || name.family == F::kSoftmax;
  n["kernel.is_communication"] = name.family == F::kCommunication;
  if (name.family == F::kGemm || name.family == F::kConv) {
    if (const auto tensor = TensorCore(raw)) n["kernel.tensor_core"] = *tensor;
    if (const auto fp32 = NameSaysFp32(raw)) n["kernel.is_fp32"] = *fp32;
  } else {
    n["kernel.tensor_core"] = 1;  // the question is not asked of other families
  }
  const auto tensor_core = n.find("kernel.tensor_core");
  n["kernel.without_tensor_cores"] = tensor_core != n.end() && tensor_core->second == 0;
  // Some names have the type in letters of their own (nvjet), which the short name spells out.
  const std::string_view dtype = KernelDtype(name.short_name);
  n["kernel.is_small_type"] = dtype == "bf16" || dtype == "fp16" || dtype == "fp8" || dtype == "int8" ||
                              HasAny(raw, {"bf16", "f16", "half", "Half", "BFloat16", "fp8", "e4m3", "e5m2",
                                           "int8", "i8", "mxfp4", "E4m3", "E2m1", "fp4", "_i8816"});
  AddKindOfKernel(raw, out);
  n["kernel.has_op"] = op != kNone;
  n["kernel.is_short"] = n["kernel.mean_us"] < 5;
  if (name.family == F::kGemm) AddProduct(p, op, out);
  if (name.family == F::kGemm && n["kernel.is_small_type"] != 0 && op != kNone) AddOddWidth(p, op, n);
  n["kernel.has_odd_width"] = n.count("kernel.odd_width");
  const CounterSum* counters = p.counters.OfName(w.name[total.longest]);
  n["kernel.has_counters"] = counters != nullptr;
  AddKernelCounters(counters, n);
  const KernelView& k = p.data.kernel;
  if (row < k.registers_per_thread.size() && !IsNull(k.registers_per_thread[row]))
    n["kernel.registers"] = k.registers_per_thread[row];
  if (row < k.grid_x.size() && !IsNull(k.grid_x[row]) && !p.data.device.sm_count.empty() &&
      !IsNull(p.data.device.sm_count[0]) && p.data.device.sm_count[0] > 0) {
    n["kernel.blocks"] = static_cast<double>(k.grid_x[row]) * k.grid_y[row] * k.grid_z[row];
    n["kernel.blocks_per_sm"] = n["kernel.blocks"] / p.data.device.sm_count[0];
  }
  n["kernel.few_blocks"] = n.count("kernel.blocks_per_sm") > 0 && n["kernel.blocks_per_sm"] < 0.5;
  out.rows.push_back({"kernel", row, "longest call", Ms(total.longest_ns), "ms"});
  return out;
}

void AddDocumentFacts(const Program& p, Features& out) {
  auto& n = out.run.numbers;
  const Json& document = p.data.document;
  if (document.contains("model") && document["model"].is_object()) {
    const Json& model = document["model"];
    if (model.contains("name") && model["name"].is_string())
      out.run.texts["run.model"] = model["name"].get<std::string>();
  }
  out.run.texts["run.device"] =
      p.data.device.name.empty() ? "" : std::string(p.data.Text(p.data.device.name[0]));
  double lost = 0, suspect = 0;
  bool counted = true;
  std::vector<std::string> losses;
  for (size_t i = 0; i < p.data.import_log.reason.size(); ++i) {
    if (p.data.Text(p.data.import_log.severity[i]) != "data_loss") continue;
    lost += static_cast<double>(p.data.import_log.count[i]);
    std::string reason(p.data.Text(p.data.import_log.reason[i]));
    // The recorder counts what it drops; what a truncated file lacks is not known.
    counted = counted && reason == kRecordsLost;
    std::replace(reason.begin(), reason.end(), '_', ' ');
    losses.push_back(fmt::format("{} {}", p.data.import_log.count[i], reason));
    if (out.run.rows.size() < 3)
      out.run.rows.push_back({"import_log", static_cast<int64_t>(i),
                              std::string(p.data.Text(p.data.import_log.reason[i])),
                              static_cast<double>(p.data.import_log.count[i]), "count"});
  }
  int64_t overhead_ns = 0;
  bool told = false;
  const RangeView& r = p.data.range;
  std::vector<Interval> spans;
  for (size_t i = 0; i < r.start_ns.size(); ++i) {
    if (p.data.Text(r.category[i]) != "overhead") continue;
    told = true;
    // The timeline may be that of a part of the run; the table has all.
    if (!IsNull(r.start_ns[i]) && !IsNull(r.dur_ns[i]))
      spans.push_back(CutAtEdges({p.timeline.first_start_ns, p.timeline.last_end_ns}, r.start_ns[i],
                                 r.start_ns[i] + r.dur_ns[i]));
  }
  overhead_ns = UnionNs(std::move(spans));
  double share = p.timeline.wall_ns() > 0 ? Ratio(overhead_ns, p.timeline.wall_ns()) : 0;
  if (document.contains("capture") && document["capture"].is_object()) {
    const Json& capture = document["capture"];
    const auto number = [&](const char* key) {
      return capture.contains(key) && capture[key].is_number() ? std::optional(capture[key].get<double>())
                                                               : std::nullopt;
    };
    if (const auto pct = number("overhead_pct")) {
      told = true;
      share = std::max(share, *pct / (100 + *pct));
    }
    // The document's figure holds what the import log counts, and what a recorder lost besides.
    lost = std::max(lost, number("lost_records").value_or(0));
    suspect += number("suspect_records").value_or(0);
  }
  n["run.lost_records"] = lost;
  n["run.suspect_records"] = suspect;
  n["run.records"] = static_cast<double>(p.timeline.work.size() + p.timeline.host.size());
  if (suspect > 0) losses.push_back(fmt::format("{:.0f} records with impossible values", suspect));
  if (losses.empty()) losses.push_back(fmt::format("{:.0f} records lost", lost));
  out.run.texts["run.loss"] = fmt::format("{}", fmt::join(losses, ", "));
  n["run.loss_counted"] = counted;
  if (!told) return;
  n["run.profiler_overhead_share"] = share;
  n["run.profiler_overhead_ms"] = share * Ms(p.timeline.wall_ns());
}

void AddLaunchOp(const Program& p, Features& out) {
  std::unordered_map<uint32_t, int64_t> launches;
  for (const LeafOp& leaf : p.leaves)
    launches[static_cast<uint32_t>(p.timeline.host.name[leaf.node])] += leaf.kernels;
  std::pair<int64_t, uint32_t> most{0, 0};
  for (const auto& [name, count] : launches) most = std::max(most, {count, name});
  if (most.first > 0)
    out.run.texts["run.launch_op"] = std::string(p.data.Text(static_cast<StringId>(most.second)));
}

std::vector<std::string> Available(const Program& p, const Features& f) {
  std::vector<std::string> out;
  const auto add = [&](bool there, const char* kind) {
    if (there) out.push_back(kind);
  };
  add(p.timeline.work.size() > 0, "device_work");
  add(!p.leaves.empty(), "ops");
  add(f.run.Number("run.launch_share").has_value(), "launches");
  add(p.has_shapes, "shapes");
  add(p.has_types, "dtypes");
  add(!p.steps.empty(), "steps");
  add(f.run.Number("run.profiler_overhead_share").has_value(), "profiler_cost");
  add(!p.counters.empty(), "kernel_counters");
  add(f.run.Number("run.node_share").has_value(), "nodes");
  add(p.counters.Any({Counter::kLocalSectors, Counter::kBankConflicts, Counter::kCoalescing,
                      Counter::kStallMemory, Counter::kStallSync, Counter::kStallDependency,
                      Counter::kStallContention}),
      "ncu_metrics");
  return out;
}

// Kernels that have one fix, taken together.
struct Together {
  const FeatureSubject* longest = nullptr;  // they are in the order of their time
  double ms = 0, share = 0, count = 0;

  void Add(const FeatureSubject& kernel) {
    if (longest == nullptr) longest = &kernel;
    ms += kernel.Number("kernel.total_ms").value_or(0);
    share += kernel.Number("kernel.share").value_or(0);
    ++count;
  }
  std::string Text(const char* name) const { return longest != nullptr ? longest->Text(name) : ""; }
};

void AddTarget(const FeatureSubject& kernel, const char* target, Features& out) {
  auto& works = out.run.targets[target].works;
  const auto& more = kernel.targets.at("kernel").works;
  works.insert(works.end(), more.begin(), more.end());
}

// Matrix products that do not use tensor cores.
void AddWithoutTensorCores(Features& out) {
  Together found;
  for (const FeatureSubject& kernel : out.kernels) {
    if (kernel.Number("kernel.tensor_core").value_or(1) != 0) continue;
    found.Add(kernel);
    AddTarget(kernel, "no_tensor", out);
  }
  out.run.texts["run.no_tensor_kernel"] = found.Text("kernel.name");
  out.run.texts["run.no_tensor_place"] = found.Text("kernel.place");
  out.run.texts["run.no_tensor_op"] = found.Text("kernel.op");
  out.run.numbers["run.no_tensor_ms"] = found.ms;
  out.run.numbers["run.no_tensor_share"] = found.share;
  out.run.numbers["run.no_tensor_kernels"] = found.count;
}

// Kernels in double precision. Half the bytes is half the time for what only moves data; what the rest would
// take is not known.
void AddDoubles(Features& out) {
  Together found, moving;
  for (const FeatureSubject& kernel : out.kernels) {
    if (KernelDtype(kernel.Text("kernel.name")) != "fp64") continue;
    found.Add(kernel);
    const auto is = [&](const char* name) { return kernel.Number(name).value_or(0) != 0; };
    if (!is("kernel.is_elementwise") && !is("kernel.is_reduction")) continue;
    moving.Add(kernel);
    AddTarget(kernel, "double", out);
  }
  out.run.texts["run.double_kernel"] = found.Text("kernel.name");
  out.run.texts["run.double_place"] = found.Text("kernel.place");
  out.run.numbers["run.double_ms"] = found.ms;
  out.run.numbers["run.double_share"] = found.share;
  out.run.numbers["run.double_moved_ms"] = moving.ms;
}

void AddTraining(const Program& p, Features& out) {
  out.run.numbers["run.is_training"] =
      out.run.Number("run.optimizer_calls").value_or(0) > 0 || HasBackward(p.data);
}

// Whose words suggestions use: those of convolutional networks, of language models, or neither.
void AddKindOfModel(const Program& p, Features& out) {
  const auto ms_of = [&](KernelFamily family) {
    double ms = 0;
    for (const FeatureSubject& kernel : out.kernels) {
      if (kernel.Text("kernel.family") == KernelFamilyName(family))
        ms += kernel.Number("kernel.total_ms").value_or(0);
    }
    return ms;
  };
  const double convolution_ms = ms_of(KernelFamily::kConv), attention_ms = ms_of(KernelFamily::kAttention);
  // A library may compute a convolution as a product.
  PerName convolves(p.data, [](std::string_view name) {
    return HasAny(name, {"aten::conv", "_convolution"});
  });
  const HostTree& h = p.timeline.host;
  bool convolution = convolution_ms > 0;
  for (uint32_t i = 0; i < h.size() && !convolution; ++i)
    convolution = h.kind[i] == HostKind::kOp && convolves.Of(h.name[i]);
  const bool written_out = std::any_of(out.ops.begin(), out.ops.end(), [](const FeatureSubject& op) {
    return op.Number("op.attention_calls").value_or(0) > 0;
  });
  const auto is = [&](const char* flag) { return out.run.Number(flag).value_or(0) != 0; };
  out.run.numbers["run.is_convnet"] = convolution_ms > ms_of(KernelFamily::kGemm) + attention_ms;
  out.run.numbers["run.is_language_model"] =
      is("run.is_vllm") || is("run.is_sglang") || (!convolution && (attention_ms > 0 || written_out));
}

// Servers of language models name their operators and Python files.
void AddServer(const Program& p, Features& out) {
  constexpr uint32_t kMostLooked = 200'000;
  const HostTree& h = p.timeline.host;
  PerName vllm(p.data, [](std::string_view name) {
    return name.starts_with("vllm::") || name.starts_with("vllm/") || HasAny(name, {"/vllm/"});
  });
  PerName sglang(p.data, [](std::string_view name) {
    return name.starts_with("sglang::") || name.starts_with("sgl_kernel::") || HasAny(name, {"/sglang/"});
  });
  bool is_vllm = false, is_sglang = false;
  for (uint32_t i = 0; i < std::min<uint32_t>(static_cast<uint32_t>(h.size()), kMostLooked); ++i) {
    is_vllm = is_vllm || vllm.Of(h.name[i]);
    is_sglang = is_sglang || sglang.Of(h.name[i]);
  }
  out.run.numbers["run.is_vllm"] = is_vllm && !is_sglang;  // SGLang uses operators of vLLM
  out.run.numbers["run.is_sglang"] = is_sglang;
}

// Whose words advice should use: the framework, the recorder and the vendor of the device.
void AddSurroundings(const Program& p, Features& out) {
  const std::string_view backend = p.data.Noted("/software/backend"),
                         vendor = p.data.Noted("/hardware/vendor");
  auto& n = out.run.numbers;
  n["run.is_torch"] = backend == "torch";
  n["run.is_jax"] = backend == "jax";
  n["run.is_tensorrt"] = backend == "tensorrt";
  n["run.is_onnxruntime"] = backend == "onnxrt";
  AddServer(p, out);
  n["run.is_amd"] = vendor == "amd";
  n["run.is_nvidia"] = vendor == "nvidia";
  n["run.from_torch_profiler"] = p.data.Noted("/source/tool") == kTorchProfiler;
}

}  // namespace

void AddKernels(const Program& p, Features& out) {
  const DeviceWork& w = p.timeline.work;
  std::unordered_map<uint32_t, KernelTotal> totals;
  const ColumnView<double>& occupancy = p.data.kernel.estimated_occupancy_pct;
  for (uint32_t i = 0; i < w.size(); ++i) {
    if (w.kind[i] != WorkKind::kKernel) continue;
    KernelTotal& t = totals[static_cast<uint32_t>(w.name[i])];
    const int64_t ns = w.end_ns[i] - w.start_ns[i];
    ++t.calls;
    t.ns += ns;
    if (ns > t.longest_ns) {
      t.longest_ns = ns;
      t.longest = i;
    }
    if (w.row[i] < occupancy.size() && !IsNull(occupancy[w.row[i]])) {
      t.occupancy_weighted += occupancy[w.row[i]] * static_cast<double>(ns);
      t.occupancy_ns += static_cast<double>(ns);
    }
  }
  std::vector<const KernelTotal*> order;
  for (const auto& [name, total] : totals) order.push_back(&total);
  std::sort(order.begin(), order.end(), [](const KernelTotal* a, const KernelTotal* b) {
    return std::tie(b->ns, a->longest) < std::tie(a->ns, b->longest);
  });
  if (order.size() > kMostKernels) order.resize(kMostKernels);
  std::unordered_map<uint32_t, size_t> place;
  for (const KernelTotal* total : order) {
    place[static_cast<uint32_t>(w.name[total->longest])] = out.kernels.size();
    out.kernels.push_back(KernelSubject(p, *total));
  }
  std::vector<std::vector<uint32_t>> works(out.kernels.size());
  for (uint32_t i = 0; i < w.size(); ++i) {
    if (w.kind[i] != WorkKind::kKernel) continue;
    const auto at = place.find(static_cast<uint32_t>(w.name[i]));
    if (at != place.end()) works[at->second].push_back(i);
  }
  for (size_t k = 0; k < works.size(); ++k) out.kernels[k].targets["kernel"].works = std::move(works[k]);
  AddWithoutTensorCores(out);
  AddDoubles(out);
  out.run.numbers["run.is_compiled"] =
      std::any_of(out.kernels.begin(), out.kernels.end(),
                  [](const FeatureSubject& k) { return k.Text("kernel.raw_name").starts_with("triton_"); });
}

void AddStages(const Program& p, Features& out) {
  struct Total {
    int64_t count = 0, host_ns = 0, device_ns = 0, kernels = 0;
    uint32_t row = 0;
  };
  std::map<uint32_t, Total> totals;
  const HostTree& h = p.timeline.host;
  for (uint32_t i = 0; i < h.size(); ++i) {
    if (h.kind[i] != HostKind::kRange || p.stage_of[i] == kNone) continue;
    // The label itself, not a range inside of it.
    if (p.data.Text(h.name[i]) != "LLM@" + p.stages.Text(p.stage_of[i])) continue;
    Total& t = totals[p.stage_of[i]];
    if (t.count++ == 0) t.row = h.row[i];
    t.host_ns += h.end_ns[i] - h.start_ns[i];
  }
  const DeviceWork& w = p.timeline.work;
  for (size_t i = 0; i < w.size(); ++i) {
    const uint32_t from = w.launch[i] != kNone ? w.launch[i] : w.op[i];
    if (from == kNone || p.stage_of[from] == kNone) continue;
    Total& t = totals[p.stage_of[from]];
    t.device_ns += w.end_ns[i] - w.start_ns[i];
    t.kernels += w.kind[i] == WorkKind::kKernel;
  }
  for (const auto& [stage, t] : totals) {
    FeatureSubject s;
    s.texts["stage.name"] = p.stages.Text(stage);
    s.numbers["stage.count"] = static_cast<double>(t.count);
    s.numbers["stage.total_ms"] = Ms(t.host_ns);
    if (p.timeline.wall_ns() > 0) s.numbers["stage.share"] = Ratio(t.host_ns, p.timeline.wall_ns());
    s.numbers["stage.device_ms"] = Ms(t.device_ns);
    s.numbers["stage.kernels"] = static_cast<double>(t.kernels);
    if (t.host_ns > 0) s.numbers["stage.busy_share"] = Ratio(t.device_ns, t.host_ns);
    s.rows.push_back({"range", t.row, "first span of the stage", static_cast<double>(t.count), "count"});
    out.stages.push_back(std::move(s));
  }
}

// Sums over all devices become those of the mean device, as all times of the device are: costs of findings
// can then be compared with each other and with the wall.
void ToMeanDevice(const Program& p, Features& out) {
  const auto devices = static_cast<double>(p.timeline.devices.size());
  if (p.timeline.work.size() > 0) out.run.numbers["run.devices"] = devices;
  if (devices < 2) return;
  static constexpr const char* kSums[] = {"run.copies_ms",
                                          "run.copies_share",
                                          "run.h2d_ms",
                                          "run.d2h_ms",
                                          "run.d2d_ms",
                                          "run.pageable_ms",
                                          "run.kernel_ms",
                                          "run.layout_copy_ms",
                                          "run.half_gemm_ms",
                                          "run.fp32_gemm_ms",
                                          "run.short_kernel_excess_ms",
                                          "op.device_ms",
                                          "op.attention_ms",
                                          "op.fp32_gemm_ms",
                                          "op.upcast_ms",
                                          "op.chain_ms",
                                          "op.chain_saved_ms",
                                          "op.pageable_ms",
                                          "op.pageable_share",
                                          "kernel.total_ms",
                                          "run.no_tensor_ms",
                                          "run.double_ms",
                                          "run.double_moved_ms",
                                          "run.optimizer_device_ms",
                                          "run.conv_layout_ms",
                                          "run.one_row_ms",
                                          "stage.device_ms",
                                          "stage.busy_share"};
  const auto divide = [&](FeatureSubject& subject) {
    for (const char* name : kSums) {
      if (const auto it = subject.numbers.find(name); it != subject.numbers.end()) it->second /= devices;
    }
  };
  divide(out.run);
  for (auto* subjects : {&out.stages, &out.ops, &out.kernels}) {
    for (FeatureSubject& subject : *subjects) divide(subject);
  }
}

}  // namespace features

bool Features::Has(std::string_view kind) const {
  return std::find(available.begin(), available.end(), kind) != available.end();
}

Reads FeatureReads() {
  return program::kProgramReads | program::kSampledHostReads | program::kHasBackwardReads |
         NL_READS(ApiCall, start_ns) |
         NL_READS(Kernel, registers_per_thread, grid_x, grid_y, grid_z, estimated_occupancy_pct) |
         NL_READS(Memcpy, start_ns, dur_ns, kind, src_memory, dst_memory, bytes) |
         NL_READS(Range, start_ns, dur_ns, category) | NL_READS(KernelMetric, kernel_id) |
         NL_READS(Device, name, sm_count) | NL_READS(ImportLog, reason, severity, count);
}

Features ComputeFeatures(const RunData& data, const TimelineFacts& timeline, const IdleFacts& idle,
                         const PhasesFacts* phases) {
  features::Program program(data, timeline);
  program.Build();
  if (program.steps.empty() && phases != nullptr && phases->steady_steps > 0) {
    for (const PhasesFacts::Step& step : phases->steps) {
      if (step.group == 0) program.steps.push_back({step.start_ns, step.end_ns});
    }
    program.step_label = "the repeated step";
    program.steps_repeat = true;
  }
  Features out;
  features::AddDocumentFacts(program, out);
  // Without a timeline there is no busy, idle or wall time to speak of.
  if (!data.OrderOnly()) features::AddDevice(program, idle, out);
  std::vector<const char*> zero = features::AddPatterns(program, out);
  features::AddSites(program, out);
  features::AddLaunchOp(program, out);
  features::AddTraining(program, out);
  features::AddSurroundings(program, out);
  features::AddKernels(program, out);
  features::AddKindOfModel(program, out);
  features::AddStages(program, out);
  features::AddNodes(program, out);
  // Looked for by caller and by module, and not found at the others.
  if (!data.api_call.start_ns.empty()) {
    for (const char* name : {"op.sync_calls", "op.alloc_calls", "op.pageable_copies", "op.pageable_share"})
      zero.push_back(name);
    if (!program.steps.empty()) zero.push_back("op.sync_steps_share");
  }
  for (FeatureSubject& subject : out.ops) {
    for (const char* name : zero) subject.numbers.try_emplace(name, 0);
  }
  features::ToMeanDevice(program, out);
  out.run.numbers["run.counted_apart"] =
      (!program.counters.empty() || !data.kernel_metric.kernel_id.empty()) &&
      !out.run.Number("run.launch_share").has_value();
  out.available = features::Available(program, out);
  return out;
}

}  // namespace nl
