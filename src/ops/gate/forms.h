// SPDX-License-Identifier: Apache-2.0
#pragma once
// A gate's reply for those who read it: a terminal, a pull request, a CI server.
// All are made from the reply alone. Names come from traces: every form escapes them.
// Thread rule: pure functions.

#include <string>

#include "base/json.h"
#include "ops/op.h"

namespace nl::ops::gate {

// The verdict in one line.
std::string Headline(const Json& reply);
std::string GateText(const Json& reply, const TextStyle& style);
// Verdict first, then the table, then why, then the runs folded away.
std::string GateMarkdown(const Json& reply);
// One test case per metric: a failure when it regressed; when undecided, what --undecided says: a failure,
// a skip, or an error.
std::string GateJUnit(const Json& reply);

}  // namespace nl::ops::gate
