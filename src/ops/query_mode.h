// SPDX-License-Identifier: Apache-2.0
#pragma once
// For main(): the program answers one query in a process of its own when it was started for that
// (ledger/query_process.h).
// Thread rule: once, before any thread is started.

#include <optional>

namespace nl {

// The exit status of a process that was started to answer one query; none for any other, whose own queries
// run in such processes from now on.
std::optional<int> RunAsQueryProcess(int argc, char** argv);

}  // namespace nl
