// SPDX-License-Identifier: Apache-2.0
#pragma once
// The environment of a recorded program: where CUPTI and NVTX find the capture library, where Python
// finds the package, where the capture goes. What the user set for another tool is left alone, and said.
// Thread rule: functions; they read the process's environment.

#include <string>
#include <vector>

#include "capture/launcher/launch.h"

namespace nl::capture {

inline constexpr char kLibraryName[] = "libneurolens_capture.so";

// The capture library: NEUROLENS_CAPTURE_LIBRARY, else beside this program or in lib/ next to it. Empty:
// none.
std::string FindLibrary();
// The folder whose `sitecustomize` brings the package into every interpreter. Empty: none.
std::string FindPythonDirectory();
// PYTHONPATH with `folders` before what the variable has now.
std::string PythonPath(const std::string& folders);

struct ChildEnvironment {
  std::vector<std::string> variables;  // "NAME=value"
  std::vector<std::string> messages;
};
ChildEnvironment MakeEnvironment(const LaunchOptions& options, const std::string& directory);

}  // namespace nl::capture
