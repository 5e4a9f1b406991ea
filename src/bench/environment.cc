// SPDX-License-Identifier: Apache-2.0
#include "bench/environment.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/human.h"
#include "machine/host.h"
#include "machine/root_files.h"

namespace nl::bench {

namespace {

using machine::RootFiles;
using machine::ValueOf;
using machine::WholeNumber;

constexpr int64_t kFewSwapKb = 1024;  // pages that were swapped out long ago disturb nothing

EnvironmentCheck Ok(const char* name, std::string text) { return {name, CheckState::kOk, std::move(text)}; }
EnvironmentCheck Warn(const char* name, std::string text) {
  return {name, CheckState::kWarning, std::move(text)};
}
EnvironmentCheck Bad(const char* name, std::string text) {
  return {name, CheckState::kError, std::move(text)};
}

EnvironmentCheck CheckSwap(const RootFiles& files) {
  const std::optional<std::string> text = files.Text("/proc/meminfo");
  const auto number = [&](std::string_view key) -> std::optional<int64_t> {
    const std::optional<std::string> value = text ? ValueOf(*text, key) : std::nullopt;
    return value ? std::optional(WholeNumber(*value)) : std::nullopt;
  };
  const std::optional<int64_t> total_kb = number("SwapTotal");
  const std::optional<int64_t> free_kb = number("SwapFree");
  if (!total_kb || !free_kb) return Warn("swap", "cannot read the use of swap in /proc/meminfo");
  const int64_t used_kb = *total_kb - *free_kb;
  if (used_kb > kFewSwapKb)
    return Bad("swap", fmt::format("{} of swap in use: pages may be read from disk while timing",
                                   HumanBytes(used_kb * 1024)));
  return Ok("swap", "swap is not in use");
}

EnvironmentCheck CheckGovernor(const RootFiles& files) {
  const std::set<std::string> found = machine::Governors(files);
  if (found.empty()) return Warn("governor", "the frequency governor of the CPUs cannot be read");
  if (found.size() == 1 && *found.begin() == "performance")
    return Ok("governor", "the governor is performance");
  return Bad("governor",
             fmt::format("the frequency governor is {}, not performance", fmt::join(found, ", ")));
}

EnvironmentCheck CheckCgroup(const RootFiles& files, const char* name, const char* file, const char* what) {
  bool read_any = false;
  for (const std::string& folder : machine::CgroupFolders(files)) {
    const std::optional<std::string> limit = files.Text(folder + "/" + file);
    if (!limit) continue;
    read_any = true;
    if (limit->rfind("max", 0) != 0)
      return Bad(name, fmt::format("a cgroup limits {}: {} is '{}'", what, file, *limit));
  }
  if (!read_any)
    return Warn(name, fmt::format("no {} can be read: a limit of {} would go unseen", file, what));
  return Ok(name, fmt::format("no cgroup limit of {}", what));
}

EnvironmentCheck CheckAffinity(const RootFiles& files) {
  const std::optional<std::string> status = files.Text("/proc/self/status");
  const std::optional<std::string> list = status ? ValueOf(*status, "Cpus_allowed_list") : std::nullopt;
  if (!list) return Warn("affinity", "the CPUs of this process cannot be read");
  const std::set<int64_t> allowed = machine::CpuList(*list);
  int64_t nodes = 0;
  for (const std::string& node : files.Numbered("/sys/devices/system/node", "node")) {
    const std::set<int64_t> cpus = machine::CpuList(files.Text(node + "/cpulist").value_or(""));
    nodes += std::any_of(cpus.begin(), cpus.end(), [&](int64_t c) { return allowed.count(c) > 0; }) ? 1 : 0;
  }
  if (nodes > 1)
    return Bad("affinity",
               fmt::format("the process may run on {} NUMA nodes; bind it to one with numactl", nodes));
  return Ok("affinity", fmt::format("CPUs {} on one NUMA node", *list));
}

EnvironmentCheck CheckVirtualization(const RootFiles& files, bool allowed) {
  const std::optional<std::string> found = machine::Hypervisor(files);
  if (!found)
    return files.Exists("/proc/cpuinfo") ? Ok("virtualization", "no virtual machine detected")
                                         : Warn("virtualization", "/proc/cpuinfo cannot be read");
  const std::string text = fmt::format("this is a virtual machine ({}): other guests may disturb", *found);
  return allowed ? Warn("virtualization", text + "; allowed by --allow-virtualization")
                 : Bad("virtualization", text);
}

EnvironmentCheck CheckLoad(const RootFiles& files) {
  const std::optional<std::string> load = files.Text("/proc/loadavg");
  const auto cpus = static_cast<double>(files.Numbered("/sys/devices/system/cpu", "cpu").size());
  if (!load || cpus == 0) return Warn("load", "the load of the machine cannot be read");
  double value = 0;
  std::from_chars(load->data(), load->data() + load->size(), value);
  const std::string text = fmt::format("load average {:.1f} on {:.0f} CPUs", value, cpus);
  return value > 0.5 * cpus ? Warn("load", text + ": other programs are running") : Ok("load", text);
}

EnvironmentCheck CheckGpu(const GpuSurroundings& around) {
  const bool asked = around.visible && !around.visible->empty() && *around.visible != "-1" &&
                     *around.visible != "NoDevFiles";
  if (around.gpus.empty() && asked)
    return Bad("gpu", fmt::format("CUDA_VISIBLE_DEVICES is '{}', but no GPU was found{}{}", *around.visible,
                                  around.none_reason.empty() ? "" : ": ", around.none_reason));
  if (around.gpus.empty()) return Ok("gpu", "no GPU");
  if (around.gpus.size() > 1 && !around.visible)
    return Warn("gpu", fmt::format("{} GPUs: set CUDA_VISIBLE_DEVICES, so that both sides use the same one",
                                   around.gpus.size()));
  return Ok("gpu", around.gpus.size() > 1 ? fmt::format("{} GPUs, CUDA_VISIBLE_DEVICES is '{}'",
                                                        around.gpus.size(), *around.visible)
                                          : around.gpus[0].name.value_or("one GPU"));
}

EnvironmentCheck CheckGpuProcesses(const GpuSurroundings& around) {
  if (!around.others.empty())
    return Warn("gpu_processes",
                fmt::format("other programs compute on the GPUs: {}", fmt::join(around.others, ", ")));
  if (!around.others_problem.empty()) return Warn("gpu_processes", around.others_problem);
  return Ok("gpu_processes", "no other program computes on the GPUs");
}

EnvironmentCheck CheckPersistence(const std::vector<machine::Gpu>& gpus) {
  for (const machine::Gpu& gpu : gpus) {
    if (!gpu.persistence)
      return Warn("gpu_persistence", fmt::format("the persistence mode of GPU {} cannot be read", gpu.index));
    if (!*gpu.persistence)
      return Warn(
          "gpu_persistence",
          fmt::format("the persistence mode of GPU {} is off: the driver may unload between programs, and "
                      "start-up varies; nvidia-smi -pm 1 turns it on",
                      gpu.index));
  }
  return Ok("gpu_persistence", "persistence mode is on");
}

}  // namespace

std::span<const std::string_view> NamesOf(CheckState) {
  static constexpr std::string_view kNames[] = {"ok", "warning", "error"};
  return kNames;
}
std::span<const std::string_view> NamesOf(Validity) {
  static constexpr std::string_view kNames[] = {"strict", "portable"};
  return kNames;
}

void Describe(Record<EnvironmentCheck>& r) {
  r.Name("EnvironmentCheck", "One check of the machine before a measurement");
  r.Field("name", &EnvironmentCheck::name,
          "swap, governor, cgroup_cpu, cgroup_memory, affinity, virtualization, load, gpu, gpu_processes or "
          "gpu_persistence");
  r.Field("state", &EnvironmentCheck::state, "ok, warning or error");
  r.Field("text", &EnvironmentCheck::text, "What was found");
}

void Describe(Record<EnvironmentReply>& r) {
  r.Name("EnvironmentReply", "The machine before a measurement");
  r.Field("validity", &EnvironmentReply::validity,
          "strict: an error stops the measurement; portable: it is stated only");
  r.Field("virtualization_allowed", &EnvironmentReply::virtualization_allowed,
          "--allow-virtualization was given");
  r.Field("checks", &EnvironmentReply::checks, "All checks");
}

int64_t EnvironmentReply::Count(CheckState state) const {
  return std::count_if(checks.begin(), checks.end(),
                       [&](const EnvironmentCheck& c) { return c.state == state; });
}

EnvironmentReply CheckEnvironment(Validity validity, bool allow_virtualization, const std::string& root) {
  const RootFiles files(root);
  EnvironmentReply out;
  out.validity = validity;
  out.virtualization_allowed = allow_virtualization;
  out.checks = {CheckSwap(files),
                CheckGovernor(files),
                CheckCgroup(files, "cgroup_cpu", "cpu.max", "CPU time"),
                CheckCgroup(files, "cgroup_memory", "memory.max", "memory"),
                CheckAffinity(files),
                CheckVirtualization(files, allow_virtualization),
                CheckLoad(files)};
  return out;
}

std::vector<EnvironmentCheck> CheckGpus(const GpuSurroundings& around) {
  std::vector<EnvironmentCheck> out{CheckGpu(around)};
  if (around.gpus.empty()) return out;
  out.push_back(CheckGpuProcesses(around));
  out.push_back(CheckPersistence(around.gpus));
  return out;
}

Result<EnvironmentReply> RequireEnvironment(std::string_view validity, bool allow_virtualization,
                                            const GpuSurroundings& around) {
  const Validity asked = validity == "strict" ? Validity::kStrict : Validity::kPortable;
  EnvironmentReply out = CheckEnvironment(asked, allow_virtualization);
  for (EnvironmentCheck& check : CheckGpus(around)) out.checks.push_back(std::move(check));
  if (asked == Validity::kStrict && out.Count(CheckState::kError) > 0)
    return InvalidInput(fmt::format("this machine disturbs measurements: {}", EnvironmentText(out)))
        .Hint("--validity portable measures anyway and states it");
  return out;
}

std::string EnvironmentText(const EnvironmentReply& environment) {
  std::string out;
  for (const EnvironmentCheck& check : environment.checks) {
    if (check.state != CheckState::kOk) out += (out.empty() ? "" : "; ") + check.text;
  }
  return out;
}

}  // namespace nl::bench
