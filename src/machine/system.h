// SPDX-License-Identifier: Apache-2.0
#pragma once
// System: what this machine is: GPUs as NVML reports them, host, container and limits, CUDA, the Python
// environments with their packages, and what about them needs care. `neurolens system` shows it, and every
// recording has it. What could not be read is empty, and `unread` says why, by the name of the field.
// machine/describe.h describes the structs. The parts:
//   root_files.h  files below a root        nvml.h      GPUs
//   host.h        host, limits, container   python.h    environments and packages
//   cuda.h        toolkits and libraries    health.h    judgement
// Thread rule: ReadSystem may be called by any thread. NVML stays loaded.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nl::machine {

using Unread = std::map<std::string, std::string>;  // field -> why it is empty

struct MigDevice {
  std::optional<std::string> name;
  std::optional<int64_t> memory_bytes;
};

struct Gpu {
  int64_t index = 0;  // NVML's, in order of PCI addresses
  std::optional<std::string> name, uuid, pci_address, compute_capability;
  std::optional<int64_t> sm_count, numa_node;
  std::optional<int64_t> memory_bytes, memory_used_bytes;
  std::optional<int64_t> sm_clock_mhz, sm_clock_max_mhz, memory_clock_mhz, memory_clock_max_mhz;
  std::optional<bool> clocks_locked;
  std::optional<std::vector<std::string>> clock_limit_reasons;
  std::optional<double> power_w, power_limit_w, power_limit_default_w, power_limit_min_w, power_limit_max_w;
  std::optional<int64_t> temperature_c;
  std::optional<double> utilization_pct, memory_utilization_pct;
  std::optional<bool> ecc, mig, persistence;
  std::vector<MigDevice> mig_devices;
  std::optional<int64_t> pcie_gen, pcie_gen_max, pcie_width, pcie_width_max;
  std::optional<int64_t> nvlinks, nvlink_version;
  Unread unread;
};

struct GpuLink {
  int64_t from = 0, to = 0;
  std::optional<std::string>
      kind;  // nvlink, same_board, pcie_switch, pcie_switches, host_bridge, numa_node, system
  std::optional<int64_t> nvlinks;  // direct ones; empty through a switch
};

struct Cpu {
  std::optional<std::string> model;
  std::optional<int64_t> sockets, cores, threads, numa_nodes, max_mhz;
  std::optional<std::string> governor;
  std::optional<bool> turbo;
};

// What the control groups of this process allow; empty: no limit.
struct Limits {
  std::optional<int64_t> cgroup_version;
  std::optional<double> cpus;
  std::optional<int64_t> memory_bytes, processes;
  std::optional<std::string> allowed_cpus;  // "0-7": affinity
};

struct Host {
  Cpu cpu;
  std::optional<int64_t> memory_bytes, memory_available_bytes, swap_used_bytes;
  std::optional<std::string> os, kernel, architecture;
  std::optional<std::string> container;       // docker, podman, kubernetes, apptainer, lxc
  std::optional<std::string> virtualization;  // name of the hypervisor
  Limits limits;
  std::optional<int64_t> perf_event_paranoid;
  Unread unread;
};

struct CudaToolkit {
  std::string path;
  std::optional<std::string> version;
  bool is_default = false;  // /usr/local/cuda leads to it
};

struct Library {
  std::string name, version, path;  // cudnn, nccl
};

struct CudaStack {
  std::optional<std::string> driver, driver_cuda;
  std::optional<bool> counters_for_admins_only;
  std::vector<CudaToolkit> toolkits;
  std::vector<Library> libraries;
  int64_t gpus_on_pci = 0;  // NVIDIA's, whether or not a driver is loaded
  Unread unread;
};

// "Requires-Dist: triton==3.2.0" of `package`.
struct Requirement {
  std::string package, required, specifier;
};

enum class EnvironmentKind : uint8_t { kSystem, kVenv, kConda, kPyenv };
std::span<const std::string_view> NamesOf(EnvironmentKind);

struct PythonEnvironment {
  std::string path;
  EnvironmentKind kind = EnvironmentKind::kSystem;
  bool is_active = false;  // the one that `python3` starts here
  std::optional<std::string> python;
  std::map<std::string, std::string> packages;       // torch -> 2.6.0
  std::map<std::string, std::string> cuda_packages;  // nvidia-nccl-cu12 -> 2.21.5
  std::optional<std::string> torch_cuda, torch_hip;
  std::vector<Requirement> requirements;  // between packages of this list; not part of replies
  Unread unread;
};

enum class HealthState : uint8_t { kOk, kNotice, kWarning, kProblem, kUnknown };
std::span<const std::string_view> NamesOf(HealthState);

struct HealthCheck {
  std::string name;
  HealthState state = HealthState::kOk;
  std::string text;
  std::optional<std::string> advice;
};

struct System {
  std::vector<Gpu> gpus;
  std::optional<std::string> gpus_reason;  // why there are none, or why little is known of them
  std::vector<GpuLink> gpu_links;
  CudaStack cuda;
  Host host;
  std::vector<PythonEnvironment> python;
  std::vector<HealthCheck> health;
};

// `root`: files are read below it, and NVML is asked only where NEUROLENS_NVML names a library, because the
// driver's describes this machine. PATH, VIRTUAL_ENV and CONDA_PREFIX are this process's.
System ReadSystem(const std::string& root = "");

// The same as JSON, written without a library: what a capture holds.
std::string SystemJson(const System& system);

}  // namespace nl::machine
