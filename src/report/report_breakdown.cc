// SPDX-License-Identifier: Apache-2.0
#include "report/report_breakdown.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "base/units.h"
#include "report/report_model.h"

namespace nl {

namespace {

using PartKind = ReportPartKind;

class PartList {
 public:
  explicit PartList(int64_t whole_ns) : whole_ns_(whole_ns) {}

  void Add(PartKind what, const char* label, int64_t ns, bool idle) {
    if (ns <= 0) return;
    const double share = whole_ns_ > 0 ? static_cast<double>(ns) / static_cast<double>(whole_ns_) : 0.0;
    parts_.push_back({what, label, Ms(ns), share, idle});
  }
  std::vector<ReportPart> Take() { return std::move(parts_); }

 private:
  int64_t whole_ns_;
  std::vector<ReportPart> parts_;
};

// "Waiting: lock (futex)": what people call the system calls.
std::string WaitLabel(std::string_view what) {
  const auto any = [what](std::initializer_list<std::string_view> of) {
    return std::find(of.begin(), of.end(), what) != of.end();
  };
  if (what == "futex") return "Waiting: lock or thread (futex)";
  if (what == "sleep") return "Waiting: sleep";
  if (what == "wait for a process") return "Waiting: child process";
  if (what == "wait for a signal") return "Waiting: signal";
  if (any({"poll", "select", "epoll_wait", "read", "readv", "pread", "recv", "recvmsg", "accept", "connect"}))
    return fmt::format("Waiting: input ({})", what);
  if (any({"write", "writev", "pwrite", "send", "sendmsg", "fsync", "fdatasync"}))
    return fmt::format("Waiting: output ({})", what);
  return fmt::format("Waiting: {}", what);
}

// "sleeping", "waiting for input (read)".
std::string WaitingPhrase(std::string_view what) {
  constexpr std::string_view kStart = "Waiting: ";
  return what == "sleep" ? "sleeping" : "waiting for " + WaitLabel(what).substr(kStart.size());
}

int64_t NsOf(double ms) { return static_cast<int64_t>(std::llround(ms * 1e6)); }

void AddIdle(PartList& parts, int64_t idle_ns, const IdlePartsMs& split) {
  const int64_t host = NsOf(split.host_ms.value_or(0)), launch = NsOf(split.launch_ms.value_or(0));
  const int64_t sync = NsOf(split.sync_ms.value_or(0)), other = NsOf(split.other_ms);
  const int64_t startup = NsOf(split.startup_ms.value_or(0)), edge = NsOf(split.edge_ms);
  const int64_t explained = host + launch + sync + startup + edge + other;
  // A rounding of 1 ns a part is not a contradiction.
  if (explained <= 0 || explained > idle_ns + 6) {
    parts.Add(PartKind::kIdle, "Idle", idle_ns, true);
    return;
  }
  parts.Add(PartKind::kIdleHost, "Idle: waiting for the host", host, true);
  parts.Add(PartKind::kIdleLaunch, "Idle: launch latency", launch, true);
  parts.Add(PartKind::kIdleSync, "Idle: synchronisation and dependencies", sync, true);
  parts.Add(PartKind::kIdleStartup, "Idle: start-up", startup, true);
  parts.Add(PartKind::kIdleOther, "Idle: no cause recorded", other, true);
  parts.Add(PartKind::kIdleEdges, "Idle: outside the recorded work",
            edge + std::max<int64_t>(0, idle_ns - explained), true);
}

std::vector<ReportPart> DeviceBreakdown(const DeviceAccounts& accounts, const IdlePartsMs* idle) {
  TimeParts sum;
  for (const TimeParts& device : accounts.devices) {
    for (size_t i = 0; i < sum.by_mask.size(); ++i) sum.by_mask[i] += device.by_mask[i];
    sum.paused_ns += device.paused_ns;
  }
  PartList parts(sum.wall_ns());
  parts.Add(PartKind::kCompute, "Compute kernels", sum.by_mask[1], false);
  parts.Add(PartKind::kCommunication, "Communication", sum.by_mask[2], false);
  parts.Add(PartKind::kMemory, "Copies and fills", sum.by_mask[4], false);
  parts.Add(PartKind::kOverlap, "Several of these at once", sum.overlap_ns(), false);
  AddIdle(parts, sum.idle_ns(), idle != nullptr ? *idle : IdlePartsMs{});
  // Neither busy nor idle; it is listed with the time that is not busy.
  parts.Add(PartKind::kPaused, "Not recorded: recording paused", sum.paused_ns, true);
  return parts.Take();
}

// The busiest thread, each moment counted for the innermost span.
std::vector<ReportPart> HostBreakdown(const TimelineFacts& timeline) {
  const HostTree& host = timeline.host;
  std::array<int64_t, 4> best{};
  int64_t best_ns = 0;
  for (const TimelineFacts::HostThread& thread : timeline.threads) {
    std::array<int64_t, 4> self{};
    int64_t covered_ns = 0;
    for (uint32_t i = thread.first; i < thread.last; ++i) {
      const int64_t ns = host.end_ns[i] - host.start_ns[i];
      self[static_cast<size_t>(host.kind[i])] += ns;
      if (host.parent[i] == kNone)
        covered_ns += ns;
      else
        self[static_cast<size_t>(host.kind[host.parent[i]])] -= ns;
    }
    if (covered_ns <= best_ns) continue;
    best = self;
    best_ns = covered_ns;
  }
  PartList parts(timeline.wall_ns());
  parts.Add(PartKind::kOp, "Framework operators", best[static_cast<size_t>(HostKind::kOp)], false);
  parts.Add(PartKind::kPython, "Python", best[static_cast<size_t>(HostKind::kPython)], false);
  parts.Add(PartKind::kRange, "Labelled ranges", best[static_cast<size_t>(HostKind::kRange)], false);
  parts.Add(PartKind::kApi, "Runtime calls", best[static_cast<size_t>(HostKind::kApi)], false);
  parts.Add(PartKind::kNothing, "Nothing recorded", timeline.wall_ns() - best_ns, true);
  return parts.Take();
}

// What the samples say. Rounding goes to the largest part.
std::vector<ReportPart> SampledBreakdown(const TimelineFacts& timeline, const SampledTime& time) {
  std::vector<std::pair<std::string, double>> waits;
  for (const SampledWait& wait : time.waits) {
    const auto known =
        std::find_if(waits.begin(), waits.end(), [&](const auto& w) { return w.first == wait.what; });
    if (known == waits.end())
      waits.emplace_back(wait.what, wait.ms);
    else
      known->second += wait.ms;
  }
  std::vector<std::tuple<PartKind, std::string, int64_t, bool>> parts = {
      {PartKind::kRunPython, "Running: Python", NsOf(time.python_ms), false},
      {PartKind::kRunNative, "Running: native code", NsOf(time.native_ms), false},
      {PartKind::kRunSystem, "Running: kernel", NsOf(time.system_ms), false}};
  for (const auto& [what, ms] : waits) parts.emplace_back(PartKind::kWait, WaitLabel(what), NsOf(ms), true);
  parts.emplace_back(PartKind::kUnsampled, "Not sampled", NsOf(time.unsampled_ms), true);
  int64_t left_ns = timeline.wall_ns();
  for (const auto& part : parts) left_ns -= std::get<2>(part);
  const auto largest = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::get<2>(a) < std::get<2>(b);
  });
  std::get<2>(*largest) += left_ns;
  PartList list(timeline.wall_ns());
  for (const auto& [what, label, ns, idle] : parts) list.Add(what, label.c_str(), ns, idle);
  return list.Take();
}

