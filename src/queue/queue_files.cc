// SPDX-License-Identifier: Apache-2.0
#include "queue/queue_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/mailbox.h"
#include "base/record_json.h"
#include "base/secrets.h"
#include "base/time_text.h"
#include "base/uuid.h"

namespace nl::queue {

namespace {

// A command has the journal for some milliseconds; a runner has it until it ends.
constexpr auto kWaitForCommands = std::chrono::milliseconds(50);

std::string NowText() { return Rfc3339Utc(UnixNowNs()); }

std::string Joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) (out += text) += '\0';
  return out;
}

std::vector<std::string> Split(std::string_view bytes) {
  std::vector<std::string> out;
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\0'), bytes.size());
    out.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return out;
}

// The folder appears whole or not at all.
Status WriteEntryFiles(const std::string& folder, std::string_view entry_id, const EntryFiles& files) {
  const std::string to = EntryFolder(folder, entry_id), fresh = to + ".new";
  NL_TRY(MakeDirectories(fresh));
  NL_TRY(WriteFileAtomically(fresh + "/command", Joined(files.command), 0600));
  NL_TRY(WriteFileAtomically(fresh + "/environment", Joined(files.environment), 0600));
  if (files.script) {
    NL_TRY(WriteFileAtomically(fresh + "/script", *files.script, 0700));
  }
  if (rename(fresh.c_str(), to.c_str()) != 0) return FileError("rename", fresh);
  return SyncDirectory(folder + "/entries");
}

Status MakeQueueFolder(const std::string& folder) {
  const bool fresh = !PathExists(folder);
  NL_TRY(MakeDirectories(folder + "/entries"));
  NL_TRY(MakeDirectories(RequestsFolder(folder)));
  if (fresh) chmod(folder.c_str(), 0700);
  return {};
}

Result<EntryTable> LoadTable(const std::string& folder) {
  NL_ASSIGN(const JournalContent content, Journal::Read(folder));
  EntryTable table;
  table.Load(content.records);
  return table;
}

// The records of a request that is not in the table yet; nothing for one that says nothing new.
std::vector<Json> Carry(const Json& request, EntryTable& table) {
  const auto text = [&](const char* name) {
    const auto it = request.find(name);
    return it != request.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  if (const auto add = request.find("add"); add != request.end() && add->is_object()) {
    Entry entry;
    if (!Apply(*add, entry).ok() || !IsUuidV7(entry.entry_id) || table.Find(entry.entry_id) != nullptr)
      return {};
    return {table.Add(std::move(entry))};
  }
  const std::string entry_id = text("entry"), action = text("action");
  if (table.Find(entry_id) == nullptr) return {};
  if (action == "cancel") {
    Json record = table.Cancel(entry_id, NowText());
    return record.is_null() ? std::vector<Json>() : std::vector<Json>{std::move(record)};
  }
  if (action != "retry") return {};
  Result<Json> record = table.Retry(entry_id);
  return record.ok() ? std::vector<Json>{*std::move(record)} : std::vector<Json>();
}

}  // namespace

std::string QueueFolder(const std::string& store_path) { return store_path + "/queue"; }
std::string RequestsFolder(const std::string& folder) { return folder + "/requests"; }
std::string EntryFolder(const std::string& folder, std::string_view entry_id) {
  return fmt::format("{}/entries/{}", folder, entry_id);
}
std::string OutputPath(const std::string& folder, std::string_view entry_id, int64_t attempt) {
  return fmt::format("{}/output-{}.log", EntryFolder(folder, entry_id), attempt);
}

Result<EntryFiles> ReadEntryFiles(const std::string& folder, std::string_view entry_id) {
  const std::string from = EntryFolder(folder, entry_id);
  EntryFiles out;
  NL_ASSIGN(const std::string command, ReadWholeFile(from + "/command"));
  NL_ASSIGN(const std::string environment, ReadWholeFile(from + "/environment"));
  out.command = Split(command);
  out.environment = Split(environment);
  if (PathExists(from + "/script")) {
    NL_ASSIGN(out.script, ReadWholeFile(from + "/script"));
  }
  return out;
}

std::vector<std::string> ArgumentsOf(const EntryFiles& files, const std::string& script_path) {
  if (!files.script) return files.command;
  std::vector<std::string> out;
  if (!files.script->starts_with("#!")) out.emplace_back("/bin/sh");
  out.push_back(script_path);
  out.insert(out.end(), files.command.begin(), files.command.end());
  return out;
}

Result<Entry> AddEntry(const std::string& folder, Entry entry, const EntryFiles& files) {
  entry.entry_id = NewUuidV7();
  entry.created_at = NowText();
  entry.command = files.command;
  std::vector<std::string> hidden;  // the journal and the lists need no secrets; the file has them
  HideSecretArguments(entry.command, hidden);
  if (files.script) entry.script_bytes = static_cast<int64_t>(files.script->size());
  NL_TRY(MakeQueueFolder(folder));
  NL_TRY(WriteEntryFiles(folder, entry.entry_id, files));
  Result<std::unique_ptr<Journal>> journal = Journal::Open(folder, kWaitForCommands);
  if (!journal.ok()) {
    if (journal.error().code != ErrorCode::kLimit) return std::move(journal).error();
    NL_TRY(LeaveMessage(RequestsFolder(folder), {{"add", ToDocument(entry)}}));
    return entry;
  }
  if (!PendingMessages(RequestsFolder(folder)).empty()) {  // they were there first
    NL_ASSIGN(EntryTable table, LoadTable(folder));
    NL_TRY(TakeRequests(folder, **journal, table));
  }
  NL_TRY((*journal)->Append(EntryTable::RecordOfNew(entry)));
  return entry;
}

Status ChangeEntry(const std::string& folder, std::string_view entry_id, std::string_view action) {
  NL_TRY(LeaveMessage(RequestsFolder(folder), {{"entry", entry_id}, {"action", action}}));
  const Result<std::unique_ptr<Journal>> journal = Journal::Open(folder, kWaitForCommands);
  if (!journal.ok())  // the runner takes it
    return journal.error().code == ErrorCode::kLimit ? Status() : Status(journal.error());
  NL_ASSIGN(EntryTable table, LoadTable(folder));
  return TakeRequests(folder, **journal, table);
}

Status TakeRequests(const std::string& folder, Journal& journal, EntryTable& table) {
  const std::vector<Message> pending = PendingMessages(RequestsFolder(folder));
  if (pending.empty()) return {};
  std::vector<Json> records;
  for (const Message& message : pending) {
    for (Json& record : Carry(message.content, table)) records.push_back(std::move(record));
  }
  if (!records.empty()) {
    NL_TRY(journal.AppendAll(records));
  }
  for (const Message& message : pending) unlink(message.path.c_str());
  return {};
}

Result<std::vector<Entry>> ReadEntries(const std::string& folder) {
  // Requests first: one that is taken meanwhile is then in the journal too, and not lost between the two.
  const std::vector<Message> pending = PendingMessages(RequestsFolder(folder));
  NL_ASSIGN(EntryTable table, LoadTable(folder));
  for (const Message& message : pending) Carry(message.content, table);
  return table.All();
}

}  // namespace nl::queue
