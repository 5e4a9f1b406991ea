// SPDX-License-Identifier: Apache-2.0
#include "report/report_timeline.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/terminal.h"

namespace nl {

std::string StreamLaneName(const TimelineFacts& timeline, size_t stream) {
  const TimelineFacts::Stream& of = timeline.streams[stream];
  const DeviceKey key = timeline.devices[of.device];
  std::string out = IsNull(key.rank) ? "" : fmt::format("rank {} ", key.rank);
  out += IsNull(key.device) ? "GPU" : fmt::format("GPU {}", key.device);
  return IsNull(of.stream) ? out : fmt::format("{} stream {}", out, of.stream);
}

std::string ThreadLaneName(const RunData& data, ThreadId thread) {
  const auto at = static_cast<size_t>(thread);
  if (IsNull(thread) || at >= data.thread.size()) return "host";
  std::string name = "thread";
  if (at < data.thread.tid.size() && !IsNull(data.thread.tid[at]))
    name += fmt::format(" {}", data.thread.tid[at]);
  if (at < data.thread.name.size() && !IsNull(data.thread.name[at])) {
    const std::string text(data.Text(data.thread.name[at]));
    if (!text.empty()) name = text;
  }
  if (at < data.thread.process_id.size() && !IsNull(data.thread.process_id[at])) {
    const auto process = static_cast<size_t>(data.thread.process_id[at]);
    if (process < data.process.rank.size() && !IsNull(data.process.rank[process]))
      name = fmt::format("rank {} {}", data.process.rank[process], name);
  }
  return name;
}

namespace {

constexpr int kMaxNameColumns = 160;

// Order of `categories`.
enum Category : uint8_t { kCompute, kCommunication, kMemory, kRange, kPython, kOp, kApi };
constexpr const char* kCategories[] = {"compute", "communication", "memory", "range", "python", "op", "api"};

struct Span {
  int64_t start_ns, end_ns;
  int64_t longest_ns;  // of the spans merged into this one
  StringId name;
  uint32_t count;
  uint16_t depth;
  uint8_t category;
};

struct Lane {
  std::string name;
  bool device;
  std::vector<Span> spans;  // by start within a depth
};

// Work of one stream may overlap (graph branches, PDL): each span takes the first free row.
void StackRows(std::vector<Span>& spans) {
  constexpr size_t kMaxRows = 8;
  std::vector<int64_t> free_ns;
  for (Span& span : spans) {
    size_t row = 0;
    while (row < free_ns.size() && free_ns[row] > span.start_ns) ++row;
    if (row == free_ns.size() && row < kMaxRows) free_ns.push_back(INT64_MIN);
    row = std::min(row, kMaxRows - 1);
    free_ns[row] = std::max(free_ns[row], span.end_ns);
    span.depth = static_cast<uint16_t>(row);
  }
}

std::vector<Lane> DeviceLanes(const TimelineFacts& timeline) {
  std::vector<Lane> lanes(timeline.streams.size());
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].device = true;
    lanes[i].name = StreamLaneName(timeline, i);
  }
  const DeviceWork& work = timeline.work;
  for (size_t i = 0; i < work.size(); ++i) {
    lanes[work.stream[i]].spans.push_back({work.start_ns[i], work.end_ns[i],
                                           work.end_ns[i] - work.start_ns[i], work.name[i], 1, 0,
                                           static_cast<uint8_t>(work.work[i])});
  }
  for (Lane& lane : lanes) StackRows(lane.spans);
  return lanes;
}

uint8_t HostCategory(HostKind kind) {
  switch (kind) {
    case HostKind::kRange: return kRange;
    case HostKind::kPython: return kPython;
    case HostKind::kOp: return kOp;
    case HostKind::kApi: return kApi;
  }
  return kApi;
}

