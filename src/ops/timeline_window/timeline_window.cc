// SPDX-License-Identifier: Apache-2.0
// `neurolens timeline-window`: what ran between two times of a run, lane by lane.

#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "base/units.h"
#include "ops/open_analysis.h"
#include "report/report_timeline.h"
#include "report/text_table.h"

namespace nl::ops::timeline_window {

namespace {

constexpr Reads kWindowReads = NL_READS(Thread, process_id, tid, name) | NL_READS(Process, rank);

struct WindowSpan {
  std::string table;
  int64_t id = 0;
  std::string name;
  double start_ms = 0, dur_ms = 0;
};
void Describe(Record<WindowSpan>& r) {
  using T = WindowSpan;
  r.Name("WindowSpan", "A span that was running in the window");
  r.Field("table", &T::table, "Table that has it");
  r.Field("id", &T::id, "Its id in that table");
  r.Field("name", &T::name, "Name; short for kernels");
  r.Field("start_ms", &T::start_ms, Unit::kMs, "Start, from the first event of the run");
  r.Field("dur_ms", &T::dur_ms, Unit::kMs, "Duration, which may reach beyond the window");
}

struct WindowLane {
  std::string lane;
  LaneKind kind = LaneKind::kHost;
  double busy_ms = 0;
  std::optional<double> busy_share;
  std::vector<std::string> enclosing;
  int64_t spans_total = 0;
  std::vector<WindowSpan> spans;
};
void Describe(Record<WindowLane>& r) {
  using T = WindowLane;
  r.Name("WindowLane", "One stream of a device or one host thread");
  r.Field("lane", &T::lane, "Name of the stream or thread");
  r.Field("kind", &T::kind, "device or host");
  r.Field("busy_ms", &T::busy_ms, Unit::kMs, "Part of the window in which any span of the lane ran");
  r.Field("busy_share", &T::busy_share, Unit::kShare, "busy_ms / length of the window");
  r.Field("enclosing", &T::enclosing,
          "Names of host spans that last longer than the window on both sides, outermost first");
  r.Field("spans_total", &T::spans_total, "Spans in the window before --limit, without the enclosing ones");
  r.Field("spans", &T::spans, "Spans, longest first");
}

struct WindowReply {
  std::string run_id;
  double wall_ms = 0, from_ms = 0, to_ms = 0;
  int64_t lanes_total = 0;
  std::vector<WindowLane> lanes;
};
void Describe(Record<WindowReply>& r) {
  using T = WindowReply;
  r.Name("TimelineWindowReply", "Reply of `neurolens timeline-window`");
  r.Field("run_id", &T::run_id, "The run");
  r.Field("wall_ms", &T::wall_ms, Unit::kMs, "Time from the first to the last event of the run");
  r.Field("from_ms", &T::from_ms, Unit::kMs, "Start of the window, from the first event of the run");
  r.Field("to_ms", &T::to_ms, Unit::kMs, "End of the window");
  r.Field("lanes_total", &T::lanes_total, "Lanes with spans in the window, before --lanes");
  r.Field("lanes", &T::lanes, "Lanes: streams of devices first, then host threads, the busiest first");
}

const char* TableOf(WorkKind kind) {
  switch (kind) {
    case WorkKind::kKernel: return "kernel";
    case WorkKind::kMemcpy: return "memcpy";
    case WorkKind::kMemset: break;
  }
  return "memset";
}

const char* TableOf(HostKind kind) {
  switch (kind) {
    case HostKind::kRange: return "range";
    case HostKind::kPython: return "python_call";
    case HostKind::kOp: return "op";
    case HostKind::kApi: break;
  }
  return "api_call";
}

// Collects the lanes of one window.
class Window {
 public:
  Window(const TimelineFacts& timeline, const RunData& data, const Interval& part)
      : timeline_(timeline), data_(data), part_(part) {}

  std::vector<WindowLane> Lanes(size_t limit) const {
    std::vector<WindowLane> out = DeviceLanes(limit);
    std::vector<WindowLane> host = HostLanes(limit);
    std::move(host.begin(), host.end(), std::back_inserter(out));
    return out;
  }

 private:
  struct Hit {
    uint32_t at;
    int64_t start_ns, end_ns;
  };

  bool Encloses(int64_t start_ns, int64_t end_ns) const {
    return start_ns <= part_.start_ns && end_ns >= part_.end_ns;
  }

