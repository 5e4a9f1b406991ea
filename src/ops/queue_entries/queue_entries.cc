// SPDX-License-Identifier: Apache-2.0
// `neurolens queue-entries`: the queue of the store as other machines may see it. It changes nothing, and
// shows neither environments nor scripts.

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/terminal.h"
#include "ops/op.h"
#include "ops/settings.h"
#include "queue/queue_files.h"
#include "queue/queue_log.h"
#include "queue/session.h"
#include "report/text_table.h"

namespace nl::ops::queue_entries {

namespace {

using nl::queue::Entry;
using nl::queue::EntryState;

constexpr int64_t kMostOutputBytes = 4 << 20;
constexpr size_t kShortId = 13;  // the milliseconds of a UUIDv7

struct QueueEntriesReply {
  int64_t entries_total = 0;
  std::optional<int64_t> next_offset;
  std::vector<Entry> entries;
  std::map<std::string, int64_t> states;
  std::optional<nl::queue::RunnerProgress> runner;
  std::optional<std::string> output;
  std::optional<int64_t> output_bytes, output_attempt;
};
void Describe(Record<QueueEntriesReply>& r) {
  r.Name("QueueEntriesReply", "Reply of `neurolens queue-entries`");
  r.Field("entries_total", &QueueEntriesReply::entries_total, "Entries that match");
  r.Field("next_offset", &QueueEntriesReply::next_offset,
          "Offset of the next page; null: this is the last one");
  r.Field("entries", &QueueEntriesReply::entries, "Entries, newest first");
  r.Field("states", &QueueEntriesReply::states, "Entries of the whole queue by state");
  r.Field("runner", &QueueEntriesReply::runner,
          "What the runner does now; null: no runner works on this queue");
  r.Field("output", &QueueEntriesReply::output,
          "With an entry: the end of what it wrote; with log: the end of the START and END lines. Null: not "
          "asked "
          "for, or it has not started");
  r.Field("output_bytes", &QueueEntriesReply::output_bytes, Unit::kBytes, "Size of all that it wrote");
  r.Field("output_attempt", &QueueEntriesReply::output_attempt,
          "Attempt that wrote it; null: the log of the queue");
}

// The last `most` bytes from the begin of a line, and the size of the file; nothing without the file.
Result<bool> ReadEnd(const std::string& path, int64_t most, QueueEntriesReply& reply) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return errno == ENOENT ? Result<bool>(false) : Result<bool>(FileError("read", path));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return FileError("read", path);
  const int64_t from = std::max<int64_t>(0, info.st_size - most);
  std::string text(static_cast<size_t>(info.st_size - from), '\0');
  const ssize_t n = pread(fd.get(), text.data(), text.size(), from);
  if (n < 0) return FileError("read", path);
  text.resize(static_cast<size_t>(n));
  if (from > 0) text.erase(0, std::min(text.find('\n') + 1, text.size()));
  reply.output = std::move(text);
  reply.output_bytes = info.st_size;
  return true;
}

class QueueEntriesOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "queue-entries";
    info.summary = "Entries of the queue, the state of its runner, and the output of an entry";
    info.choose_when =
        "Choose it to watch a queue; it works over HTTP too. `queue` adds, cancels and runs entries on the "
        "machine itself.";
    info.example = "neurolens queue-entries --state failed";
    info.reply = ReplyOf<QueueEntriesReply>();
    info.watched.event = "queue";
    info.watched.args = {{"limit", 1}};
    info.watched.mark = [](const Settings& settings) {
      return nl::queue::QueueMark(nl::queue::QueueFolder(settings.Get("store")));
    };
    return info;
  }

  void Bind(ParamBinder& b) override {
    const auto names = NamesOf(EntryState{});
    b.Add("entry", entry_, "One entry with its output: id, beginning of the id, or name").Positional();
    b.Add("state", state_, "Only entries in this state").Choices({names.begin(), names.end()});
    b.Add("limit", limit_, "At most this many entries; 0 for all").Range(0, 1e9);
    b.Add("offset", offset_, "Entries to leave out, newest first").Range(0, 1e9);
    b.Add("attempt", attempt_, "Output of this attempt of the entry; 0 for the last one").Range(0, 1e9);
    b.Add("log", log_, "The START and END lines of the queue as output");
    b.Add("output_bytes", output_bytes_, "At most this much of the end of the output")
        .Range(0, static_cast<double>(kMostOutputBytes));
  }

  Result<Reply> Run(OpContext& context) override {
    folder_ = nl::queue::QueueFolder(context.settings->Get("store"));
    NL_ASSIGN(const std::vector<Entry> all, nl::queue::ReadEntries(folder_));
    QueueEntriesReply reply;
    for (const std::string_view name : NamesOf(EntryState{})) reply.states[std::string(name)] = 0;
    for (const Entry& e : all) ++reply.states[std::string(NameOf(e.state))];
    reply.runner = nl::queue::ReadProgress(folder_);
    if (entry_.empty()) {
      if (attempt_ > 0) return InvalidInput("--attempt belongs to one entry");
      List(all, reply);
      if (log_) NL_TRY(ReadEnd(nl::queue::LogPath(folder_), output_bytes_, reply));
    } else {
      NL_TRY(One(all, reply));
    }
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<QueueEntriesReply>();
    TextTable table({{"ENTRY", Align::kLeft, false, 0},
                     {"STATE", Align::kLeft, false, 0},
                     {"ATTEMPTS", Align::kRight, false, 0},
                     {"TIME", Align::kRight, false, 0},
                     {"COMMAND", Align::kLeft, true, 12}});
    for (const Entry& e : reply.entries)
      table.AddRow({e.entry_id.substr(0, kShortId), std::string(NameOf(e.state)), HumanCount(e.attempts),
                    e.duration_ms ? HumanMs(*e.duration_ms) : "-", PrintableName(TitleOf(e), 200)});
    std::string out = reply.entries.empty() ? "no entries\n" : table.Render(style.width, style.color);
    const auto shown = static_cast<int64_t>(reply.entries.size());
    if (shown < reply.entries_total)
      out += fmt::format("{} of {} entries\n", HumanCount(shown), HumanCount(reply.entries_total));
    out += reply.runner ? fmt::format("runner {}: {:.0f} %\n", reply.runner->pid, reply.runner->percent)
                        : "no runner works on this queue\n";
    if (reply.output) out += PrintableText(*reply.output, Keep::kLines);
    return out;
  }

 private:
  void List(const std::vector<Entry>& all, QueueEntriesReply& reply) const {
    const std::optional<EntryState> state = nl::queue::StateOfName(state_);
    for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
      if (state && entry->state != *state) continue;
      const int64_t at = reply.entries_total++;
      if (at < offset_ || (limit_ > 0 && at - offset_ >= limit_)) continue;
      reply.entries.push_back(*entry);
    }
    const int64_t end = offset_ + static_cast<int64_t>(reply.entries.size());
    if (!reply.entries.empty() && end < reply.entries_total) reply.next_offset = end;
  }

  Status One(const std::vector<Entry>& all, QueueEntriesReply& reply) const {
    if (log_ || !state_.empty() || offset_ > 0)
      return InvalidInput("--log, --state and --offset are for the whole queue, not for one entry");
    NL_ASSIGN(Entry entry, nl::queue::FindEntry(all, entry_));
    const int64_t attempt = attempt_ > 0 ? attempt_ : entry.attempts;
    if (attempt > entry.attempts)
      return NotFound(fmt::format("entry {} has {} attempts", entry.entry_id, entry.attempts));
    if (attempt > 0) {
      NL_ASSIGN(const bool found,
                ReadEnd(nl::queue::OutputPath(folder_, entry.entry_id, attempt), output_bytes_, reply));
      if (found) reply.output_attempt = attempt;
    }
    reply.entries_total = 1;
    reply.entries.push_back(std::move(entry));
    return {};
  }

  std::string entry_, state_, folder_;
  int64_t limit_ = 50, offset_ = 0, attempt_ = 0, output_bytes_ = 64 << 10;
  bool log_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<QueueEntriesOp>(); }

}  // namespace nl::ops::queue_entries
