// SPDX-License-Identifier: Apache-2.0
// The accounting facts as reports and `neurolens overlap` give them.
#include <algorithm>

#include "analyze/facts/accounting.h"
#include "analyze/run_data.h"
#include "base/units.h"

namespace nl {

void Describe(Record<TimeShare>& r) {
  r.Name("TimeShare", "Time in which exactly this combination of work ran");
  r.Field("what", &TimeShare::what, "What ran, such as `compute only` or `compute and memory`");
  r.Field("ms", &TimeShare::ms, Unit::kMs, "How long");
  r.Field("share", &TimeShare::share, Unit::kShare, "Part of the wall time");
}

void Describe(Record<TimePartsMs>& r) {
  using T = TimePartsMs;
  r.Name("TimeParts", "What ran on one device in a window of time");
  r.Field("wall_ms", &T::wall_ms, Unit::kMs, "Length of the window");
  r.Field("busy_ms", &T::busy_ms, Unit::kMs, "Time in which any work ran");
  r.Field("idle_ms", &T::idle_ms, Unit::kMs, "Time without work while recording was on");
  r.Field("paused_ms", &T::paused_ms, Unit::kMs, "Recording was paused; neither busy nor idle");
  r.Field("compute_ms", &T::compute_ms, Unit::kMs, "Time in which compute kernels ran");
  r.Field("communication_ms", &T::communication_ms, Unit::kMs, "Time in which communication kernels ran");
  r.Field("memory_ms", &T::memory_ms, Unit::kMs, "Time in which copies or memsets ran");
  r.Field("overlap_ms", &T::overlap_ms, Unit::kMs, "Time in which at least two of the three ran");
  r.Field("compute_communication_ms", &T::compute_communication_ms, Unit::kMs,
          "Time in which both compute and communication ran");
  r.Field("compute_memory_ms", &T::compute_memory_ms, Unit::kMs,
          "Time in which both compute and copies or memsets ran");
  r.Field("communication_memory_ms", &T::communication_memory_ms, Unit::kMs,
          "Time in which both communication and copies or memsets ran");
  r.Field("utilization", &T::utilization, Unit::kShare, "Busy part of the recorded time");
  r.Field("parts", &T::parts, "Each combination of work with its time; they sum to the wall time");
}

void Describe(Record<DeviceTime>& r) {
  using T = DeviceTime;
  r.Name("DeviceTime", "What ran on one device over the whole run");
  r.Base<TimePartsMs>();
  r.Field("index", &T::index, "Device number");
  r.Field("rank", &T::rank, "Rank that used the device");
  r.Field("name", &T::name, "Name of the device");
  r.Field("events", &T::events, "Kernels, copies and memsets on the device");
  r.Field("hidden_communication_share", &T::hidden_communication_share, Unit::kShare,
          "Part of the communication time that ran at the same time as compute");
  r.Field("hidden_memory_share", &T::hidden_memory_share, Unit::kShare,
          "Part of the copy and memset time that ran at the same time as compute");
}

void Describe(Record<StepTime>& r) {
  r.Name("StepTime", "What ran on the devices during one step");
  r.Field("name", &StepTime::name, "Name of the step as recorded");
  r.Field("number", &StepTime::number, "Number of the step");
  r.Field("wall_ms", &StepTime::wall_ms, Unit::kMs, "Duration of the step");
  r.Field("devices", &StepTime::devices, "Each device, in the order of the run's devices");
}

void Describe(Record<ApiGroupTime>& r) {
  r.Name("ApiGroupTime", "Calls of one kind of API function");
  r.Field("ms", &ApiGroupTime::ms, Unit::kMs, "Self time of the calls");
  r.Field("calls", &ApiGroupTime::calls, "Number of calls");
}

void Describe(Record<ThreadTime>& r) {
  using T = ThreadTime;
  r.Name("ThreadTime", "Where the time of one host thread went");
  r.Field("name", &T::name, "Name of the thread");
  r.Field("tid", &T::tid, "Thread number as recorded");
  r.Field("recorded_ms", &T::recorded_ms, Unit::kMs, "Time covered by anything recorded on the thread");
  r.Field("op_total_ms", &T::op_total_ms, Unit::kMs, "Time inside framework operators");
  r.Field("op_self_ms", &T::op_self_ms, Unit::kMs,
          "Time in framework operators outside the operators and API calls they contain");
  r.Field("python_self_ms", &T::python_self_ms, Unit::kMs, "Self time of Python functions");
  r.Field("range_self_ms", &T::range_self_ms, Unit::kMs, "Self time of labelled ranges");
  r.Field("launches", &T::launches, "Device work items launched from this thread");
  r.Field("api", &T::api, "API calls by kind");
}

void Describe(Record<AccountingSection>& r) {
  using T = AccountingSection;
  r.Name("AccountingSection", "Where the time of each device and host thread went");
  r.Field("wall_ms", &T::wall_ms, Unit::kMs, "Time from the first to the last event of the run");
  r.Field("devices", &T::devices, "Each device, by rank and number");
  r.Field("steps", &T::steps, "Each step, in the order recorded");
  r.Field("threads", &T::threads, "Each host thread, the one that launched most work first");
}

namespace passes::accounting {

namespace {

std::optional<double> Share(int64_t part, int64_t whole) {
  if (whole <= 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

void SetParts(const TimeParts& p, TimePartsMs& out) {
  constexpr const char* kNames[8] = {
      "idle",        "compute only",       "communication only",       "compute and communication",
      "memory only", "compute and memory", "communication and memory", "all three"};
  const int64_t wall_ns = p.wall_ns();
  out.wall_ms = Ms(wall_ns);
  out.busy_ms = Ms(p.busy_ns());
  out.idle_ms = Ms(p.idle_ns());
  out.paused_ms = Ms(p.paused_ns);
  out.compute_ms = Ms(p.Of(WorkClass::kCompute));
  out.communication_ms = Ms(p.Of(WorkClass::kCommunication));
  out.memory_ms = Ms(p.Of(WorkClass::kMemory));
  out.overlap_ms = Ms(p.overlap_ns());
  out.compute_communication_ms = Ms(p.Both(WorkClass::kCompute, WorkClass::kCommunication));
  out.compute_memory_ms = Ms(p.Both(WorkClass::kCompute, WorkClass::kMemory));
  out.communication_memory_ms = Ms(p.Both(WorkClass::kCommunication, WorkClass::kMemory));
  out.utilization = p.Utilization();
  for (const size_t mask : {1u, 2u, 4u, 3u, 5u, 6u, 7u, 0u}) {
    if (p.by_mask[mask] == 0 && mask != 0) continue;
    const int64_t ns = mask == 0 ? p.idle_ns() : p.by_mask[mask];
    out.parts.push_back({kNames[mask], Ms(ns), Share(ns, wall_ns)});
  }
  if (p.paused_ns > 0) out.parts.push_back({"not recorded", Ms(p.paused_ns), Share(p.paused_ns, wall_ns)});
}

DeviceTime DeviceOf(const TimeParts& parts, const DeviceKey& key, int64_t events, const RunData& data) {
  DeviceTime out;
  SetParts(parts, out);
  out.index = Known(key.device);
  out.rank = Known(key.rank);
  for (size_t d = 0; d < data.device.device.size(); ++d) {
    if (data.device.device[d] == key.device && !IsNull(data.device.name[d]))
      out.name = std::string(data.Text(data.device.name[d]));
  }
  out.events = events;
  out.hidden_communication_share =
      Share(parts.Both(WorkClass::kCompute, WorkClass::kCommunication), parts.Of(WorkClass::kCommunication));
  out.hidden_memory_share =
      Share(parts.Both(WorkClass::kCompute, WorkClass::kMemory), parts.Of(WorkClass::kMemory));
  return out;
}

ThreadTime ThreadOf(const HostTime& time, const RunData& data) {
  ThreadTime out;
  const auto row = static_cast<size_t>(time.thread);
  if (!IsNull(time.thread) && row < data.thread.name.size()) {
    if (!IsNull(data.thread.name[row])) out.name = std::string(data.Text(data.thread.name[row]));
    if (row < data.thread.tid.size()) out.tid = Known(data.thread.tid[row]);
  }
  out.recorded_ms = Ms(time.recorded_ns);
  out.op_total_ms = Ms(time.op_total_ns);
  out.op_self_ms = Ms(time.op_self_ns);
  out.python_self_ms = Ms(time.python_self_ns);
  out.range_self_ms = Ms(time.range_self_ns);
  out.launches = time.launches;
  for (size_t k = 0; k < kApiKinds; ++k) {
    if (time.api_calls[k] == 0) continue;
    std::string name(ApiGroup(static_cast<ApiKind>(k)));
    std::replace(name.begin(), name.end(), ' ', '_');
    ApiGroupTime& group = out.api[name];
    group.ms += Ms(time.api_ns[k]);
    group.calls += time.api_calls[k];
  }
  return out;
}

}  // namespace

}  // namespace passes::accounting

AccountingSection SectionOf(const AccountingFacts& facts, const TimelineFacts& timeline,
                            const RunData& data) {
  AccountingSection out;
  out.wall_ms = Ms(facts.wall_ns);
  for (size_t i = 0; i < facts.devices.size(); ++i)
    out.devices.push_back(
        passes::accounting::DeviceOf(facts.devices[i], timeline.devices[i], facts.items[i], data));
  for (const AccountingFacts::Step& step : facts.steps) {
    StepTime row;
    row.name = data.Text(step.name);
    row.number = Known(step.number);
    row.wall_ms = Ms(step.end_ns - step.start_ns);
    for (const TimeParts& parts : step.devices)
      passes::accounting::SetParts(parts, row.devices.emplace_back());
    out.steps.push_back(std::move(row));
  }
  for (const HostTime& time : facts.threads) out.threads.push_back(passes::accounting::ThreadOf(time, data));
  return out;
}

}  // namespace nl
