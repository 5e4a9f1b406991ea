// SPDX-License-Identifier: Apache-2.0
#pragma once
// Report: the model from which every form of a report is made; report.json is the model itself.
// Sections are those of the passes, under the pass's name; a section that a run does not have is
// empty, and absent in report.json. docs/report.md explains the members.
// Thread rule: pure functions over a finished analysis.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/facts/accounting.h"
#include "analyze/facts/critical_path.h"
#include "analyze/facts/findings.h"
#include "analyze/facts/idle.h"
#include "analyze/facts/launch.h"
#include "analyze/facts/phases.h"
#include "analyze/facts/ranks.h"
#include "analyze/facts/roofline.h"
#include "analyze/facts/samples.h"
#include "analyze/facts/stages.h"
#include "analyze/facts/startup.h"
#include "analyze/program/flame.h"
#include "analyze/run_counters.h"
#include "analyze/totals.h"
#include "base/json.h"
#include "base/record.h"
#include "report/report_breakdown.h"
#include "report/report_glossary.h"
#include "report/report_timeline.h"

namespace nl {

inline constexpr int64_t kReportSchemaVersion = 1;

struct ReportRun {
  Json environment = Json::object(), provenance = Json::object();  // parts of the run document
  RunCounters counters;
  Json capture;  // of the run document, or null
  std::optional<double> overhead_pct;
};
void Describe(Record<ReportRun>& r);

struct ReportFlameNode {
  std::string name;
  FlameKind kind = FlameKind::kHost;
  std::optional<int64_t> parent;
  double host_self_ms = 0, device_self_ms = 0;
};
void Describe(Record<ReportFlameNode>& r);

// The heaviest part of the call tree without its root; parents come before children.
struct ReportFlame {
  std::vector<ReportFlameNode> nodes;
  int64_t folded = 0;
};
void Describe(Record<ReportFlame>& r);

struct PathStripClass {
  PathClass what = PathClass::kUnrecorded;
  std::vector<double> share;  // one per bin
};
void Describe(Record<PathStripClass>& r);

// The mix of the critical path over time, in bins: a path has too many segments for a table.
struct PathStrip {
  double bin_ms = 0;
  std::vector<PathStripClass> classes;
};
void Describe(Record<PathStrip>& r);

struct ReportPath : CriticalPathSection {
  std::optional<PathStrip> strip;
};
void Describe(Record<ReportPath>& r);

struct MemoryPeak {
  int32_t device = 0;
  int64_t allocated_bytes = 0, reserved_bytes = 0;
};
void Describe(Record<MemoryPeak>& r);

struct MemorySeries {
  int32_t device = 0;
  std::vector<double> at_ms;
  std::vector<int64_t> allocated_bytes;
};
void Describe(Record<MemorySeries>& r);

// Device memory as the allocator reported it.
struct ReportMemory {
  int64_t events = 0;
  std::vector<MemoryPeak> peaks;
  std::vector<MemorySeries> series;
};
void Describe(Record<ReportMemory>& r);

// What comes from the snapshot rather than from facts: lists that other commands give too.
struct ReportLists {
  std::vector<NameTotals> operators, kernels;
  int64_t operators_total = 0, kernels_total = 0;  // before a limit
  std::vector<CopyTotalsRow> copies;
  std::optional<ReportMemory> memory;
};

struct Report : ReportLists {
  int64_t schema_version = kReportSchemaVersion;
  std::string generated_from;  // id of the run
  ReportRun run;
  std::optional<PhaseTime> phase;  // what was asked for: the report is of this part alone; none: of all
  double wall_ms = 0;
  std::string verdict;
  Diagnosis diagnosis;  // of `findings`
  std::vector<ReportPart> breakdown;
  std::vector<DeviceTime> devices;  // of `accounting`
  std::optional<ReportFlame> flame;
  std::optional<AccountingSection> accounting;
  std::optional<ReportPath> critical_path;
  std::optional<IdleSection> idle;
  std::optional<LaunchSection> launch;
  std::optional<RanksSection> ranks;
  FindingsFacts findings;
  RooflineSection roofline;
  std::optional<SamplesFacts> samples;
  StagesSection stages;
  std::optional<StartupSection> startup;
  DescribedMap other_sections;  // of the passes without a member here, by name
  ReportTimeline timeline;
  std::vector<GlossaryTerm> glossary;
};
void Describe(Record<Report>& r);

// What a report is of. An analysis that looks at a part of its run gives a report of that part, whose name
// and time `phase` has; one of a whole run judges its steady phase where that says more, unless `whole`.
struct ReportScope {
  std::optional<PhaseTime> phase;
  bool whole = false;
};

// Runs every pass that has not run yet.
Result<Report> BuildReport(Analysis& analysis, const std::string& run_id, ReportLists lists,
                           const ReportScope& scope = {});

// Of the whole run, or of one part of it. Empty when that has no allocation events.
Result<std::optional<ReportMemory>> MemoryOf(Snapshot& snapshot, const std::optional<Interval>& part = {});

}  // namespace nl
