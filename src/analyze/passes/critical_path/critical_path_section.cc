// SPDX-License-Identifier: Apache-2.0
// The critical path as reports and `neurolens critical-path` give it.

#include <algorithm>

#include "analyze/facts/critical_path.h"
#include "base/units.h"

namespace nl {

std::span<const std::string_view> NamesOf(PathClass) {
  static constexpr std::array<std::string_view, kPathClasses> kNames = {
      "host_op",   "python", "host_range", "api",           "launch",     "launch_latency",
      "sync_wait", "kernel", "copy",       "communication", "device_gap", "unrecorded"};
  return kNames;
}
std::string_view PathClassName(PathClass c) { return NamesOf(c)[static_cast<size_t>(c)]; }

std::span<const std::string_view> NamesOf(PathBound) {
  static constexpr std::string_view kNames[] = {"host", "launch",        "sync",      "kernel",
                                                "copy", "communication", "unrecorded"};
  return kNames;
}

void Describe(Record<PathBoundShare>& r) {
  r.Name("PathBoundShare", "Time that the run was bound by one resource");
  r.Field("bound", &PathBoundShare::bound, "Resource");
  r.Field("ms", &PathBoundShare::ms, Unit::kMs, "Time on the path");
  r.Field("share", &PathBoundShare::share, Unit::kShare, "Part of the wall time");
}

void Describe(Record<PathClassShare>& r) {
  r.Name("PathClassShare", "Time of one class on the path");
  r.Field("class", &PathClassShare::what, "Class of time");
  r.Field("bound", &PathClassShare::bound, "Resource that the class counts for");
  r.Field("ms", &PathClassShare::ms, Unit::kMs, "Time on the path");
  r.Field("share", &PathClassShare::share, Unit::kShare, "Part of the wall time");
}

void Describe(Record<PathSums>& r) {
  r.Name("PathSums", "Proof that the path covers the run: both sums are equal");
  r.Field("wall_ns", &PathSums::wall_ns, Unit::kNs, "Time from the first to the last event");
  r.Field("path_ns", &PathSums::path_ns, Unit::kNs, "Sum of all segments of the path");
}

void Describe(Record<PathContributor>& r) {
  r.Name("PathContributor", "All time on the path with one class and name");
  r.Field("class", &PathContributor::what, "Class of time");
  r.Field("name", &PathContributor::name, "Operator, function, call or kernel");
  r.Field("raw_name", &PathContributor::raw_name, "Name of a kernel as recorded; null for anything else");
  r.Field("ms", &PathContributor::ms, Unit::kMs, "Time on the path");
  r.Field("share", &PathContributor::share, Unit::kShare, "Part of the wall time");
  r.Field("segments", &PathContributor::segments, "Segments of the path");
}

void Describe(Record<PathSegment>& r) {
  r.Name("PathSegment", "One segment of the path");
  r.Field("class", &PathSegment::what, "Class of time");
  r.Field("name", &PathSegment::name, "Operator, function, call or kernel");
  r.Field("raw_name", &PathSegment::raw_name, "Name of a kernel as recorded; null for anything else");
  r.Field("start_ms", &PathSegment::start_ms, Unit::kMs, "Start, from the start of the path");
  r.Field("ms", &PathSegment::ms, Unit::kMs, "Duration");
}

void Describe(Record<SlackBin>& r) {
  r.Name("SlackBin", "Work items with similar slack");
  r.Field("below_ms", &SlackBin::below_ms, Unit::kMs, "Upper limit of the slack; null in the last bin");
  r.Field("work_items", &SlackBin::work_items, "Kernels, copies and memsets");
}

void Describe(Record<SlackKernel>& r) {
  r.Name("SlackKernel", "Slack of all executions of one kernel, copy or memset");
  r.Field("name", &SlackKernel::name, "Short name");
  r.Field("raw_name", &SlackKernel::raw_name, "Name of a kernel as recorded; null for anything else");
  r.Field("calls", &SlackKernel::calls, "Executions");
  r.Field("total_ms", &SlackKernel::total_ms, Unit::kMs, "Sum of durations");
  r.Field("on_path_ms", &SlackKernel::on_path_ms, Unit::kMs, "Part on the critical path");
  r.Field("on_path_share", &SlackKernel::on_path_share, Unit::kShare, "on_path_ms / total_ms");
  r.Field("min_slack_ms", &SlackKernel::min_slack_ms, Unit::kMs, "Smallest slack");
  r.Field("median_slack_ms", &SlackKernel::median_slack_ms, Unit::kMs, "Median slack");
}

void Describe(Record<PathSlack>& r) {
  r.Name("PathSlack", "How much later work could have ended without delaying the end of the run");
  r.Field("histogram", &PathSlack::histogram, "Work items by slack");
  r.Field("kernels", &PathSlack::kernels, "Kernels, copies and memsets by time on the path");
}

void Describe(Record<CriticalPathSection>& r) {
  r.Name("CriticalPathSection", "Chain of dependencies that determined the duration of the run");
  r.Field("wall_ms", &CriticalPathSection::wall_ms, Unit::kMs, "Time from the first to the last event");
  r.Field("reason", &CriticalPathSection::reason, "Why there is no path");
  r.Field("bound_by", &CriticalPathSection::bound_by, "Resources, longest time first");
  r.Field("shares", &CriticalPathSection::shares, "Classes, longest time first");
  r.Field("sums", &CriticalPathSection::sums, "Sums in nanoseconds");
  r.Field("contributors", &CriticalPathSection::contributors, "Names on the path, longest time first");
  r.Field("contributors_total", &CriticalPathSection::contributors_total, "Contributors before the limit");
  r.Field("segments", &CriticalPathSection::segments, "The longest segments, in time order");
  r.Field("segments_total", &CriticalPathSection::segments_total, "Segments before the limit");
  r.Field("slack", &CriticalPathSection::slack, "Slack of device work");
  r.Field("launch_latency_floor_ms", &CriticalPathSection::launch_latency_floor_ms, Unit::kMs,
          "Lower quartile of launch latencies onto an idle stream");
  r.Field("inferred_waits", &CriticalPathSection::inferred_waits,
          "Waits between streams that were inferred from the order of calls");
  r.Field("impossible_edges", &CriticalPathSection::impossible_edges,
          "Dependencies left out because the effect precedes its cause in the trace");
}

namespace passes::critical_path {
namespace {

std::optional<double> Share(int64_t part_ns, int64_t whole_ns) {
  if (whole_ns <= 0) return std::nullopt;
  return static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

bool IsKernel(PathClass c) { return c == PathClass::kKernel || c == PathClass::kCommunication; }

// Kernels get their short name, with the recorded one in raw_name.
template <class T>
void SetName(T& to, const RunData& data, StringId name, bool is_kernel) {
  if (IsNull(name)) return;
  const std::string raw(data.Text(name));
  to.name = is_kernel ? ParseKernelName(raw).short_name : raw;
  if (is_kernel) to.raw_name = raw;
}

PathBound BoundOf(PathClass c) {
  switch (c) {
    case PathClass::kHostOp:
    case PathClass::kPython:
    case PathClass::kHostRange:
    case PathClass::kApi: return PathBound::kHost;
    case PathClass::kLaunch:
    case PathClass::kLaunchLatency: return PathBound::kLaunch;
    case PathClass::kSyncWait: return PathBound::kSync;
    case PathClass::kKernel:
    case PathClass::kDeviceGap: return PathBound::kKernel;
    case PathClass::kCopy: return PathBound::kCopy;
    case PathClass::kCommunication: return PathBound::kCommunication;
    case PathClass::kUnrecorded: break;
  }
  return PathBound::kUnrecorded;
}

std::vector<PathClassShare> Shares(const CriticalPathFacts& facts) {
  std::vector<PathClassShare> out;
  for (size_t c = 0; c < kPathClasses; ++c) {
    const auto what = static_cast<PathClass>(c);
    const int64_t ns = facts.ns_by_class[c];
    out.push_back({what, BoundOf(what), Ms(ns), Share(ns, facts.wall_ns)});
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  return out;
}

std::vector<PathBoundShare> BoundBy(const CriticalPathFacts& facts) {
  std::array<int64_t, 7> ns{};
  for (size_t c = 0; c < kPathClasses; ++c)
    ns[static_cast<size_t>(BoundOf(static_cast<PathClass>(c)))] += facts.ns_by_class[c];
  std::vector<PathBoundShare> out;
  for (size_t b = 0; b < ns.size(); ++b)
    out.push_back({static_cast<PathBound>(b), Ms(ns[b]), Share(ns[b], facts.wall_ns)});
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  return out;
}

std::vector<PathContributor> Contributors(const CriticalPathFacts& facts, const RunData& data, size_t limit) {
  std::vector<PathContributor> out;
  for (size_t i = 0; i < std::min(limit, facts.contributors.size()); ++i) {
    const CriticalPathFacts::Contributor& c = facts.contributors[i];
    PathContributor entry;
    entry.what = c.what;
    SetName(entry, data, c.name, IsKernel(c.what));
    entry.ms = Ms(c.ns);
    entry.share = Share(c.ns, facts.wall_ns);
    entry.segments = c.segments;
    out.push_back(std::move(entry));
  }
  return out;
}

PathSlack Slack(const CriticalPathFacts& facts, const RunData& data, size_t limit) {
  PathSlack out;
  for (size_t i = 0; i < facts.slack_histogram.size(); ++i) {
    SlackBin bin{std::nullopt, facts.slack_histogram[i]};
    if (i < facts.kSlackBelowNs.size()) bin.below_ms = Ms(facts.kSlackBelowNs[i]);
    out.histogram.push_back(bin);
  }
  for (size_t i = 0; i < std::min(limit, facts.kernels.size()); ++i) {
    const CriticalPathFacts::KernelSlack& k = facts.kernels[i];
    SlackKernel entry;
    SetName(entry, data, k.name, k.kind == WorkKind::kKernel);
    entry.calls = k.calls;
    entry.total_ms = Ms(k.total_ns);
    entry.on_path_ms = Ms(k.on_path_ns);
    entry.on_path_share = Share(k.on_path_ns, k.total_ns);
    entry.min_slack_ms = Ms(k.min_slack_ns);
    entry.median_slack_ms = Ms(k.median_slack_ns);
    out.kernels.push_back(std::move(entry));
  }
  return out;
}

// The longest segments, in time order.
std::vector<PathSegment> Segments(const CriticalPathFacts& facts, const RunData& data, size_t limit) {
  std::vector<const CriticalPathFacts::Segment*> longest;
  longest.reserve(facts.segments.size());
  for (const auto& s : facts.segments) longest.push_back(&s);
  const size_t n = std::min(limit, longest.size());
  const auto longer = [](const auto* a, const auto* b) {
    const int64_t x = a->end_ns - a->start_ns, y = b->end_ns - b->start_ns;
    return x != y ? x > y : a->start_ns < b->start_ns;
  };
  std::partial_sort(longest.begin(), longest.begin() + static_cast<ptrdiff_t>(n), longest.end(), longer);
  longest.resize(n);
  std::sort(longest.begin(), longest.end(),
            [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  std::vector<PathSegment> out;
  const int64_t origin_ns = facts.segments.empty() ? 0 : facts.segments[0].start_ns;
  for (const auto* s : longest) {
    PathSegment entry;
    entry.what = s->what;
    SetName(entry, data, s->name, IsKernel(s->what));
    entry.start_ms = Ms(s->start_ns - origin_ns);
    entry.ms = Ms(s->end_ns - s->start_ns);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace
}  // namespace passes::critical_path

CriticalPathSection SectionOf(const CriticalPathFacts& facts, const RunData& data, size_t limit) {
  using namespace passes::critical_path;
  CriticalPathSection out;
  out.wall_ms = Ms(facts.wall_ns);
  out.reason = KnownText(facts.reason);
  out.bound_by = BoundBy(facts);
  out.shares = Shares(facts);
  out.sums = {facts.wall_ns, facts.path_ns};
  out.contributors = Contributors(facts, data, limit);
  out.contributors_total = static_cast<int64_t>(facts.contributors.size());
  out.segments = Segments(facts, data, limit);
  out.segments_total = static_cast<int64_t>(facts.segments.size());
  out.slack = Slack(facts, data, limit);
  out.launch_latency_floor_ms = Ms(facts.launch_floor_ns);
  out.inferred_waits = facts.inferred_waits;
  out.impossible_edges = facts.impossible_edges;
  return out;
}

}  // namespace nl
