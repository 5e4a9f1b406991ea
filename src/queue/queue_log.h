// SPDX-License-Identifier: Apache-2.0
#pragma once
// queue.log: one line when an attempt starts and one when it ends, for people and grep:
//
//   2025-11-15T01:32:00.123Z START 0193a7e0-... attempt=1 engine=local command="python3 train.py"
//   2025-11-15T01:35:10.456Z END 0193a7e0-... attempt=1 status=0 overlap=no duration_ms=190333.0 state=done
//
// The journal is the truth and is written first; lines that a crash kept from the log are added by Complete.
// Thread rule: one thread at a time, in the process of the runner.

#include <string>
#include <vector>

#include "queue/entry.h"

namespace nl::queue {

std::string LogPath(const std::string& folder);
std::string StartLine(const Entry& entry);
std::string EndLine(const Entry& entry);
// Appends whole lines. An end is synced, and what stands before it; a start that a power cut takes is added
// again, as the journal has it.
Status AppendLog(const std::string& folder, const std::string& lines, bool sync = true);
// Adds the lines of each entry's last attempt that are missing.
Status CompleteLog(const std::string& folder, const std::vector<Entry>& entries);

}  // namespace nl::queue
