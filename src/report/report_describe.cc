// SPDX-License-Identifier: Apache-2.0
// The description of report.json, except for the parts that have files of their own.

#include <vector>

#include "report/report_model.h"

namespace nl {

namespace {

struct OtherSection {
  std::string name, doc;
  TypeInfo type;
};

// The sections of all passes.
const std::vector<OtherSection>& PassSections() {
  static const std::vector<OtherSection> sections = [] {
    std::vector<OtherSection> out;
    for (const auto& describe : AllPasses()) {
      const PassInfo pass = describe().Info();
      if (pass.section == nullptr) continue;
      TypeInfo type{};
      type.kind = TypeInfo::Kind::kRecord;
      type.record = pass.section;
      out.push_back({pass.name, pass.section().doc, type});
    }
    return out;
  }();
  return sections;
}

void DescribeSections(Record<Report>& r) {
  using T = Report;
  r.OptionalField(AccountingFacts::kName, &T::accounting, "What ran on each device and thread");
  r.OptionalField(CriticalPathFacts::kName, &T::critical_path, "What the run's length depended on");
  r.Field(FindingsFacts::kName, &T::findings, "What bounds the run, and what the rules found");
  r.OptionalField(IdleFacts::kName, &T::idle, "Why devices were idle");
  r.OptionalField(LaunchFacts::kName, &T::launch, "What launching cost");
  r.OptionalField(RanksFacts::kName, &T::ranks, "Which rank waited for which; absent without collectives");
  r.Field(RooflineFacts::kName, &T::roofline, "What was achieved of what the device can do");
  r.OptionalField(SamplesFacts::kName, &T::samples, "What the CPU samples show; absent without them");
  r.Field(StagesFacts::kName, &T::stages, "Stages of LLM inference");
  r.OptionalField(StartupFacts::kName, &T::startup, "Where the time before the steady steps went");
  for (const OtherSection& section : PassSections()) {
    if (!r.HasField(section.name))
      r.OptionalField(section.name.c_str(), &T::other_sections, section.type, section.doc.c_str());
  }
}

}  // namespace

void Describe(Record<ReportRun>& r) {
  using T = ReportRun;
  r.Name("ReportRun", "Where and how the run was recorded");
  r.Field("environment", &T::environment, "hardware, software, model and ranks of the run document");
  r.Field("provenance", &T::provenance,
          "source, created_at, tags, config, clock and notes of the run document");
  r.Field("counters", &T::counters, "Defects of the source");
  r.Field("capture", &T::capture, "capture of the run document; null: it has none");
  r.Field("overhead_pct", &T::overhead_pct, Unit::kPercent, "How much the profiler slowed the run");
}

void Describe(Record<ReportFlameNode>& r) {
  using T = ReportFlameNode;
  r.Name("ReportFlameNode", "One frame of the call tree");
  r.Field("name", &T::name, "Name of the frame");
  r.Field("kind", &T::kind, "What the frame is");
  r.Field("parent", &T::parent, "Position of its parent, which comes before it; null: outermost");
  r.Field("host_self_ms", &T::host_self_ms, Unit::kMs, "Host time without callees");
  r.Field("device_self_ms", &T::device_self_ms, Unit::kMs, "Device time without callees");
}

void Describe(Record<ReportFlame>& r) {
  r.Name("ReportFlame", "The heaviest part of the call tree");
  r.Field("nodes", &ReportFlame::nodes, "Frames, parents before children");
  r.Field("folded", &ReportFlame::folded, "Light paths that were merged into \"(other)\" frames");
}

void Describe(Record<PathStripClass>& r) {
  r.Name("PathStripClass", "One class of time on the critical path");
  r.Field("class", &PathStripClass::what, "Class of time");
  r.Field("share", &PathStripClass::share, Unit::kShare, "Its part of each bin");
}

void Describe(Record<PathStrip>& r) {
  r.Name("PathStrip", "The mix of the critical path over time");
  r.Field("bin_ms", &PathStrip::bin_ms, Unit::kMs, "Length of a bin");
  r.Field("classes", &PathStrip::classes, "Classes of time that the path has");
}

void Describe(Record<ReportPath>& r) {
  r.Name("ReportPath", "The critical path of a run");
  r.Base<CriticalPathSection>();
  r.OptionalField("strip", &ReportPath::strip, "Its mix over time; absent when there is no path");
}

void Describe(Record<MemoryPeak>& r) {
  r.Name("MemoryPeak", "Largest amounts of memory on one device");
  r.Field("device", &MemoryPeak::device, "Device number");
  r.Field("allocated_bytes", &MemoryPeak::allocated_bytes, Unit::kBytes, "In live tensors");
  r.Field("reserved_bytes", &MemoryPeak::reserved_bytes, Unit::kBytes, "Including what the allocator keeps");
}

void Describe(Record<MemorySeries>& r) {
  r.Name("MemorySeries", "Memory of one device over time; both lists have the same length");
  r.Field("device", &MemorySeries::device, "Device number");
  r.Field("at_ms", &MemorySeries::at_ms, Unit::kMs, "Time from the first allocation event");
  r.Field("allocated_bytes", &MemorySeries::allocated_bytes, Unit::kBytes, "In live tensors at that time");
}

void Describe(Record<ReportMemory>& r) {
  r.Name("ReportMemory", "Device memory as the allocator reported it");
  r.Field("events", &ReportMemory::events, "Allocation events");
  r.Field("peaks", &ReportMemory::peaks, "Peak of each device");
  r.Field("series", &ReportMemory::series, "Memory over time, of each device");
}

void Describe(Record<Report>& r) {
  using T = Report;
  r.Name("Report", "report.json: the model that every form of a report is made from");
  r.Field("schema_version", &T::schema_version, "Version of this form");
  r.Field("generated_from", &T::generated_from, "The run");
  r.Field("run", &T::run, "Where and how it was recorded");
  r.OptionalField("phase", &T::phase, "Part of the run that the report is of; absent: of all");
  r.Field("wall_ms", &T::wall_ms, Unit::kMs, "Time from the first to the last event");
  r.Field("verdict", &T::verdict, "The main result in one paragraph");
  r.Field("diagnosis", &T::diagnosis, "Main limit of the run, the same as in `findings`");
  r.Field("breakdown", &T::breakdown, "Where the time went; sums to the wall time x the number of devices");
  r.Field("devices", &T::devices, "What ran on each device, the same as in `accounting`");
  r.OptionalField("flame", &T::flame, "The heaviest part of the call tree; absent without times");
  DescribeSections(r);
  r.Field("operators", &T::operators, "Operators, at most 1,000");
  r.Field("operators_total", &T::operators_total, "Operators before that limit");
  r.Field("kernels", &T::kernels, "Kernels, at most 1,000");
  r.Field("kernels_total", &T::kernels_total, "Kernels before that limit");
  r.Field("copies", &T::copies, "Copies by kind and direction");
  r.OptionalField("memory", &T::memory, "Device memory; absent without allocation events");
  r.Field("timeline", &T::timeline, "What ran when");
  r.Field("glossary", &T::glossary, "Words that this report uses");
}

}  // namespace nl
