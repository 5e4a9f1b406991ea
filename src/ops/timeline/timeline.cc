// SPDX-License-Identifier: Apache-2.0
// `neurolens timeline`: one window of a run's timeline at one width, as a page draws it.

#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "ops/timeline_request.h"
#include "report/text_table.h"
#include "timeline/tile.h"

namespace nl::ops::timeline {

namespace {

class TimelineOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "timeline";
    info.summary = "A window of the timeline for drawing: long spans, and buckets of short ones";
    info.choose_when =
        "Choose it to draw a timeline of any length at any zoom. `timeline-window` answers what ran in a "
        "window.";
    info.example = "neurolens timeline @latest --from-ns 0 --to-ns 5000000 --width 100 --lanes stream";
    info.cost = Cost::kSeconds;
    info.quick_when_open = true;
    info.reply = ReplyOf<Tile>();
    info.binary_type = kTileMediaType;
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("run", run_, "Run to look at").Positional().Run();
    window_.Bind(b);
    b.Add("width", width_, "Width in pixels").Range(1, 16384);
    b.Add("lanes", lanes_, kLanesHelp);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const TimelineRun open, OpenTimelineRun(context, run_));
    NL_TRY(window_.Complete(*open.timeline));
    TileRequest request;
    request.from_ns = window_.from_ns;
    request.to_ns = window_.to_ns;
    request.width = width_;
    NL_ASSIGN(request.lanes, ChooseLanes(*open.timeline, lanes_));
    NL_ASSIGN(Tile tile, MakeTile(*open.timeline, request, context.cancelled));
    tile.run_id = open.run.run_id;
    return Reply::Of(std::move(tile));
  }

  std::string Binary(const Reply& reply) const override { return TileBytes(reply.As<Tile>()); }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<Tile>();
    const auto ms = [](int64_t ns) { return HumanMs(static_cast<double>(ns) / 1e6); };
    std::string out =
        fmt::format("{} to {}, {} px; spans from {} are listed, shorter ones are in buckets of {}\n",
                    ms(r.from_ns), ms(r.to_ns), r.width, ms(r.exact_from_ns), ms(r.bucket_ns));
    if (r.rows.empty() && r.series.empty()) return out + "nothing was recorded in this window\n";
    TextTable table({{"LANE", Align::kRight, false, 0},
                     {"DEPTH", Align::kRight, false, 0},
                     {"SPANS", Align::kRight, false, 0},
                     {"BUCKETS", Align::kRight, false, 0},
                     {"SHORT SPANS", Align::kRight, false, 0},
                     {"THEIR TIME", Align::kRight, false, 0},
                     {"LONGEST", Align::kLeft, true, 20}});
    for (const TileRow& row : r.rows) {
      int64_t count = 0, busy_ns = 0;
      for (const int64_t n : row.count) count += n;
      for (const int64_t ns : row.busy_ns) busy_ns += ns;
      const auto longest = std::max_element(row.dur_ns.begin(), row.dur_ns.end());
      const std::string name =
          longest == row.dur_ns.end()
              ? ""
              : r.names[static_cast<size_t>(row.name[static_cast<size_t>(longest - row.dur_ns.begin())])];
      table.AddRow({std::to_string(row.lane), std::to_string(row.depth), std::to_string(row.start_ns.size()),
                    std::to_string(row.bucket.size()), HumanCount(count), ms(busy_ns), name});
    }
    out += table.Render(style.width, style.color);
    for (const TileSeries& series : r.series)
      out += fmt::format("lane {}: {}\n", series.lane,
                         Counted(static_cast<int64_t>(series.at_ns.size()), "value"));
    return out;
  }

 private:
  std::string run_ = "@latest";
  TimeWindow window_;
  int64_t width_ = 100;
  std::vector<std::string> lanes_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<TimelineOp>(); }

}  // namespace nl::ops::timeline