// Null when the bound is not known.
const char* LeadOf(RunBound bound) {
  switch (bound) {
    case RunBound::kCpu: return "Held back by the host";
    case RunBound::kGpuCompute: return "Limited by GPU compute";
    case RunBound::kGpuMemory: return "Limited by GPU memory bandwidth";
    case RunBound::kLaunch: return "Held back by kernel launches";
    case RunBound::kTransfer: return "Held back by copies between host and GPU";
    case RunBound::kSync: return "Held back by synchronisation";
    case RunBound::kCommunication: return "Held back by communication";
    case RunBound::kBalanced: return "No single limit";
    case RunBound::kUnknown: break;
  }
  return nullptr;
}

std::string WaitPhrase(PartKind what, bool several) {
  const char* const wait = several ? "they wait for" : "it waits for";
  if (what == PartKind::kIdleHost) return fmt::format("{} the host", wait);
  if (what == PartKind::kIdleLaunch) return fmt::format("{} launches to arrive", wait);
  if (what == PartKind::kIdleSync) return fmt::format("{} synchronisation or other work", wait);
  if (what == PartKind::kIdleStartup)
    return "the program starts up: it creates a context, loads modules or launches kernels for the first "
           "time";
  if (what == PartKind::kIdleEdges) return "nothing is recorded, before the first work or after the last";
  return several ? "they are idle" : "it is idle";
}

