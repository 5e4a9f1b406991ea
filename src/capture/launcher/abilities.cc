// SPDX-License-Identifier: Apache-2.0
#include "capture/launcher/abilities.h"

#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "capture/control.h"
#include "capture/launcher/environment.h"
#include "capture/sample/perf_events.h"
#include "capture/sample/proc_files.h"
#include "capture/sample/python_layout.h"
#include "capture/sample/remote_memory.h"
#include "machine/cuda.h"
#include "machine/host.h"

namespace nl::capture {

namespace {

using machine::kCapPerfmon;
using machine::kCapSysAdmin;

uint64_t OwnCapabilities() { return machine::Capabilities(machine::RootFiles()); }

// A child that does nothing, to try things on; ended and reaped with this object.
class Guinea {
 public:
  Guinea() {
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  ~Guinea() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Guinea(const Guinea&) = delete;
  Guinea& operator=(const Guinea&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

Ability Gpu() {
  const machine::RootFiles files;
  const std::string driver = machine::DriverVersion(files.Text(machine::kDriverVersionFile).value_or(""));
  if (driver.empty())
    return {"gpu", false, "no NVIDIA driver is loaded here: programs are recorded on the CPU side only"};
  std::string names;
  int count = 0;
  for (const std::string& address : files.Names(machine::kDriverGpusFolder)) {
    const auto facts = files.Text(std::string(machine::kDriverGpusFolder) + "/" + address + "/information");
    const auto name = machine::ValueOf(facts.value_or(""), "Model");
    if (!name) continue;
    if (names.find(*name) == std::string::npos) names += (names.empty() ? "" : ", ") + *name;
    ++count;
  }
  if (access("/dev/nvidiactl", R_OK | W_OK) != 0) {
    return {"gpu", false,
            "the driver (" + driver + ") is loaded, but /dev/nvidiactl cannot be opened: " +
                std::strerror(errno) + "; a container needs --gpus all, a user the right group"};
  }
  return {"gpu", true,
          std::to_string(count) + " x " + (names.empty() ? "NVIDIA GPU" : names) + ", driver " + driver};
}

Ability Cupti() {
  std::vector<std::string> places;
  if (const char* named = std::getenv(kCuptiVariable)) places.emplace_back(named);
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) places.emplace_back(name);
  for (const char* root : {"/usr/local/cuda", "/opt/cuda"})
    places.push_back(std::string(root) + "/extras/CUPTI/lib64/libcupti.so");
  for (const std::string& place : places) {
    void* library = dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) continue;
    uint32_t version = 0;
    const auto get_version = reinterpret_cast<int (*)(uint32_t*)>(dlsym(library, "cuptiGetVersion"));
    const bool good = get_version != nullptr && get_version(&version) == 0;
    if (good) return {"cupti", true, "CUPTI of API version " + std::to_string(version) + " (" + place + ")"};
  }
  return {"cupti", false,
          "libcupti is not where programs usually find it; a program that brings its own (pip installs one "
          "with torch) "
          "is still recorded, else set NEUROLENS_CUPTI to its path"};
}

Ability Counters() {
  const std::string parameters = machine::RootFiles().Text(machine::kDriverParametersFile).value_or("");
  if (parameters.empty()) return {"counters", false, "hardware counters need an NVIDIA driver"};
  if (!machine::CountersForAdminsOnly(parameters))
    return {"counters", true, "hardware counters are open to all users"};
  if ((OwnCapabilities() & kCapSysAdmin) != 0)
    return {"counters", true, "hardware counters are for administrators only, and this is one"};
  return {"counters", false,
          "hardware counters are for administrators only (ERR_NVGPUCTRPERM): load the driver with "
          "NVreg_RestrictProfilingToAdminUsers=0, "
          "or run with CAP_SYS_ADMIN"};
}

Ability NativeStacks(pid_t guinea) {
  PerfEvents events;
  const std::string paranoid = "kernel.perf_event_paranoid is " + std::to_string(PerfParanoid());
  if (!events.Open(guinea, 200, false, true)) return {"cpu stacks", false, events.why()};
  const std::string by = (OwnCapabilities() & kCapPerfmon) != 0 ? ", CAP_PERFMON is there" : "";
  if (!events.sees_kernel_time())
    return {"cpu stacks", true,
            paranoid + by + ": native stacks are recorded, time inside the kernel is not sampled"};
  return {"cpu stacks", true, paranoid + by + ": native stacks are recorded, with time inside the kernel"};
}

Ability PythonStacks(pid_t guinea) {
  const std::string yama = ReadSmallFile("/proc/sys/kernel/yama/ptrace_scope", 16);
  const std::string setting =
      yama.empty() ? "Yama is not in use" : "kernel.yama.ptrace_scope is " + yama.substr(0, yama.find('\n'));
  RemoteMemory memory(guinea);
  uint64_t word = 0;
  if (memory.Get(reinterpret_cast<uint64_t>(&FindAbilities), word))
    return {"python stacks", true,
            setting + ": memory of started programs can be read (CPython 3.9 to 3.14)"};
  return {"python stacks", false,
          std::string("memory of started programs cannot be read: ") + std::strerror(memory.error()) + "; " +
              setting +
              " (1 or less is needed, or CAP_SYS_PTRACE; in a container also a seccomp profile that allows "
              "process_vm_readv)"};
}

Ability Interpreters() {
  std::string known, unknown;
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string folder(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    for (int minor = 0; minor < 30; ++minor) {
      const std::string name = "3." + std::to_string(minor);
      if (access((folder + "/python" + name).c_str(), X_OK) != 0) continue;
      std::string& list = minor >= 9 && minor <= 14 ? known : unknown;
      if ((", " + list + ",").find(", " + name + ",") == std::string::npos)
        list += (list.empty() ? "" : ", ") + name;
    }
  }
  if (known.empty() && unknown.empty()) return {"python", true, "no python3 on PATH"};
  if (known.empty())
    return {"python", false, "on PATH: " + unknown + ", of which no stacks can be read (3.9 to 3.14 can)"};
  return {"python", true,
          "on PATH: " + known + (unknown.empty() ? "" : "; stacks of " + unknown + " cannot be read")};
}

Ability Library() {
  const std::string library = FindLibrary();
  if (library.empty())
    return {
        "library", false,
        std::string(kLibraryName) + " not found next to this program: GPU work and ranges are not recorded"};
  return {"library", true, library};
}

}  // namespace

std::vector<Ability> FindAbilities() {
  const Guinea guinea;
  return {Gpu(),     Cupti(),       Counters(), NativeStacks(guinea.pid()), PythonStacks(guinea.pid()),
          Library(), Interpreters()};
}

}  // namespace nl::capture
