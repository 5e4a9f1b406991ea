// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is known of the machine and the system without a GPU library: processor, memory, kernel,
// distribution, container. Unknown things are left out.
// Thread rule: functions without state.

#include <string>
#include <utility>
#include <vector>

namespace nl::capture {

using Facts = std::vector<std::pair<std::string, std::string>>;
Facts MachineFacts();

// "8a1f..." of a host name: distinguishes machines without naming them.
std::string HashAsHex(const std::string& text);

}  // namespace nl::capture
