// SPDX-License-Identifier: Apache-2.0
#include "machine/nvml.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

#include "base/ascii.h"
#include "machine/cuda.h"
#include "machine/nvml_library.h"

namespace nl::machine {

namespace {

using Handle = NvmlHandle;

constexpr unsigned kMostNvlinks = 18;
constexpr int kP2pNvlink = 2;

// CUDA cores in one SM: NVML counts cores, people count SMs.
int64_t CoresPerSm(int major, int minor) {
  if (major == 6 && minor == 0) return 64;
  if (major == 7) return 64;
  if (major == 8 && minor == 0) return 64;
  return major >= 5 ? 128 : 0;
}

// True: answered; otherwise `unread` of the field has the reason.
template <class... A>
bool AskNvml(const Nvml& nvml, Unread& unread, const char* field, const char* function, A... arguments) {
  const int code = nvml.Call(function, arguments...);
  if (code == 0) return true;
  unread[field] = code == kNvmlMissing ? std::string("this NVML lacks ") + function : nvml.Why(code);
  return false;
}

// One device: each of its functions fills the fields of one topic.
class GpuReader {
 public:
  GpuReader(const Nvml& nvml, Handle handle, Gpu& gpu) : nvml_(nvml), handle_(handle), gpu_(gpu) {}

  void Read(const RootFiles& files) {
    Text("name", "nvmlDeviceGetName", gpu_.name);
    Text("uuid", "nvmlDeviceGetUUID", gpu_.uuid);
    Address(files);
    Size();
    Clocks();
    Power();
    Modes();
    Links();
  }

 private:
  template <class... A>
  bool Ask(const char* field, const char* function, A... arguments) {
    return AskNvml(nvml_, gpu_.unread, field, function, handle_, arguments...);
  }
  void Text(const char* field, const char* function, std::optional<std::string>& to) {
    char text[kNvmlTextBytes] = {};
    if (Ask(field, function, static_cast<char*>(text), kNvmlTextBytes)) to = text;
  }
  void Number(const char* field, const char* function, std::optional<int64_t>& to) {
    unsigned value = 0;
    if (Ask(field, function, &value)) to = value;
  }
  void Watts(const char* field, const char* function, std::optional<double>& to) {
    unsigned milliwatts = 0;
    if (Ask(field, function, &milliwatts)) to = milliwatts / 1000.0;
  }
  void Clock(const char* field, const char* function, int clock, std::optional<int64_t>& to) {
    unsigned mhz = 0;
    if (Ask(field, function, clock, &mhz)) to = mhz;
  }

  void Address(const RootFiles& files) {
    NvmlPciInfo pci{};
    if (!Ask("pci_address", "nvmlDeviceGetPciInfo_v3", &pci)) {
      gpu_.unread["numa_node"] = "needs the PCI address";
      return;
    }
    const std::string id = ToLower(std::string_view(pci.bus_id, strnlen(pci.bus_id, sizeof pci.bus_id)));
    gpu_.pci_address = id;
    // NVML writes eight digits of the domain, sysfs four.
    const std::string short_id = id.size() > 12 ? id.substr(id.size() - 12) : id;
    const auto node = files.Number("/sys/bus/pci/devices/" + short_id + "/numa_node");
    if (node && *node >= 0)
      gpu_.numa_node = node;
    else
      gpu_.unread["numa_node"] = node ? "the firmware does not assign one" : "sysfs does not list the device";
  }

  void Size() {
    NvmlMemory memory{};
    if (Ask("memory_bytes", "nvmlDeviceGetMemoryInfo", &memory)) {
      gpu_.memory_bytes = static_cast<int64_t>(memory.total);
      gpu_.memory_used_bytes = static_cast<int64_t>(memory.used);
    } else {
      gpu_.unread["memory_used_bytes"] = gpu_.unread["memory_bytes"];
    }
    int major = 0, minor = 0;
    if (Ask("compute_capability", "nvmlDeviceGetCudaComputeCapability", &major, &minor))
      gpu_.compute_capability = std::to_string(major) + "." + std::to_string(minor);
    unsigned cores = 0;
    const int64_t per_sm = CoresPerSm(major, minor);
    if (!Ask("sm_count", "nvmlDeviceGetNumGpuCores", &cores)) return;
    if (per_sm > 0)
      gpu_.sm_count = cores / per_sm;
    else
      gpu_.unread["sm_count"] = "cores in an SM are not known without the compute capability";
  }

