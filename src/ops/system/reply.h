// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens system`: the machine (described in machine/describe.h) and what can be recorded on it.

#include <optional>
#include <string>
#include <vector>

#include "machine/system.h"
#include "ops/recording_ability.h"

namespace nl::ops::system {

struct SystemReply : machine::System {
  std::optional<std::vector<RecordingAbility>> recording;
  std::optional<std::string> recording_reason;
};
void Describe(Record<SystemReply>& r);

// For a person, at `width` columns.
std::string SystemText(const SystemReply& reply, int width);

}  // namespace nl::ops::system
