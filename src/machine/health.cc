// SPDX-License-Identifier: Apache-2.0
#include "machine/health.h"

#include <algorithm>
#include <set>
#include <utility>

#include "machine/host.h"
#include "machine/python.h"

namespace nl::machine {

namespace {

// NVIDIA's "CUDA Compatibility", chapter "Minor Version Compatibility" (release r580), Linux: tables of CUDA
// 11 and later, where the versions of a major one share a driver (11.x by its note on CUDA 11.0), and of CUDA
// 10.x, where each minor one has its own.
struct MinimumDriver {
  std::string_view cuda, driver;
};
constexpr MinimumDriver kMinimumDrivers[] = {{"10.0", "410.48"},  {"10.1", "418.39"}, {"10.2", "440.33"},
                                             {"11", "450.80.02"}, {"12", "525"},      {"13", "580"}};

class Judge {
 public:
  Judge(const System& system, uint64_t capabilities) : s_(system), capabilities_(capabilities) {}

  std::vector<HealthCheck> All() {
    Driver();
    DriverForCuda();
    for (const PythonEnvironment& env : s_.python) Environment(env);
    for (const Gpu& gpu : s_.gpus) Device(gpu);
    Counters();
    PerfEvents();
    Host();
    return std::move(out_);
  }

 private:
  void Add(std::string name, HealthState state, std::string text, std::optional<std::string> advice = {}) {
    out_.push_back({std::move(name), state, std::move(text), std::move(advice)});
  }
  bool HasGpu() const { return !s_.gpus.empty() || s_.cuda.gpus_on_pci > 0; }

  void Driver() {
    if (s_.cuda.driver && s_.gpus.empty()) {
      Add("driver", HealthState::kProblem,
          "driver " + *s_.cuda.driver +
              " is loaded, but no GPU can be used: " + s_.gpus_reason.value_or("none is listed"),
          "in a container, start it with --gpus all; otherwise look for NVRM messages in the kernel log");
    } else if (s_.cuda.driver) {
      Add("driver", HealthState::kOk, "NVIDIA driver " + *s_.cuda.driver + " is loaded");
    } else if (s_.cuda.gpus_on_pci > 0) {
      Add("driver", HealthState::kProblem,
          std::to_string(s_.cuda.gpus_on_pci) + " NVIDIA GPU(s) on the PCI bus, but no driver is loaded",
          "install the NVIDIA driver and load it with `modprobe nvidia`");
    } else {
      Add("driver", HealthState::kOk, "no NVIDIA GPU and no driver: nothing to check");
    }
  }

  void OneCuda(const std::string& what, const std::string& cuda) {
    const std::string_view oldest = OldestDriver(cuda);
    if (!s_.cuda.driver) return;
    if (oldest.empty())
      return Add("driver_for_cuda", HealthState::kUnknown,
                 "the oldest driver for CUDA " + cuda + " (" + what + ") is not known");
    if (CompareVersions(*s_.cuda.driver, oldest) >= 0)
      return Add("driver_for_cuda", HealthState::kOk,
                 "driver " + *s_.cuda.driver + " runs CUDA " + cuda + " of " + what);
    Add("driver_for_cuda", HealthState::kProblem,
        "driver " + *s_.cuda.driver + " is too old for CUDA " + cuda + " of " + what,
        "install driver " + std::string(oldest) + " or later, or packages built for an older CUDA");
  }

  void DriverForCuda() {
    for (const CudaToolkit& toolkit : s_.cuda.toolkits) {
      if (toolkit.version) OneCuda(toolkit.path, *toolkit.version);
    }
    for (const PythonEnvironment& env : s_.python) {
      if (env.torch_cuda) OneCuda("torch in " + env.path, *env.torch_cuda);
    }
  }

