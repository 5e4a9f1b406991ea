// SPDX-License-Identifier: Apache-2.0
#pragma once
// EntryTable: the entries in memory, in the order they were added, and what may happen to them. It does no
// input or output: each change gives the record that the journal must keep. Records are
//
//   {"entry":ID,"set":{...}}    the members that changed; of a new entry those that are set
//   {"entry":ID,"removed":true}
//
// A new entry without a position is last in the queue, so that adding needs no look at the others.
// Thread rule: one thread at a time.

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "queue/entry.h"

namespace nl::queue {

// How an attempt ended.
struct AttemptEnd {
  int exit_status = 0;
  std::optional<double> duration_ms;
  std::optional<bool> overlap;
  std::optional<std::string> overlap_reason, reason;
  std::string at;  // RFC 3339
};

class EntryTable {
 public:
  // Later records count; damaged ones are skipped and counted.
  int64_t Load(const std::vector<Json>& records);

  const Entry* Find(std::string_view entry_id) const;  // null: unknown
  // The first that may start, by position; null: none.
  const Entry* NextQueued() const;
  std::vector<const Entry*> InState(EntryState state) const;
  std::vector<Entry> All() const;
  size_t size() const { return entries_.size(); }
  int64_t not_over() const;

  // The record of a new entry, for a journal that was not read.
  static Json RecordOfNew(const Entry& entry);
  // Each returns the record of the change. The entry must exist.
  Json Add(Entry entry);
  Json Change(std::string_view entry_id, const std::function<void(Entry&)>& change);
  Json Start(std::string_view entry_id, std::string_view engine, const std::string& at);
  // Done, failed, cancelled, or queued again: after an overlap at most kMostOverlaps times, after a failure
  // while it has attempts left. `run_max_attempts` holds for entries that have no limit of their own.
  Json End(std::string_view entry_id, const AttemptEnd& end, int64_t run_max_attempts);
  // The runner died while it ran; queued again by its policy, in its old place.
  Json Interrupt(std::string_view entry_id, const std::string& at, const std::string& reason);
  // The runner was stopped: queued again in its old place, and the attempt does not count as interrupted.
  Json Stop(std::string_view entry_id, const std::string& at);
  // A queued entry is cancelled; one that runs is marked. One that is over stays as it is (null).
  Json Cancel(std::string_view entry_id, const std::string& at);
  // One that is over is queued again, with all its attempts. InvalidInput while it is not over.
  Result<Json> Retry(std::string_view entry_id);
  Json Remove(std::string_view entry_id);

  // One record per entry, to rewrite the journal.
  std::vector<Json> Records() const;

 private:
  Entry* FindMutable(std::string_view entry_id);
  void Queue(Entry& entry) { entry.position = ++last_position_; }

  int64_t last_ = 0, last_position_ = 0;
  std::map<int64_t, Entry> entries_;
  std::unordered_map<std::string, int64_t> order_of_;
};

// The entry of this id or name, or of a unique beginning of the id with 4 characters or more. A name stands
// for the newest entry that has it.
Result<Entry> FindEntry(const std::vector<Entry>& entries, std::string_view id);

}  // namespace nl::queue
