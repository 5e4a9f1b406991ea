// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be recorded on this machine by this user, and what keeps the rest from being: found out by
// trying, not by reading settings alone. `neurolens doctor` shows it.
// Thread rule: forks a short-lived child to try things on; call it from one thread.

#include <string>
#include <vector>

namespace nl::capture {

struct Ability {
  std::string name;  // "gpu", "cupti", "counters", "cpu stacks", "python stacks", "python", "library"
  bool works = false;
  std::string detail;  // one sentence: what was found, or what is missing and how to get it
};
std::vector<Ability> FindAbilities();

}  // namespace nl::capture
