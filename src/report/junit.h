// SPDX-License-Identifier: Apache-2.0
#pragma once
// JUnit XML as CI servers read it: one suite, its cases, properties and a text. Thread rule: pure function.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nl {

enum class JUnitOutcome : uint8_t { kPassed, kFailure, kError, kSkipped };

struct JUnitCase {
  std::string name;
  JUnitOutcome outcome = JUnitOutcome::kPassed;
  std::string message, type, text;  // of a failure or error; a skipped case has a message alone
};

struct JUnitSuite {
  std::string command;  // "gate": the suite is "neurolens gate", its cases are of the class neurolens.gate
  double seconds = 0;
  std::string timestamp;                                        // "2026-11-18T10:20:33"; empty: none
  std::vector<std::pair<std::string, std::string>> properties;  // name, value
  std::vector<JUnitCase> cases;
  std::string output;
};

std::string JUnitXml(const JUnitSuite& suite);

}  // namespace nl