  void Environment(const PythonEnvironment& env) {
    const auto torch = env.packages.find("torch");
    if (torch != env.packages.end() && HasGpu() && !env.torch_cuda && !env.torch_hip)
      Add("torch_without_cuda", HealthState::kProblem,
          "torch " + torch->second + " in " + env.path + " is built without CUDA, and this machine has a GPU",
          "install a build for CUDA: pip install torch --index-url https://download.pytorch.org/whl/cu128");
    Majors(env);
    if (env.is_active && env.torch_cuda) Toolkit(env);
    int64_t wrong = 0;
    for (const Requirement& r : env.requirements) wrong += Fits(env, r) ? 0 : 1;
    if (wrong == 0 && !env.requirements.empty())
      Add("packages", HealthState::kOk, "packages in " + env.path + " fit each other");
  }

  // True: fits. Otherwise the check is added.
  bool Fits(const PythonEnvironment& env, const Requirement& r) {
    const bool is_cuda = r.required.compare(0, 7, "nvidia-") == 0 || r.required == "cuda-toolkit";
    const auto& list = is_cuda ? env.cuda_packages : env.packages;
    const auto found = list.find(r.required);
    const std::string needs = r.package + " " + env.packages.at(r.package) + " in " + env.path + " needs " +
                              r.required + r.specifier;
    const std::string fix = "pip install '" + r.required + r.specifier + "'";
    if (found == list.end()) {
      // Builds for conda and containers bring CUDA in other ways.
      if (is_cuda) return true;
      Add("package_missing", HealthState::kProblem, needs + ", which is not installed", fix);
      return false;
    }
    if (VersionFits(found->second, r.specifier)) return true;
    const bool outdated =
        r.specifier.compare(0, 1, ">") == 0 &&
        CompareVersions(found->second, r.specifier.substr(r.specifier.find_first_of("0123456789"))) < 0;
    Add(outdated ? "package_outdated" : "package_mismatch", HealthState::kProblem,
        needs + ", installed is " + found->second, fix);
    return false;
  }

  // "nvidia-cublas-cu12" and "nvidia-cublas-cu13" side by side load each other's libraries.
  void Majors(const PythonEnvironment& env) {
    std::set<std::string> majors;
    std::string example;
    for (const auto& [name, version] : env.cuda_packages) {
      const size_t at = name.rfind("-cu");
      const std::string digits = at == std::string::npos ? "" : name.substr(at + 3);
      const bool is_suffix = !digits.empty() && digits.size() <= 2 &&
                             digits.find_first_not_of("0123456789") == std::string::npos;
      if (is_suffix && majors.insert(digits).second) example += (example.empty() ? "" : ", ") + name;
    }
    if (majors.size() < 2) return;
    Add("cuda_majors", HealthState::kWarning,
        "packages of " + std::to_string(majors.size()) + " CUDA major versions in " + env.path + " (" +
            example + ")",
        "uninstall those that torch does not need, or make a new environment");
  }

  void Toolkit(const PythonEnvironment& env) {
    for (const CudaToolkit& toolkit : s_.cuda.toolkits) {
      if (!toolkit.is_default || !toolkit.version) continue;
      if (WholeNumber(*toolkit.version) == WholeNumber(*env.torch_cuda)) continue;
      Add("toolkit_for_torch", HealthState::kWarning,
          "the toolkit in " + toolkit.path + " is CUDA " + *toolkit.version + ", torch in " + env.path +
              " is built for " + *env.torch_cuda,
          "extensions compiled here may not load; set CUDA_HOME to a toolkit of CUDA " + *env.torch_cuda);
    }
  }

  void Device(const Gpu& g) {
    const std::string gpu = "GPU " + std::to_string(g.index);
    if (g.persistence == false)
      Add("persistence", HealthState::kNotice,
          gpu + ": persistence mode is off; the first use of the GPU takes seconds longer",
          "sudo nvidia-smi -i " + std::to_string(g.index) + " -pm 1, or start nvidia-persistenced");
    if (g.power_limit_w && g.power_limit_default_w && *g.power_limit_w < *g.power_limit_default_w)
      Add("power_limit", HealthState::kWarning,
          gpu + ": the power limit is " + Whole(*g.power_limit_w) + " W, the default is " +
              Whole(*g.power_limit_default_w) + " W",
          "sudo nvidia-smi -i " + std::to_string(g.index) + " -pl " + Whole(*g.power_limit_default_w));
    if (g.pcie_width && g.pcie_width_max && *g.pcie_width < *g.pcie_width_max)
      Add("pcie_width", HealthState::kWarning,
          gpu + ": PCIe runs " + std::to_string(*g.pcie_width) + " lanes of " +
              std::to_string(*g.pcie_width_max),
          "check the slot and the riser; copies between host and device are slower");
    if (g.clock_limit_reasons) Slowdown(gpu, *g.clock_limit_reasons);
  }