const char* LeadOfBusy(double busy) {
  if (busy < 0.4) return "Mostly idle";
  if (busy < 0.8) return "Partly idle";
  return "Busy";
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// Null when there is none.
const ReportPart* Largest(const std::vector<ReportPart>& breakdown, bool idle) {
  const ReportPart* best = nullptr;
  for (const ReportPart& part : breakdown) {
    if (part.idle != idle || part.what == PartKind::kPaused) continue;
    if (best == nullptr || part.ms > best->ms) best = &part;
  }
  return best;
}

// "inner (loop.py:4)"
std::string FunctionPhrase(const SampledFunction& f) {
  const std::string place = f.Place();
  if (place.empty() || f.name == "[" + place + "]") return f.name;
  return fmt::format("{} ({})", f.name, place);
}

const SampledFunction* HottestFunction(const SamplesFacts& samples) {
  for (const bool python : {true, false}) {
    if (const auto top = TopFunctions(samples, python, 1); !top.empty()) return top[0];
  }
  return nullptr;
}

std::string SampledVerdict(const Report& report, const SampledTime& time) {
  const SamplesFacts& samples = *report.samples;
  const double wall_ms = report.wall_ms, running = time.running_ms() / wall_ms;
  const double waiting = time.waiting_ms() / wall_ms;
  std::string out =
      fmt::format("{}: no device work; {} of CPU time in {} of wall time ({:.1f} cores on average)",
                  waiting > 0.5 ? "Mostly waiting" : "CPU only", HumanMs(samples.running_ms.value_or(0)),
                  HumanMs(wall_ms), samples.running_ms.value_or(0) / wall_ms);
  if (const SampledFunction* top = HottestFunction(samples); top != nullptr && running > 0.05)
    out += fmt::format("; the hottest function is {} with {} of the CPU time", FunctionPhrase(*top),
                       Percent(top->self_share));
  if (waiting >= 0.05 && !time.waits.empty()) {
    out += fmt::format("; no thread runs for {} of the time, mainly {}", Percent(waiting),
                       WaitingPhrase(time.waits[0].what));
    if (time.waits[0].where) out += " in " + *time.waits[0].where;
  }
  return out + ".";
}

std::string CountedVerdict(const SamplesFacts& samples) {
  std::string out = samples.samples == 1
                        ? "1 CPU sample without a time"
                        : fmt::format("{} CPU samples without times", HumanCount(samples.samples));
  if (const SampledFunction* top = HottestFunction(samples); top != nullptr)
    out += fmt::format("; the hottest function is {} with {} of them", FunctionPhrase(*top),
                       Percent(top->self_share));
  return out + ".";
}

std::string HostVerdict(const Report& report) {
  std::string out =
      fmt::format("Host only: no device work was recorded in {} of wall time", HumanMs(report.wall_ms));
  if (const ReportPart* top = Largest(report.breakdown, false); top != nullptr) {
    std::string label = top->label;
    label[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(label[0])));
    out += fmt::format("; the busiest thread spends {} of it in {}", Percent(top->share), label);
  }
  return out + ".";
}

}  // namespace

std::span<const std::string_view> NamesOf(ReportPartKind) {
  static constexpr std::string_view kNames[] = {
      "compute",     "communication", "memory",       "overlap",    "idle",       "idle_host",
      "idle_launch", "idle_sync",     "idle_startup", "idle_other", "idle_edges", "paused",
      "op",          "python",        "range",        "api",        "nothing",    "run_python",
      "run_native",  "run_system",    "wait",         "unsampled"};
  return kNames;
}

