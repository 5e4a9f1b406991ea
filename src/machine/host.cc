// SPDX-License-Identifier: Apache-2.0
#include "machine/host.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace nl::machine {

namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";
constexpr int64_t kNoLimitV1 = int64_t{1} << 60;  // version 1 writes a huge number for "no limit"

// ARM has no model name in /proc/cpuinfo: the cores of servers by implementer and part.
struct ArmPart {
  const char *implementer, *part, *name;
};
constexpr ArmPart kArmParts[] = {
    {"0x41", "0xd0c", "Arm Neoverse-N1"},   {"0x41", "0xd40", "Arm Neoverse-V1"},
    {"0x41", "0xd49", "Arm Neoverse-N2"},   {"0x41", "0xd4f", "Arm Neoverse-V2"},
    {"0x41", "0xd83", "Arm Neoverse-V3AE"}, {"0x41", "0xd84", "Arm Neoverse-V3"},
    {"0x41", "0xd8e", "Arm Neoverse-N3"},   {"0xc0", "0xac3", "Ampere-1"},
};

void CountCpus(const RootFiles& files, const std::string& cpuinfo, Cpu& cpu, Unread& unread) {
  std::set<int64_t> packages;
  std::set<std::pair<int64_t, int64_t>> cores;
  int64_t threads = 0;
  for (const std::string& folder : files.Numbered(kCpus, "cpu")) {
    ++threads;
    const auto package = files.Number(folder + "/topology/physical_package_id");
    const auto core = files.Number(folder + "/topology/core_id");
    if (!package || !core) continue;
    packages.insert(*package);
    cores.emplace(*package, *core);
  }
  if (threads == 0) {  // no sysfs: the blocks of /proc/cpuinfo
    for (size_t at = 0; at < cpuinfo.size();) {
      const size_t end = std::min(cpuinfo.find("\n\n", at), cpuinfo.size());
      const std::string_view block(cpuinfo.data() + at, end - at);
      at = end + 2;
      if (!ValueOf(block, "processor")) continue;
      ++threads;
      const auto package = ValueOf(block, "physical id"), core = ValueOf(block, "core id");
      if (!package || !core) continue;
      packages.insert(WholeNumber(*package));
      cores.emplace(WholeNumber(*package), WholeNumber(*core));
    }
  }
  if (threads > 0)
    cpu.threads = threads;
  else
    unread["cpu.threads"] = "neither /sys/devices/system/cpu nor /proc/cpuinfo lists processors";
  if (packages.empty()) {
    unread["cpu.sockets"] = unread["cpu.cores"] = "the kernel does not give the topology of the processors";
    return;
  }
  cpu.sockets = static_cast<int64_t>(packages.size());
  cpu.cores = static_cast<int64_t>(cores.size());
}

Cpu ReadCpu(const RootFiles& files, Unread& unread) {
  Cpu out;
  const std::string cpuinfo = files.Text("/proc/cpuinfo").value_or("");
  out.model = CpuModel(files);
  if (!out.model) unread["cpu.model"] = "/proc/cpuinfo does not name it";
  CountCpus(files, cpuinfo, out, unread);
  const auto nodes = static_cast<int64_t>(files.Numbered("/sys/devices/system/node", "node").size());
  if (nodes > 0)
    out.numa_nodes = nodes;
  else
    unread["cpu.numa_nodes"] = "/sys/devices/system/node is not there";
  if (const auto khz = files.Number(std::string(kCpus) + "/cpu0/cpufreq/cpuinfo_max_freq"))
    out.max_mhz = *khz / 1000;
  else
    unread["cpu.max_mhz"] = "the kernel does not control the frequency (no cpufreq)";
  std::string governors;
  for (const std::string& name : Governors(files)) governors += (governors.empty() ? "" : ", ") + name;
  if (!governors.empty())
    out.governor = governors;
  else
    unread["cpu.governor"] = "the kernel does not control the frequency (no cpufreq)";
  if (const auto off = files.Number(std::string(kCpus) + "/intel_pstate/no_turbo"))
    out.turbo = *off == 0;
  else if (const auto on = files.Number(std::string(kCpus) + "/cpufreq/boost"))
    out.turbo = *on != 0;
  else
    unread["cpu.turbo"] = "neither intel_pstate/no_turbo nor cpufreq/boost is there";
  return out;
}

void Lower(std::optional<double>& to, double value) { to = to ? std::min(*to, value) : value; }
void Lower(std::optional<int64_t>& to, int64_t value) { to = to ? std::min(*to, value) : value; }

