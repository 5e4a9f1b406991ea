// SPDX-License-Identifier: Apache-2.0
// `neurolens flame`: the merged call tree of a run, as text or for a flame graph viewer.

#include "analyze/program/flame.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/units.h"
#include "ops/flame/reply.h"
#include "ops/open_analysis.h"
#include "report/flame_forms.h"
#include "report/text_table.h"

namespace nl::ops::flame {

namespace {

// The heaviest frames of the tree as rows, each parent before its children.
class Outline {
 public:
  Outline(const FlameTree& tree, const Analysis& analysis, bool device, size_t max_rows)
      : tree_(tree), analysis_(analysis), device_(device), children_(tree.Children(device)) {
    std::vector<uint32_t> order(tree.nodes.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const size_t count = std::min(max_rows, order.size());
    std::partial_sort(
        order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
        [&](uint32_t a, uint32_t b) { return Weight(a) != Weight(b) ? Weight(a) > Weight(b) : a < b; });
    shown_.assign(tree.nodes.size(), false);
    for (size_t i = 0; i < count; ++i) shown_[order[i]] = Weight(order[i]) > 0;
  }

  std::vector<FlameRow> Rows() {
    for (const uint32_t child : children_[0]) Visit(child, 0);
    return std::move(rows_);
  }

 private:
  int64_t Weight(uint32_t i) const {
    return device_ ? tree_.nodes[i].device_total_ns : tree_.nodes[i].host_total_ns;
  }
  void Visit(uint32_t i, int depth) {
    if (!shown_[i]) return;
    const FlameTree::Node& n = tree_.nodes[i];
    const auto all = static_cast<double>(Weight(0));
    FlameRow row;
    row.depth = depth;
    row.name = FlameName(n, analysis_.data(), *analysis_.facts().Find<TimelineFacts>());
    row.device_frame = n.kind == FlameKind::kDevice;
    row.calls = n.calls;
    if (tree_.unit.empty()) {
      row.host_total_ms = Ms(n.host_total_ns);
      row.host_self_ms = Ms(n.host_self_ns);
    } else {  // the sums are not times
      row.weight = n.host_total_ns;
      row.self_weight = n.host_self_ns;
    }
    row.gpu_total_ms = Ms(n.device_total_ns);
    row.gpu_self_ms = Ms(n.device_self_ns);
    row.share = all > 0 ? static_cast<double>(Weight(i)) / all : 0.0;
    rows_.push_back(std::move(row));
    for (const uint32_t child : children_[i]) Visit(child, depth + 1);
  }

  const FlameTree& tree_;
  const Analysis& analysis_;
  const bool device_;
  const std::vector<std::vector<uint32_t>> children_;
  std::vector<bool> shown_;
  std::vector<FlameRow> rows_;
};

class FlameOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "flame";
    info.summary =
        "Merged call tree of a run with host and device time, for the terminal, speedscope or flame graph "
        "tools";
    info.choose_when = "Choose it to see which call paths take the time. `operators` sums by name only.";
    info.example = "neurolens flame @latest --time host";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<FlameReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("out", out_,
          "Write the tree to this file: .speedscope.json (host and device time) or .collapsed (the time of "
          "--time)")
        .Path();
    b.Add("time", time_, "Time used as weight; device falls back to host in a run without device work")
        .Choices({"device", "host"});
    b.Add("top", top_, "Heaviest frames to list").Range(1, 10000);
  }

  Result<Reply> Run(OpContext& context) override {
    const bool collapsed = out_.ends_with(".collapsed") || out_.ends_with(".folded");
    if (!out_.empty() && !collapsed && !out_.ends_with(".json")) {
      return InvalidInput(fmt::format("--out {}: cannot infer the format from the file name", out_))
          .Hint("use a name that ends with .speedscope.json or .collapsed");
    }
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const RunFlame flame, FlameOfRun(*open.analysis));
    const auto& [tree, timeline] = flame;
    const RunData& data = open.analysis->data();
    const bool device = time_ == "device" && tree.nodes[0].device_total_ns > 0;
    if (!out_.empty()) {
      NL_TRY(WriteFileAtomically(out_, collapsed
                                           ? CollapsedText(tree, data, *timeline, device)
                                           : SpeedscopeText(tree, data, *timeline, open.run.run.model)));
    }
    FlameReply reply;
    reply.run_id = open.run.run.run_id;
    reply.time = device ? FlameTime::kDevice : FlameTime::kHost;
    if (tree.unit.empty()) {
      reply.host_ms = Ms(tree.nodes[0].host_total_ns);
    } else {
      reply.unit = tree.unit;
      reply.weight = tree.nodes[0].host_total_ns;
    }
    reply.gpu_ms = Ms(tree.nodes[0].device_total_ns);
    reply.frames = static_cast<int64_t>(tree.nodes.size()) - 1;
    reply.folded = tree.folded;
    reply.out = KnownText(out_);
    reply.tree = Outline(tree, *open.analysis, device, static_cast<size_t>(top_) + 1).Rows();
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<FlameReply>();
    std::string out =
        r.unit ? fmt::format("{} {} in {}; the profile has no times", HumanCount(r.weight.value_or(0)),
                             *r.unit, Counted(r.frames, "frame"))
               : fmt::format("{} in host calls, {} of device work, {}", HumanMs(r.host_ms.value_or(0)),
                             HumanMs(r.gpu_ms), Counted(r.frames, "frame"));
    if (r.folded > 0) out += fmt::format(" ({} light paths merged into \"(other)\")", HumanCount(r.folded));
    out += "\n";
    if (r.out) return out + fmt::format("Wrote {}\n", *r.out);
    return out + "\n" + TreeText(r, style);
  }

 private:
  static std::string TreeText(const FlameReply& r, const TextStyle& style) {
    const bool device = r.time == FlameTime::kDevice;
    TextTable table({{r.unit   ? "TOTAL"
                      : device ? "DEVICE"
                               : "HOST",
                      Align::kRight, false, 0},
                     {"SELF", Align::kRight, false, 0},
                     {"SHARE", Align::kRight, false, 0},
                     {r.unit ? "STACKS" : "CALLS", Align::kRight, false, 0},
                     {"FRAME", Align::kLeft, true, 20}});
    for (const FlameRow& row : r.tree) {
      // Deep stacks would leave no room for the name.
      const std::string indent = row.depth <= 16 ? std::string(static_cast<size_t>(row.depth), ' ')
                                                 : fmt::format("{:>14}: ", row.depth);
      std::string total = HumanMs(device ? row.gpu_total_ms : row.host_total_ms.value_or(0));
      std::string self = HumanMs(device ? row.gpu_self_ms : row.host_self_ms.value_or(0));
      if (r.unit) {
        total = HumanCount(row.weight.value_or(0));
        self = HumanCount(row.self_weight.value_or(0));
      }
      table.AddRow({total, self, HumanPercent(row.share, 1), HumanCount(row.calls), indent + row.name});
    }
    return table.Render(style.width, style.color);
  }

  AnalysisParams params_;
  std::string out_, time_ = "device";
  int64_t top_ = 30;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<FlameOp>(); }

}  // namespace nl::ops::flame
