// SPDX-License-Identifier: Apache-2.0
// `neurolens timeline-totals`: everything that ran in a window, added up by name, by kind and by lane.

#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "ops/timeline_request.h"
#include "report/text_table.h"
#include "timeline/totals.h"

namespace nl::ops::timeline_totals {

namespace {

struct TotalsOfTable {
  std::string table;
  int64_t count = 0, total_ns = 0, covered_ns = 0, mean_ns = 0, longest_ns = 0;
};
void Describe(Record<TotalsOfTable>& r) {
  using T = TotalsOfTable;
  r.Name("TimelineTableTotals", "All spans of one kind in the window");
  r.Field("table", &T::table, "Table that has them: kernel, memcpy, op, ...");
  r.Field("count", &T::count, "Spans that reach into the window");
  r.Field("total_ns", &T::total_ns, Unit::kNs, "Sum of their time inside the window");
  r.Field("covered_ns", &T::covered_ns, Unit::kNs,
          "Time of the window in which at least one of them ran: overlaps count once");
  r.Field("mean_ns", &T::mean_ns, Unit::kNs, "Mean of their whole durations");
  r.Field("longest_ns", &T::longest_ns, Unit::kNs, "The longest whole duration");
}

struct TotalsOfName {
  std::string table, name, short_name;
  int64_t count = 0, total_ns = 0, covered_ns = 0, mean_ns = 0, longest_ns = 0;
};
void Describe(Record<TotalsOfName>& r) {
  using T = TotalsOfName;
  r.Name("TimelineNameTotals", "All spans of one name in the window");
  r.Field("table", &T::table, "Table that has them");
  r.Field("name", &T::name, "Name as the source spells it; of CPU samples the innermost frame");
  r.Field("short_name", &T::short_name, "Name as the timeline shows it; short for kernels");
  r.Field("count", &T::count, "Spans that reach into the window");
  r.Field("total_ns", &T::total_ns, Unit::kNs, "Sum of their time inside the window");
  r.Field("covered_ns", &T::covered_ns, Unit::kNs,
          "Time of the window in which at least one of them ran: overlaps count once");
  r.Field("mean_ns", &T::mean_ns, Unit::kNs, "Mean of their whole durations");
  r.Field("longest_ns", &T::longest_ns, Unit::kNs, "The longest whole duration");
}

struct TotalsOfLane {
  int64_t lane = 0;
  std::string name;
  int64_t count = 0, covered_ns = 0;
  double covered_share = 0;
};
void Describe(Record<TotalsOfLane>& r) {
  using T = TotalsOfLane;
  r.Name("TimelineLaneTotals", "All spans of one lane in the window");
  r.Field("lane", &T::lane, "Number of the lane, as in `timeline-lanes`");
  r.Field("name", &T::name, "Its name");
  r.Field("count", &T::count, "Spans that reach into the window");
  r.Field(
      "covered_ns", &T::covered_ns, Unit::kNs,
      "Time of the window in which any span of the lane ran; ranges, which label time, count in a lane of "
      "nothing else only");
  r.Field("covered_share", &T::covered_share, Unit::kShare, "covered_ns / length of the window");
}

struct TotalsReply {
  std::string run_id;
  int64_t from_ns = 0, to_ns = 0;
  std::vector<TotalsOfTable> tables;
  std::vector<TotalsOfLane> lanes;
  int64_t names_total = 0;
  std::vector<TotalsOfName> names;
};
void Describe(Record<TotalsReply>& r) {
  using T = TotalsReply;
  r.Name("TimelineTotalsReply", "Reply of `neurolens timeline-totals`");
  r.Field("run_id", &T::run_id, "The run");
  r.Field("from_ns", &T::from_ns, Unit::kNs, "Start of the window, from the zero of the timeline");
  r.Field("to_ns", &T::to_ns, Unit::kNs, "End of the window");
  r.Field("tables", &T::tables, "Sums by kind, for the kinds that ran in the window");
  r.Field("lanes", &T::lanes, "Sums by lane, for the lanes that had spans in the window");
  r.Field("names_total", &T::names_total, "Names in the window before --limit");
  r.Field("names", &T::names, "Sums by name, most time first");
}

template <class T>
void Fill(T& out, const SpanTotals& totals) {
  out.count = totals.count;
  out.total_ns = totals.total_ns;
  out.covered_ns = totals.covered_ns;
  out.mean_ns = totals.count > 0 ? totals.all_ns / totals.count : 0;
  out.longest_ns = totals.longest_ns;
}

std::string Time(int64_t ns) { return HumanMs(static_cast<double>(ns) / 1e6); }

class TimelineTotalsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "timeline-totals";
    info.summary = "Time by name, kind and lane of everything that ran in a window of a run";
    info.choose_when =
        "Choose it for sums over a time range that another command reported. `timeline-window` lists the "
        "spans "
        "themselves; `kernels` and `operators` have totals of the run.";
    info.example = "neurolens timeline-totals @latest --from-ns 10000000 --to-ns 12000000";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<TotalsReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("run", run_, "Run to look at").Positional().Run();
    window_.Bind(b);
    b.Add("lanes", lanes_, kLanesHelp);
    b.Add("limit", limit_, "Names to list; 0 lists all").Range(0, 1e9);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const TimelineRun open, OpenTimelineRun(context, run_));
    NL_TRY(window_.Complete(*open.timeline));
    TotalsRequest request;
    request.from_ns = window_.from_ns;
    request.to_ns = window_.to_ns;
    NL_ASSIGN(request.slots, Slots(*open.timeline));
    NL_ASSIGN(const WindowTotals totals, AddUpWindow(*open.timeline, request, context.cancelled));
    return Reply::Of(ReplyFrom(open, totals));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<TotalsReply>();
    std::string out = fmt::format("{} to {}\n", Time(r.from_ns), Time(r.to_ns));
    if (r.tables.empty()) return out + "nothing was recorded in this window\n";
    const std::vector<TextColumn> numbers = {{"COUNT", Align::kRight, false, 0},
                                             {"TOTAL", Align::kRight, false, 0},
                                             {"COVERED", Align::kRight, false, 0},
                                             {"MEAN", Align::kRight, false, 0},
                                             {"LONGEST", Align::kRight, false, 0}};
    const auto cells = [](const auto& t) {
      return std::vector<std::string>{HumanCount(t.count), Time(t.total_ns), Time(t.covered_ns),
                                      Time(t.mean_ns), Time(t.longest_ns)};
    };
    const auto with = [](std::vector<TextColumn> columns, TextColumn last) {
      columns.push_back(std::move(last));
      return columns;
    };
    TextTable tables(with(numbers, {"KIND", Align::kLeft, false, 0}));
    for (const TotalsOfTable& t : r.tables) {
      std::vector<std::string> row = cells(t);
      row.push_back(t.table);
      tables.AddRow(std::move(row));
    }
    TextTable lanes({{"SPANS", Align::kRight, false, 0},
                     {"BUSY", Align::kRight, false, 0},
                     {"SHARE", Align::kRight, false, 0},
                     {"LANE", Align::kLeft, true, 20}});
    for (const TotalsOfLane& t : r.lanes)
      lanes.AddRow({HumanCount(t.count), Time(t.covered_ns), fmt::format("{:.1f} %", 100 * t.covered_share),
                    fmt::format("{} {}", t.lane, t.name)});
    TextTable names(with(with(numbers, {"KIND", Align::kLeft, false, 0}), {"NAME", Align::kLeft, true, 20}));
    for (const TotalsOfName& t : r.names) {
      std::vector<std::string> row = cells(t);
      row.push_back(t.table);
      row.push_back(t.short_name);
      names.AddRow(std::move(row));
    }
    out += "\n" + tables.Render(style.width, style.color) + "\n" + lanes.Render(style.width, style.color) +
           "\n" + names.Render(style.width, style.color);
    const int64_t more = r.names_total - static_cast<int64_t>(r.names.size());
    if (more > 0)
      out += fmt::format("{} more {}; --limit 0 lists all\n", HumanCount(more), Plural(more, "name"));
    return out;
  }

 private:
  Result<std::vector<char>> Slots(const Timeline& timeline) const {
    std::vector<char> out;
    if (lanes_.empty()) return out;
    out.resize(static_cast<size_t>(timeline.spans().threads() + 1) * 3, 0);
    NL_ASSIGN(const std::vector<int64_t> chosen, ChooseLanes(timeline, lanes_));
    for (const int64_t lane : chosen) {
      const LaneNode& node = timeline.lanes()[static_cast<size_t>(lane)];
      if (node.slot) out[*node.slot] = 1;
    }
    return out;
  }

  TotalsReply ReplyFrom(const TimelineRun& open, const WindowTotals& totals) const {
    const Timeline& timeline = *open.timeline;
    TotalsReply out;
    out.run_id = open.run.run_id;
    out.from_ns = window_.from_ns;
    out.to_ns = window_.to_ns;
    for (size_t t = 0; t < kSpanTables; ++t) {
      if (totals.tables[t].count == 0) continue;
      out.tables.push_back({.table = kSpanTableNames[t]});
      Fill(out.tables.back(), totals.tables[t]);
    }
    const auto length = static_cast<double>(out.to_ns - out.from_ns);
    for (const auto& [slot, of_lane] : totals.lanes) {
      const int64_t lane = timeline.LaneOf(slot);
      if (lane < 0) continue;
      out.lanes.push_back({lane, timeline.lanes()[static_cast<size_t>(lane)].name, of_lane.count,
                           of_lane.covered_ns, static_cast<double>(of_lane.covered_ns) / length});
    }
    std::sort(out.lanes.begin(), out.lanes.end(),
              [](const TotalsOfLane& a, const TotalsOfLane& b) { return a.lane < b.lane; });
    out.names_total = static_cast<int64_t>(totals.names.size());
    const size_t shown =
        limit_ == 0 ? totals.names.size() : std::min(totals.names.size(), static_cast<size_t>(limit_));
    for (size_t i = 0; i < shown; ++i) {
      const StringId id = totals.names[i].name;
      const SpanTable table = timeline.spans().TableOf(id);
      TotalsOfName name;
      name.table = kSpanTableNames[static_cast<size_t>(table)];
      name.short_name = timeline.DisplayName(id);
      name.name = timeline.spans().NameOf(id);
      Fill(name, totals.names[i].totals);
      out.names.push_back(std::move(name));
    }
    return out;
  }

  std::string run_ = "@latest";
  TimeWindow window_;
  std::vector<std::string> lanes_;
  int64_t limit_ = 20;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<TimelineTotalsOp>(); }

}  // namespace nl::ops::timeline_totals
