// SPDX-License-Identifier: Apache-2.0
#pragma once
// Page: what the header line of a CSV page says. The details page has one row per metric or
// rule of a kernel, the raw page one row per kernel and one column per metric, with units in
// the row after the header. NVTX columns, and whatever a version adds, may stand between.
// Thread rule: plain values.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nl::adapters::ncu {

enum class Role : uint8_t {
  kId,
  kProcessId,
  kProcessName,
  kHostName,
  kKernelName,
  kContext,
  kStream,
  kBlockSize,
  kGridSize,
  kDevice,
  kComputeCapability,
  kNvtxPushPop,
  kNvtxStartStop,
  kSection,
  kMetricName,
  kMetricUnit,
  kMetricValue,
  kRuleName,
  kRuleType,
  kRuleText,
  kSpeedupType,
  kSpeedup,
  kOther,   // of the launch, by its name
  kMetric,  // a column of the raw page
};
inline constexpr size_t kRoles = static_cast<size_t>(Role::kMetric) + 1;

struct Page {
  bool details = false;              // else raw
  bool quoted = true;                // do records begin with a quote?
  std::vector<std::string> columns;  // names
  std::vector<Role> roles;
  size_t launch_columns = 0;  // the leading ones, which describe the launch
  int at[kRoles];             // column of a role, -1: none

  int At(Role role) const { return at[static_cast<size_t>(role)]; }
};

// Does a line look like such a header, without taking it apart?
bool LooksLikeHeader(std::string_view line);
// False: it is none after all.
bool ParseHeader(std::string_view line, Page& to);

}  // namespace nl::adapters::ncu