void ReadLimitsV2(const RootFiles& files, Limits& to) {
  for (const std::string& folder : CgroupFolders(files)) {
    // "200000 100000": time and period in microseconds; "max 100000": no limit.
    if (const auto text = files.Text(folder + "/cpu.max"); text && text->compare(0, 3, "max") != 0) {
      const size_t space = text->find(' ');
      const int64_t period = space == std::string::npos ? 100000 : WholeNumber(text->substr(space + 1));
      if (period > 0) Lower(to.cpus, static_cast<double>(WholeNumber(*text)) / static_cast<double>(period));
    }
    if (const auto bytes = files.Number(folder + "/memory.max")) Lower(to.memory_bytes, *bytes);
    if (const auto count = files.Number(folder + "/pids.max")) Lower(to.processes, *count);
  }
}

// Inside a container the folder of its own group is mounted in place of the root, under the old name.
std::vector<std::string> FoldersV1(const std::string& cgroups, const char* controller) {
  std::vector<std::string> out;
  const std::string base = std::string("/sys/fs/cgroup/") + controller;
  std::string_view rest = cgroups;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string names = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    if (names.find("," + std::string(controller) + ",") == std::string::npos) continue;
    const std::string path(line.substr(second + 1));
    if (path != "/") out.push_back(base + path);
  }
  out.push_back(base);
  return out;
}

void ReadLimitsV1(const RootFiles& files, const std::string& cgroups, Limits& to) {
  for (const std::string& folder : FoldersV1(cgroups, "cpu")) {
    const auto quota = files.Number(folder + "/cpu.cfs_quota_us");
    const auto period = files.Number(folder + "/cpu.cfs_period_us");
    if (quota && period && *quota > 0 && *period > 0)
      Lower(to.cpus, static_cast<double>(*quota) / static_cast<double>(*period));
  }
  for (const std::string& folder : FoldersV1(cgroups, "memory")) {
    const auto bytes = files.Number(folder + "/memory.limit_in_bytes");
    if (bytes && *bytes < kNoLimitV1) Lower(to.memory_bytes, *bytes);
  }
  for (const std::string& folder : FoldersV1(cgroups, "pids")) {
    if (const auto count = files.Number(folder + "/pids.max")) Lower(to.processes, *count);
  }
}

Limits ReadLimits(const RootFiles& files, Unread& unread) {
  Limits out;
  const std::string status = files.Text("/proc/self/status").value_or("");
  out.allowed_cpus = ValueOf(status, "Cpus_allowed_list");
  if (!out.allowed_cpus) unread["limits.allowed_cpus"] = "/proc/self/status does not have it";
  const std::optional<std::string> cgroups = files.Text("/proc/self/cgroup");
  if (!cgroups) {
    unread["limits.cgroup_version"] = "/proc/self/cgroup cannot be read";
    return out;
  }
  // With both mounted, version 1 has the controllers.
  const bool is_v1 = files.IsFolder("/sys/fs/cgroup/memory") || files.IsFolder("/sys/fs/cgroup/cpu");
  if (is_v1) {
    out.cgroup_version = 1;
    ReadLimitsV1(files, *cgroups, out);
  } else if (files.IsFolder("/sys/fs/cgroup")) {
    out.cgroup_version = 2;
    ReadLimitsV2(files, out);
  } else {
    unread["limits.cgroup_version"] = "/sys/fs/cgroup is not mounted: a limit would go unseen";
  }
  return out;
}

void ReadMemory(const RootFiles& files, Host& host) {
  const std::string text = files.Text("/proc/meminfo").value_or("");
  const auto bytes = [&](const char* key) -> std::optional<int64_t> {
    const auto value = ValueOf(text, key);
    return value ? std::optional(WholeNumber(*value) * 1024) : std::nullopt;
  };
  host.memory_bytes = bytes("MemTotal");
  host.memory_available_bytes = bytes("MemAvailable");
  const auto total = bytes("SwapTotal"), free = bytes("SwapFree");
  if (total && free) host.swap_used_bytes = *total - *free;
  if (!host.memory_bytes) host.unread["memory_bytes"] = "/proc/meminfo cannot be read";
  if (!host.memory_available_bytes)
    host.unread["memory_available_bytes"] = "/proc/meminfo does not have MemAvailable";
  if (!host.swap_used_bytes)
    host.unread["swap_used_bytes"] = "/proc/meminfo does not have SwapTotal and SwapFree";
}

}  // namespace

std::optional<std::string> CpuModel(const RootFiles& files) {
  const std::optional<std::string> text = files.Text("/proc/cpuinfo");
  if (!text) return std::nullopt;
  if (auto model = ValueOf(*text, "model name"); model && !model->empty()) return model;
  const auto implementer = ValueOf(*text, "CPU implementer"), part = ValueOf(*text, "CPU part");
  if (!implementer) return std::nullopt;
  for (const ArmPart& known : kArmParts) {
    if (*implementer == known.implementer && part == known.part) return known.name;
  }
  return "Arm, implementer " + *implementer + ", part " + part.value_or("?");
}

