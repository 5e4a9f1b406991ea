// SPDX-License-Identifier: Apache-2.0
#pragma once
// What about this machine makes measurements unreliable: found before anything is timed. Every probe reads
// below a root that a test can replace. A file that cannot be read is a warning, never silence. Thread rule:
// pure functions of the files.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"

namespace nl::bench {

enum class CheckState : uint8_t { kOk, kWarning, kError };
std::span<const std::string_view> NamesOf(CheckState);

// strict: an error stops before anything is timed. portable: it is stated only.
enum class Validity : uint8_t { kStrict, kPortable };
std::span<const std::string_view> NamesOf(Validity);

struct EnvironmentCheck {
  std::string name;  // swap, governor, cgroup_cpu, cgroup_memory, affinity, virtualization, load
  CheckState state = CheckState::kOk;
  std::string text;
};
void Describe(Record<EnvironmentCheck>& r);

struct EnvironmentReply {
  Validity validity = Validity::kPortable;
  bool virtualization_allowed = false;
  std::vector<EnvironmentCheck> checks;

  int64_t Count(CheckState state) const;
};
void Describe(Record<EnvironmentReply>& r);

// With `allow_virtualization` a virtual machine is a warning.
EnvironmentReply CheckEnvironment(Validity validity, bool allow_virtualization, const std::string& root = "");
// The same for a measurement about to begin: InvalidInput where `validity` ("strict" or "portable") asks for
// a machine without errors.
Result<EnvironmentReply> RequireEnvironment(std::string_view validity, bool allow_virtualization);
// One line for people; empty when all is well.
std::string EnvironmentText(const EnvironmentReply& environment);

}  // namespace nl::bench
