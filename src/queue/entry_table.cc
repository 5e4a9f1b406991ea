// SPDX-License-Identifier: Apache-2.0
#include "queue/entry_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/terminal.h"

namespace nl::queue {

namespace {

constexpr size_t kShortestPrefix = 4;

Json SetRecord(std::string_view entry_id, Json members) {
  return {{"entry", entry_id}, {"set", std::move(members)}};
}

// Only what differs from an empty entry: journals are read often.
Json WholeRecord(const Entry& entry) { return SetRecord(entry.entry_id, Difference(Entry(), entry)); }

void Finish(Entry& entry, EntryState state, const std::string& at) {
  entry.state = state;
  entry.finished_at = at;
}

}  // namespace

int64_t EntryTable::Load(const std::vector<Json>& records) {
  int64_t bad = 0;
  for (const Json& record : records) {
    const auto id = record.find("entry"), set = record.find("set");
    if (id == record.end() || !id->is_string()) {
      ++bad;
      continue;
    }
    const std::string& entry_id = id->get_ref<const std::string&>();
    if (record.contains("removed")) {
      Remove(entry_id);
      continue;
    }
    Entry* entry = FindMutable(entry_id);
    Entry fresh;
    fresh.entry_id = entry_id;
    if (set == record.end() || !set->is_object() || !Apply(*set, entry != nullptr ? *entry : fresh).ok()) {
      ++bad;
      continue;
    }
    if (entry == nullptr) {
      order_of_[entry_id] = ++last_;
      entry = &entries_.emplace(last_, std::move(fresh)).first->second;
      if (entry->position == 0) Queue(*entry);
    }
    last_position_ = std::max(last_position_, entry->position);
  }
  return bad;
}

Entry* EntryTable::FindMutable(std::string_view entry_id) {
  const auto it = order_of_.find(std::string(entry_id));
  return it == order_of_.end() ? nullptr : &entries_.at(it->second);
}

const Entry* EntryTable::Find(std::string_view entry_id) const {
  const auto it = order_of_.find(std::string(entry_id));
  return it == order_of_.end() ? nullptr : &entries_.at(it->second);
}

const Entry* EntryTable::NextQueued() const {
  const Entry* next = nullptr;
  for (const auto& [order, entry] : entries_) {
    if (entry.state == EntryState::kQueued && (next == nullptr || entry.position < next->position))
      next = &entry;
  }
  return next;
}

std::vector<const Entry*> EntryTable::InState(EntryState state) const {
  std::vector<const Entry*> out;
  for (const auto& [order, entry] : entries_) {
    if (entry.state == state) out.push_back(&entry);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Entry* a, const Entry* b) { return a->position < b->position; });
  return out;
}

std::vector<Entry> EntryTable::All() const {
  std::vector<Entry> out;
  out.reserve(entries_.size());
  for (const auto& [order, entry] : entries_) out.push_back(entry);
  return out;
}

int64_t EntryTable::not_over() const {
  return std::count_if(entries_.begin(), entries_.end(),
                       [](const auto& item) { return !IsOver(item.second.state); });
}

Json EntryTable::RecordOfNew(const Entry& entry) { return WholeRecord(entry); }

Json EntryTable::Add(Entry entry) {
  NL_CHECK(FindMutable(entry.entry_id) == nullptr);
  Queue(entry);
  Json record = WholeRecord(entry);
  order_of_[entry.entry_id] = ++last_;
  entries_.emplace(last_, std::move(entry));
  return record;
}

Json EntryTable::Change(std::string_view entry_id, const std::function<void(Entry&)>& change) {
  Entry* entry = FindMutable(entry_id);
  NL_CHECK(entry != nullptr);
  const Entry before = *entry;
  change(*entry);
  return SetRecord(before.entry_id, Difference(before, *entry));
}

Json EntryTable::Start(std::string_view entry_id, std::string_view engine, const std::string& at) {
  return Change(entry_id, [&](Entry& e) {
    e.state = EntryState::kRunning;
    ++e.attempts;
    e.engine = std::string(engine);
    e.started_at = at;
    for (auto* gone : {&e.finished_at, &e.overlap_reason, &e.reason, &e.slurm_batch, &e.slurm_job, &e.node,
                       &e.import_problem})
      gone->reset();
    e.duration_ms.reset();
    e.exit_status.reset();
    e.overlap.reset();
    e.slurm_task.reset();
    e.run_ids.clear();
  });
}

