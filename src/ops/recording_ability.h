// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be recorded on this machine, as replies carry it (`doctor`, `system`).
// Thread rule: forks a short-lived child to try things on (capture/launcher/abilities.h).

#include <string>
#include <vector>

#include "base/record.h"

namespace nl {

struct RecordingAbility {
  std::string name;
  bool works = false;
  std::string detail;
};
void Describe(Record<RecordingAbility>& r);

std::vector<RecordingAbility> RecordingAbilities();
// One line each, for a person.
std::string RecordingText(const std::vector<RecordingAbility>& abilities, int width);

}  // namespace nl
