// SPDX-License-Identifier: Apache-2.0
#pragma once
// The forms of a gate's reply: for a terminal, a pull request and a CI server.
// Names come from traces: every form escapes them.
// Thread rule: pure functions.

#include <string>

#include "report/gate/gate_reply.h"

namespace nl {

std::string GateText(const GateReply& reply, int width, bool color);
// The verdict, the table, the explanation, and the runs folded.
std::string GateMarkdown(const GateReply& reply);
// One test case per metric: a failure when it regressed; when undecided, a failure or a skip as --undecided
// says, else an error.
std::string GateJUnit(const GateReply& reply);

}  // namespace nl
