// SPDX-License-Identifier: Apache-2.0
#include "report/report_breakdown.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/human.h"
#include "base/units.h"
#include "report/report_value.h"

namespace nl {

namespace {

// Time without recording is neither busy nor idle; it is listed with the time that is not busy.
constexpr char kPaused[] = "paused";

class PartList {
 public:
  explicit PartList(int64_t whole_ns) : whole_ns_(whole_ns) {}

  void Add(const char* what, const char* label, int64_t ns, bool idle) {
    if (ns <= 0) return;
    Json part{{"what", what}, {"label", label}, {"ms", Ms(ns)}};
    part["share"] = whole_ns_ > 0 ? static_cast<double>(ns) / static_cast<double>(whole_ns_) : 0.0;
    part["idle"] = idle;
    parts_.push_back(std::move(part));
  }
  Json Take() { return std::move(parts_); }

 private:
  int64_t whole_ns_;
  Json parts_ = Json::array();
};

int64_t NsAt(const Json& section, const char* key) {
  return static_cast<int64_t>(std::llround(NumberAt(section, key).value_or(0) * 1e6));
}

void AddIdle(PartList& parts, int64_t idle_ns, const Json& section) {
  const int64_t host = NsAt(section, "host_ms"), launch = NsAt(section, "launch_ms");
  const int64_t sync = NsAt(section, "sync_ms"), other = NsAt(section, "other_ms");
  const int64_t explained = host + launch + sync + other;
  // A rounding of 1 ns a part is not a contradiction.
  if (explained <= 0 || explained > idle_ns + 4) {
    parts.Add("idle", "Idle", idle_ns, true);
    return;
  }
  parts.Add("idle_host", "Idle: waiting for the host", host, true);
  parts.Add("idle_launch", "Idle: launch latency", launch, true);
  parts.Add("idle_sync", "Idle: synchronisation and dependencies", sync, true);
  parts.Add("idle_other", "Idle: no cause recorded", other, true);
  parts.Add("idle_edges", "Idle: before the first and after the last device work", idle_ns - explained, true);
}

Json DeviceBreakdown(const DeviceAccounts& accounts, const Json& idle_section) {
  TimeParts sum;
  for (const TimeParts& device : accounts.devices) {
    for (size_t i = 0; i < sum.by_mask.size(); ++i) sum.by_mask[i] += device.by_mask[i];
    sum.paused_ns += device.paused_ns;
  }
  PartList parts(sum.wall_ns());
  parts.Add("compute", "Compute kernels", sum.by_mask[1], false);
  parts.Add("communication", "Communication", sum.by_mask[2], false);
  parts.Add("memory", "Copies and fills", sum.by_mask[4], false);
  parts.Add("overlap", "Several of these at once", sum.overlap_ns(), false);
  AddIdle(parts, sum.idle_ns(), idle_section);
  parts.Add(kPaused, "Not recorded: recording paused", sum.paused_ns, true);
  return parts.Take();
}

// The busiest thread, each moment counted for the innermost span.
Json HostBreakdown(const TimelineFacts& timeline) {
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
  parts.Add("op", "Framework operators", best[static_cast<size_t>(HostKind::kOp)], false);
  parts.Add("python", "Python", best[static_cast<size_t>(HostKind::kPython)], false);
  parts.Add("range", "Labelled ranges", best[static_cast<size_t>(HostKind::kRange)], false);
  parts.Add("api", "Runtime calls", best[static_cast<size_t>(HostKind::kApi)], false);
  parts.Add("nothing", "Nothing recorded", timeline.wall_ns() - best_ns, true);
  return parts.Take();
}

const char* LeadOf(const std::string& diagnosis) {
  if (diagnosis == "cpu_bound") return "Held back by the host";
  if (diagnosis == "gpu_bound_compute") return "Limited by GPU compute";
  if (diagnosis == "gpu_bound_memory") return "Limited by GPU memory bandwidth";
  if (diagnosis == "launch_bound") return "Held back by kernel launches";
  if (diagnosis == "transfer_bound") return "Held back by copies between host and GPU";
  if (diagnosis == "sync_bound") return "Held back by synchronisation";
  if (diagnosis == "communication_bound") return "Held back by communication";
  if (diagnosis == "balanced") return "No single limit";
  return nullptr;
}

std::string WaitPhrase(const std::string& what, bool several) {
  const char* const wait = several ? "they wait for" : "it waits for";
  if (what == "idle_host") return fmt::format("{} the host", wait);
  if (what == "idle_launch") return fmt::format("{} launches to arrive", wait);
  if (what == "idle_sync") return fmt::format("{} synchronisation or other work", wait);
  if (what == "idle_edges")
    return several ? "they have not started or are done already" : "it has not started or is done already";
  return several ? "they are idle" : "it is idle";
}

const char* LeadOfBusy(double busy) {
  if (busy < 0.4) return "Mostly idle";
  if (busy < 0.8) return "Partly idle";
  return "Busy";
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

const Json* Largest(const Json& breakdown, bool idle) {
  const Json* best = nullptr;
  for (const Json& part : breakdown) {
    if (part["idle"].get<bool>() != idle || part["what"] == kPaused) continue;
    if (best == nullptr || part["ms"].get<double>() > (*best)["ms"].get<double>()) best = &part;
  }
  return best;
}

}  // namespace

Json BreakdownJson(const TimelineFacts& timeline, const DeviceAccounts& accounts, const Json& idle_section) {
  return timeline.devices.empty() ? HostBreakdown(timeline) : DeviceBreakdown(accounts, idle_section);
}

std::string VerdictText(const Json& report) {
  const Json& breakdown = report["breakdown"];
  const double wall_ms = report["wall_ms"];
  if (wall_ms <= 0 || breakdown.empty())
    return "The run has no timed events, so there is nothing to explain.";
  const size_t devices = report["devices"].size();
  if (devices == 0) {
    const Json* top = Largest(breakdown, false);
    std::string out =
        fmt::format("Host only: no device work was recorded in {} of wall time", HumanMs(wall_ms));
    if (top != nullptr) {
      std::string label = (*top)["label"];
      label[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(label[0])));
      out += fmt::format("; the busiest thread spends {} of it in {}", Percent((*top)["share"]), label);
    }
    return out + ".";
  }
  double busy = 0, recorded = 1;
  for (const Json& part : breakdown) {
    if (!part["idle"].get<bool>()) busy += part["share"].get<double>();
    if (part["what"] == kPaused) recorded -= part["share"].get<double>();
  }
  busy = recorded > 0 ? busy / recorded : 0;
  const std::string whole = HumanMs(wall_ms * recorded) + (recorded < 1 ? " recorded" : "");
  const char* known = LeadOf(TextAt(ChildAt(report, "diagnosis"), "class"));
  const char* lead = known != nullptr ? known : LeadOfBusy(busy);
  std::string out = devices == 1 ? fmt::format("{}: the GPU works {} of {} ({})", lead,
                                               HumanMs(busy * recorded * wall_ms), whole, Percent(busy))
                                 : fmt::format("{}: the {} GPUs work {} of {} of wall time", lead, devices,
                                               Percent(busy), whole);
  const Json* wait = Largest(breakdown, true);
  if (wait != nullptr && recorded > 0 && (*wait)["share"].get<double>() / recorded >= 0.05) {
    out += fmt::format(
        "; for {} ({}) {}", HumanMs((*wait)["ms"].get<double>() / static_cast<double>(devices)),
        Percent((*wait)["share"].get<double>() / recorded), WaitPhrase((*wait)["what"], devices > 1));
  }
  return out + ".";
}

}  // namespace nl
