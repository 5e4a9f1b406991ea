// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/ncu/page.h"

#include <algorithm>

#include "base/utf8.h"
#include "import/read/csv_records.h"

namespace nl::adapters::ncu {

namespace {

struct Known {
  std::string_view name;
  Role role;
};
constexpr Known kLaunch[] = {{"ID", Role::kId},
                             {"Process ID", Role::kProcessId},
                             {"Process Name", Role::kProcessName},
                             {"Host Name", Role::kHostName},
                             {"Kernel Name", Role::kKernelName},
                             {"Context", Role::kContext},
                             {"Stream", Role::kStream},
                             {"Block Size", Role::kBlockSize},
                             {"Grid Size", Role::kGridSize},
                             {"Device", Role::kDevice},
                             {"CC", Role::kComputeCapability}};
constexpr Known kDetails[] = {
    {"Section Name", Role::kSection},      {"Metric Name", Role::kMetricName},
    {"Metric Unit", Role::kMetricUnit},    {"Metric Value", Role::kMetricValue},
    {"Rule Name", Role::kRuleName},        {"Rule Type", Role::kRuleType},
    {"Rule Description", Role::kRuleText}, {"Estimated Speedup Type", Role::kSpeedupType},
    {"Estimated Speedup", Role::kSpeedup}};

template <size_t n>
Role Find(const Known (&known)[n], std::string_view name, Role otherwise) {
  for (const Known& k : known) {
    if (k.name == name) return k.role;
  }
  return otherwise;
}

Role RoleOfLaunch(std::string_view name) {
  // "thread Domain:Push/Pop_Range:PL_Type:..." and "Id:Domain:Start/Stop_Range:PL_Type:..."
  if (name.find("Push/Pop_Range") != std::string_view::npos) return Role::kNvtxPushPop;
  if (name.find("Start/Stop_Range") != std::string_view::npos) return Role::kNvtxStartStop;
  return Find(kLaunch, name, Role::kOther);
}

}  // namespace

bool LooksLikeHeader(std::string_view line) {
  return (line.starts_with("\"ID\",\"") || line.starts_with("ID,")) &&
         line.find("Kernel Name") != std::string_view::npos;
}

bool ParseHeader(std::string_view line, Page& to) {
  to = Page();
  to.quoted = line.starts_with('"');
  CsvField field;
  const char* end = line.data() + line.size();
  for (const char* at = line.data(); at <= end;) {
    if (!NextCsvField(at, end, field)) return false;
    to.columns.push_back(ValidUtf8(field.escaped ? Unescaped(field) : std::string(field.text)));
  }
  std::fill(std::begin(to.at), std::end(to.at), -1);
  const auto has = [&](std::string_view name) {
    return std::find(to.columns.begin(), to.columns.end(), name) != to.columns.end();
  };
  to.details = has("Metric Name") && has("Metric Value");
  // Metrics of the raw page stand after the last column of the launch.
  size_t launch = 0;
  for (size_t i = 0; i < to.columns.size(); ++i) {
    const bool details = to.details && Find(kDetails, to.columns[i], Role::kOther) != Role::kOther;
    if (details) break;
    if (to.details || RoleOfLaunch(to.columns[i]) != Role::kOther) launch = i + 1;
  }
  to.launch_columns = launch;
  for (size_t i = 0; i < to.columns.size(); ++i) {
    Role role = i < launch   ? RoleOfLaunch(to.columns[i])
                : to.details ? Find(kDetails, to.columns[i], Role::kOther)
                             : Role::kMetric;
    int& at = to.at[static_cast<size_t>(role)];
    if (at >= 0 && role != Role::kOther && role != Role::kMetric)
      role = Role::kOther;
    else if (at < 0)
      at = static_cast<int>(i);
    to.roles.push_back(role);
  }
  return to.At(Role::kId) >= 0 && to.At(Role::kKernelName) >= 0 &&
         to.At(Role::kId) < static_cast<int>(launch);
}

}  // namespace nl::adapters::ncu
