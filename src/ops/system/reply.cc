// SPDX-License-Identifier: Apache-2.0
#include "ops/system/reply.h"

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "machine/describe.h"
#include "report/text_table.h"

namespace nl::ops::system {

namespace {

using machine::Gpu;
using machine::HealthCheck;
using machine::HealthState;
using machine::PythonEnvironment;

constexpr int kLabel = 12;

std::string Row(std::string_view label, const std::string& text, int width) {
  return text.empty() ? ""
                      : fmt::format("{:<{}}{}\n", label, kLabel, Wrap(PrintableText(text), width, kLabel));
}

// Parts that are known, with commas between.
class PartList {
 public:
  void Add(std::string text) {
    if (!text.empty()) text_ += (text_.empty() ? "" : ", ") + std::move(text);
  }
  template <class T>
  void Add(fmt::format_string<const T&> format, const std::optional<T>& value) {
    if (value) Add(fmt::format(format, *value));
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// "1,980 of 1,980 MHz" of two figures that may be unknown.
std::string OfMost(const std::optional<int64_t>& now, const std::optional<int64_t>& most,
                   std::string_view unit) {
  if (!now && !most) return "";
  return fmt::format("{} of {} {}", now ? HumanCount(*now) : "?", most ? HumanCount(*most) : "?", unit);
}

std::string OnOff(std::string_view what, const std::optional<bool>& value) {
  return value ? fmt::format("{} {}", what, *value ? "on" : "off") : "";
}

std::string GpuText(const Gpu& g, int width) {
  PartList first, now, modes, links;
  first.Add(g.name.value_or("NVIDIA GPU"));
  first.Add<std::string>("compute capability {}", g.compute_capability);
  first.Add<int64_t>("{} SMs", g.sm_count);
  if (g.memory_bytes) first.Add(HumanBytes(*g.memory_bytes));
  first.Add<std::string>("PCI {}", g.pci_address);
  first.Add<int64_t>("NUMA node {}", g.numa_node);
  if (g.sm_clock_mhz || g.sm_clock_max_mhz)
    now.Add("SM " + OfMost(g.sm_clock_mhz, g.sm_clock_max_mhz, "MHz"));
  if (g.memory_clock_mhz || g.memory_clock_max_mhz)
    now.Add("memory " + OfMost(g.memory_clock_mhz, g.memory_clock_max_mhz, "MHz"));
  if (g.power_w)
    now.Add(fmt::format("{:.0f}{} W", *g.power_w,
                        g.power_limit_w ? fmt::format(" of {:.0f}", *g.power_limit_w) : ""));
  now.Add<int64_t>("{} °C", g.temperature_c);
  if (g.utilization_pct) now.Add(fmt::format("{:.0f} % busy", *g.utilization_pct));
  if (g.memory_used_bytes) now.Add(HumanBytes(*g.memory_used_bytes) + " in use");
  if (g.clocks_locked == true) modes.Add("clocks locked");
  modes.Add(OnOff("ECC", g.ecc));
  modes.Add(OnOff("MIG", g.mig) +
            (g.mig_devices.empty()
                 ? ""
                 : fmt::format(" ({})", Counted(static_cast<int64_t>(g.mig_devices.size()), "part"))));
  modes.Add(OnOff("persistence", g.persistence));
  if (g.pcie_gen || g.pcie_gen_max)
    links.Add("PCIe gen " + OfMost(g.pcie_gen, g.pcie_gen_max, "") +
              fmt::format("x{}", g.pcie_width ? std::to_string(*g.pcie_width) : "?"));
  if (g.nvlinks) links.Add(Counted(*g.nvlinks, "NVLink link"));
  std::string out = Row(fmt::format("GPU {}", g.index), first.Take(), width);
  out += Row("", now.Take(), width) + Row("", modes.Take(), width) + Row("", links.Take(), width);
  for (const machine::MigDevice& part : g.mig_devices)
    out += Row(
        "",
        "  " + part.name.value_or("part") + (part.memory_bytes ? ", " + HumanBytes(*part.memory_bytes) : ""),
        width);
  return out;
}

std::string HostText(const machine::Host& h, int width) {
  PartList cpu, kernel, limits;
  cpu.Add<std::string>("{}", h.cpu.model);
  if (h.cpu.sockets) cpu.Add(Counted(*h.cpu.sockets, "socket"));
  if (h.cpu.cores) cpu.Add(Counted(*h.cpu.cores, "core"));
  if (h.cpu.threads) cpu.Add(Counted(*h.cpu.threads, "thread"));
  if (h.cpu.numa_nodes) cpu.Add(Counted(*h.cpu.numa_nodes, "NUMA node"));
  cpu.Add<std::string>("governor {}", h.cpu.governor);
  cpu.Add(OnOff("turbo", h.cpu.turbo));
  kernel.Add<std::string>("{}", h.os);
  kernel.Add<std::string>("kernel {}", h.kernel);
  kernel.Add<std::string>("{}", h.architecture);
  kernel.Add<std::string>("in {}", h.container);
  kernel.Add<std::string>("virtual machine ({})", h.virtualization);
  limits.Add<double>("{:.3g} CPUs", h.limits.cpus);
  if (h.limits.memory_bytes) limits.Add(HumanBytes(*h.limits.memory_bytes) + " memory");
  if (h.limits.processes) limits.Add(Counted(*h.limits.processes, "process"));
  limits.Add<std::string>("CPUs {} allowed", h.limits.allowed_cpus);
  std::string memory = h.memory_bytes ? HumanBytes(*h.memory_bytes) : "";
  if (h.memory_available_bytes) memory += ", " + HumanBytes(*h.memory_available_bytes) + " available";
  return Row("CPU", cpu.Take(), width) + Row("memory", memory, width) + Row("system", kernel.Take(), width) +
         Row("limits", limits.Take(), width);
}

std::string CudaText(const machine::CudaStack& c, int width) {
  PartList driver;
  driver.Add<std::string>("{}", c.driver);
  driver.Add<std::string>("CUDA up to {}", c.driver_cuda);
  std::string out = Row("driver", driver.Take(), width);
  for (const machine::CudaToolkit& t : c.toolkits)
    out +=
        Row("toolkit",
            fmt::format("CUDA {} in {}{}", t.version.value_or("?"), t.path, t.is_default ? " (default)" : ""),
            width);
  for (const machine::Library& l : c.libraries)
    out += Row(l.name, fmt::format("{} ({})", l.version, l.path), width);
  return out;
}

std::string PythonText(const PythonEnvironment& e, int width) {
  PartList packages;
  for (const auto& [name, version] : e.packages) {
    packages.Add(name + " " + version);
    if (name == "torch" && e.torch_cuda) packages.Add("built for CUDA " + *e.torch_cuda);
  }
  if (!e.cuda_packages.empty())
    packages.Add(Counted(static_cast<int64_t>(e.cuda_packages.size()), "NVIDIA package"));
  const std::string list = packages.Take();
  const std::string head =
      fmt::format("{} {} ({}{})", e.python.value_or("?"), e.path,
                  NamesOf(e.kind)[static_cast<size_t>(e.kind)], e.is_active ? ", active" : "");
  return Row("python", head, width) + Row("", list.empty() ? "none of the known frameworks" : list, width);
}

std::string HealthText(const std::vector<HealthCheck>& health, int width) {
  std::string out;
  int64_t fine = 0;
  for (const HealthCheck& check : health) {
    if (check.state == HealthState::kOk) {
      ++fine;
      continue;
    }
    const std::string_view word = NamesOf(check.state)[static_cast<size_t>(check.state)];
    out += fmt::format("{:<10}{}\n", word, Wrap(PrintableText(check.text), width, 10));
    if (check.advice)
      out += fmt::format("{:<10}{}\n", "", Wrap("-> " + PrintableText(*check.advice), width, 13));
  }
  return "health\n" + out + fmt::format("{:<10}{}\n", "ok", Counted(fine, "check"));
}

}  // namespace

void Describe(Record<SystemReply>& r) {
  r.Name("SystemReply", "Reply of `neurolens system`");
  r.Base<machine::System>();
  r.Field("recording", &SystemReply::recording, "What can be recorded on this machine; null: not asked");
  r.Field("recording_reason", &SystemReply::recording_reason, "Why `recording` is null");
}

std::string SystemText(const SystemReply& r, int width) {
  std::string out;
  for (const Gpu& gpu : r.gpus) out += GpuText(gpu, width);
  if (r.gpus_reason) out += Row("GPUs", *r.gpus_reason, width);
  for (const machine::GpuLink& link : r.gpu_links)
    out += Row("link",
               fmt::format("GPU {} to GPU {}: {}{}", link.from, link.to, link.kind.value_or("not known"),
                           link.nvlinks ? fmt::format(", {}", Counted(*link.nvlinks, "link")) : ""),
               width);
  out += CudaText(r.cuda, width) + HostText(r.host, width);
  for (const PythonEnvironment& env : r.python) out += PythonText(env, width);
  out += "\n" + HealthText(r.health, width);
  if (r.recording) out += "\n" + RecordingText(*r.recording, width);
  return out;
}

}  // namespace nl::ops::system