std::vector<Lane> HostLanes(const TimelineFacts& timeline, const RunData& data) {
  const HostTree& host = timeline.host;
  std::vector<uint16_t> depth(host.size(), 0);
  for (size_t i = 0; i < host.size(); ++i) {
    if (host.parent[i] != kNone)
      depth[i] = static_cast<uint16_t>(std::min<int>(depth[host.parent[i]] + 1, 65000));
  }
  std::vector<Lane> lanes;
  for (const TimelineFacts::HostThread& thread : timeline.threads) {
    Lane lane{ThreadLaneName(data, thread.thread), false, {}};
    for (uint32_t i = thread.first; i < thread.last; ++i) {
      lane.spans.push_back({host.start_ns[i], host.end_ns[i], host.end_ns[i] - host.start_ns[i], host.name[i],
                            1, depth[i], HostCategory(host.kind[i])});
    }
    lanes.push_back(std::move(lane));
  }
  // The busiest thread is the one to look at first.
  std::stable_sort(lanes.begin(), lanes.end(),
                   [](const Lane& a, const Lane& b) { return a.spans.size() > b.spans.size(); });
  return lanes;
}

size_t CountSpans(const std::vector<Lane>& lanes) {
  size_t count = 0;
  for (const Lane& lane : lanes) count += lane.spans.size();
  return count;
}

// Within one row, neighbours that fit into one pixel together become one span. Spans are in
// order of their start in every row, not over all of them.
void MergeRows(std::vector<Span>& spans, int64_t pixel_ns) {
  constexpr size_t kNothing = SIZE_MAX;
  std::vector<size_t> last_of_row;
  size_t kept = 0;
  for (const Span& span : spans) {
    if (span.depth >= last_of_row.size()) last_of_row.resize(span.depth + 1u, kNothing);
    size_t& at = last_of_row[span.depth];
    if (at == kNothing || span.end_ns - spans[at].start_ns > pixel_ns) {
      at = kept;
      spans[kept++] = span;
      continue;
    }
    Span& last = spans[at];
    if (span.longest_ns > last.longest_ns) {
      last.longest_ns = span.longest_ns;
      last.name = span.name;
      last.category = span.category;
    }
    last.end_ns = std::max(last.end_ns, span.end_ns);
    last.count += span.count;
  }
  spans.resize(kept);
}

// The length within which spans were merged, 0 when all fitted.
int64_t Thin(std::vector<Lane>& lanes, int64_t wall_ns, const TimelineLimits& limits) {
  if (CountSpans(lanes) <= limits.max_events) return 0;
  for (int64_t pixel_ns = std::max<int64_t>(1, wall_ns / limits.full_zoom_px);;
       pixel_ns = std::min(pixel_ns, INT64_MAX / 2) * 2) {
    for (Lane& lane : lanes) MergeRows(lane.spans, pixel_ns);
    if (CountSpans(lanes) <= limits.max_events || pixel_ns > wall_ns) return pixel_ns;
  }
}

class NameTable {
 public:
  NameTable(const TimelineFacts& timeline, const RunData& data) : timeline_(timeline), data_(data) {}

  int64_t IdOf(StringId name, bool device) {
    const uint32_t key = static_cast<uint32_t>(name);
    const auto [it, fresh] = ids_[device ? 1 : 0].emplace(key, static_cast<int64_t>(names_.size()));
    if (fresh) names_.push_back(TextOf(name, device));
    return it->second;
  }
  std::vector<std::string> Take() { return std::move(names_); }

 private:
  std::string TextOf(StringId name, bool device) const {
    if (IsNull(name)) return "?";
    const auto known = timeline_.kernel_names.find(static_cast<uint32_t>(name));
    const std::string_view text = device && known != timeline_.kernel_names.end()
                                      ? std::string_view(known->second.short_name)
                                      : data_.Text(name);
    return PrintableName(text, kMaxNameColumns);
  }

  const TimelineFacts& timeline_;
  const RunData& data_;
  std::unordered_map<uint32_t, int64_t> ids_[2];
  std::vector<std::string> names_;
};

