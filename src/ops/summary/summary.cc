// SPDX-License-Identifier: Apache-2.0
// `neurolens summary`: where the time of one run went, on one screen.

#include <algorithm>

#include <fmt/format.h>

#include "analyze/accounting.h"
#include "analyze/facts/idle.h"
#include "analyze/facts/samples.h"
#include "analyze/facts/stages.h"
#include "analyze/run_counters.h"
#include "base/human.h"
#include "base/units.h"
#include "ops/open_analysis.h"
#include "ops/totals_list.h"
#include "report/samples_text.h"
#include "report/text_table.h"

namespace nl::ops::summary {

namespace {

struct SummaryDevice {
  std::optional<int32_t> index, rank;
  std::optional<std::string> name;
  double busy_ms = 0;
  std::optional<double> idle_ms;
  double paused_ms = 0, compute_ms = 0, communication_ms = 0, memory_ms = 0;
  std::optional<double> overlap_ms, utilization;
  int64_t events = 0;
};
void Describe(Record<SummaryDevice>& r) {
  using T = SummaryDevice;
  r.Name("SummaryDevice", "Time of one device; idle_ms, overlap_ms and utilization need a timeline");
  r.Field("index", &T::index, "Device number");
  r.Field("rank", &T::rank, "Rank that used the device");
  r.Field("name", &T::name, "Name of the device");
  r.Field("busy_ms", &T::busy_ms, Unit::kMs, "Time in which any work ran");
  r.Field("idle_ms", &T::idle_ms, Unit::kMs, "Time without work while recording was on");
  r.Field("paused_ms", &T::paused_ms, Unit::kMs, "Recording was paused; neither busy nor idle");
  r.Field("compute_ms", &T::compute_ms, Unit::kMs, "Time in which compute kernels ran");
  r.Field("communication_ms", &T::communication_ms, Unit::kMs, "Time in which communication kernels ran");
  r.Field("memory_ms", &T::memory_ms, Unit::kMs, "Time in which copies or memsets ran");
  r.Field("overlap_ms", &T::overlap_ms, Unit::kMs, "Time in which at least two of the three ran");
  r.Field("utilization", &T::utilization, Unit::kShare, "Busy part of the recorded time");
  r.Field("events", &T::events, "Kernels, copies and memsets on the device");
}

struct SummaryReply {
  std::string run_id, model, precision;
  std::optional<PhaseTime> phase;
  double wall_ms = 0, device_ms = 0;
  bool has_timeline = true, partial = false;
  std::vector<SummaryDevice> devices;
  std::vector<NameTotals> operators;
  int64_t operators_total = 0;
  std::vector<NameTotals> kernels;
  int64_t kernels_total = 0;
  std::vector<CopyTotalsRow> copies;
  int64_t cpu_samples = 0;
  std::optional<SamplesFacts> samples;
  RunCounters counters;
  std::optional<IdleTotals> idle;
  std::optional<std::vector<StageSummary>> stages;
  std::optional<std::string> explained_reason;
};
void Describe(Record<SummaryReply>& r) {
  using T = SummaryReply;
  r.Name("SummaryReply", "Reply of `neurolens summary`");
  r.Field("run_id", &T::run_id, "The run");
  r.Field("model", &T::model, "Name of the model");
  r.Field("precision", &T::precision, "Precision of the model");
  r.Field("phase", &T::phase, "Part of the run that all figures are of; null: of all");
  r.Field("wall_ms", &T::wall_ms, Unit::kMs, "Time from the first to the last event");
  r.Field("device_ms", &T::device_ms, Unit::kMs, "Device time of all kernels");
  r.Field("has_timeline", &T::has_timeline,
          "Whether the source recorded when kernels ran, not only how long");
  r.Field("partial", &T::partial,
          "The recording was not closed when it was read: it was under way, or its recorder was killed");
  r.Field("devices", &T::devices, "Each device, by rank and number");
  r.Field("operators", &T::operators, "Operators, most device time first");
  r.Field("operators_total", &T::operators_total, "Operators before --top");
  r.Field("kernels", &T::kernels, "Kernels, most device time first");
  r.Field("kernels_total", &T::kernels_total, "Kernels before --top");
  r.Field("copies", &T::copies, "Copies by direction and memory, most time first");
  r.Field("cpu_samples", &T::cpu_samples, "CPU samples recorded");
  r.Field("samples", &T::samples, "What the CPU samples show: functions, threads, waits");
  r.Field("counters", &T::counters, "What the import lost or found suspect");
  r.Field("idle", &T::idle, "Why the devices were idle, with the ten longest reasons");
  r.Field("stages", &T::stages, "Stages of LLM inference, as `neurolens stages` gives them");
  r.Field("explained_reason", &T::explained_reason, "Why idle, stages and samples are null");
}

// A summary answers at once; explaining millions of events takes a second that `idle` and `stages` may take.
constexpr int64_t kMaxExplainedEvents = 500'000;
constexpr size_t kMaxReasons = 10;

constexpr char kNoTimeline[] = "no timeline: the source recorded durations but no start times";

std::vector<SummaryDevice> DevicesOf(const RunTime& time, const DeviceColumns& devices,
                                     const StringPool& strings) {
  std::vector<SummaryDevice> out;
  for (size_t i = 0; i < time.devices.size(); ++i) {
    const TimeParts& parts = time.devices[i];
    SummaryDevice d;
    d.index = Known(time.keys[i].device);
    d.rank = Known(time.keys[i].rank);
    for (size_t row = 0; row < devices.device.size(); ++row) {
      if (devices.device[row] == time.keys[i].device && !IsNull(devices.name[row]))
        d.name = std::string(strings.Text(devices.name[row]));
    }
    d.busy_ms = Ms(parts.busy_ns());
    d.idle_ms = Ms(parts.idle_ns());
    d.paused_ms = Ms(parts.paused_ns);
    d.compute_ms = Ms(parts.Of(WorkClass::kCompute));
    d.communication_ms = Ms(parts.Of(WorkClass::kCommunication));
    d.memory_ms = Ms(parts.Of(WorkClass::kMemory));
    d.overlap_ms = Ms(parts.overlap_ns());
    d.utilization = parts.Utilization();
    d.events = time.items[i];
    out.push_back(std::move(d));
  }
  return out;
}

Status AddTotals(Snapshot& snapshot, size_t top, const std::optional<Interval>& part, SummaryReply& out) {
  TotalsFilter filter;
  filter.part = part;
  filter.named = top;
  NL_ASSIGN(const std::vector<NameStats> ops, OperatorTotals(snapshot, filter));
  NL_ASSIGN(const std::vector<NameStats> kernels, KernelTotals(snapshot, filter));
  NL_ASSIGN(const std::vector<CopyStats> copies, CopyTotals(snapshot, part));
  const TotalsWhole device = WholeOfKernels(kernels);
  out.device_ms = Ms(device.ns);
  out.operators = RowsOf(ops, device.ns > 0 ? device : WholeOfOperators(ops), top);
  out.operators_total = static_cast<int64_t>(ops.size());
  out.kernels = RowsOf(kernels, device, top);
  out.kernels_total = static_cast<int64_t>(kernels.size());
  out.copies = RowsOf(copies);
  return {};
}

// Of the whole run by the columns that it takes, of a part as the analysis accounts for it.
Result<RunTime> TimeOfRun(OpenAnalysis& open, const Json& document) {
  if (!open.phase) return AccountRun(*open.run.snapshot, PausesOf(document));
  NL_ASSIGN(const AccountingFacts* facts, open.analysis->Need<AccountingFacts>());
  NL_ASSIGN(const TimelineFacts* timeline, open.analysis->Need<TimelineFacts>());
  RunTime out;
  static_cast<DeviceAccounts&>(out) = *facts;
  out.wall_ns = facts->wall_ns;
  out.keys = timeline->devices;
  return out;
}

Result<int64_t> CpuSamples(Snapshot& snapshot, const std::optional<Interval>& part) {
  CpuSampleColumns samples;
  NL_TRY(snapshot.Load(samples, {"start_ns"}));
  if (!part) return static_cast<int64_t>(samples.start_ns.size());
  return std::count_if(samples.start_ns.begin(), samples.start_ns.end(), [&](int64_t start_ns) {
    return start_ns >= part->start_ns && start_ns < part->end_ns;
  });
}

// Why the devices were idle and the stages, where that is quick; else null with the reason.
Status Explain(OpenAnalysis& open, SummaryReply& out) {
  if (open.run.run.event_count > kMaxExplainedEvents) {
    out.explained_reason =
        fmt::format("over {} events: run `neurolens idle`, `neurolens stages` and `neurolens report`",
                    HumanCount(kMaxExplainedEvents));
    return {};
  }
  if (open.analysis->data().OrderOnly()) {
    out.explained_reason = kNoTimeline;
    out.has_timeline = false;
    for (SummaryDevice& d : out.devices) d.idle_ms = d.utilization = d.overlap_ms = std::nullopt;
    return {};
  }
  NL_TRY(open.analysis->Load({}, {IdleFacts::kName, StagesFacts::kName, SamplesFacts::kName}));
  NL_ASSIGN(const IdleFacts* idle, open.analysis->Need<IdleFacts>());
  out.idle = SectionOf(*idle, open.analysis->facts().Get<TimelineFacts>(), open.analysis->data());
  out.idle->causes.resize(std::min(out.idle->causes.size(), kMaxReasons));
  NL_ASSIGN(const StagesFacts* stages, open.analysis->Need<StagesFacts>());
  out.stages = SectionOf(*stages).stages;
  NL_ASSIGN(const SamplesFacts* samples, open.analysis->Need<SamplesFacts>());
  if (samples->samples > 0) out.samples = *samples;
  return {};
}

bool IsPartial(const Json& document) {
  return document.contains("/capture/partial"_json_pointer) && document["capture"]["partial"] == true;
}

class SummaryOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "summary";
    info.summary =
        "Where the time of a run went: wall time, device busy and idle, top operators and kernels, copies";
    info.choose_when =
        "Choose it first. `operators` and `kernels` give the full lists, `query` anything else.";
    info.example = "neurolens summary @latest";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<SummaryReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("top", top_, "Operators and kernels to list").Range(1, 1000);
    params_.BindPhaseOfTotals(b);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(OpenAnalysis open, Analyze(context, params_));
    const OpenRun& run = open.run;
    Snapshot& snapshot = *run.snapshot;
    NL_ASSIGN(const Json document, ReadDocument(run));
    NL_ASSIGN(const RunTime time, TimeOfRun(open, document));
    DeviceColumns devices;
    NL_TRY(snapshot.Load(devices, {"device", "name"}));
    ImportLogColumns log;
    NL_TRY(snapshot.Load(log, {"reason", "severity", "count", "advice"}));
    NL_ASSIGN(const int64_t samples, CpuSamples(snapshot, open.analysis->options().part));
    SummaryReply out;
    out.run_id = run.run.run_id;
    out.model = run.run.model;
    out.precision = run.run.precision;
    out.wall_ms = Ms(time.wall_ns);
    out.partial = IsPartial(document);
    out.devices = DevicesOf(time, devices, snapshot.strings());
    out.phase = open.phase;
    NL_TRY(AddTotals(snapshot, static_cast<size_t>(top_), open.analysis->options().part, out));
    out.cpu_samples = samples;
    out.counters = CountersOf(log, snapshot.strings());
    NL_TRY(Explain(open, out));
    return Reply::Of(std::move(out));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<SummaryReply>();
    std::string out = fmt::format("{}  {}\n", reply.run_id, reply.model) + PhaseLine(reply.phase);
    out += fmt::format("{} {}", reply.has_timeline ? "wall" : "sum of kernel times", HumanMs(reply.wall_ms));
    if (!reply.has_timeline) out += fmt::format("\n{}", kNoTimeline);
    if (reply.devices.empty()) out += ", no device work recorded";
    out += "\n";
    if (reply.partial) out += "partial: the recording was not closed when it was read\n";
    if (reply.devices.empty() && reply.samples) {
      out += SampledText(*reply.samples, reply.wall_ms, static_cast<size_t>(top_), style);
      if (reply.operators.empty()) return out + CountersText(reply.counters);
    }
    for (const SummaryDevice& d : reply.devices) out += DeviceText(d);
    if (reply.idle && reply.idle->idle_ms > 0) out += IdleText(*reply.idle, style.width);
    // The lists are cut by --top on purpose: no note of more rows.
    const auto shown = [](const std::vector<NameTotals>& rows) { return static_cast<int64_t>(rows.size()); };
    out += "\n" + TotalsText(reply.operators, shown(reply.operators), TotalsKind::kOperators, style);
    if (!reply.kernels.empty())
      out += "\n" + TotalsText(reply.kernels, shown(reply.kernels), TotalsKind::kKernels, style);
    if (!reply.copies.empty()) out += "\n" + CopiesText(reply.copies, style);
    return out + CountersText(reply.counters);
  }

