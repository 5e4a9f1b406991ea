// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `note` and `notes` reply. Thread rule: plain values.

#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/time_text.h"
#include "ledger/catalog.h"

namespace nl::ops {

struct ListedNote {
  int64_t id = 0;
  std::string created_at, author, text;
  std::optional<int64_t> from_ns, to_ns;
  std::optional<std::string> table;
  std::optional<int64_t> event_id;
};
inline void Describe(Record<ListedNote>& r) {
  using T = ListedNote;
  r.Name("RunNote", "What someone wrote about a run, a time of it, or one of its events");
  r.Field("id", &T::id, "Number of the note in this store");
  r.Field("created_at", &T::created_at, "Time it was written (RFC 3339, UTC)");
  r.Field("author", &T::author, "Who wrote it; empty: not known");
  r.Field("text", &T::text, "The note");
  r.Field("from_ns", &T::from_ns, Unit::kNs,
          "Start of the time it is about, from the zero of the timeline; null: not about a time");
  r.Field("to_ns", &T::to_ns, Unit::kNs, "End of that time");
  r.Field("table", &T::table, "Table of the event it is about; null: not about an event");
  r.Field("event_id", &T::event_id, "Id of that event in its table");
}

struct NotesReply {
  std::string run_id;
  std::vector<ListedNote> notes;
};
inline void Describe(Record<NotesReply>& r) {
  r.Name("NotesReply", "Reply of `neurolens note` and `neurolens notes`");
  r.Field("run_id", &NotesReply::run_id, "The run");
  r.Field("notes", &NotesReply::notes, "Its notes, oldest first");
}

inline Result<NotesReply> NotesOf(Catalog& catalog, const std::string& run_id) {
  NotesReply out;
  out.run_id = run_id;
  NL_ASSIGN(const std::vector<RunNote> notes, catalog.ListNotes(run_id));
  for (const RunNote& n : notes) {
    ListedNote& to = out.notes.emplace_back();
    to.id = n.id;
    to.created_at = Rfc3339Utc(n.created_at_ns);
    to.author = n.author;
    to.text = n.text;
    to.from_ns = n.from_ns;
    to.to_ns = n.to_ns;
    if (!n.table.empty()) to.table = n.table;
    to.event_id = n.row_id;
  }
  return out;
}

// The notes for a person's eyes.
std::string NotesText(const NotesReply& reply, int width);

}  // namespace nl::ops