  void Clocks() {
    Clock("sm_clock_mhz", "nvmlDeviceGetClockInfo", kNvmlSmClock, gpu_.sm_clock_mhz);
    Clock("memory_clock_mhz", "nvmlDeviceGetClockInfo", kNvmlMemoryClock, gpu_.memory_clock_mhz);
    Clock("sm_clock_max_mhz", "nvmlDeviceGetMaxClockInfo", kNvmlSmClock, gpu_.sm_clock_max_mhz);
    Clock("memory_clock_max_mhz", "nvmlDeviceGetMaxClockInfo", kNvmlMemoryClock, gpu_.memory_clock_max_mhz);
    unsigned long long reasons = 0;
    const char* function = nvml_.Has("nvmlDeviceGetCurrentClocksEventReasons")
                               ? "nvmlDeviceGetCurrentClocksEventReasons"
                               : "nvmlDeviceGetCurrentClocksThrottleReasons";  // before driver 535
    if (Ask("clock_limit_reasons", function, &reasons)) {
      gpu_.clock_limit_reasons.emplace();
      for (const NvmlReason& bit : kNvmlReasons)
        if ((reasons & bit.bit) != 0) gpu_.clock_limit_reasons->push_back(bit.name);
    }
    // NVML sets locked clocks and has no function that reads them; application clocks can be compared.
    unsigned set = 0, normal = 0;
    const bool known =
        nvml_.Call("nvmlDeviceGetApplicationsClock", handle_, kNvmlSmClock, &set) == 0 &&
        nvml_.Call("nvmlDeviceGetDefaultApplicationsClock", handle_, kNvmlSmClock, &normal) == 0;
    if ((reasons & kNvmlApplicationClocks) != 0 || (known && set != normal))
      gpu_.clocks_locked = true;
    else
      gpu_.unread["clocks_locked"] = known ? "NVML does not report clocks locked with nvidia-smi -lgc; "
                                             "application clocks are at their default"
                                           : "NVML does not report clocks locked with nvidia-smi -lgc, and "
                                             "did not answer for application clocks";
  }

  void Power() {
    Watts("power_w", "nvmlDeviceGetPowerUsage", gpu_.power_w);
    Watts("power_limit_w", "nvmlDeviceGetPowerManagementLimit", gpu_.power_limit_w);
    Watts("power_limit_default_w", "nvmlDeviceGetPowerManagementDefaultLimit", gpu_.power_limit_default_w);
    unsigned least = 0, most = 0;
    if (Ask("power_limit_min_w", "nvmlDeviceGetPowerManagementLimitConstraints", &least, &most)) {
      gpu_.power_limit_min_w = least / 1000.0;
      gpu_.power_limit_max_w = most / 1000.0;
    } else {
      gpu_.unread["power_limit_max_w"] = gpu_.unread["power_limit_min_w"];
    }
    unsigned celsius = 0;
    if (Ask("temperature_c", "nvmlDeviceGetTemperature", kNvmlGpuSensor, &celsius))
      gpu_.temperature_c = celsius;
    NvmlUtilization use{};
    if (Ask("utilization_pct", "nvmlDeviceGetUtilizationRates", &use)) {
      gpu_.utilization_pct = use.gpu;
      gpu_.memory_utilization_pct = use.memory;
    } else {
      gpu_.unread["memory_utilization_pct"] = gpu_.unread["utilization_pct"];
    }
  }

  void Modes() {
    unsigned now = 0, pending = 0;
    if (Ask("ecc", "nvmlDeviceGetEccMode", &now, &pending)) gpu_.ecc = now != 0;
    if (Ask("persistence", "nvmlDeviceGetPersistenceMode", &now)) gpu_.persistence = now != 0;
    if (!Ask("mig", "nvmlDeviceGetMigMode", &now, &pending)) return;
    gpu_.mig = now != 0;
    unsigned most = 0;
    if (!*gpu_.mig || nvml_.Call("nvmlDeviceGetMaxMigDeviceCount", handle_, &most) != 0) return;
    for (unsigned i = 0; i < most; ++i) {
      Handle part = nullptr;
      if (nvml_.Call("nvmlDeviceGetMigDeviceHandleByIndex", handle_, i, &part) != 0) continue;
      MigDevice mig;
      char name[kNvmlTextBytes] = {};
      NvmlMemory memory{};
      if (nvml_.Call("nvmlDeviceGetName", part, static_cast<char*>(name), kNvmlTextBytes) == 0)
        mig.name = name;
      if (nvml_.Call("nvmlDeviceGetMemoryInfo", part, &memory) == 0)
        mig.memory_bytes = static_cast<int64_t>(memory.total);
      gpu_.mig_devices.push_back(std::move(mig));
    }
  }

  void Links() {
    Number("pcie_gen", "nvmlDeviceGetCurrPcieLinkGeneration", gpu_.pcie_gen);
    Number("pcie_gen_max", "nvmlDeviceGetMaxPcieLinkGeneration", gpu_.pcie_gen_max);
    Number("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", gpu_.pcie_width);
    Number("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth", gpu_.pcie_width_max);
    unsigned active = 0, version = 0;
    if (!Ask("nvlinks", "nvmlDeviceGetNvLinkState", 0u, &active)) {
      gpu_.unread["nvlink_version"] = gpu_.unread["nvlinks"];
      return;
    }
    gpu_.nvlinks = 0;
    for (unsigned link = 0; link < kMostNvlinks; ++link) {
      active = 0;
      if (nvml_.Call("nvmlDeviceGetNvLinkState", handle_, link, &active) == 0 && active != 0) ++*gpu_.nvlinks;
    }
    if (Ask("nvlink_version", "nvmlDeviceGetNvLinkVersion", 0u, &version)) gpu_.nvlink_version = version;
  }