 private:
  static std::string CountersText(const RunCounters& counters) {
    std::string out;
    for (const RunCounter& c : counters.reasons) {
      if (c.severity == "info") continue;
      out +=
          fmt::format("\n{}: {} x {}. {}\n", c.severity, HumanCount(c.count), c.name, c.advice.value_or(""));
    }
    return out;
  }

  static std::string SampledText(const SamplesFacts& samples, double wall_ms, size_t rows,
                                 const TextStyle& style) {
    std::string out;
    if (samples.time && wall_ms > 0) {
      const SampledTime& time = *samples.time;
      const auto percent = [wall_ms](double ms) { return HumanPercent(ms, wall_ms); };
      out += fmt::format("CPU time {} ({:.1f} cores on average)\n", HumanMs(samples.running_ms.value_or(0)),
                         samples.running_ms.value_or(0) / wall_ms);
      out += fmt::format("some thread runs {}, every thread waits {}, not sampled {}\n",
                         percent(time.running_ms()), percent(time.waiting_ms()), percent(time.unsampled_ms));
    } else {
      out += samples.samples == 1 ? "1 CPU sample\n"
                                  : fmt::format("{} CPU samples\n", HumanCount(samples.samples));
    }
    return out + SamplesTables(samples, wall_ms, {false, rows, style.width, style.color});
  }

