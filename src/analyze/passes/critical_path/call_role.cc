// SPDX-License-Identifier: Apache-2.0
// What an API call does to the order of things, by its name.

#include "analyze/passes/critical_path/graph.h"

namespace nl {

namespace {

bool StartsWith(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }
bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

CallRole RoleOfCall(std::string_view name) {
  if (StartsWith(name, "cuda") || StartsWith(name, "hip")) {
    name.remove_prefix(name[0] == 'c' ? 4 : 3);
  } else if (StartsWith(name, "cu")) {
    name.remove_prefix(2);
  } else {
    return CallRole::kOther;
  }
  if (Contains(name, "Synchronize")) return CallRole::kSync;
  if (StartsWith(name, "Ctx") || name.empty()) return CallRole::kOther;
  // cudaFree waits for the device, as documented; the Async form does not.
  if (name == "Free" || name == "MemFree" || name == "MemFree_v2") return CallRole::kSync;
  if (StartsWith(name, "EventRecord")) return CallRole::kEventRecord;
  if (StartsWith(name, "StreamWaitEvent")) return CallRole::kStreamWait;
  if (StartsWith(name, "Memcpy")) return Contains(name, "Async") ? CallRole::kCopy : CallRole::kBlockingCopy;
  if (Contains(name, "Launch") || StartsWith(name, "Memset")) return CallRole::kLaunch;
  return CallRole::kOther;
}

}  // namespace nl
