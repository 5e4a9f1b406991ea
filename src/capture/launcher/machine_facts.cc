// SPDX-License-Identifier: Apache-2.0
#include "capture/launcher/machine_facts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "machine/host.h"

namespace nl::capture {

namespace {

void AddUnlessEmpty(Facts& facts, const char* key, const std::optional<std::string>& value) {
  if (value && !value->empty()) facts.emplace_back(key, *value);
}

}  // namespace

std::string HashAsHex(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char out[20];
  std::snprintf(out, sizeof(out), "%016llx", static_cast<unsigned long long>(hash));
  return out;
}

Facts MachineFacts() {
  Facts facts;
  const machine::RootFiles files;
  const machine::Host host = machine::ReadHost(files);
  AddUnlessEmpty(facts, "host.cpu_model", host.cpu.model);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (cores > 0) facts.emplace_back("host.cores", std::to_string(cores));
  if (host.memory_bytes) facts.emplace_back("host.memory_bytes", std::to_string(*host.memory_bytes));
  AddUnlessEmpty(facts, "host.os", host.os);
  utsname name{};
  if (uname(&name) == 0) {
    facts.emplace_back("host.kernel", name.release);
    facts.emplace_back("host.machine", name.machine);
    facts.emplace_back("host.hostname_hash", HashAsHex(name.nodename));
  }
  AddUnlessEmpty(facts, "host.container", host.container);
  return facts;
}

}  // namespace nl::capture
