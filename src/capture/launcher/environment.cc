// SPDX-License-Identifier: Apache-2.0
#include "capture/launcher/environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

extern char** environ;

namespace nl::capture {

namespace {

bool IsFile(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string ProgramFolder() {
  char path[4096];
  const ssize_t got = readlink("/proc/self/exe", path, sizeof(path));
  if (got <= 0) return "";
  const std::string whole(path, static_cast<size_t>(got));
  return whole.substr(0, whole.rfind('/'));
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string FindLibrary() {
  const std::string named = Variable(kLibraryVariable);
  if (!named.empty()) return IsFile(named) ? named : "";
  const std::string folder = ProgramFolder();
  // Beside the program as built; as a prefix, a tarball or a .deb has it; as a wheel does.
  for (const char* place : {"/", "/../lib/", "/../lib/neurolens/", "/../share/neurolens/lib/"}) {
    const std::string path = folder + place + kLibraryName;
    if (IsFile(path)) return path;
  }
  return "";
}

std::string FindPythonDirectory() {
  const std::string named = Variable("NEUROLENS_PYTHON");
  const std::string folder = ProgramFolder();
  // Beside the program as installed, and in the checkout it was built in.
  for (const std::string& place :
       {named, folder + "/python", folder + "/../share/neurolens/python", folder + "/../../python"}) {
    if (!place.empty() && IsFile(place + "/neurolens/_site/sitecustomize.py")) {
      char* real = realpath(place.c_str(), nullptr);
      const std::string out = real == nullptr ? place : real;
      std::free(real);
      return out;
    }
  }
  return "";
}

std::string PythonPath(const std::string& folders) {
  const std::string before = Variable("PYTHONPATH");
  return before.empty() ? folders : folders + ":" + before;
}

namespace {

// "python3", "/usr/bin/python3.12"; a program that starts Python itself is not known.
bool IsPython(const std::vector<std::string>& command) {
  if (command.empty()) return false;
  return command[0].substr(command[0].rfind('/') + 1).rfind("python", 0) == 0;
}

}  // namespace

ChildEnvironment MakeEnvironment(const LaunchOptions& options, const std::string& directory) {
  ChildEnvironment out;
  std::vector<std::pair<std::string, std::string>> set{{kDirectoryVariable, directory},
                                                       {kWantedVariable, WantedText(options.wanted)}};
  const std::string library = options.library.empty() ? FindLibrary() : options.library;
  const bool in_process = (options.wanted & ~(kWantCpu | kWantPython)) != 0;
  if (in_process && library.empty()) {
    out.messages.push_back(std::string("GPU work and ranges are not recorded: ") + kLibraryName +
                           " not found next to this program");
  } else if (in_process) {
    set.emplace_back(kLibraryVariable, library);
    for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
      const std::string before = Variable(name);
      if (before.empty() || before == library) {
        set.emplace_back(name, library);
      } else {
        out.messages.push_back(std::string(name) + " is already set to " + before +
                               ": left as it is, so another tool records that part");
      }
    }
  }
  const std::string python =
      options.python_directory.empty() ? FindPythonDirectory() : options.python_directory;
  if (in_process && !library.empty() && !python.empty()) {
    set.emplace_back("PYTHONPATH", PythonPath(python + "/neurolens/_site:" + python));
  }
  if (in_process && python.empty() && IsPython(options.command))
    out.messages.emplace_back(
        "modules, stages and operators of Python are not recorded: the Python package of NeuroLens is not "
        "beside "
        "this program; NEUROLENS_PYTHON names the folder that has it");
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : set) replaced = replaced || key == name;
    if (!replaced) out.variables.emplace_back(text);
  }
  for (const auto& [key, value] : set) out.variables.push_back(key + "=" + value);
  return out;
}

}  // namespace nl::capture