std::set<std::string> Governors(const RootFiles& files) {
  std::set<std::string> out;
  for (const std::string& cpu : files.Numbered(kCpus, "cpu")) {
    if (auto governor = files.Text(cpu + "/cpufreq/scaling_governor", 64)) out.insert(*std::move(governor));
  }
  return out;
}

std::vector<std::string> CgroupFolders(const RootFiles& files) {
  const std::optional<std::string> text = files.Text("/proc/self/cgroup");
  std::vector<std::string> out;
  if (!text) return out;
  const size_t at = text->find("0::");
  if (at == std::string::npos) return out;
  std::string path = text->substr(at + 3, std::min(text->find('\n', at), text->size()) - at - 3);
  for (;;) {
    if (!path.empty() && path.back() == '/') path.pop_back();
    out.push_back("/sys/fs/cgroup" + path);
    if (path.empty()) return out;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

std::optional<std::string> ContainerKind(const RootFiles& files) {
  const auto is_set = [&](const char* name) {
    return files.is_this_machine() && std::getenv(name) != nullptr;
  };
  // A pod is also a container of docker or containerd: what started it is the better answer.
  if (files.Exists("/var/run/secrets/kubernetes.io") || is_set("KUBERNETES_SERVICE_HOST"))
    return "kubernetes";
  if (files.Exists("/.dockerenv")) return "docker";
  if (files.Exists("/run/.containerenv")) return "podman";
  if (files.Exists("/.singularity.d") || is_set("APPTAINER_CONTAINER") || is_set("SINGULARITY_CONTAINER"))
    return "apptainer";
  const std::string groups = files.Text("/proc/self/cgroup").value_or("");
  for (const auto& [mark, kind] :
       {std::pair{"kubepods", "kubernetes"}, {"/docker", "docker"}, {"libpod", "podman"}, {"/lxc", "lxc"}}) {
    if (groups.find(mark) != std::string::npos) return kind;
  }
  return std::nullopt;
}

std::optional<std::string> Hypervisor(const RootFiles& files) {
  if (auto type = files.Text("/sys/hypervisor/type")) return type;
  for (const char* file : {"/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"}) {
    const std::string text = files.Text(file).value_or("");
    for (const char* name : {"QEMU", "KVM", "VMware", "VirtualBox", "Xen", "Amazon EC2",
                             "Google Compute Engine", "Virtual Machine", "Firecracker", "OpenStack"}) {
      if (text.find(name) != std::string::npos) return name;
    }
  }
  const std::string cpus = files.Text("/proc/cpuinfo").value_or("");
  if (const auto flags = ValueOf(cpus, "flags");
      flags && (" " + *flags + " ").find(" hypervisor ") != std::string::npos)
    return "a hypervisor";
  // ARM has no such flag; firmware for virtual machines names itself in the device tree.
  if (files.Exists("/proc/device-tree/hypervisor")) return "a hypervisor";
  return std::nullopt;
}

uint64_t Capabilities(const RootFiles& files) {
  const auto text = ValueOf(files.Text("/proc/self/status").value_or(""), "CapEff");
  return text ? std::strtoull(text->c_str(), nullptr, 16) : 0;
}

Host ReadHost(const RootFiles& files) {
  Host out;
  out.cpu = ReadCpu(files, out.unread);
  ReadMemory(files, out);
  for (const char* file : {"/etc/os-release", "/usr/lib/os-release"}) {
    if (!out.os) out.os = ValueOf(files.Text(file).value_or(""), "PRETTY_NAME", '=');
  }
  if (!out.os) out.unread["os"] = "/etc/os-release does not name it";
  out.kernel = files.Text("/proc/sys/kernel/osrelease");
  if (!out.kernel) out.unread["kernel"] = "/proc/sys/kernel/osrelease cannot be read";
  out.architecture = files.Text("/proc/sys/kernel/arch");  // Linux 6.1 and later
  utsname name{};
  if (!out.architecture && files.is_this_machine() && uname(&name) == 0) out.architecture = name.machine;
  if (!out.architecture) out.unread["architecture"] = "/proc/sys/kernel/arch cannot be read";
  out.container = ContainerKind(files);
  out.virtualization = Hypervisor(files);
  out.limits = ReadLimits(files, out.unread);
  out.perf_event_paranoid = files.Number("/proc/sys/kernel/perf_event_paranoid");
  if (!out.perf_event_paranoid) out.unread["perf_event_paranoid"] = "the kernel has no perf events";
  return out;
}

}  // namespace nl::machine
