// SPDX-License-Identifier: Apache-2.0
#pragma once
// Entry: a command that waits in the queue, runs or has run. The struct is what the commands show and what
// the journal keeps (base/journal.h). The exact bytes of its command, script and environment are files beside
// the journal (queue/queue_files.h).
//
//   queued ──► running ──► done | failed | cancelled | interrupted
//      │          └──► queued    it overlapped with other GPU work, failed with attempts left, or lost its
//      runner ├──► submitted ──► running | done | ...   (Slurm has it) └──► cancelled
//
// Thread rule: plain values and pure functions.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/record.h"
#include "base/result.h"

namespace nl::queue {

enum class EntryState : uint8_t { kQueued, kSubmitted, kRunning, kDone, kFailed, kCancelled, kInterrupted };
std::span<const std::string_view> NamesOf(EntryState state);
std::string_view NameOf(EntryState state);
std::optional<EntryState> StateOfName(std::string_view name);
// Nothing more happens to it by itself.
bool IsOver(EntryState state);

inline constexpr int64_t kMostOverlaps = 2;  // re-queued this often because other GPU work ran

struct Entry {
  std::string entry_id;  // UUIDv7
  std::optional<std::string> name;
  EntryState state = EntryState::kQueued;
  std::vector<std::string> command;  // as text; the exact bytes are a file
  std::optional<int64_t> script_bytes;
  std::string working_folder;
  bool gpu = true;
  int64_t max_attempts = 0;  // 0: as the runner decides
  int64_t max_interruptions = 3;
  std::vector<std::string> imports;
  int64_t position = 0;  // order in the queue
  bool cancel_requested = false;
  int64_t attempts = 0, failures = 0, overlaps = 0, interruptions = 0;
  std::string created_at;  // RFC 3339, as are the next two
  std::optional<std::string> started_at, finished_at;
  std::optional<double> duration_ms;
  std::optional<int64_t> exit_status;
  std::optional<bool> overlap;
  std::optional<std::string> overlap_reason, reason;
  std::optional<std::string> engine, slurm_batch, slurm_job, node;
  std::optional<int64_t> slurm_task;
  std::vector<std::string> run_ids;
  std::optional<std::string> import_problem;
};
void Describe(Record<Entry>& r);

// "name", or the command as a person would type it.
std::string TitleOf(const Entry& entry);

// Fills the members that `json` has. InvalidInput when one has the wrong type.
Status Apply(const Json& json, Entry& entry);
// The members of `after` that differ from `before`.
Json Difference(const Entry& before, const Entry& after);

}  // namespace nl::queue
