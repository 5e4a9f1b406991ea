// SPDX-License-Identifier: Apache-2.0
#pragma once
// NextStep: what an answer suggests to ask next, as a command line for people and as an operation with its
// arguments for programs.
// Thread rule: plain values.

#include <optional>
#include <string>

#include "base/json.h"
#include "base/record.h"

namespace nl {

struct NextStep {
  std::string command, why;
  std::optional<std::string> operation;  // none: the command writes a file, which is for people
  Json arguments = Json::object();
};
void Describe(Record<NextStep>& r);

}  // namespace nl
