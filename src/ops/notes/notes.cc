// SPDX-License-Identifier: Apache-2.0
// `neurolens notes`: what people wrote about a run.

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "ops/notes/reply.h"
#include "ops/open_store.h"

namespace nl::ops {

std::string NotesText(const NotesReply& reply, int width) {
  std::string out = reply.run_id + "\n";
  if (reply.notes.empty()) return out + "  no notes\n";
  const auto time = [](int64_t ns) { return HumanMs(static_cast<double>(ns) / 1e6); };
  for (const ListedNote& note : reply.notes) {
    std::string about;
    if (note.table && note.event_id) about += fmt::format(", {} {}", *note.table, *note.event_id);
    if (note.from_ns && note.to_ns)
      about += fmt::format(", {} to {}", time(*note.from_ns), time(*note.to_ns));
    out += fmt::format("  note {}, {}{}{}\n", note.id, note.created_at.substr(0, 16),
                       note.author.empty() ? "" : " by " + PrintableText(note.author), about);
    out += "    " + Wrap(PrintableText(note.text), width - 4, 4) + "\n";
  }
  return out;
}

namespace notes {

namespace {

class NotesOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "notes";
    info.summary = "Notes about a run, its time ranges and its events";
    info.choose_when = "Choose it to see what others found in a run. `note` adds and removes notes.";
    info.example = "neurolens notes @latest";
    info.reply = ReplyOf<NotesReply>();
    return info;
  }

  void Bind(ParamBinder& b) override { b.Add("run", run_, "Run to look at").Positional().Run(); }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const auto store, OpenStore(context, Store::Mode::kReadOnly));
    NL_ASSIGN(const CatalogRun run, store->catalog().Resolve(run_));
    NL_ASSIGN(NotesReply reply, NotesOf(store->catalog(), run.run_id));
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    return NotesText(any.As<NotesReply>(), style.width);
  }

 private:
  std::string run_ = "@latest";
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<NotesOp>(); }

}  // namespace notes

}  // namespace nl::ops
