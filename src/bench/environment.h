// SPDX-License-Identifier: Apache-2.0
#pragma once
// What about this machine makes measurements unreliable: found before anything is timed. Every probe reads
// below a root that a test can replace. A file that cannot be read is a warning, never silence. Thread rule:
// pure functions of the files.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "machine/system.h"

namespace nl::bench {

enum class CheckState : uint8_t { kOk, kWarning, kError };
std::span<const std::string_view> NamesOf(CheckState);

// strict: an error stops before anything is timed. portable: it is stated only.
enum class Validity : uint8_t { kStrict, kPortable };
std::span<const std::string_view> NamesOf(Validity);

struct EnvironmentCheck {
  std::string name;  // swap, governor, cgroup_cpu, cgroup_memory, affinity, virtualization, load, gpu, ...
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

// The GPUs before a measurement: gpu, and where there are any gpu_processes and gpu_persistence.
struct GpuSurroundings {
  std::vector<machine::Gpu> gpus;
  std::string none_reason;             // why there are none; empty: not known
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES, where it is set
  std::vector<std::string> others;     // programs that compute on them: "process 4711 (python3)"
  std::string others_problem;          // why there may be more; empty: these are all
};
std::vector<EnvironmentCheck> CheckGpus(const GpuSurroundings& around);

// All checks for a measurement about to begin: InvalidInput where `validity` ("strict" or "portable") asks
// for a machine without errors.
Result<EnvironmentReply> RequireEnvironment(std::string_view validity, bool allow_virtualization,
                                            const GpuSurroundings& around);
// One line for people; empty when all is well.
std::string EnvironmentText(const EnvironmentReply& environment);

}  // namespace nl::bench
