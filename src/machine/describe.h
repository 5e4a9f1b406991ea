// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one description of System and its parts. R is Record (base/record.h), from which replies, schema, types
// and docs follow, or PlainJson (machine/plain_json.h), which writes the JSON of a capture. Thread rule: pure
// functions.

#include "base/unit.h"
#include "machine/system.h"

namespace nl::machine {

inline constexpr char kUnreadDoc[] =
    "What is null because it could not be read, by field, and why; *: everything";

template <template <class> class R>
void Describe(R<MigDevice>& r) {
  r.Name("SystemMigDevice", "A part of a GPU in MIG mode");
  r.Field("name", &MigDevice::name, "Name with the profile");
  r.Field("memory_bytes", &MigDevice::memory_bytes, Unit::kBytes, "Memory");
}

template <template <class> class R>
void Describe(R<Gpu>& r) {
  r.Name("SystemGpu", "A GPU of this machine as NVML reports it now");
  r.Field("index", &Gpu::index, "Number that nvidia-smi uses");
  r.Field("name", &Gpu::name, "Name");
  r.Field("uuid", &Gpu::uuid, "Identity of the device");
  r.Field("pci_address", &Gpu::pci_address, "Domain, bus, device and function");
  r.Field("compute_capability", &Gpu::compute_capability, "Architecture version, such as 9.0");
  r.Field("sm_count", &Gpu::sm_count, "Streaming multiprocessors, from the number of CUDA cores");
  r.Field("numa_node", &Gpu::numa_node, "NUMA node that it is attached to");
  r.Field("memory_bytes", &Gpu::memory_bytes, Unit::kBytes, "Memory");
  r.Field("memory_used_bytes", &Gpu::memory_used_bytes, Unit::kBytes, "Memory in use now");
  r.Field("sm_clock_mhz", &Gpu::sm_clock_mhz, Unit::kMhz, "SM clock now");
  r.Field("sm_clock_max_mhz", &Gpu::sm_clock_max_mhz, Unit::kMhz, "Highest SM clock");
  r.Field("memory_clock_mhz", &Gpu::memory_clock_mhz, Unit::kMhz, "Memory clock now");
  r.Field("memory_clock_max_mhz", &Gpu::memory_clock_max_mhz, Unit::kMhz, "Highest memory clock");
  r.Field("clocks_locked", &Gpu::clocks_locked,
          "Application clocks differ from the default; null: not known");
  r.Field("clock_limit_reasons", &Gpu::clock_limit_reasons,
          "What limits the clocks now, such as idle or power_cap");
  r.Field("power_w", &Gpu::power_w, Unit::kWatt, "Power now");
  r.Field("power_limit_w", &Gpu::power_limit_w, Unit::kWatt, "Power limit");
  r.Field("power_limit_default_w", &Gpu::power_limit_default_w, Unit::kWatt, "Power limit as shipped");
  r.Field("power_limit_min_w", &Gpu::power_limit_min_w, Unit::kWatt, "Lowest power limit that can be set");
  r.Field("power_limit_max_w", &Gpu::power_limit_max_w, Unit::kWatt, "Highest power limit that can be set");
  r.Field("temperature_c", &Gpu::temperature_c, "Temperature now, degrees Celsius");
  r.Field("utilization_pct", &Gpu::utilization_pct, Unit::kPercent,
          "Part of the last sample period with a kernel running");
  r.Field("memory_utilization_pct", &Gpu::memory_utilization_pct, Unit::kPercent,
          "Part of the last sample period with memory traffic");
  r.Field("ecc", &Gpu::ecc, "ECC is on");
  r.Field("mig", &Gpu::mig, "MIG mode is on");
  r.Field("persistence", &Gpu::persistence, "Persistence mode is on");
  r.Field("mig_devices", &Gpu::mig_devices, "Parts of the GPU in MIG mode");
  r.Field("pcie_gen", &Gpu::pcie_gen, "PCIe generation now; lower while the GPU idles");
  r.Field("pcie_gen_max", &Gpu::pcie_gen_max, "Highest PCIe generation of device and slot");
  r.Field("pcie_width", &Gpu::pcie_width, "PCIe lanes in use");
  r.Field("pcie_width_max", &Gpu::pcie_width_max, "Most PCIe lanes of device and slot");
  r.Field("nvlinks", &Gpu::nvlinks, "Active NVLink links");
  r.Field("nvlink_version", &Gpu::nvlink_version, "NVLink version as NVML counts it");
  r.Field("unread", &Gpu::unread, kUnreadDoc);
}

template <template <class> class R>
void Describe(R<GpuLink>& r) {
  r.Name("SystemGpuLink", "How two GPUs are connected");
  r.Field("from", &GpuLink::from, "Number of one GPU");
  r.Field("to", &GpuLink::to, "Number of the other GPU");
  r.Field(
      "kind", &GpuLink::kind,
      "nvlink, same_board, pcie_switch, pcie_switches, host_bridge, numa_node or system; null: not known");
  r.Field("nvlinks", &GpuLink::nvlinks, "Links directly between the two; null: through a switch, or none");
}

template <template <class> class R>
void Describe(R<Cpu>& r) {
  r.Name("SystemCpu", "The processors of this machine");
  r.Field("model", &Cpu::model, "Model name");
  r.Field("sockets", &Cpu::sockets, "Packages");
  r.Field("cores", &Cpu::cores, "Cores");
  r.Field("threads", &Cpu::threads, "Hardware threads");
  r.Field("numa_nodes", &Cpu::numa_nodes, "NUMA nodes");
  r.Field("max_mhz", &Cpu::max_mhz, Unit::kMhz, "Highest frequency");
  r.Field("governor", &Cpu::governor, "Frequency governor");
  r.Field("turbo", &Cpu::turbo, "Turbo frequencies are allowed");
}

template <template <class> class R>
void Describe(R<Limits>& r) {
  r.Name("SystemLimits", "What the control groups of this process allow; null: no limit, or not known");
  r.Field("cgroup_version", &Limits::cgroup_version, "1 or 2");
  r.Field("cpus", &Limits::cpus, "CPU time per time");
  r.Field("memory_bytes", &Limits::memory_bytes, Unit::kBytes, "Memory");
  r.Field("processes", &Limits::processes, "Processes and threads");
  r.Field("allowed_cpus", &Limits::allowed_cpus, "CPUs that the process may run on, such as 0-7");
}

template <template <class> class R>
void Describe(R<Host>& r) {
  r.Name("SystemHost", "This machine without its GPUs");
  r.Field("cpu", &Host::cpu, "Processors");
  r.Field("memory_bytes", &Host::memory_bytes, Unit::kBytes, "Memory");
  r.Field("memory_available_bytes", &Host::memory_available_bytes, Unit::kBytes,
          "Memory that programs can get now");
  r.Field("swap_used_bytes", &Host::swap_used_bytes, Unit::kBytes, "Swap in use");
  r.Field("os", &Host::os, "Distribution");
  r.Field("kernel", &Host::kernel, "Kernel release");
  r.Field("architecture", &Host::architecture, "Instruction set, such as x86_64");
  r.Field("container", &Host::container, "docker, podman, kubernetes, apptainer or lxc; null: none detected");
  r.Field("virtualization", &Host::virtualization, "Name of the hypervisor; null: none detected");
  r.Field("limits", &Host::limits, "Limits of this process");
  r.Field("perf_event_paranoid", &Host::perf_event_paranoid, "Who may sample stacks; 2 or less is needed");
  r.Field("unread", &Host::unread, kUnreadDoc);
}

template <template <class> class R>
void Describe(R<CudaToolkit>& r) {
  r.Name("SystemToolkit", "A CUDA toolkit");
  r.Field("path", &CudaToolkit::path, "Folder");
  r.Field("version", &CudaToolkit::version, "Version; null: its files do not name it");
  r.Field("is_default", &CudaToolkit::is_default, "/usr/local/cuda leads to it");
}

template <template <class> class R>
void Describe(R<Library>& r) {
  r.Name("SystemLibrary", "A library of the system that frameworks load");
  r.Field("name", &Library::name, "cudnn or nccl");
  r.Field("version", &Library::version, "Version");
  r.Field("path", &Library::path, "File");
}

template <template <class> class R>
void Describe(R<CudaStack>& r) {
  r.Name("SystemCuda", "Driver, toolkits and libraries of CUDA");
  r.Field("driver", &CudaStack::driver, "Version of the NVIDIA driver");
  r.Field("driver_cuda", &CudaStack::driver_cuda, "Newest CUDA version that the driver has");
  r.Field("counters_for_admins_only", &CudaStack::counters_for_admins_only,
          "The driver keeps hardware counters from users");
  r.Field("toolkits", &CudaStack::toolkits, "CUDA toolkits in /usr/local, /opt/cuda and CUDA_HOME");
  r.Field("libraries", &CudaStack::libraries, "cuDNN and NCCL of the system");
  r.Field("gpus_on_pci", &CudaStack::gpus_on_pci, "NVIDIA GPUs on the PCI bus, with or without a driver");
  r.Field("unread", &CudaStack::unread, kUnreadDoc);
}

template <template <class> class R>
void Describe(R<PythonEnvironment>& r) {
  r.Name("SystemPython", "A Python environment");
  r.Field("path", &PythonEnvironment::path, "Folder");
  r.Field("kind", &PythonEnvironment::kind, "system, venv, conda or pyenv");
  r.Field("is_active", &PythonEnvironment::is_active,
          "The environment in use: VIRTUAL_ENV, CONDA_PREFIX or the first on PATH");
  r.Field("python", &PythonEnvironment::python, "Version of Python");
  r.Field("packages", &PythonEnvironment::packages,
          "Versions of frameworks, by name; what is not installed is not listed");
  r.Field("cuda_packages", &PythonEnvironment::cuda_packages, "Versions of NVIDIA's packages, by name");
  r.Field("torch_cuda", &PythonEnvironment::torch_cuda, "CUDA version that torch is built for");
  r.Field("torch_hip", &PythonEnvironment::torch_hip, "ROCm version that torch is built for");
  r.Field("unread", &PythonEnvironment::unread, kUnreadDoc);
}

template <template <class> class R>
void Describe(R<HealthCheck>& r) {
  r.Name("SystemHealth", "One check of how the parts of this machine fit together");
  r.Field("name", &HealthCheck::name,
          "Topic, stable: driver, driver_for_cuda, packages, package_missing, ...");
  r.Field("state", &HealthCheck::state, "ok, notice, warning, problem or unknown");
  r.Field("text", &HealthCheck::text, "What was found");
  r.Field("advice", &HealthCheck::advice, "What to do; null: nothing");
}

template <template <class> class R>
void Describe(R<System>& r) {
  r.Name("SystemFacts", "What this machine is, and what about it needs care");
  r.Field("gpus", &System::gpus, "GPUs");
  r.Field("gpus_reason", &System::gpus_reason, "Why no GPU is listed, or why little is known of them");
  r.Field("gpu_links", &System::gpu_links, "Connections between GPUs");
  r.Field("cuda", &System::cuda, "Driver, toolkits and libraries");
  r.Field("host", &System::host, "The machine without its GPUs");
  r.Field("python", &System::python, "Python environments, the active one first");
  r.Field("health", &System::health, "All checks");
}

}  // namespace nl::machine
