// SPDX-License-Identifier: Apache-2.0
// `neurolens flame`: the merged call tree of a run, as text or for a flame graph viewer.

#include "analyze/program/flame.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/units.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::flame {

namespace {

// The heaviest part of the tree, as rows in order of a walk.
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

  Json Rows() {
    for (const uint32_t child : children_[0]) Visit(child, 0);
    return std::move(rows_);
  }

 private:
  int64_t Weight(uint32_t i) const {
    return device_ ? tree_.nodes[i].device_total_ns : tree_.nodes[i].host_total_ns;
  }
  // Null where the sums are no time.
  Json HostMs(int64_t ns) const { return tree_.unit.empty() ? Json(Ms(ns)) : Json(); }
  void Visit(uint32_t i, int depth) {
    if (!shown_[i]) return;
    const FlameTree::Node& n = tree_.nodes[i];
    const double all = static_cast<double>(Weight(0));
    rows_.push_back({{"depth", depth},
                     {"name", FlameName(n, analysis_.data(), *analysis_.facts().Find<TimelineFacts>())},
                     {"device_frame", n.kind == FlameKind::kDevice},
                     {"calls", n.calls},
                     {"host_total_ms", HostMs(n.host_total_ns)},
                     {"host_self_ms", HostMs(n.host_self_ns)},
                     {"weight", tree_.unit.empty() ? Json() : Json(n.host_total_ns)},
                     {"self_weight", tree_.unit.empty() ? Json() : Json(n.host_self_ns)},
                     {"gpu_total_ms", Ms(n.device_total_ns)},
                     {"gpu_self_ms", Ms(n.device_self_ns)},
                     {"share", all > 0 ? static_cast<double>(Weight(i)) / all : 0.0}});
    for (const uint32_t child : children_[i]) Visit(child, depth + 1);
  }

  const FlameTree& tree_;
  const Analysis& analysis_;
  const bool device_;
  const std::vector<std::vector<uint32_t>> children_;
  std::vector<bool> shown_;
  Json rows_ = Json::array();
};

class FlameOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "flame";
    info.summary =
        "Merged call tree of a run with host and device time; also for speedscope and flame graph tools";
    info.choose_when = "Choose it to see which call paths the time goes to; `operators` sums by name alone.";
    info.example = "neurolens flame @latest --time host";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["run_id", "time", "host_ms", "gpu_ms", "unit", "frames", "folded", "tree", "out"],
      "properties": {"run_id": {"type": "string"}, "time": {"type": "string", "enum": ["host", "device"]},
        "host_ms": {"type": ["number", "null"]}, "unit": {"type": ["string", "null"]}, "gpu_ms": {"type": "number"}, "frames": {"type": "integer"},
        "folded": {"type": "integer"}, "out": {"type": ["string", "null"]},
        "tree": {"type": "array", "items": {"type": "object",
          "required": ["depth", "name", "calls", "host_total_ms", "host_self_ms", "gpu_total_ms", "gpu_self_ms", "share"]}}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("out", out_, "Write the tree to this file: .speedscope.json (both times) or .collapsed (--time)")
        .Path()
        .LocalOnly();
    b.Add("time", time_, "Time that weighs: device falls back to host when there is no device work")
        .Choices({"device", "host"});
    b.Add("top", top_, "Heaviest frames to list").Range(1, 10000);
  }

  Result<Reply> Run(OpContext& context) override {
    const bool collapsed = out_.ends_with(".collapsed") || out_.ends_with(".folded");
    if (!out_.empty() && !collapsed && !out_.ends_with(".json")) {
      return InvalidInput(fmt::format("--out {}: the name tells the form", out_))
          .Hint("end it with .speedscope.json or .collapsed");
    }
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const TimelineFacts* timeline, open.analysis->Need<TimelineFacts>());
    NL_ASSIGN(const AttributionFacts* attribution, open.analysis->Need<AttributionFacts>());
    const RunData& data = open.analysis->data();
    const FlameTree tree = BuildFlame(data, *timeline, *attribution);
    const bool device = time_ == "device" && tree.nodes[0].device_total_ns > 0;
    if (!out_.empty()) {
      NL_TRY(WriteFileAtomically(out_, collapsed
                                           ? CollapsedText(tree, data, *timeline, device)
                                           : SpeedscopeText(tree, data, *timeline, open.run.run.model)));
    }
    Reply reply;
    reply.json = {{"run_id", open.run.run.run_id},
                  {"time", device ? "device" : "host"},
                  {"host_ms", tree.unit.empty() ? Json(Ms(tree.nodes[0].host_total_ns)) : Json()},
                  {"unit", tree.unit.empty() ? Json() : Json(tree.unit)},
                  {"weight", tree.unit.empty() ? Json() : Json(tree.nodes[0].host_total_ns)},
                  {"gpu_ms", Ms(tree.nodes[0].device_total_ns)},
                  {"frames", tree.nodes.size() - 1},
                  {"folded", tree.folded},
                  {"out", out_.empty() ? Json() : Json(out_)}};
    reply.json["tree"] = Outline(tree, *open.analysis, device, static_cast<size_t>(top_) + 1).Rows();
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    const bool counted = !r["unit"].is_null();
    std::string out = counted
                          ? fmt::format("{} {} in {} frames; sums without times", HumanCount(r["weight"]),
                                        r["unit"].get<std::string>(), HumanCount(r["frames"]))
                          : fmt::format("{} of host calls, {} of device work, {} frames",
                                        HumanMs(r["host_ms"]), HumanMs(r["gpu_ms"]), HumanCount(r["frames"]));
    if (r["folded"] > 0) out += fmt::format(" ({} light ones folded)", HumanCount(r["folded"]));
    out += "\n";
    if (!r["out"].is_null()) return out + fmt::format("Written to {}\n", r["out"].get<std::string>());
    TextTable table({{counted                 ? "TOTAL"
                      : r["time"] == "device" ? "DEVICE"
                                              : "HOST",
                      Align::kRight, false, 0},
                     {"SELF", Align::kRight, false, 0},
                     {"SHARE", Align::kRight, false, 0},
                     {counted ? "STACKS" : "CALLS", Align::kRight, false, 0},
                     {"FRAME", Align::kLeft, true, 20}});
    const bool device = r["time"] == "device";
    for (const Json& row : r["tree"]) {
      const int depth = row["depth"];
      // Deep stacks would leave no room for the name.
      const std::string indent =
          depth <= 16 ? std::string(static_cast<size_t>(depth), ' ') : fmt::format("{:>14}: ", depth);
      const auto weight = [&](const char* time, const char* count) {
        return counted ? HumanCount(row[count]) : HumanMs(row[time]);
      };
      table.AddRow({weight(device ? "gpu_total_ms" : "host_total_ms", "weight"),
                    weight(device ? "gpu_self_ms" : "host_self_ms", "self_weight"),
                    HumanPercent(row["share"], 1), HumanCount(row["calls"]),
                    indent + row["name"].get<std::string>()});
    }
    return out + "\n" + table.Render(style.width, style.color);
  }

 private:
  AnalysisParams params_;
  std::string out_, time_ = "device";
  int64_t top_ = 30;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<FlameOp>(); }

}  // namespace nl::ops::flame