double Us(int64_t ns) { return static_cast<double>(ns) / 1e3; }

ReportLane LaneColumns(const Lane& lane, int64_t origin_ns, bool merged, NameTable& names) {
  ReportLane out;
  out.name = lane.name;
  out.kind = lane.device ? LaneKind::kDevice : LaneKind::kHost;
  if (merged) out.count.emplace();
  for (const Span& span : lane.spans) {
    out.start_us.push_back(Us(span.start_ns - origin_ns));
    out.dur_us.push_back(Us(span.end_ns - span.start_ns));
    out.name_id.push_back(names.IdOf(span.name, lane.device));
    out.category.push_back(span.category);
    out.depth.push_back(span.depth);
    if (merged) out.count->push_back(span.count);
    out.depth_max = std::max<int64_t>(out.depth_max, span.depth);
  }
  return out;
}

}  // namespace

std::span<const std::string_view> NamesOf(LaneKind) {
  static constexpr std::string_view kNames[] = {"device", "host"};
  return kNames;
}

void Describe(Record<ReportLane>& r) {
  r.Name("ReportLane", "Spans of one stream or thread; all lists have the same length");
  r.Field("name", &ReportLane::name, "Name of the lane");
  r.Field("kind", &ReportLane::kind, "Stream of a device, or thread of the host");
  r.Field("depth_max", &ReportLane::depth_max, "Largest depth");
  r.Field("start_us", &ReportLane::start_us, Unit::kUs, "Start, from the start of the run");
  r.Field("dur_us", &ReportLane::dur_us, Unit::kUs, "Duration");
  r.Field("name_id", &ReportLane::name_id, "Position in the list of names");
  r.Field("category", &ReportLane::category, "Position in the list of categories");
  r.Field("depth", &ReportLane::depth, "Row within the lane, 0 for outermost calls");
  r.OptionalField("count", &ReportLane::count, "Spans that this one represents, where spans were merged");
}

void Describe(Record<ReportTimeline>& r) {
  r.Name("ReportTimeline", "What ran when, with few enough spans for a page");
  r.Field("wall_us", &ReportTimeline::wall_us, Unit::kUs, "Time from the first to the last event");
  r.Field("events_total", &ReportTimeline::events_total, "Spans before merging");
  r.Field("events_drawn", &ReportTimeline::events_drawn, "Spans after merging");
  r.Field("merged_below_us", &ReportTimeline::merged_below_us, Unit::kUs,
          "Neighbours within this time are one span, with the name of the longest; null: nothing was merged");
  r.Field("categories", &ReportTimeline::categories, "Categories of spans");
  r.Field("names", &ReportTimeline::names, "Names of spans");
  r.Field("lanes", &ReportTimeline::lanes, "Streams, then threads");
}

ReportTimeline TimelineOf(const TimelineFacts& timeline, const RunData& data, const TimelineLimits& limits) {
  std::vector<Lane> lanes = DeviceLanes(timeline);
  std::vector<Lane> host = HostLanes(timeline, data);
  std::move(host.begin(), host.end(), std::back_inserter(lanes));
  ReportTimeline out;
  out.wall_us = Us(timeline.wall_ns());
  out.events_total = static_cast<int64_t>(CountSpans(lanes));
  const int64_t merged_ns = Thin(lanes, timeline.wall_ns(), limits);
  out.events_drawn = static_cast<int64_t>(CountSpans(lanes));
  if (merged_ns > 0) out.merged_below_us = Us(merged_ns);
  out.categories.assign(std::begin(kCategories), std::end(kCategories));
  NameTable names(timeline, data);
  for (const Lane& lane : lanes) {
    if (!lane.spans.empty())
      out.lanes.push_back(LaneColumns(lane, timeline.first_start_ns, merged_ns > 0, names));
  }
  out.names = names.Take();
  return out;
}

}  // namespace nl
