// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why one command is faster: both are recorded once with light detail and CPU samples, outside the timed
// runs, and the recordings are compared. What the recordings do not show is stated, never guessed. Thread
// rule: one request, one thread.

#include <string>

#include "bench/command.h"
#include "ops/op.h"
#include "ops/prove/reply.h"

namespace nl::ops::prove {

// Fills `why`, and the run ids of both sides. A recording that fails is a reason, not an error; Cancelled is
// one.
Status ExplainDifference(OpContext& context, const nl::bench::Command& a, const nl::bench::Command& b,
                         ProveReply& reply);

}  // namespace nl::ops::prove
