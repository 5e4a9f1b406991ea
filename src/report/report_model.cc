// SPDX-License-Identifier: Apache-2.0
#include "report/report_model.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "analyze/facts/critical_path.h"
#include "analyze/program/flame.h"
#include "analyze/run_counters.h"
#include "base/human.h"
#include "base/record_json.h"
#include "base/units.h"
#include "report/report_breakdown.h"
#include "report/report_glossary.h"
#include "report/report_timeline.h"
#include "report/report_value.h"

namespace nl {

namespace {

Json RunSection(const RunData& data) {
  const Json& doc = data.document;
  Json environment = Json::object(), provenance = Json::object();
  for (const char* key : {"hardware", "software", "model", "ranks"}) {
    if (!ChildAt(doc, key).is_null()) environment[key] = doc[key];
  }
  for (const char* key : {"source", "created_at", "tags", "config", "clock", "notes"}) {
    if (!ChildAt(doc, key).is_null()) provenance[key] = doc[key];
  }
  Json out{{"environment", std::move(environment)}, {"provenance", std::move(provenance)}};
  out["counters"] = ToDocument(CountersOf(data.import_log, *data.strings));
  const Json& capture = ChildAt(doc, "capture");
  out["capture"] = capture;
  out["overhead_pct"] = ChildAt(capture, "overhead_pct");
  return out;
}

// The heaviest part of the call tree: {nodes: [{name, kind, parent, host_self_ms, device_self_ms}],
// folded}. The root is left out; parents come before children.
Json FlameJson(const Analysis& analysis, const TimelineFacts& timeline, const AttributionFacts& attribution) {
  constexpr size_t kMaxNodes = 5000;
  static constexpr const char* kKinds[] = {"root", "host", "device", "unlinked", "other"};
  const FlameTree tree = BuildFlame(analysis.data(), timeline, attribution, kMaxNodes);
  if (!tree.unit.empty()) return Json();  // no times to draw
  Json nodes = Json::array();
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    const FlameTree::Node& n = tree.nodes[i];
    Json node{{"name", MdCell(FlameName(n, analysis.data(), timeline), 200)},
              {"kind", kKinds[static_cast<size_t>(n.kind)]}};
    node["parent"] = n.parent == kNone || n.parent == 0 ? Json() : Json(n.parent - 1);
    node["host_self_ms"] = Ms(n.host_self_ns);
    node["device_self_ms"] = Ms(n.device_self_ns);
    nodes.push_back(std::move(node));
  }
  return nodes.empty() ? Json() : Json{{"nodes", std::move(nodes)}, {"folded", tree.folded}};
}

// The path in time, in bins: {bin_ms, classes: [{class, share: [0..1 per bin]}]}. Thousands of
// segments are no table; their mix over time is a picture.
Json PathStrip(const CriticalPathFacts& path) {
  constexpr int64_t kBins = 300;
  if (path.wall_ns < kBins || path.segments.empty()) return Json();
  const int64_t origin_ns = path.segments.front().start_ns, bin_ns = path.wall_ns / kBins + 1;
  std::array<std::array<int64_t, kBins>, kPathClasses> time{};
  for (const CriticalPathFacts::Segment& s : path.segments) {
    for (int64_t at = s.start_ns - origin_ns; at < s.end_ns - origin_ns;) {
      const int64_t bin = std::clamp<int64_t>(at / bin_ns, 0, kBins - 1);
      const int64_t end = std::min(s.end_ns - origin_ns, std::max(at + 1, (bin + 1) * bin_ns));
      time[static_cast<size_t>(s.what)][static_cast<size_t>(bin)] += end - at;
      at = end;
    }
  }
  Json classes = Json::array();
  for (size_t c = 0; c < kPathClasses; ++c) {
    if (path.ns_by_class[c] <= 0) continue;
    Json share = Json::array();
    // Three digits are what a picture can show.
    for (const int64_t ns : time[c]) share.push_back(static_cast<double>(1000 * ns / bin_ns) / 1000);
    classes.push_back({{"class", PathClassName(static_cast<PathClass>(c))}, {"share", std::move(share)}});
  }
  return Json{{"bin_ms", Ms(bin_ns)}, {"classes", std::move(classes)}};
}

// One sentence for a run whose source has durations only.
std::string OrderVerdict(const Json& report) {
  int64_t calls = 0;
  for (const Json& k : ListAt(report, "kernels")) calls += k.value("calls", int64_t{0});
  std::string out = fmt::format(
      "{} kernel executions of {} in all, measured without when they ran: there is no timeline, so "
      "what bounds the program is not said.",
      calls, MsAt(report, "wall_ms"));
  const Json& kernels = ListAt(report, "kernels");
  if (!kernels.empty()) out += fmt::format(" The largest is {}.", TextAt(kernels[0], "name"));
  return out;
}

std::string SamplesVerdict(size_t count) {
  return fmt::format(
      "CPU samples only ({}): no work of a device and no call was recorded; `neurolens flame` shows "
      "where they were taken.",
      HumanCount(static_cast<int64_t>(count)));
}

}  // namespace

