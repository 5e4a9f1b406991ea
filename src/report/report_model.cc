// SPDX-License-Identifier: Apache-2.0
#include "report/report_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "analyze/steady_findings.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/units.h"
#include "report/phase_label.h"
#include "report/report_value.h"

namespace nl {

namespace {

// The members of the run document that are known.
Json PartOf(const Json& document, std::initializer_list<const char*> members) {
  Json out = Json::object();
  for (const char* name : members) {
    if (const Json& value = ChildAt(document, name); !value.is_null()) out[name] = value;
  }
  return out;
}

ReportRun RunOf(const RunData& data) {
  ReportRun out;
  out.environment = PartOf(data.document, {"hardware", "software", "model", "ranks", "system"});
  out.provenance = PartOf(data.document, {"source", "created_at", "tags", "config", "clock", "notes"});
  out.counters = CountersOf(data.import_log, *data.strings);
  out.capture = ChildAt(data.document, "capture");
  out.overhead_pct = NumberAt(out.capture, "overhead_pct");
  return out;
}

std::optional<ReportFlame> FlameOf(const RunData& data, const TimelineFacts& timeline,
                                   const AttributionFacts& attribution) {
  constexpr size_t kMaxNodes = 5000;
  const FlameTree tree = BuildFlame(data, timeline, attribution, kMaxNodes);
  if (!tree.unit.empty() || tree.nodes.size() <= 1) return std::nullopt;  // no times to draw
  ReportFlame out;
  out.folded = tree.folded;
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    const FlameTree::Node& n = tree.nodes[i];
    ReportFlameNode& node = out.nodes.emplace_back();
    node.name = MdCell(FlameName(n, data, timeline), 200);
    node.kind = n.kind;
    if (n.parent != kNone && n.parent != 0) node.parent = n.parent - 1;
    node.host_self_ms = Ms(n.host_self_ns);
    node.device_self_ms = Ms(n.device_self_ns);
  }
  return out;
}

std::optional<PathStrip> StripOf(const CriticalPathFacts& path) {
  constexpr int64_t kBins = 300;
  if (path.wall_ns < kBins || path.segments.empty()) return std::nullopt;
  const int64_t origin_ns = path.segments.front().start_ns, bin_ns = path.wall_ns / kBins + 1;
  std::array<std::array<int64_t, kBins>, kPathClasses> time{};
  for (const CriticalPathFacts::Segment& s : path.segments) {
    // At most one step a bin, wherever the segment lies: the first and the last bin take what is outside.
    const int64_t start_ns = s.start_ns - origin_ns, end_ns = s.end_ns - origin_ns;
    const auto bin_of = [&](int64_t at_ns) { return std::clamp<int64_t>(at_ns / bin_ns, 0, kBins - 1); };
    int64_t from_ns = start_ns;
    for (int64_t bin = bin_of(start_ns); from_ns < end_ns && bin < kBins; ++bin) {
      const int64_t to_ns = bin == kBins - 1 ? end_ns : std::min(end_ns, (bin + 1) * bin_ns);
      if (to_ns <= from_ns) continue;
      time[static_cast<size_t>(s.what)][static_cast<size_t>(bin)] += to_ns - from_ns;
      from_ns = to_ns;
    }
  }
  PathStrip out;
  out.bin_ms = Ms(bin_ns);
  for (size_t c = 0; c < kPathClasses; ++c) {
    if (path.ns_by_class[c] <= 0) continue;
    PathStripClass& mix = out.classes.emplace_back();
    mix.what = static_cast<PathClass>(c);
    // Three digits are what a picture can show.
    for (const int64_t ns : time[c]) {
      const double share = static_cast<double>(ns) / static_cast<double>(bin_ns);
      mix.share.push_back(std::floor(1000 * share) / 1000);
    }
  }
  return out;
}

template <class Section, class Member>
bool Take(const Described& section, Member& to) {
  const auto* value = section.As<Section>();
  if (value != nullptr) to = *value;
  return value != nullptr;
}

// Every section goes to the member of its type, or to the others.
void TakeSections(const Analysis& analysis, Report& report) {
  for (const auto& describe : AllPasses()) {
    const std::string name = describe().Info().name;
    const Described section = analysis.Section(name);
    if (section.empty()) continue;
    if (const auto* path = section.As<CriticalPathSection>(); path != nullptr) {
      report.critical_path = ReportPath{*path, {}};
      continue;
    }
    const bool taken =
        Take<AccountingSection>(section, report.accounting) ||
        Take<FindingsFacts>(section, report.findings) || Take<IdleSection>(section, report.idle) ||
        Take<LaunchSection>(section, report.launch) || Take<RanksSection>(section, report.ranks) ||
        Take<RooflineSection>(section, report.roofline) || Take<SamplesFacts>(section, report.samples) ||
        Take<StagesSection>(section, report.stages) || Take<StartupSection>(section, report.startup);
    if (!taken) report.other_sections.emplace(name, section);
  }
}

// Starts that tell the order only say nothing of gaps, overlap or who waited for whom.
void DropTimes(Report& report) {
  report.idle.reset();
  report.accounting.reset();
  report.launch.reset();
  report.critical_path.reset();
  report.startup.reset();
}

// One sentence for a run whose source has durations only.
std::string OrderVerdict(const Report& report) {
  int64_t calls = 0;
  for (const NameTotals& k : report.kernels) calls += k.calls;
  std::string out = fmt::format(
      "{} of {} in total. The source recorded durations but no start times, so the bound of the program is "
      "unknown.",
      Counted(calls, "kernel execution"), HumanMs(report.wall_ms));
  if (!report.kernels.empty())
    out += fmt::format(" The kernel with the most time is {}.", report.kernels[0].name);
  return out;
}

std::string VerdictOf(const Report& report, const RunData& data) {
  return data.OrderOnly() ? OrderVerdict(report) : VerdictText(report);
}

// What the allocator reported about one device.
void AddDevice(const MemoryEventColumns& events, int32_t device, int64_t first_ns, ReportMemory& out) {
  constexpr size_t kMaxPoints = 2000;
  std::vector<std::pair<int64_t, int64_t>> points;
  MemoryPeak& peak = out.peaks.emplace_back();
  peak.device = device;
  for (size_t i = 0; i < events.start_ns.size(); ++i) {
    if (events.device[i] != device || IsNull(events.start_ns[i]) || IsNull(events.total_allocated_bytes[i]))
      continue;
    points.emplace_back(events.start_ns[i], events.total_allocated_bytes[i]);
    peak.allocated_bytes = std::max(peak.allocated_bytes, events.total_allocated_bytes[i]);
    if (!IsNull(events.total_reserved_bytes[i]))
      peak.reserved_bytes = std::max(peak.reserved_bytes, events.total_reserved_bytes[i]);
  }
  std::stable_sort(points.begin(), points.end());
  MemorySeries& series = out.series.emplace_back();
  series.device = device;
  // The highest of each group of neighbours, so that the peak stays in the picture.
  const size_t step = points.size() / kMaxPoints + 1;
  for (size_t i = 0; i < points.size(); i += step) {
    const auto best =
        std::max_element(points.begin() + static_cast<std::ptrdiff_t>(i),
                         points.begin() + static_cast<std::ptrdiff_t>(std::min(i + step, points.size())),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    series.at_ms.push_back(Ms(best->first - first_ns));
    series.allocated_bytes.push_back(best->second);
  }
}

// Findings of what the report is of.
Result<FindingsFacts> FindingsIn(Analysis& analysis, const ReportScope& scope) {
  if (!scope.whole) return SteadyFindings(analysis);
  NL_ASSIGN(const FindingsFacts* whole, analysis.Need<FindingsFacts>());
  return *whole;
}

}  // namespace

Result<Report> BuildReport(Analysis& analysis, const std::string& run_id, ReportLists lists,
                           const ReportScope& scope) {
  NL_TRY(analysis.RunAll());
  NL_ASSIGN(const TimelineFacts* timeline, analysis.Need<TimelineFacts>());
  NL_ASSIGN(const AccountingFacts* accounting, analysis.Need<AccountingFacts>());
  NL_ASSIGN(const AttributionFacts* attribution, analysis.Need<AttributionFacts>());
  NL_ASSIGN(const CriticalPathFacts* path, analysis.Need<CriticalPathFacts>());
  const RunData& data = analysis.data();
  Report out;
  static_cast<ReportLists&>(out) = std::move(lists);
  out.generated_from = run_id;
  out.phase = scope.phase;
  out.run = RunOf(data);
  out.wall_ms = Ms(timeline->wall_ns());
  TakeSections(analysis, out);
  if (data.OrderOnly()) DropTimes(out);
  NL_ASSIGN(out.findings, FindingsIn(analysis, scope));
  out.diagnosis = out.findings.diagnosis;
  if (out.accounting) out.devices = out.accounting->devices;
  if (out.critical_path) out.critical_path->strip = StripOf(*path);
  const SampledTime* sampled = out.samples && out.samples->time ? &*out.samples->time : nullptr;
  out.breakdown = BreakdownOf(*timeline, *accounting, out.idle ? &*out.idle : nullptr, sampled);
  out.flame = FlameOf(data, *timeline, *attribution);
  out.timeline = TimelineOf(*timeline, data);
  out.glossary = GlossaryOf(out);
  out.verdict = VerdictOf(out, data);
  if (out.phase) out.verdict = PhaseTitle(out.phase->phase) + " only. " + out.verdict;
  return out;
}

Result<std::optional<ReportMemory>> MemoryOf(Snapshot& snapshot, const std::optional<Interval>& part) {
  MemoryEventColumns events;
  NL_TRY(snapshot.Load(events, {"start_ns", "total_allocated_bytes", "total_reserved_bytes", "device"}));
  if (part) {
    for (int64_t& start_ns : events.start_ns) {
      if (start_ns < part->start_ns || start_ns >= part->end_ns) start_ns = NullOf<int64_t>::value;
    }
  }
  std::set<int32_t> devices;
  int64_t first_ns = INT64_MAX;
  for (size_t i = 0; i < events.start_ns.size(); ++i) {
    if (IsNull(events.start_ns[i]) || IsNull(events.device[i]) || IsNull(events.total_allocated_bytes[i]))
      continue;
    if (events.device[i] >= 0) devices.insert(events.device[i]);
    first_ns = std::min(first_ns, events.start_ns[i]);
  }
  std::optional<ReportMemory> out;
  if (devices.empty()) return out;
  out.emplace().events = static_cast<int64_t>(events.start_ns.size());
  for (const int32_t device : devices) AddDevice(events, device, first_ns, *out);
  return out;
}

}  // namespace nl