  void Slowdown(const std::string& gpu, const std::vector<std::string>& reasons) {
    std::string found;
    for (const std::string& reason : reasons) {
      const bool slows = reason == "hardware_slowdown" || reason == "thermal_slowdown" ||
                         reason == "hardware_thermal_slowdown" || reason == "power_brake";
      if (slows) found += (found.empty() ? "" : ", ") + reason;
    }
    if (!found.empty())
      Add("slowdown", HealthState::kWarning, gpu + ": clocks are reduced now (" + found + ")",
          "check cooling and power supply before measuring");
  }

  void Counters() {
    if (!s_.cuda.counters_for_admins_only) return;
    const bool open = !*s_.cuda.counters_for_admins_only || (capabilities_ & kCapSysAdmin) != 0;
    if (open) return Add("counters", HealthState::kOk, "hardware counters of the GPU can be read");
    Add("counters", HealthState::kWarning, "hardware counters of the GPU are for administrators only",
        "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN");
  }

  void PerfEvents() {
    if (!s_.host.perf_event_paranoid) return;
    const std::string text = "kernel.perf_event_paranoid is " + std::to_string(*s_.host.perf_event_paranoid);
    const bool allowed =
        *s_.host.perf_event_paranoid <= 2 || (capabilities_ & (kCapPerfmon | kCapSysAdmin)) != 0;
    if (allowed)
      return Add("perf_events", HealthState::kOk, text + ": stacks of own processes can be sampled");
    Add("perf_events", HealthState::kWarning, text + ": CPU stacks cannot be sampled",
        "sudo sysctl kernel.perf_event_paranoid=2, or run with CAP_PERFMON");
  }

  void Host() {
    const machine::Host& h = s_.host;
    if (h.cpu.governor && *h.cpu.governor != "performance")
      Add("governor", HealthState::kNotice,
          "the frequency governor of the CPUs is " + *h.cpu.governor + ", not performance",
          "sudo cpupower frequency-set -g performance, before measuring");
    if (h.limits.cpus && h.cpu.threads && *h.limits.cpus < static_cast<double>(*h.cpu.threads))
      Add("cgroup_cpu", HealthState::kNotice,
          "a cgroup limits this process to " + Tenth(*h.limits.cpus) + " of " +
              std::to_string(*h.cpu.threads) + " CPUs",
          "raise the limit of the container where data loading or launches need more");
    if (h.limits.memory_bytes && h.memory_bytes && *h.limits.memory_bytes < *h.memory_bytes)
      Add("cgroup_memory", HealthState::kNotice,
          "a cgroup limits memory to " + Tenth(static_cast<double>(*h.limits.memory_bytes) / 1e9) + " of " +
              Tenth(static_cast<double>(*h.memory_bytes) / 1e9) + " GB",
          "raise the limit of the container where programs are killed");
  }

  static std::string Whole(double value) { return std::to_string(static_cast<int64_t>(value + 0.5)); }
  static std::string Tenth(double value) {
    const auto tenths = static_cast<int64_t>(value * 10 + 0.5);
    return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10));
  }

  const System& s_;
  uint64_t capabilities_;
  std::vector<HealthCheck> out_;
};

}  // namespace

std::string_view OldestDriver(std::string_view cuda_version) {
  for (const MinimumDriver& known : kMinimumDrivers) {
    if (cuda_version.substr(0, known.cuda.size()) == known.cuda &&
        (cuda_version.size() == known.cuda.size() || cuda_version[known.cuda.size()] == '.'))
      return known.driver;
  }
  return "";
}

std::vector<HealthCheck> JudgeHealth(const System& system, uint64_t capabilities) {
  return Judge(system, capabilities).All();
}

}  // namespace nl::machine
