// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host as its files describe it: processor, memory, kernel, container, hypervisor, control groups.
// Thread rule: pure functions of the files.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "machine/root_files.h"
#include "machine/system.h"

namespace nl::machine {

Host ReadHost(const RootFiles& files);

// Parts of it that other readers need too.
std::optional<std::string> CpuModel(const RootFiles& files);
std::set<std::string> Governors(const RootFiles& files);
// Folders of this process's control group (version 2) from its own up to the root.
std::vector<std::string> CgroupFolders(const RootFiles& files);
// "docker", "podman", "kubernetes", "apptainer", "lxc".
std::optional<std::string> ContainerKind(const RootFiles& files);
// Name of the hypervisor below this machine.
std::optional<std::string> Hypervisor(const RootFiles& files);
// Effective capabilities of this process, as bits.
uint64_t Capabilities(const RootFiles& files);
inline constexpr uint64_t kCapSysAdmin = uint64_t{1} << 21;
inline constexpr uint64_t kCapPerfmon = uint64_t{1} << 38;

}  // namespace nl::machine
