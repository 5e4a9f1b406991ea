// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of neurolens-capture: the same options as `neurolens record`, read without any library.
// Also the values that both faces take as text ("nvtx:LABEL").
// Thread rule: functions without state.

#include <string>
#include <vector>

#include "capture/launcher/launch.h"

namespace nl::capture {

struct CommandLine {
  LaunchOptions options;
  bool help = false, version = false, system = false, live = false, quiet = false;
};
// False: `why` says which word is wrong.
bool ParseCommandLine(const std::vector<std::string>& words, CommandLine& to, std::string& why);
std::string CommandLineHelp();

// How much is recorded: light leaves out what takes more than recording the device does (operators, module
// calls, stacks, hardware counters); full also has calls that only ask and the shapes of every forward.
// False: `why` says what it must be; so below.
bool ApplyDetail(const std::string& name, LaunchOptions& options, std::string& why);
inline constexpr const char* kDetails[] = {"light", "standard", "full"};
inline constexpr char kDefaultDetail[] = "standard";

// "1%" or "1": 0.01.
bool ParseBudget(const std::string& text, double& share, std::string& why);
// "nvtx:LABEL" or "api".
bool CheckCaptureRange(const std::string& text, std::string& why);

}  // namespace nl::capture
