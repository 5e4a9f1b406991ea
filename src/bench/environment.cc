// SPDX-License-Identifier: Apache-2.0
#include "bench/environment.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"

namespace nl::bench {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kFewSwapKb = 1024;  // pages that were swapped out long ago disturb nothing

std::optional<std::string> ReadText(const std::string& path) {
  Result<std::string> text = ReadWholeFile(path, 16 << 20);
  if (!text.ok()) return std::nullopt;
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  return *std::move(text);
}

// The value after "KEY:" at the start of a line.
std::optional<std::string> ValueOf(const std::string& text, std::string_view key) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos &&
        line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) == key) {
      const size_t from = line.find_first_not_of(" \t", colon + 1);
      return from == std::string_view::npos ? std::string() : std::string(line.substr(from));
    }
    at = end + 1;
  }
  return std::nullopt;
}

int64_t WholeNumber(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "0-3,8" as numbers.
std::set<int64_t> CpuList(std::string_view text) {
  std::set<int64_t> out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const size_t dash = part.find('-');
    const int64_t first = WholeNumber(part);
    const int64_t last = dash == std::string_view::npos ? first : WholeNumber(part.substr(dash + 1));
    for (int64_t i = first; i <= last && i - first < 1 << 16; ++i) out.insert(i);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

// Folders NAME0, NAME1, ... of `folder`.
std::vector<std::string> Numbered(const std::string& folder, std::string_view name) {
  std::vector<std::string> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (file.size() > name.size() && file.rfind(name, 0) == 0 &&
        std::all_of(file.begin() + static_cast<std::ptrdiff_t>(name.size()), file.end(),
                    [](unsigned char c) { return c >= '0' && c <= '9'; }))
      out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

EnvironmentCheck Ok(const char* name, std::string text) { return {name, CheckState::kOk, std::move(text)}; }
EnvironmentCheck Warn(const char* name, std::string text) {
  return {name, CheckState::kWarning, std::move(text)};
}
EnvironmentCheck Bad(const char* name, std::string text) {
  return {name, CheckState::kError, std::move(text)};
}

EnvironmentCheck CheckSwap(const std::string& root) {
  const std::optional<std::string> text = ReadText(root + "/proc/meminfo");
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

EnvironmentCheck CheckGovernor(const std::string& root) {
  std::set<std::string> found;
  for (const std::string& cpu : Numbered(root + "/sys/devices/system/cpu", "cpu")) {
    if (const auto governor = ReadText(cpu + "/cpufreq/scaling_governor")) found.insert(*governor);
  }
  if (found.empty()) return Warn("governor", "the frequency governor of the CPUs cannot be read");
  if (found.size() == 1 && *found.begin() == "performance")
    return Ok("governor", "the governor is performance");
  return Bad("governor",
             fmt::format("the frequency governor is {}, not performance", fmt::join(found, ", ")));
}

// The folders of this process's cgroup (version 2) from its own up to the root.
std::vector<std::string> CgroupFolders(const std::string& root) {
  const std::optional<std::string> text = ReadText(root + "/proc/self/cgroup");
  std::vector<std::string> out;
  if (!text) return out;
  const size_t at = text->find("0::");
  if (at == std::string::npos) return out;
  std::string path = text->substr(at + 3, std::min(text->find('\n', at), text->size()) - at - 3);
  for (;;) {
    if (!path.empty() && path.back() == '/') path.pop_back();
    out.push_back(root + "/sys/fs/cgroup" + path);
    if (path.empty()) return out;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

EnvironmentCheck CheckCgroup(const std::string& root, const char* name, const char* file, const char* what) {
  bool read_any = false;
  for (const std::string& folder : CgroupFolders(root)) {
    const std::optional<std::string> limit = ReadText(folder + "/" + file);
    if (!limit) continue;
    read_any = true;
    if (limit->rfind("max", 0) != 0)
      return Bad(name, fmt::format("a cgroup limits {}: {} is '{}'", what, file, *limit));
  }
  if (!read_any)
    return Warn(name, fmt::format("no {} can be read: a limit of {} would go unseen", file, what));
  return Ok(name, fmt::format("no cgroup limit of {}", what));
}

EnvironmentCheck CheckAffinity(const std::string& root) {
  const std::optional<std::string> status = ReadText(root + "/proc/self/status");
  const std::optional<std::string> list = status ? ValueOf(*status, "Cpus_allowed_list") : std::nullopt;
  if (!list) return Warn("affinity", "the CPUs of this process cannot be read");
  const std::set<int64_t> allowed = CpuList(*list);
  int64_t nodes = 0;
  for (const std::string& node : Numbered(root + "/sys/devices/system/node", "node")) {
    const std::set<int64_t> cpus = CpuList(ReadText(node + "/cpulist").value_or(""));
    nodes += std::any_of(cpus.begin(), cpus.end(), [&](int64_t c) { return allowed.count(c) > 0; }) ? 1 : 0;
  }
  if (nodes > 1)
    return Bad("affinity",
               fmt::format("the process may run on {} NUMA nodes; bind it to one with numactl", nodes));
  return Ok("affinity", fmt::format("CPUs {} on one NUMA node", *list));
}

EnvironmentCheck CheckVirtualization(const std::string& root, bool allowed) {
  std::string found;
  if (const auto type = ReadText(root + "/sys/hypervisor/type")) found = *type;
  const std::optional<std::string> cpus = ReadText(root + "/proc/cpuinfo");
  const std::optional<std::string> flags = cpus ? ValueOf(*cpus, "flags") : std::nullopt;
  if (found.empty() && flags && (" " + *flags + " ").find(" hypervisor ") != std::string::npos)
    found = "a hypervisor";
  for (const char* file : {"/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"}) {
    const std::string text = ReadText(root + file).value_or("");
    for (const char* name : {"QEMU", "KVM", "VMware", "VirtualBox", "Xen", "Amazon EC2",
                             "Google Compute Engine", "Virtual Machine", "Firecracker", "OpenStack"}) {
      if (found.empty() && text.find(name) != std::string::npos) found = name;
    }
  }
  // ARM has no such flag; firmware for virtual machines names itself in the device tree.
  if (found.empty() && PathExists(root + "/proc/device-tree/hypervisor")) found = "a hypervisor";
  if (found.empty())
    return cpus ? Ok("virtualization", "no virtual machine detected")
                : Warn("virtualization", "/proc/cpuinfo cannot be read");
  const std::string text = fmt::format("this is a virtual machine ({}): other guests may disturb", found);
  return allowed ? Warn("virtualization", text + "; allowed by --allow-virtualization")
                 : Bad("virtualization", text);
}

EnvironmentCheck CheckLoad(const std::string& root) {
  const std::optional<std::string> load = ReadText(root + "/proc/loadavg");
  const auto cpus = static_cast<double>(Numbered(root + "/sys/devices/system/cpu", "cpu").size());
  if (!load || cpus == 0) return Warn("load", "the load of the machine cannot be read");
  double value = 0;
  std::from_chars(load->data(), load->data() + load->size(), value);
  const std::string text = fmt::format("load average {:.1f} on {:.0f} CPUs", value, cpus);
  return value > 0.5 * cpus ? Warn("load", text + ": other programs are running") : Ok("load", text);
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
          "swap, governor, cgroup_cpu, cgroup_memory, affinity, virtualization or load");
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
  EnvironmentReply out;
  out.validity = validity;
  out.virtualization_allowed = allow_virtualization;
  out.checks = {CheckSwap(root),
                CheckGovernor(root),
                CheckCgroup(root, "cgroup_cpu", "cpu.max", "CPU time"),
                CheckCgroup(root, "cgroup_memory", "memory.max", "memory"),
                CheckAffinity(root),
                CheckVirtualization(root, allow_virtualization),
                CheckLoad(root)};
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