  static std::string DeviceText(const SummaryDevice& d) {
    std::string out =
        fmt::format("device {}{}{}: ", d.index ? std::to_string(*d.index) : "?",
                    d.rank ? fmt::format(" of rank {}", *d.rank) : "", d.name ? " " + *d.name : "");
    if (!d.idle_ms) return out + fmt::format("compute {}\n", HumanMs(d.compute_ms));
    out += fmt::format("busy {} ({:.1f} %), idle {}{}\n", HumanMs(d.busy_ms), 100 * d.utilization.value_or(0),
                       HumanMs(*d.idle_ms),
                       d.paused_ms > 0 ? fmt::format(", not recorded {}", HumanMs(d.paused_ms)) : "");
    out += fmt::format("  compute {}, communication {}, memory {}, overlapped {}\n", HumanMs(d.compute_ms),
                       HumanMs(d.communication_ms), HumanMs(d.memory_ms), HumanMs(d.overlap_ms.value_or(0)));
    return out;
  }

  static std::string IdleText(const IdleTotals& idle, int width) {
    // The mean device, so that the parts can be compared with the wall.
    const auto devices = static_cast<double>(std::max<size_t>(1, idle.devices.size()));
    const auto part = [devices](double ms) { return HumanMs(ms / devices); };
    std::vector<std::string> parts;
    if (idle.host_ms) parts.push_back("waiting for host " + part(*idle.host_ms));
    if (idle.launch_ms) parts.push_back("launch " + part(*idle.launch_ms));
    if (idle.sync_ms) parts.push_back("sync " + part(*idle.sync_ms));
    if (idle.startup_ms.value_or(0) > 0) parts.push_back("start-up " + part(*idle.startup_ms));
    if (idle.edge_ms > 0) parts.push_back("edges of the recording " + part(idle.edge_ms));
    parts.push_back((idle.host_ms ? "other " : "not explained, as no launch calls were recorded: ") +
                    part(idle.other_ms));
    return "  " +
           Wrap(fmt::format("idle{} {}",
                            devices > 1 ? fmt::format(", mean of {} devices:", idle.devices.size()) : "",
                            fmt::join(parts, ", ")),
                width - 2, 4) +
           "\n";
  }

  static std::string CopiesText(const std::vector<CopyTotalsRow>& copies, const TextStyle& style) {
    TextTable table({{"COPIES", Align::kLeft, false, 0},
                     {"FROM", Align::kLeft, false, 0},
                     {"TO", Align::kLeft, false, 0},
                     {"TOTAL", Align::kRight, false, 0},
                     {"CALLS", Align::kRight, false, 0},
                     {"BYTES", Align::kRight, false, 0},
                     {"GB/s", Align::kRight, false, 0}});
    for (const CopyTotalsRow& c : copies) {
      const double gbps = c.total_ms > 0 ? static_cast<double>(c.bytes) / c.total_ms / 1e6 : 0;
      table.AddRow({c.kind, c.from, c.to, HumanMs(c.total_ms), HumanCount(c.calls), HumanBytes(c.bytes),
                    c.total_ms > 0 ? fmt::format("{:.1f}", gbps) : "-"});
    }
    return table.Render(style.width, style.color);
  }

  AnalysisParams params_;
  int64_t top_ = 10;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<SummaryOp>(); }

}  // namespace nl::ops::summary
