// SPDX-License-Identifier: Apache-2.0
// The idle facts as reports and `neurolens idle` give them.
#include "analyze/facts/idle.h"

#include <algorithm>

#include "analyze/program/sampled_host.h"
#include "analyze/run_data.h"
#include "base/units.h"

namespace nl {

void Describe(Record<IdlePartsMs>& r) {
  r.Name("IdleParts", "Idle time by what the device waited for; the parts sum to it");
  r.Field("host_ms", &IdlePartsMs::host_ms, Unit::kMs, "Waiting for the host to issue the next launch");
  r.Field("launch_ms", &IdlePartsMs::launch_ms, Unit::kMs, "Inside the launch call and its latency");
  r.Field("sync_ms", &IdlePartsMs::sync_ms, Unit::kMs, "Waiting for earlier work that the host blocked on");
  r.Field("startup_ms", &IdlePartsMs::startup_ms, Unit::kMs,
          "Creating the context, loading modules, first launches of kernels, making graphs");
  r.Field("edge_ms", &IdlePartsMs::edge_ms, Unit::kMs,
          "Before the first and after the last work, where nothing was recorded");
  r.Field("other_ms", &IdlePartsMs::other_ms, Unit::kMs, "None of these, or not recorded");
  r.Field("paused_ms", &IdlePartsMs::paused_ms, Unit::kMs, "Recording was paused; neither busy nor idle");
}

void Describe(Record<IdleDevice>& r) {
  r.Name("IdleDevice", "Idle time of one device");
  r.Base<IdlePartsMs>();
  r.Field("index", &IdleDevice::index, "Device number");
  r.Field("rank", &IdleDevice::rank, "Rank that used the device");
  r.Field("idle_ms", &IdleDevice::idle_ms, Unit::kMs, "Time without any work on the device");
}

void Describe(Record<IdleReason>& r) {
  r.Name("IdleReason", "One reason why devices were idle");
  r.Field("what", &IdleReason::what, "Kind of reason");
  r.Field("name", &IdleReason::name, "Call, operator or function that the host was in");
  r.Field("ms", &IdleReason::ms, Unit::kMs, "Time that devices waited for this");
  r.Field("share", &IdleReason::share, Unit::kShare, "Part of all idle time");
  r.Field("gaps", &IdleReason::gaps, "Gaps with this reason");
}

void Describe(Record<IdleGap>& r) {
  r.Name("IdleGap", "One gap between two pieces of device work");
  r.Base<IdlePartsMs>();
  r.Field("device", &IdleGap::device, "Device number");
  r.Field("start_ms", &IdleGap::start_ms, Unit::kMs, "Start, from the start of the run");
  r.Field("dur_ms", &IdleGap::dur_ms, Unit::kMs, "Duration");
  r.Field("cause", &IdleGap::cause, "Kind of reason of its largest part");
  r.Field("name", &IdleGap::name, "Call, operator or function of that reason");
  r.Field("next", &IdleGap::next, "Work that ends the gap");
  r.Field("next_raw_name", &IdleGap::next_raw_name, "Its name as recorded");
}

void Describe(Record<IdleTotals>& r) {
  r.Name("IdleTotals", "Idle time of all devices by reason");
  r.Base<IdlePartsMs>();
  r.Field("idle_ms", &IdleTotals::idle_ms, Unit::kMs, "Idle time of all devices");
  r.Field("blocked_ms", &IdleTotals::blocked_ms, Unit::kMs,
          "Part of host_ms inside calls that wait for the device");
  r.Field("gap_count", &IdleTotals::gap_count, "Gaps of all devices");
  r.Field("floor_us", &IdleTotals::floor_us, Unit::kUs,
          "Launch latency floor of this trace; null where no launch was recorded");
  r.Field("parts_reason", &IdleTotals::parts_reason,
          "Why the parts for host, launch, sync and start-up are null");
  r.Field("devices", &IdleTotals::devices, "Each device");
  r.Field("causes", &IdleTotals::causes, "Reasons, longest first; they sum to the idle time");
}

void Describe(Record<IdleSection>& r) {
  r.Name("IdleSection", "Why the devices of a run were idle");
  r.Base<IdleTotals>();
  r.Field("largest", &IdleSection::largest, "The longest gaps, longest first");
}

namespace {

// Devices of which at least one launch was recorded.
std::vector<bool> WithLaunches(const TimelineFacts& timeline) {
  std::vector<bool> out(timeline.devices.size(), false);
  for (size_t i = 0; i < timeline.work.size(); ++i) {
    if (timeline.work.launch[i] != kNone) out[timeline.work.device[i]] = true;
  }
  return out;
}

void SetParts(const IdleParts& p, bool launches, IdlePartsMs& out) {
  const auto known = [launches](int64_t ns) {
    return launches || ns > 0 ? std::optional(Ms(ns)) : std::nullopt;
  };
  out.host_ms = known(p.host_ns);
  out.launch_ms = known(p.launch_ns);
  out.sync_ms = known(p.sync_ns);
  out.startup_ms = known(p.startup_ns);
  out.edge_ms = Ms(p.edge_ns);
  out.other_ms = Ms(p.other_ns);
  out.paused_ms = Ms(p.paused_ns);
}

std::optional<std::string> ReasonName(IdleCause cause, StringId id, const RunData& data) {
  if (IsNull(id)) return std::nullopt;
  if (cause == IdleCause::kSampled) return std::string(program::SampledFunction(data.Text(id)));
  return std::string(data.Text(id));
}

IdleGap GapOf(const IdleFacts::Gap& g, bool launches, const TimelineFacts& timeline, const RunData& data) {
  IdleGap out;
  SetParts(g.parts, launches, out);
  out.device = Known(timeline.devices[g.device].device);
  out.start_ms = Ms(g.start_ns - timeline.first_start_ns);
  out.dur_ms = Ms(g.end_ns - g.start_ns);
  out.cause = IdleCauseName(g.cause);
  out.name = ReasonName(g.cause, g.name, data);
  if (g.next == kNone) return out;
  const StringId name = timeline.work.name[g.next];
  const bool kernel = timeline.work.kind[g.next] == WorkKind::kKernel;
  out.next = kernel ? timeline.KernelNameOf(name).short_name : std::string(data.Text(name));
  out.next_raw_name = std::string(data.Text(name));
  return out;
}

}  // namespace

IdleSection SectionOf(const IdleFacts& facts, const TimelineFacts& timeline, const RunData& data) {
  IdleSection out;
  const std::vector<bool> launches = WithLaunches(timeline);
  const bool any = std::find(launches.begin(), launches.end(), true) != launches.end();
  SetParts(facts.total, any, out);
  if (!any && facts.total.idle_ns() > 0)
    out.parts_reason = "no launch calls of the device work were recorded";
  out.idle_ms = Ms(facts.total.idle_ns());
  out.blocked_ms = Ms(facts.blocked_ns);
  out.gap_count = static_cast<int64_t>(facts.gaps.size());
  if (any) out.floor_us = static_cast<double>(facts.floor_ns) / 1e3;
  for (size_t i = 0; i < facts.devices.size(); ++i) {
    IdleDevice device;
    SetParts(facts.devices[i], launches[i], device);
    device.index = Known(timeline.devices[i].device);
    device.rank = Known(timeline.devices[i].rank);
    device.idle_ms = Ms(facts.devices[i].idle_ns());
    out.devices.push_back(std::move(device));
  }
  const auto total_ns = static_cast<double>(facts.total.total_ns());
  for (const IdleFacts::Cause& c : facts.causes) {
    IdleReason reason{
        std::string(IdleCauseName(c.what)), ReasonName(c.what, c.name, data), Ms(c.ns), {}, c.gaps};
    if (total_ns > 0) reason.share = static_cast<double>(c.ns) / total_ns;
    out.causes.push_back(std::move(reason));
  }
  for (const uint32_t place : facts.largest) {
    const IdleFacts::Gap& gap = facts.gaps[place];
    out.largest.push_back(GapOf(gap, launches[gap.device], timeline, data));
  }
  return out;
}

}  // namespace nl