  std::vector<WindowLane> DeviceLanes(size_t limit) const {
    const DeviceWork& work = timeline_.work;
    std::vector<std::vector<Hit>> hits(timeline_.streams.size());
    for (uint32_t i = 0; i < work.size(); ++i) {
      if (ReachesInto(part_, work.start_ns[i], work.end_ns[i]))
        hits[work.stream[i]].push_back({i, work.start_ns[i], work.end_ns[i]});
    }
    std::vector<WindowLane> out;
    for (size_t stream = 0; stream < hits.size(); ++stream) {
      if (hits[stream].empty()) continue;
      WindowLane lane = LaneOf(StreamLaneName(timeline_, stream), LaneKind::kDevice, hits[stream]);
      for (const Hit& hit : Longest(std::move(hits[stream]), limit)) {
        lane.spans.push_back(SpanOf(TableOf(work.kind[hit.at]), work.row[hit.at], DeviceName(hit.at), hit));
      }
      out.push_back(std::move(lane));
    }
    return out;
  }

  std::vector<WindowLane> HostLanes(size_t limit) const {
    const HostTree& host = timeline_.host;
    std::vector<WindowLane> out;
    for (const TimelineFacts::HostThread& thread : timeline_.threads) {
      std::vector<Hit> all, inside;
      std::vector<std::string> enclosing;
      for (uint32_t i = thread.first; i < thread.last; ++i) {
        if (!ReachesInto(part_, host.start_ns[i], host.end_ns[i])) continue;
        all.push_back({i, host.start_ns[i], host.end_ns[i]});
        if (Encloses(host.start_ns[i], host.end_ns[i])) {
          enclosing.push_back(std::string(data_.Text(host.name[i])));
        } else {
          inside.push_back(all.back());
        }
      }
      if (all.empty()) continue;
      WindowLane lane = LaneOf(ThreadLaneName(data_, thread.thread), LaneKind::kHost, all);
      lane.enclosing = std::move(enclosing);
      lane.spans_total = static_cast<int64_t>(inside.size());
      for (const Hit& hit : Longest(std::move(inside), limit)) {
        lane.spans.push_back(SpanOf(TableOf(host.kind[hit.at]), host.row[hit.at],
                                    std::string(data_.Text(host.name[hit.at])), hit));
      }
      out.push_back(std::move(lane));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const WindowLane& a, const WindowLane& b) { return a.busy_ms > b.busy_ms; });
    return out;
  }

  std::string DeviceName(uint32_t at) const {
    const DeviceWork& work = timeline_.work;
    return work.kind[at] == WorkKind::kKernel ? timeline_.KernelNameOf(work.name[at]).short_name
                                              : std::string(data_.Text(work.name[at]));
  }

  // `hits` are by start time.
  WindowLane LaneOf(std::string name, LaneKind kind, const std::vector<Hit>& hits) const {
    int64_t busy_ns = 0, until = part_.start_ns;
    for (const Hit& hit : hits) {
      const int64_t from = std::max(hit.start_ns, until), to = std::min(hit.end_ns, part_.end_ns);
      if (to <= from) continue;
      busy_ns += to - from;
      until = to;
    }
    WindowLane out;
    out.lane = std::move(name);
    out.kind = kind;
    out.busy_ms = Ms(busy_ns);
    out.busy_share = static_cast<double>(busy_ns) / static_cast<double>(part_.end_ns - part_.start_ns);
    out.spans_total = static_cast<int64_t>(hits.size());
    return out;
  }

  static std::vector<Hit> Longest(std::vector<Hit> hits, size_t limit) {
    std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
      return a.end_ns - a.start_ns > b.end_ns - b.start_ns;
    });
    if (limit > 0 && hits.size() > limit) hits.resize(limit);
    return hits;
  }

  WindowSpan SpanOf(const char* table, uint32_t row, std::string name, const Hit& hit) const {
    return {table, static_cast<int64_t>(row), std::move(name), Ms(hit.start_ns - timeline_.first_start_ns),
            Ms(hit.end_ns - hit.start_ns)};
  }

  const TimelineFacts& timeline_;
  const RunData& data_;
  Interval part_;
};

class TimelineWindowOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "timeline-window";
    info.summary = "What ran between two times of a run, on every stream and host thread";
    info.choose_when =
        "Choose it for a closer look at a time range that another command reported, such as a gap of `idle`. "
        "`kernels` "
        "and "
        "`operators` have totals of the run.";
    info.example = "neurolens timeline-window @latest --from-ms 10 --to-ms 12";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<WindowReply>();
    info.tool = {9, "timeline_window"};
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("from_ms", from_ms_, "Start of the window in ms from the first event of the run").Range(0, 1e12);
    b.Add("to_ms", to_ms_, "End of the window in ms; 0: the end of the run").Range(0, 1e12);
    b.Add("lanes", lanes_, "Only lanes of this kind (device, host) or with this in their name");
    b.Add("limit", limit_, "Spans to list in each lane; 0 lists all").Range(0, 1e9);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_TRY(NeedTimeline(open));
    NL_ASSIGN(const TimelineFacts* timeline, open.analysis->Need<TimelineFacts>());
    NL_TRY(open.analysis->Load(kWindowReads));
    WindowReply reply;
    reply.run_id = open.run.run.run_id;
    reply.wall_ms = Ms(timeline->wall_ns());
    reply.from_ms = from_ms_;
    reply.to_ms = to_ms_ == 0 ? reply.wall_ms : std::min(to_ms_, reply.wall_ms);
    if (reply.from_ms >= reply.to_ms) {
      return InvalidInput(fmt::format("the window from {} ms to {} ms is empty", from_ms_, reply.to_ms))
          .Hint(fmt::format("this run lasts {:.3f} ms", reply.wall_ms));
    }
    const auto at = [timeline](double ms) {
      return timeline->first_start_ns + static_cast<int64_t>(1e6 * ms);
    };
    const Window window(*timeline, open.analysis->data(), {at(reply.from_ms), at(reply.to_ms)});
    reply.lanes = window.Lanes(static_cast<size_t>(limit_));
    reply.lanes_total = static_cast<int64_t>(reply.lanes.size());
    std::erase_if(reply.lanes, [this](const WindowLane& lane) { return !Wanted(lane); });
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<WindowReply>();
    std::string out =
        fmt::format("{} to {} of {}\n", HumanMs(r.from_ms), HumanMs(r.to_ms), HumanMs(r.wall_ms));
    if (r.lanes.empty()) return out + "nothing was recorded in this window\n";
    for (const WindowLane& lane : r.lanes) out += "\n" + LaneText(lane, style);
    return out;
  }

 private:
  bool Wanted(const WindowLane& lane) const {
    return lanes_.empty() || std::any_of(lanes_.begin(), lanes_.end(), [&](const std::string& wanted) {
             return wanted == NamesOf(lane.kind)[static_cast<size_t>(lane.kind)] ||
                    lane.lane.find(wanted) != std::string::npos;
           });
  }

  static std::string LaneText(const WindowLane& lane, const TextStyle& style) {
    std::string head = fmt::format("{}: busy {} ({:.1f} %)", PrintableName(lane.lane, 40),
                                   HumanMs(lane.busy_ms), 100 * lane.busy_share.value_or(0));
    if (!lane.enclosing.empty()) {
      std::vector<std::string> names;
      for (const std::string& name : lane.enclosing) names.push_back(PrintableName(name, 60));
      head += fmt::format(", inside {}", fmt::join(names, " > "));
    }
    std::string out = Wrap(head, style.width, 2) + "\n";
    if (lane.spans.empty()) return out;
    TextTable table({{"AT", Align::kRight, false, 0},
                     {"DURATION", Align::kRight, false, 0},
                     {"TABLE", Align::kLeft, false, 0},
                     {"ID", Align::kRight, false, 0},
                     {"NAME", Align::kLeft, true, 20}});
    for (const WindowSpan& s : lane.spans)
      table.AddRow({HumanMs(s.start_ms), HumanMs(s.dur_ms), s.table, std::to_string(s.id), s.name});
    out += table.Render(style.width, style.color);
    const int64_t more = lane.spans_total - static_cast<int64_t>(lane.spans.size());
    if (more > 0)
      out += fmt::format("{} more {}; --limit 0 lists all\n", HumanCount(more), Plural(more, "span"));
    return out;
  }

  AnalysisParams params_;
  double from_ms_ = 0, to_ms_ = 0;
  std::vector<std::string> lanes_;
  int64_t limit_ = 10;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<TimelineWindowOp>(); }

}  // namespace nl::ops::timeline_window