void Describe(Record<ReportPart>& r) {
  r.Name("ReportPart",
         "A part of the time of all devices; without devices, of the wall time by CPU samples, or of the "
         "busiest thread");
  r.Field("what", &ReportPart::what, "Name of the part");
  r.Field("label", &ReportPart::label, "Name for people");
  r.Field("ms", &ReportPart::ms, Unit::kMs, "Time");
  r.Field("share", &ReportPart::share, Unit::kShare, "Part of the whole time");
  r.Field("idle", &ReportPart::idle, "The device did nothing in this time");
}

std::vector<ReportPart> BreakdownOf(const TimelineFacts& timeline, const DeviceAccounts& accounts,
                                    const IdlePartsMs* idle, const SampledTime* sampled) {
  if (!timeline.devices.empty()) return DeviceBreakdown(accounts, idle);
  return sampled != nullptr ? SampledBreakdown(timeline, *sampled) : HostBreakdown(timeline);
}

namespace {

// A program's steady steps say more of it than its start; "" where they are most of the run anyway.
std::string SteadySentence(const Report& report) {
  constexpr double kMostOfTheRun = 0.75;
  if (report.phase || !report.findings.step || !report.findings.step->busy_share || report.wall_ms <= 0)
    return "";
  const SteadyStep& step = *report.findings.step;
  const double share = static_cast<double>(step.steady_steps) * step.recorded_ms / report.wall_ms;
  if (share >= kMostOfTheRun) return "";
  const char* known = report.diagnosis.phase ? LeadOf(report.diagnosis.bound) : nullptr;
  return fmt::format(
      "{} the steady state ({} of {}, {} of the run) the GPU works {} of the time. Over the whole run ",
      known != nullptr ? std::string(known) + ": in" : "In", Counted(step.steady_steps, "step"),
      HumanMs(step.recorded_ms), Percent(share), Percent(*step.busy_share));
}

}  // namespace

std::string VerdictText(const Report& report) {
  const double wall_ms = report.wall_ms;
  if (report.samples && report.samples->time && wall_ms > 0)
    return SampledVerdict(report, *report.samples->time);
  if (report.samples && report.devices.empty() && !report.samples->running_ms)
    return CountedVerdict(*report.samples);
  if (wall_ms <= 0 || report.breakdown.empty())
    return "The run has no timed events, so there is nothing to explain.";
  const size_t devices = report.devices.size();
  if (devices == 0) return HostVerdict(report);
  double busy = 0, recorded = 1;
  for (const ReportPart& part : report.breakdown) {
    if (!part.idle) busy += part.share;
    if (part.what == PartKind::kPaused) recorded -= part.share;
  }
  busy = recorded > 0 ? busy / recorded : 0;
  const std::string whole = HumanMs(wall_ms * recorded) + (recorded < 1 ? " recorded" : "");
  const ReportPart* wait = Largest(report.breakdown, true);
  const char* known = report.diagnosis.phase ? nullptr : LeadOf(report.diagnosis.bound);
  if (wait != nullptr && wait->share > 0.5 && wait->what == PartKind::kIdleStartup) known = "Mostly start-up";
  if (wait != nullptr && wait->share > 0.5 && wait->what == PartKind::kIdleEdges)
    known = "Mostly not recorded";
  const char* lead = known != nullptr ? known : LeadOfBusy(busy);
  std::string out = SteadySentence(report);
  if (out.empty()) out = fmt::format("{}: ", lead);
  out += devices == 1 ? fmt::format("the GPU works {} of {} ({})", HumanMs(busy * recorded * wall_ms), whole,
                                    Percent(busy))
                      : fmt::format("the {} GPUs work {} of {} of wall time", devices, Percent(busy), whole);
  if (wait != nullptr && recorded > 0 && wait->share / recorded >= 0.05) {
    out += fmt::format("; for {} ({}) {}", HumanMs(wait->ms / static_cast<double>(devices)),
                       Percent(wait->share / recorded), WaitPhrase(wait->what, devices > 1));
  }
  return out + ".";
}

}  // namespace nl