Result<Json> BuildReport(Analysis& analysis, const std::string& run_id, ReportLists lists) {
  NL_TRY(analysis.RunAll());
  NL_ASSIGN(const TimelineFacts* timeline, analysis.Need<TimelineFacts>());
  Json sections = Json::object();
  for (const auto& describe : AllPasses()) {
    const std::string name = describe().Info().name;
    Json section = analysis.SectionJson(name);
    if (!section.is_null()) sections[name] = std::move(section);
  }
  // Starts that tell the order only say nothing of gaps, overlap or who waited for whom.
  const bool order_only = analysis.data().OrderOnly();
  for (const char* name : {"idle", "accounting", "launch", "critical_path"}) {
    if (order_only) sections.erase(name);
  }
  Json out{{"schema_version", kReportSchemaVersion}, {"generated_from", run_id}};
  out["run"] = RunSection(analysis.data());
  out["wall_ms"] = Ms(timeline->wall_ns());
  out["verdict"] = "";
  out["diagnosis"] = ChildAt(ChildAt(sections, "findings"), "diagnosis");
  NL_ASSIGN(const AccountingFacts* accounting, analysis.Need<AccountingFacts>());
  out["breakdown"] = BreakdownJson(*timeline, *accounting, ChildAt(sections, "idle"));
  const Json& accounted = ChildAt(ChildAt(sections, "accounting"), "devices");
  out["devices"] = accounted.is_array() ? accounted : Json::array();
  if (out["diagnosis"].is_null()) out.erase("diagnosis");
  NL_ASSIGN(const AttributionFacts* attribution, analysis.Need<AttributionFacts>());
  if (Json flame = FlameJson(analysis, *timeline, *attribution); !flame.is_null())
    out["flame"] = std::move(flame);
  if (const auto* path = analysis.facts().Find<CriticalPathFacts>(); path != nullptr) {
    Json strip = PathStrip(*path);
    if (!strip.is_null() && sections.contains(CriticalPathFacts::kName))
      sections[CriticalPathFacts::kName]["strip"] = std::move(strip);
  }
  for (auto& [name, section] : sections.items()) {
    if (!out.contains(name)) out[name] = std::move(section);
  }
  out["operators"] = std::move(lists.operators);
  out["operators_total"] = lists.operators_total;
  out["kernels"] = std::move(lists.kernels);
  out["kernels_total"] = lists.kernels_total;
  out["copies"] = std::move(lists.copies);
  if (!lists.memory.is_null()) out["memory"] = std::move(lists.memory);
  out["timeline"] = TimelineJson(*timeline, analysis.data());
  out["glossary"] = GlossaryJson(out);
  const size_t samples = analysis.data().cpu_sample.start_ns.size();
  const bool samples_only = samples > 0 && timeline->work.size() == 0 && timeline->host.size() == 0;
  out["verdict"] = order_only ? OrderVerdict(out) : samples_only ? SamplesVerdict(samples) : VerdictText(out);
  return out;
}

Result<Json> MemoryJson(Snapshot& snapshot) {
  constexpr size_t kMaxPoints = 2000;
  MemoryEventColumns events;
  NL_TRY(snapshot.Load(events, {"start_ns", "total_allocated_bytes", "total_reserved_bytes", "device"}));
  std::set<int32_t> devices;
  int64_t first_ns = INT64_MAX;
  for (size_t i = 0; i < events.start_ns.size(); ++i) {
    if (IsNull(events.start_ns[i]) || IsNull(events.device[i]) || IsNull(events.total_allocated_bytes[i]))
      continue;
    if (events.device[i] >= 0) devices.insert(events.device[i]);
    first_ns = std::min(first_ns, events.start_ns[i]);
  }
  if (devices.empty()) return Json();
  Json out{{"events", events.start_ns.size()}, {"peaks", Json::array()}, {"series", Json::array()}};
  for (const int32_t device : devices) {
    std::vector<std::pair<int64_t, int64_t>> points;
    int64_t allocated = 0, reserved = 0;
    for (size_t i = 0; i < events.start_ns.size(); ++i) {
      if (events.device[i] != device || IsNull(events.start_ns[i]) || IsNull(events.total_allocated_bytes[i]))
        continue;
      points.emplace_back(events.start_ns[i], events.total_allocated_bytes[i]);
      allocated = std::max(allocated, events.total_allocated_bytes[i]);
      if (!IsNull(events.total_reserved_bytes[i]))
        reserved = std::max(reserved, events.total_reserved_bytes[i]);
    }
    std::stable_sort(points.begin(), points.end());
    out["peaks"].push_back(
        {{"device", device}, {"allocated_bytes", allocated}, {"reserved_bytes", reserved}});
    // The highest of each group of neighbours, so that the peak stays in the picture.
    const size_t step = points.size() / kMaxPoints + 1;
    Json at = Json::array(), bytes = Json::array();
    for (size_t i = 0; i < points.size(); i += step) {
      const auto best =
          std::max_element(points.begin() + static_cast<std::ptrdiff_t>(i),
                           points.begin() + static_cast<std::ptrdiff_t>(std::min(i + step, points.size())),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      at.push_back(Ms(best->first - first_ns));
      bytes.push_back(best->second);
    }
    out["series"].push_back(
        {{"device", device}, {"at_ms", std::move(at)}, {"allocated_bytes", std::move(bytes)}});
  }
  return out;
}

}  // namespace nl
