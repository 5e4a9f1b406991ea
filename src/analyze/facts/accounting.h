// SPDX-License-Identifier: Apache-2.0
#pragma once
// AccountingFacts: where the wall time of each device and each host thread went.
// Interval unions, never sums of durations: the parts of a window sum to it exactly
// (checked when they are made). Work that runs at the same time is reported as overlap.
// Made by passes/accounting; the device part by analyze/accounting.h.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/timeline.h"
#include "base/intervals.h"
#include "base/record.h"
#include "model/api_kind.h"

namespace nl {

struct RunData;

// How long each combination of work classes ran in a window. Index: bit 0 compute,
// bit 1 communication, bit 2 memory; 0 is idle or not recorded.
struct TimeParts {
  std::array<int64_t, 8> by_mask{};
  int64_t paused_ns = 0;  // of by_mask[0]: nothing was recorded
  int64_t wall_ns() const;
  int64_t idle_ns() const { return by_mask[0] - paused_ns; }
  int64_t busy_ns() const { return wall_ns() - by_mask[0]; }
  // Time in which the class ran, alone or not.
  int64_t Of(WorkClass work) const;
  // Time in which both ran.
  int64_t Both(WorkClass a, WorkClass b) const;
  // Time in which at least two classes ran.
  int64_t overlap_ns() const { return by_mask[3] + by_mask[5] + by_mask[6] + by_mask[7]; }
  // Busy part of the recorded time; null when nothing was recorded.
  std::optional<double> Utilization() const;
};

// What ran when on one device: segment i lasts from start_ns[i] to start_ns[i + 1] with mask[i];
// the last entry only closes the one before it.
struct DeviceSweep {
  std::vector<int64_t> start_ns;
  std::vector<uint8_t> mask;
  std::vector<Interval> paused;  // nothing ran that is known of, and nothing was recorded
  // The parts of any window, in the time its segments take.
  TimeParts Window(int64_t from_ns, int64_t to_ns) const;
};

// In the order of TimelineFacts::devices.
struct DeviceAccounts {
  std::vector<TimeParts> devices;
  std::vector<int64_t> items;  // device work items per device
  std::vector<DeviceSweep> sweeps;
};

struct HostTime {
  ThreadId thread = ThreadId::kNull;
  int64_t recorded_ns = 0;  // union of everything recorded on the thread
  int64_t op_total_ns = 0;  // inside framework ops, with what they call
  int64_t op_self_ns = 0;   // framework ops without API calls and ops inside
  int64_t python_self_ns = 0, range_self_ns = 0;
  std::array<int64_t, kApiKinds> api_ns{};  // self time of API calls by kind
  std::array<int64_t, kApiKinds> api_calls{};
  int64_t launches = 0;  // device work items launched from this thread
};

struct AccountingFacts : DeviceAccounts {
  static constexpr const char* kName = "accounting";

  struct Step {
    StringId name;
    int64_t number, start_ns, end_ns;
    std::vector<TimeParts> devices;  // in the order of TimelineFacts::devices
  };
  int64_t wall_ns = 0;
  std::vector<Step> steps;
  std::vector<HostTime> threads;  // those that launched most work first
};

// The facts as reports and `neurolens overlap` give them.
struct TimeShare {
  std::string what;
  double ms = 0;
  std::optional<double> share;
};
struct TimePartsMs {
  double wall_ms = 0, busy_ms = 0, idle_ms = 0, paused_ms = 0;
  double compute_ms = 0, communication_ms = 0, memory_ms = 0, overlap_ms = 0;
  double compute_communication_ms = 0, compute_memory_ms = 0, communication_memory_ms = 0;
  std::optional<double> utilization;
  std::vector<TimeShare> parts;
};
struct DeviceTime : TimePartsMs {
  std::optional<int32_t> index, rank;
  std::optional<std::string> name;
  int64_t events = 0;
  std::optional<double> hidden_communication_share, hidden_memory_share;
};
struct StepTime {
  std::string name;
  std::optional<int64_t> number;
  double wall_ms = 0;
  std::vector<TimePartsMs> devices;
};
struct ApiGroupTime {
  double ms = 0;
  int64_t calls = 0;
};
struct ThreadTime {
  std::optional<std::string> name;
  std::optional<int64_t> tid;
  double recorded_ms = 0, op_total_ms = 0, op_self_ms = 0, python_self_ms = 0, range_self_ms = 0;
  int64_t launches = 0;
  std::map<std::string, ApiGroupTime> api;
};
struct AccountingSection {
  double wall_ms = 0;
  std::vector<DeviceTime> devices;
  std::vector<StepTime> steps;
  std::vector<ThreadTime> threads;
};
void Describe(Record<TimeShare>& r);
void Describe(Record<TimePartsMs>& r);
void Describe(Record<DeviceTime>& r);
void Describe(Record<StepTime>& r);
void Describe(Record<ApiGroupTime>& r);
void Describe(Record<ThreadTime>& r);
void Describe(Record<AccountingSection>& r);

AccountingSection SectionOf(const AccountingFacts& facts, const TimelineFacts& timeline, const RunData& data);

}  // namespace nl
