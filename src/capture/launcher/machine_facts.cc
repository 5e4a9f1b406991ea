// SPDX-License-Identifier: Apache-2.0
#include "capture/launcher/machine_facts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "capture/sample/proc_files.h"

namespace nl::capture {

namespace {

// The value after "key: value" or KEY=value in a text of lines.
std::string LineValue(const std::string& text, const std::string& key, char separator) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t colon = line.find(separator, key.size());
    if (colon == std::string::npos) continue;
    const size_t from = line.find_first_not_of(" \t\"", colon + 1);
    const size_t to = line.find_last_not_of(" \t\"\r");
    return from == std::string::npos ? "" : line.substr(from, to - from + 1);
  }
  return "";
}

void AddUnlessEmpty(Facts& facts, const char* key, const std::string& value) {
  if (!value.empty()) facts.emplace_back(key, value);
}

}  // namespace

std::string HashText(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char out[20];
  std::snprintf(out, sizeof(out), "%016llx", static_cast<unsigned long long>(hash));
  return out;
}

std::string ContainerKind() {
  if (access("/.dockerenv", F_OK) == 0) return "docker";
  if (access("/run/.containerenv", F_OK) == 0) return "podman";
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
  if (std::getenv("APPTAINER_CONTAINER") != nullptr || std::getenv("SINGULARITY_CONTAINER") != nullptr)
    return "apptainer";
  return "";
}

Facts MachineFacts() {
  Facts facts;
  const std::string cpus = ReadSmallFile("/proc/cpuinfo", 1 << 16);
  std::string model = LineValue(cpus, "model name", ':');
  if (model.empty()) model = LineValue(cpus, "CPU implementer", ':');
  AddUnlessEmpty(facts, "host.cpu_model", model);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (cores > 0) facts.emplace_back("host.cores", std::to_string(cores));
  const std::string memory = LineValue(ReadSmallFile("/proc/meminfo", 4096), "MemTotal", ':');
  if (const long long kib = std::atoll(memory.c_str()); kib > 0)
    facts.emplace_back("host.memory_bytes", std::to_string(kib * 1024));
  AddUnlessEmpty(facts, "host.os", LineValue(ReadSmallFile("/etc/os-release", 4096), "PRETTY_NAME", '='));
  utsname name{};
  if (uname(&name) == 0) {
    facts.emplace_back("host.kernel", name.release);
    facts.emplace_back("host.machine", name.machine);
    facts.emplace_back("host.hostname_hash", HashText(name.nodename));
  }
  AddUnlessEmpty(facts, "host.container", ContainerKind());
  return facts;
}

}  // namespace nl::capture
