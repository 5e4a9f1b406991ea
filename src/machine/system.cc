// SPDX-License-Identifier: Apache-2.0
#include "machine/system.h"

#include "machine/cuda.h"
#include "machine/describe.h"
#include "machine/health.h"
#include "machine/host.h"
#include "machine/nvml.h"
#include "machine/plain_json.h"
#include "machine/python.h"
#include "machine/root_files.h"

namespace nl::machine {

std::span<const std::string_view> NamesOf(EnvironmentKind) {
  static constexpr std::string_view kNames[] = {"system", "venv", "conda", "pyenv"};
  return kNames;
}

std::span<const std::string_view> NamesOf(HealthState) {
  static constexpr std::string_view kNames[] = {"ok", "notice", "warning", "problem", "unknown"};
  return kNames;
}

System ReadSystem(const std::string& root) {
  const RootFiles files(root);
  System out;
  out.host = ReadHost(files);
  out.cuda = ReadCuda(files);
  ReadGpus(files, out);
  out.python = ReadPython(files);
  out.health = JudgeHealth(out, Capabilities(files));
  return out;
}

std::string SystemJson(const System& system) {
  std::string out;
  WritePlainJson(out, system);
  return out;
}

}  // namespace nl::machine