  const Nvml& nvml_;
  Handle handle_;
  Gpu& gpu_;
};

std::optional<std::string> PciRelation(int level) {
  switch (level) {  // nvmlGpuTopologyLevel_t
    case 0: return "same_board";
    case 10: return "pcie_switch";
    case 20: return "pcie_switches";
    case 30: return "host_bridge";
    case 40: return "numa_node";
    case 50: return "system";
    default: return std::nullopt;
  }
}

int64_t DirectNvlinks(const Nvml& nvml, Handle a, const Gpu& b) {
  int64_t count = 0;
  for (unsigned link = 0; b.pci_address && link < kMostNvlinks; ++link) {
    unsigned active = 0;
    NvmlPciInfo remote{};
    if (nvml.Call("nvmlDeviceGetNvLinkState", a, link, &active) != 0 || active == 0) continue;
    if (nvml.Call("nvmlDeviceGetNvLinkRemotePciInfo_v2", a, link, &remote) != 0) continue;
    const std::string id =
        ToLower(std::string_view(remote.bus_id, strnlen(remote.bus_id, sizeof remote.bus_id)));
    if (id == *b.pci_address) ++count;
  }
  return count;
}

GpuLink ReadLink(const Nvml& nvml, Handle a, Handle b, const Gpu& from, const Gpu& to) {
  GpuLink link{from.index, to.index, std::nullopt, std::nullopt};
  int level = -1, status = -1;
  if (nvml.Call("nvmlDeviceGetTopologyCommonAncestor", a, b, &level) == 0) link.kind = PciRelation(level);
  const int64_t direct = DirectNvlinks(nvml, a, to);
  const bool by_nvlink = nvml.Call("nvmlDeviceGetP2PStatus", a, b, kP2pNvlink, &status) == 0 && status == 0;
  if (direct > 0 || by_nvlink) link.kind = "nvlink";
  if (direct > 0) link.nvlinks = direct;
  return link;
}

// "Model: \t\t NVIDIA H200" and so on of /proc/driver/nvidia/gpus/ADDRESS/information.
void GpusOfFiles(const RootFiles& files, System& to) {
  for (const std::string& address : files.Names(kDriverGpusFolder)) {
    const auto text = files.Text(std::string(kDriverGpusFolder) + "/" + address + "/information");
    if (!text) continue;
    Gpu gpu;
    gpu.index = static_cast<int64_t>(to.gpus.size());
    gpu.name = ValueOf(*text, "Model");
    gpu.uuid = ValueOf(*text, "GPU UUID");
    gpu.pci_address = address;
    gpu.numa_node = files.Number("/sys/bus/pci/devices/" + address + "/numa_node");
    if (gpu.numa_node && *gpu.numa_node < 0) gpu.numa_node.reset();
    gpu.unread["*"] = "NVML was not asked";
    to.gpus.push_back(std::move(gpu));
  }
}

void AskDriver(const Nvml& nvml, CudaStack& cuda) {
  char text[kNvmlTextBytes] = {};
  if (nvml.Call("nvmlSystemGetDriverVersion", static_cast<char*>(text), kNvmlTextBytes) == 0) {
    cuda.driver = text;
    cuda.unread.erase("driver");
  }
  int version = 0;
  cuda.unread.erase("driver_cuda");
  if (AskNvml(nvml, cuda.unread, "driver_cuda", "nvmlSystemGetCudaDriverVersion_v2", &version))
    cuda.driver_cuda = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

void ReadGpus(const RootFiles& files, System& to) {
  if (!files.is_this_machine() && GivenNvml() == nullptr) {
    GpusOfFiles(files, to);
    to.gpus_reason = "files of another root: NVML, which describes this machine, was not asked";
    return;
  }
  Nvml nvml;
  unsigned count = 0;
  std::string why = nvml.Load();
  Unread unread;
  if (why.empty()) {
    AskDriver(nvml, to.cuda);
    if (!AskNvml(nvml, unread, "count", "nvmlDeviceGetCount_v2", &count)) why = unread["count"];
  } else {
    to.cuda.unread["driver_cuda"] = why;
  }
  if (!why.empty() || count == 0) {
    GpusOfFiles(files, to);
    to.gpus_reason = why.empty() ? "NVML lists none" : why;
    return;
  }
  std::vector<Handle> handles;
  for (unsigned i = 0; i < count; ++i) {
    Handle handle = nullptr;
    Gpu gpu;
    gpu.index = i;
    if (AskNvml(nvml, gpu.unread, "*", "nvmlDeviceGetHandleByIndex_v2", i, &handle))
      GpuReader(nvml, handle, gpu).Read(files);
    handles.push_back(handle);
    to.gpus.push_back(std::move(gpu));
  }
  for (size_t a = 0; a < handles.size(); ++a) {
    for (size_t b = a + 1; b < handles.size(); ++b) {
      if (handles[a] != nullptr && handles[b] != nullptr)
        to.gpu_links.push_back(ReadLink(nvml, handles[a], handles[b], to.gpus[a], to.gpus[b]));
    }
  }
}

}  // namespace nl::machine
