// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_conditions.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "bench/visible_gpus.h"
#include "machine/nvml_library.h"

namespace nl::bench {

namespace {

constexpr auto kReadEvery = std::chrono::milliseconds(100);
// Slowed down by heat, by the hardware or by the power supply of the machine.
constexpr unsigned long long kThrottled = 0x8 | 0x20 | 0x40 | 0x80;

struct Reading {
  GpuState state;
  unsigned long long bits = 0;
};

std::vector<std::string> ReasonNames(unsigned long long bits) {
  std::vector<std::string> out;
  for (const machine::NvmlReason& reason : machine::kNvmlReasons) {
    if ((bits & reason.bit) != 0) out.emplace_back(reason.name);
  }
  return out;
}

Reading ReadGpu(const machine::Nvml& nvml, machine::NvmlHandle handle) {
  Reading out;
  unsigned value = 0;
  const auto clock = [&](int which, std::optional<double>& to) {
    if (nvml.Call("nvmlDeviceGetClockInfo", handle, which, &value) == 0) to = value;
  };
  clock(machine::kNvmlSmClock, out.state.sm_clock_mhz);
  clock(machine::kNvmlMemoryClock, out.state.memory_clock_mhz);
  if (nvml.Call("nvmlDeviceGetTemperature", handle, machine::kNvmlGpuSensor, &value) == 0)
    out.state.temperature_c = value;
  if (nvml.Call("nvmlDeviceGetPowerUsage", handle, &value) == 0) out.state.power_w = value / 1000.0;
  if (nvml.LimitReasons(handle, &out.bits) == 0)
    out.state.clock_limit_reasons = ReasonNames(out.bits);
  else
    out.bits = 0;
  return out;
}

void Least(std::optional<double> value, std::optional<double>& to) {
  if (value) to = to ? std::min(*to, *value) : *value;
}
void Most(std::optional<double> value, std::optional<double>& to) {
  if (value) to = to ? std::max(*to, *value) : *value;
}

}  // namespace

struct GpuSampler::State {
  machine::Nvml nvml;
  std::vector<machine::NvmlHandle> handles;
  std::mutex mutex;
  std::condition_variable wake;
  bool stop = false;
  unsigned long long since_last_pair = 0;
  std::vector<unsigned long long> seen;
  GpuConditions out;
  std::thread thread;

  void Find() {
    if (const std::string why = nvml.Load(); !why.empty()) {
      out.reason = why;
      return;
    }
    for (const GpuHandle& found : VisibleGpus(nvml)) {
      GpuCondition gpu;
      gpu.index = found.index;
      char text[machine::kNvmlTextBytes] = {};
      if (nvml.Call("nvmlDeviceGetName", found.handle, static_cast<char*>(text), machine::kNvmlTextBytes) ==
          0)
        gpu.name = text;
      handles.push_back(found.handle);
      out.gpus.push_back(std::move(gpu));
    }
    seen.resize(handles.size());
    if (handles.empty()) out.reason = "NVML lists no GPU that is visible here";
  }

  // With the mutex.
  void ReadAll(GpuState GpuCondition::*keep) {
    for (size_t i = 0; i < handles.size(); ++i) {
      const Reading now = ReadGpu(nvml, handles[i]);
      GpuCondition& gpu = out.gpus[i];
      ++gpu.readings;
      Least(now.state.sm_clock_mhz, gpu.sm_clock_min_mhz);
      Most(now.state.sm_clock_mhz, gpu.sm_clock_max_mhz);
      Most(now.state.temperature_c, gpu.temperature_max_c);
      Most(now.state.power_w, gpu.power_max_w);
      seen[i] |= now.bits;
      since_last_pair |= now.bits;
      if (keep != nullptr) gpu.*keep = now.state;
    }
  }

  void Watch() {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, kReadEvery, [this] { return stop; })) ReadAll(nullptr);
  }
};

GpuSampler::GpuSampler() : state_(std::make_unique<State>()) {
  state_->Find();
  if (!has_gpus()) return;
  state_->ReadAll(&GpuCondition::before);
  state_->thread = std::thread([this] { state_->Watch(); });
}

GpuSampler::~GpuSampler() { Stop(); }

bool GpuSampler::has_gpus() const { return !state_->handles.empty(); }

