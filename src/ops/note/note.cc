// SPDX-License-Identifier: Apache-2.0
// `neurolens note`: writes a note about a run, a time range or an event, or removes one.

#include <unistd.h>

#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "base/time_text.h"
#include "ops/notes/reply.h"
#include "ops/open_store.h"
#include "timeline/span.h"

namespace nl::ops::note {

namespace {

constexpr size_t kMostBytes = 10'000;

// The person at this machine, where the face knows nobody.
std::string AuthorOf(const OpContext& context) {
  const size_t kind_end = context.actor.find(':');  // "user:ada", "token:ci", "nobody"
  if (kind_end != std::string::npos) return context.actor.substr(kind_end + 1);
  if (context.remote) return "";
  const char* user = std::getenv("USER");
  return user == nullptr ? "" : user;
}

class NoteOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "note";
    info.summary = "Write a note about a run, a time range or an event, or remove one";
    info.choose_when =
        "Choose it to keep what you found with the run, for others to see. `notes` lists them; `tag` names a "
        "run.";
    info.example =
        "neurolens note @latest \"slow first step: cuBLAS loads its kernels\" --from-ns 0 --to-ns 9000000";
    info.writes = true;
    info.reply = ReplyOf<NotesReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("run", run_, "Run that it is about").Positional().Run().Required();
    b.Add("text", text_, "The note, at most 10,000 bytes").Positional();
    b.Add("from_ns", from_ns_, "Start of the time it is about, in ns from the first event of the run")
        .Range(-4.6e18, 4.6e18);
    b.Add("to_ns", to_ns_, "End of that time; 0: it is not about a time").Range(-4.6e18, 4.6e18);
    b.Add("table", table_, "Table of the event it is about")
        .Choices(std::vector<std::string>(kSpanTableNames.begin(), kSpanTableNames.end()));
    b.Add("event_id", event_id_, "Id of that event in its table; -1: it is not about an event")
        .Range(-1, 9e15);
    b.Add("remove", remove_, "Remove the note with this number instead; 0: none").Range(0, 9e15);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_TRY(Check());
    // Opened for reading first: a typing error in --store must not create a store.
    NL_ASSIGN(auto store, OpenStore(context, Store::Mode::kReadOnly));
    NL_ASSIGN(const CatalogRun run, store->catalog().Resolve(run_));
    NL_ASSIGN(store, OpenStore(context, Store::Mode::kReadWrite));
    Catalog& catalog = store->catalog();
    if (remove_ > 0) {
      NL_TRY(catalog.RemoveNote(run.run_id, remove_));
    } else {
      RunNote note;
      note.run_id = run.run_id;
      note.created_at_ns = UnixNowNs();
      note.author = AuthorOf(context);
      note.text = text_;
      if (to_ns_ != 0) note.from_ns = from_ns_, note.to_ns = to_ns_;
      if (event_id_ >= 0) note.table = table_, note.row_id = event_id_;
      NL_TRY(catalog.AddNote(note));
    }
    NL_ASSIGN(NotesReply reply, NotesOf(catalog, run.run_id));
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    return NotesText(any.As<NotesReply>(), style.width);
  }

 private:
  Status Check() const {
    if (remove_ > 0) {
      return text_.empty() ? Status() : InvalidInput("--remove does not take a text: one note at a time");
    }
    if (text_.find_first_not_of(" \t\r\n") == std::string::npos)
      return InvalidInput("the note is empty").Hint("neurolens note RUN \"text\"");
    if (text_.size() > kMostBytes)
      return InvalidInput(fmt::format("the note is too long: at most {} bytes are allowed", kMostBytes));
    if (to_ns_ != 0 && from_ns_ >= to_ns_)
      return InvalidInput(fmt::format("the time from {} ns to {} ns is empty", from_ns_, to_ns_));
    if ((event_id_ >= 0) != !table_.empty())
      return InvalidInput("an event needs both --table and --event-id");
    return {};
  }

  std::string run_, text_, table_;
  int64_t from_ns_ = 0, to_ns_ = 0, event_id_ = -1, remove_ = 0;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<NoteOp>(); }

}  // namespace nl::ops::note
