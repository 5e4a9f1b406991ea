// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/batch_size.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyze/copies.h"
#include "analyze/cost_model/attainable.h"
#include "analyze/cost_model/flops.h"
#include "analyze/cost_model/op_shapes.h"
#include "analyze/program/training.h"
#include "base/has_any.h"

namespace nl::replay {

namespace {

constexpr double kMostUnknown = 0.25;      // of the device time
constexpr int64_t kPayloadBytes = 16'384;  // smaller copies carry flags and sizes, not data
constexpr double kMostReached = 0.85;

StringId TextAt(const ColumnView<StringId>& column, size_t row) {
  return row < column.size() ? column[row] : StringId::kNull;
}

// Which inputs of an operator grow with the batch.
enum class BatchOp : uint8_t { kOther, kProduct, kBatchedProduct, kConvolution, kAttention, kFixed };

BatchOp BatchOpOf(std::string_view name) {
  if (HasAny(name, {"_foreach", "_fused_adam", "_fused_sgd", "Optimizer", "nccl", "c10d::"}))
    return BatchOp::kFixed;
  if (HasAny(name, {"attention"})) return BatchOp::kAttention;
  if (HasAny(name, {"conv"})) return BatchOp::kConvolution;
  if (HasAny(name, {"bmm", "baddbmm"})) return BatchOp::kBatchedProduct;
  if (name == "aten::mm" || name == "aten::addmm" || name == "aten::linear" || name == "aten::_scaled_mm" ||
      name == "aten::matmul" || name == "aten::addmv" || name == "aten::mv")
    return BatchOp::kProduct;
  return BatchOp::kOther;
}

class BatchFinder {
 public:
  BatchFinder(const StepReplay& steps, const RooflineFacts& roofline, const std::vector<GapGroup>& gaps,
              BatchSize& out)
      : steps_(steps),
        t_(steps.timeline()),
        op_(steps.data().op),
        roofline_(roofline),
        gaps_(gaps),
        out_(out) {}

