// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder of the queue in a store, and how commands that do not run entries speak with the runner:
//
//   queue/journal, queue/lock       base/journal.h
//   queue/queue.log                 START and END lines (queue/queue_log.h)
//   queue/progress.json             what the runner does now; renamed into place, not synced
//   queue/requests/NAME.json        entries to add, cancel or retry, taken by the runner
//   queue/entries/ID/command        command and arguments, each ended by a NUL; exact bytes
//   queue/entries/ID/script         the script, exact bytes
//   queue/entries/ID/environment    NAME=VALUE, each ended by a NUL
//   queue/entries/ID/output-N.log   what attempt N wrote
//   queue/slurm/BATCH/              scripts of a submission to Slurm (queue/slurm.h)
//
// All of it is for its user alone: an environment may have secrets. Thread rule: free functions; any process.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/journal.h"
#include "queue/entry_table.h"

namespace nl::queue {

std::string QueueFolder(const std::string& store_path);
std::string EntryFolder(const std::string& folder, std::string_view entry_id);
std::string OutputPath(const std::string& folder, std::string_view entry_id, int64_t attempt);
std::string RequestsFolder(const std::string& folder);

// What an entry needs to start, byte for byte.
struct EntryFiles {
  std::vector<std::string> command;  // of a script: its arguments
  std::optional<std::string> script;
  std::vector<std::string> environment;
};
Result<EntryFiles> ReadEntryFiles(const std::string& folder, std::string_view entry_id);
// What is executed: the command; or the script by its #! line, or by /bin/sh without one, and its arguments.
std::vector<std::string> ArgumentsOf(const EntryFiles& files, const std::string& script_path);

// Adds an entry, on the disk when this returns: in the journal, or as a request when a runner has it open.
Result<Entry> AddEntry(const std::string& folder, Entry entry, const EntryFiles& files);
// Cancels or retries. With a runner this is a request; it is carried out soon.
Status ChangeEntry(const std::string& folder, std::string_view entry_id, std::string_view action);

// Carries out what was requested: changes the table, journals, removes the requests.
Status TakeRequests(const std::string& folder, Journal& journal, EntryTable& table);

// Every entry as of now: the journal, and requests that were not taken yet.
Result<std::vector<Entry>> ReadEntries(const std::string& folder);

}  // namespace nl::queue