bool GpuSampler::PairIsSpoiled(bool timed) {
  if (!has_gpus()) return false;
  const std::lock_guard lock(state_->mutex);
  unsigned long long bits = std::exchange(state_->since_last_pair, 0);
  for (size_t i = 0; i < state_->handles.size(); ++i) {
    unsigned long long now = 0;
    if (state_->nvml.LimitReasons(state_->handles[i], &now) != 0) continue;
    state_->seen[i] |= now;
    bits |= now;
  }
  const bool spoiled = (bits & kThrottled) != 0;
  if (timed && spoiled) ++state_->out.rejected_pairs;
  if (timed && !spoiled && (bits & machine::kNvmlPowerCap) != 0) ++state_->out.power_capped_pairs;
  return spoiled;
}

GpuConditions GpuSampler::Stop() {
  if (state_->thread.joinable()) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->ReadAll(&GpuCondition::after);
      state_->stop = true;
    }
    state_->wake.notify_all();
    state_->thread.join();
    for (size_t i = 0; i < state_->seen.size(); ++i)
      state_->out.gpus[i].clock_limit_reasons = ReasonNames(state_->seen[i]);
  }
  return state_->out;
}

std::string ConditionsText(const GpuConditions& c) {
  std::string out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  if (c.locked_clock_mhz) add(fmt::format("clocks locked at {} MHz", *c.locked_clock_mhz));
  if (c.lock_reason) add(fmt::format("clocks not locked: {}", *c.lock_reason));
  std::set<std::string> reasons;
  for (const GpuCondition& gpu : c.gpus)
    reasons.insert(gpu.clock_limit_reasons.begin(), gpu.clock_limit_reasons.end());
  reasons.erase("idle");
  reasons.erase("application_clocks");
  if (c.rejected_pairs > 0)
    add(fmt::format("{} pairs not counted: the GPU was throttled ({})", c.rejected_pairs,
                    fmt::join(reasons, ", ")));
  if (c.power_capped_pairs > 0)
    add(fmt::format("{} pairs at the power limit of the GPU", c.power_capped_pairs));
  return out;
}

void Describe(Record<GpuState>& r) {
  r.Name("GpuState", "A GPU at one moment, by NVML; null: not given");
  r.Field("sm_clock_mhz", &GpuState::sm_clock_mhz, Unit::kMhz, "SM clock");
  r.Field("memory_clock_mhz", &GpuState::memory_clock_mhz, Unit::kMhz, "Memory clock");
  r.Field("temperature_c", &GpuState::temperature_c, "Temperature");
  r.Field("power_w", &GpuState::power_w, Unit::kWatt, "Power");
  r.Field("clock_limit_reasons", &GpuState::clock_limit_reasons, "What limits the clocks");
}

void Describe(Record<GpuCondition>& r) {
  r.Name("GpuCondition", "A GPU during a measurement");
  r.Field("index", &GpuCondition::index, "Number in NVML");
  r.Field("name", &GpuCondition::name, "Name");
  r.Field("before", &GpuCondition::before, "Before the first run");
  r.Field("after", &GpuCondition::after, "After the last run");
  r.Field("sm_clock_min_mhz", &GpuCondition::sm_clock_min_mhz, Unit::kMhz, "Lowest SM clock that was read");
  r.Field("sm_clock_max_mhz", &GpuCondition::sm_clock_max_mhz, Unit::kMhz, "Highest SM clock that was read");
  r.Field("temperature_max_c", &GpuCondition::temperature_max_c, "Highest temperature");
  r.Field("power_max_w", &GpuCondition::power_max_w, Unit::kWatt, "Highest power");
  r.Field("clock_limit_reasons", &GpuCondition::clock_limit_reasons,
          "All that limited the clocks at some time");
  r.Field("readings", &GpuCondition::readings, "How often it was read");
}

void Describe(Record<GpuConditions>& r) {
  r.Name("GpuConditions", "The GPUs during a measurement, and what was done about them");
  r.Field("gpus", &GpuConditions::gpus, "Every visible GPU");
  r.Field("reason", &GpuConditions::reason, "Why nothing is known");
  r.Field("locked_clock_mhz", &GpuConditions::locked_clock_mhz, Unit::kMhz,
          "SM clock that was held; null: not asked for, or not permitted");
  r.Field("lock_reason", &GpuConditions::lock_reason, "Why clocks were not locked, if that was asked for");
  r.Field("rejected_pairs", &GpuConditions::rejected_pairs,
          "Pairs that are not counted: a GPU was slowed down by heat or by its power supply");
  r.Field("power_capped_pairs", &GpuConditions::power_capped_pairs,
          "Pairs at the power limit of a GPU; they are counted");
}

}  // namespace nl::bench