  void FindRecorded() {
    std::map<int64_t, int64_t> convolution, attention, ids, rows;
    for (const uint32_t work : steps_.works()) {
      const uint32_t node = OpOf(work);
      if (node == kNone) continue;
      const std::string_view name = steps_.data().Text(t_.host.name[node]);
      const Shapes shapes = ShapesOf(node);
      if (shapes.empty()) continue;
      const BatchOp kind = BatchOpOf(name);
      const Shape& first = shapes[0];
      if (kind == BatchOp::kConvolution && first.size() >= 4) ++convolution[first[0]];
      if (kind == BatchOp::kAttention && first.size() == 4) ++attention[first[0]];
      if (HasAny(name, {"embedding"}) && shapes.size() > 1 && shapes[1].size() == 2) ++ids[shapes[1][0]];
      if (kind == BatchOp::kProduct && !InBackward(node)) {
        const size_t input = name == "aten::addmm" ? 1 : 0;
        if (input < shapes.size() && shapes[input].size() >= 2) ++rows[shapes[input][0]];
      }
    }
    for (const auto* votes : {&convolution, &attention, &ids, &rows}) {
      const auto most = std::max_element(votes->begin(), votes->end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      if (most == votes->end() || most->first <= 0) continue;
      out_.from = most->first;
      return;
    }
  }

  void Scale() {
    int64_t all_ns = 0, unknown_ns = 0;
    for (const uint32_t work : steps_.works()) {
      const int64_t now_ns = t_.work.end_ns[work] - t_.work.start_ns[work];
      if (t_.work.kind[work] == WorkKind::kMemcpy) {
        ScaleCopy(work, static_cast<double>(now_ns));
        continue;
      }
      if (t_.work.kind[work] != WorkKind::kKernel) continue;
      all_ns += now_ns;
      if (t_.work.work[work] == WorkClass::kCommunication) continue;
      if (!ScaleKernel(work, static_cast<double>(now_ns))) {
        unknown_ns += now_ns;
        const double grown_ns = static_cast<double>(now_ns) * out_.factor;
        Add(work, static_cast<double>(now_ns), (static_cast<double>(now_ns) + grown_ns) / 2, grown_ns);
      }
    }
    if (all_ns > 0) out_.unknown_share = static_cast<double>(unknown_ns) / static_cast<double>(all_ns);
    for (const GapGroup& group : gaps_) {
      for (const uint32_t gap : group.gaps) out_.gaps.push_back({gap, group.is_loader || !group.op.empty()});
    }
  }

 private:
  uint32_t OpOf(uint32_t work) const { return t_.work.op[work]; }
  Shapes ShapesOf(uint32_t node) const {
    const StringId dims = TextAt(op_.input_dims, t_.host.row[node]);
    return IsNull(dims) ? Shapes() : ParseShapes(steps_.data().Text(dims));
  }
  bool InBackward(uint32_t node) const {
    for (uint32_t at = node; at != kNone; at = t_.host.parent[at]) {
      if (program::IsBackward(steps_.data().Text(t_.host.name[at]))) return true;
    }
    return false;
  }
  bool InOptimizer(uint32_t node) const {
    for (uint32_t at = node; at != kNone; at = t_.host.parent[at]) {
      if (steps_.data().Text(t_.host.name[at]).starts_with("Optimizer.")) return true;
    }
    return false;
  }

  void Add(uint32_t work, double a_ns, double expected_ns, double b_ns) {
    const double low = std::min({a_ns, expected_ns, b_ns}), high = std::max({a_ns, expected_ns, b_ns});
    out_.works.push_back({work, low, expected_ns, high});
  }

  void ScaleCopy(uint32_t work, double now_ns) {
    const MemcpyView& m = steps_.data().memcpy;
    const uint32_t row = t_.work.row[work];
    const std::string_view kind = steps_.data().Text(m.kind[row]);
    if ((kind != "HtoD" && kind != "DtoH") || IsNull(m.bytes[row]) || m.bytes[row] < kPayloadBytes) return;
    Add(work, now_ns * out_.factor, now_ns * out_.factor, now_ns * out_.factor);
  }

  // The dimension of each input that grows, scaled; empty text: nothing grows.
  std::string ScaledDims(uint32_t node, std::string_view name) const {
    Shapes shapes = ShapesOf(node);
    bool grows = false;
    const auto grow = [&](size_t input, size_t dimension) {
      if (input >= shapes.size() || dimension >= shapes[input].size()) return;
      int64_t& size = shapes[input][dimension];
      size = std::max<int64_t>(1, std::llround(static_cast<double>(size) * out_.factor));
      grows = true;
    };
    switch (BatchOpOf(name)) {
      case BatchOp::kFixed: return "";
      case BatchOp::kProduct: GrowProduct(name, node, shapes, grow); break;
      case BatchOp::kBatchedProduct:
        for (size_t i = 0; i < shapes.size(); ++i) {
          if (shapes[i].size() == 3) grow(i, 0);
        }
        break;
      case BatchOp::kConvolution:
        grow(0, 0);
        // Of the backward: the gradient and the input; the weights follow.
        if (name.find("backward") != std::string_view::npos) grow(1, 0);
        break;
      case BatchOp::kAttention:
        for (size_t i = 0; i < shapes.size(); ++i) {
          if (shapes[i].size() >= 3) grow(i, 0);
        }
        break;
      case BatchOp::kOther:
        for (size_t i = 0; i < shapes.size(); ++i) {
          // Vectors are weights of norms and biases.
          if (shapes[i].size() >= 2 && (shapes[i][0] % *out_.from == 0)) grow(i, 0);
        }
        break;
    }
    if (!grows) return "";
    std::vector<std::string> parts;
    for (const Shape& shape : shapes) parts.push_back(fmt::format("[{}]", fmt::join(shape, ",")));
    return fmt::format("[{}]", fmt::join(parts, ","));
  }

  template <class Grow>
  void GrowProduct(std::string_view name, uint32_t node, const Shapes& shapes, const Grow& grow) const {
    const size_t a = name == "aten::addmm" ? 1 : 0, b = a + 1;
    if (b >= shapes.size() || shapes[a].size() < 2 || shapes[b].empty()) return;
    // The gradient of a weight sums over the rows: [n, rows] x [rows, k].
    const bool inner = name == "aten::mm" && InBackward(node) && shapes[a][1] % *out_.from == 0 &&
                       shapes[a][0] % *out_.from != 0;
    if (inner) {
      grow(a, 1);
      grow(b, 0);
    } else {
      grow(a, 0);
      if (name == "aten::addmm" && shapes[0].size() == 2) grow(0, 0);
    }
  }

  static std::optional<double> RoofNs(const OpCost& cost, const Peaks& peaks, bool tf32) {
    if (!cost.bytes || (!cost.flops && !cost.memory_only) || !peaks.dram_gbps || *peaks.dram_gbps <= 0)
      return std::nullopt;
    const std::string dtype = !cost.matrix                   ? (cost.dtype == "fp64" ? "fp64" : "fp32")
                              : tf32 && cost.dtype == "fp32" ? "tf32"
                                                             : cost.dtype;
    const std::optional<double> tflops = peaks.TflopsFor(dtype);
    if (cost.matrix && (!tflops || *tflops <= 0)) return std::nullopt;
    const double compute_ns = tflops && *tflops > 0 ? cost.flops.value_or(0) / *tflops / 1e3 : 0;
    return std::max(compute_ns, *cost.bytes / *peaks.dram_gbps);
  }

  // False: what it computes is not known.
  bool ScaleKernel(uint32_t work, double now_ns) {
    const uint32_t node = OpOf(work);
    if (node == kNone) return false;
    const std::string_view name = steps_.data().Text(t_.host.name[node]);
    if (BatchOpOf(name) == BatchOp::kFixed || InOptimizer(node)) return true;
    const uint32_t row = t_.host.row[node];
    const StringId dims = TextAt(op_.input_dims, row), types = TextAt(op_.input_types, row);
    if (IsNull(dims)) return false;
    const int32_t device = t_.devices[t_.work.device[work]].device;
    const auto peaks = roofline_.peaks.find(device);
    if (peaks == roofline_.peaks.end()) {
      out_.reason = roofline_.peaks_reason;
      return false;
    }
    const auto [at, added] =
        factors_.try_emplace(std::tuple(t_.host.name[node], dims, types, InBackward(node)));
    if (added)
      at->second =
          FactorsOf(node, name, dims, types, TextAt(op_.concrete_inputs, row), peaks->second, now_ns);
    const std::optional<Factors>& f = at->second;
    if (!f) return false;
    if (!f->grows) return true;
    ++out_.scaled;
    Add(work, now_ns * f->best, now_ns * f->expected, now_ns * f->linear);
    return true;
  }

  struct Factors {
    double best = 1, expected = 1, linear = 1;
    bool grows = false;
  };
  std::optional<Factors> FactorsOf(uint32_t node, std::string_view name, StringId dims, StringId types,
                                   StringId concrete, const Peaks& peaks, double now_ns) const {
    const RunData& data = steps_.data();
    const auto text = [&](StringId id) { return IsNull(id) ? std::string_view() : data.Text(id); };
    const std::string scaled = ScaledDims(node, name);
    if (scaled.empty()) return Factors{};
    const OpCost now = OpCostOf(name, text(dims), text(types), text(concrete));
    const OpCost then = OpCostOf(name, scaled, text(types), text(concrete));
    const auto roof_now = RoofNs(now, peaks, false), roof_then = RoofNs(then, peaks, false);
    if (!roof_now || !roof_then || *roof_now <= 0) return std::nullopt;
    const double reached = std::clamp(*roof_now / std::max(1.0, now_ns), 1e-4, 1.0);
    const double good_now = AttainableShare(*roof_now / 1e3), good_then = AttainableShare(*roof_then / 1e3);
    const double most = std::max(kMostReached, reached);
    const double then_reached =
        good_now > 0 ? std::clamp(reached * good_then / good_now, 1e-4, most) : reached;
    Factors out;
    out.linear = *roof_then / *roof_now;
    out.expected = *roof_then / then_reached / now_ns;
    out.best = *roof_then / std::clamp(good_then, reached, most) / now_ns;
    // More work never takes less time, nor less work more.
    const auto bound = [this](double factor) {
      return out_.factor >= 1 ? std::max(1.0, factor) : std::min(1.0, factor);
    };
    return Factors{bound(out.best), bound(out.expected), bound(out.linear), true};
  }

  const StepReplay& steps_;
  const TimelineFacts& t_;
  const OpView& op_;
  const RooflineFacts& roofline_;
  const std::vector<GapGroup>& gaps_;
  BatchSize& out_;
  std::map<std::tuple<StringId, StringId, StringId, bool>, std::optional<Factors>> factors_;
};

}  // namespace

std::optional<BatchRequest> ParseBatch(const std::string& text) {
  const bool is_factor = text.starts_with("x");
  const char* from = text.c_str() + (is_factor ? 1 : 0);
  char* end = nullptr;
  const double value = std::strtod(from, &end);
  if (end == from || *end != '\0' || !(value > 0) || value > 1e9) return std::nullopt;
  if (is_factor) return BatchRequest{std::nullopt, value};
  if (value != std::floor(value)) return std::nullopt;
  return BatchRequest{static_cast<int64_t>(value), std::nullopt};
}

BatchSize FindBatchSize(const StepReplay& steps, const RooflineFacts& roofline,
                        const std::vector<GapGroup>& gaps, const BatchRequest& request) {
  BatchSize out;
  BatchFinder finder(steps, roofline, gaps, out);
  finder.FindRecorded();
  if (!out.from) {
    out.reason =
        "the recorded batch size is not known: no shapes of products, convolutions or attention were "
        "recorded";
    return out;
  }
  out.factor = request.factor.value_or(static_cast<double>(request.size.value_or(*out.from)) /
                                       static_cast<double>(*out.from));
  finder.Scale();
  if (out.reason.empty() && out.unknown_share > kMostUnknown) {
    out.reason = fmt::format(
        "{:.0f} % of the device time of the steps is in kernels without recorded shapes or formula",
        100 * out.unknown_share);
  }
  return out;
}

void ApplyBatch(const StepReplay& steps, const BatchSize& batch, BatchCase which, Plan& plan) {
  const TimelineFacts& t = steps.timeline();
  for (const BatchWork& w : batch.works) {
    const auto now_ns = static_cast<double>(t.work.end_ns[w.work] - t.work.start_ns[w.work]);
    const double then_ns = which == BatchCase::kBest       ? w.best_ns
                           : which == BatchCase::kExpected ? w.expected_ns
                                                           : w.worst_ns;
    if (now_ns > 0) steps.ScaleWork(plan, w.work, then_ns / now_ns);
  }
  const double most = std::max(1.0, batch.factor);
  for (const BatchGap& g : batch.gaps) {
    if (plan.gaps_gone.count(g.gap) > 0) continue;
    const double factor = g.certain ? batch.factor : which == BatchCase::kWorst ? most : 1;
    const HostGap& gap = steps.gaps()[g.gap];
    steps.ScaleHost(plan, gap.thread, gap.start_ns, gap.end_ns, factor);
  }
}

}  // namespace nl::replay