Json EntryTable::End(std::string_view entry_id, const AttemptEnd& end, int64_t run_max_attempts) {
  return Change(entry_id, [&](Entry& e) {
    e.exit_status = end.exit_status;
    e.duration_ms = end.duration_ms;
    e.overlap = end.overlap;
    e.overlap_reason = end.overlap_reason;
    e.reason = end.reason;
    const bool failed = end.exit_status != 0 || end.reason.has_value();
    if (failed && !e.cancel_requested) ++e.failures;
    if (e.cancel_requested && failed) {
      e.reason = "cancelled";
      return Finish(e, EntryState::kCancelled, end.at);
    }
    Finish(e, failed ? EntryState::kFailed : EntryState::kDone, end.at);
    if (e.cancel_requested) return;
    const int64_t most = e.max_attempts > 0 ? e.max_attempts : run_max_attempts;
    if (end.overlap.value_or(false) && e.overlaps < kMostOverlaps) {
      ++e.overlaps;
      e.state = EntryState::kQueued;
    } else if (failed && e.failures < most) {
      e.state = EntryState::kQueued;
    }
    if (e.state == EntryState::kQueued) Queue(e);
  });
}

Json EntryTable::Interrupt(std::string_view entry_id, const std::string& at, const std::string& reason) {
  return Change(entry_id, [&](Entry& e) {
    ++e.interruptions;
    e.reason = reason;
    e.exit_status.reset();
    e.overlap.reset();
    if (e.cancel_requested) return Finish(e, EntryState::kCancelled, at);
    Finish(e, e.interruptions <= e.max_interruptions ? EntryState::kQueued : EntryState::kInterrupted, at);
  });
}

Json EntryTable::Stop(std::string_view entry_id, const std::string& at) {
  return Change(entry_id, [&](Entry& e) {
    e.reason = "the runner was stopped";
    Finish(e, e.cancel_requested ? EntryState::kCancelled : EntryState::kQueued, at);
    if (e.state == EntryState::kQueued && e.max_interruptions == 0) e.state = EntryState::kInterrupted;
  });
}

Json EntryTable::Cancel(std::string_view entry_id, const std::string& at) {
  const Entry* entry = Find(entry_id);
  NL_CHECK(entry != nullptr);
  if (IsOver(entry->state)) return nullptr;
  return Change(entry_id, [&](Entry& e) {
    e.cancel_requested = true;
    if (e.state != EntryState::kQueued) return;
    e.reason = "cancelled before it started";
    Finish(e, EntryState::kCancelled, at);
  });
}

Result<Json> EntryTable::Retry(std::string_view entry_id) {
  const Entry* entry = Find(entry_id);
  NL_CHECK(entry != nullptr);
  if (!IsOver(entry->state))
    return InvalidInput(fmt::format("entry {} is {}; only one that is over can be queued again",
                                    entry->entry_id, NameOf(entry->state)));
  return Change(entry_id, [&](Entry& e) {
    e.state = EntryState::kQueued;
    e.cancel_requested = false;
    e.failures = e.overlaps = e.interruptions = 0;
    Queue(e);
  });
}

Json EntryTable::Remove(std::string_view entry_id) {
  const auto it = order_of_.find(std::string(entry_id));
  if (it != order_of_.end()) {
    entries_.erase(it->second);
    order_of_.erase(it);
  }
  return {{"entry", entry_id}, {"removed", true}};
}

std::vector<Json> EntryTable::Records() const {
  std::vector<Json> out;
  for (const auto& [order, entry] : entries_) out.push_back(WholeRecord(entry));
  return out;
}

Result<Entry> FindEntry(const std::vector<Entry>& entries, std::string_view id) {
  const Entry *found = nullptr, *named = nullptr;
  int matches = 0;
  for (const Entry& entry : entries) {
    if (entry.entry_id == id) return entry;
    if (entry.name && *entry.name == id) named = &entry;
    if (id.size() < kShortestPrefix || !entry.entry_id.starts_with(id)) continue;
    found = &entry;
    ++matches;
  }
  if (named != nullptr) return *named;
  if (matches > 1)
    return InvalidInput(fmt::format("'{}' names {} entries", PrintableName(id, 80), matches))
        .Hint("give more characters");
  if (found == nullptr)
    return NotFound(fmt::format("no such queue entry: {}", PrintableName(id, 80)))
        .Hint("`neurolens queue ls` lists them");
  return *found;
}

}  // namespace nl::queue
