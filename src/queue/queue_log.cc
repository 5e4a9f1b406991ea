// SPDX-License-Identifier: Apache-2.0
#include "queue/queue_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/terminal.h"

namespace nl::queue {

namespace {

constexpr int kTitleColumns = 400;

// "START ID attempt=2": what a line is recognised by.
std::string KeyOf(std::string_view kind, const Entry& entry) {
  return fmt::format("{} {} attempt={}", kind, entry.entry_id, entry.attempts);
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : PrintableName(text, kTitleColumns)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// The keys of all lines; a last line without end is not one.
std::set<std::string, std::less<>> KeysIn(std::string_view text) {
  std::set<std::string, std::less<>> keys;
  for (size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const std::string_view line = text.substr(0, end);
    const size_t kind = line.find(' '), attempt = line.find(" attempt=");
    if (kind == std::string_view::npos || attempt == std::string_view::npos) continue;
    const size_t last = std::min(line.find(' ', attempt + 1), line.size());
    keys.emplace(line.substr(kind + 1, last - kind - 1));
  }
  return keys;
}

}  // namespace

std::string LogPath(const std::string& folder) { return folder + "/queue.log"; }

std::string StartLine(const Entry& entry) {
  return fmt::format("{} {} engine={} command={}\n", entry.started_at.value_or("-"), KeyOf("START", entry),
                     entry.engine.value_or("local"), Quoted(TitleOf(entry)));
}

std::string EndLine(const Entry& entry) {
  const std::string status = entry.exit_status ? std::to_string(*entry.exit_status) : "unknown";
  const char* overlap = !entry.overlap ? "unknown" : *entry.overlap ? "yes" : "no";
  std::string line = fmt::format("{} {} status={} overlap={}", entry.finished_at.value_or("-"),
                                 KeyOf("END", entry), status, overlap);
  if (entry.duration_ms) line += fmt::format(" duration_ms={:.1f}", *entry.duration_ms);
  line += fmt::format(" state={}", NameOf(entry.state));
  if (entry.reason) line += fmt::format(" reason={}", Quoted(*entry.reason));
  return line + "\n";
}

Status AppendLog(const std::string& folder, const std::string& lines, bool sync) {
  const std::string path = LogPath(folder);
  const UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return FileError("open", path);
  // A line that a crash or a full disk cut gets an end, so that this one stands by itself.
  char last = '\n';
  const off_t size = lseek(file.get(), 0, SEEK_END);
  const bool cut = size > 0 && pread(file.get(), &last, 1, size - 1) == 1 && last != '\n';
  const std::string text = cut ? "\n" + lines : lines;
  ssize_t n;
  do n = write(file.get(), text.data(), text.size());
  while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(text.size()) || (sync && fdatasync(file.get()) != 0))
    return FileError("write", path);
  return {};
}

Status CompleteLog(const std::string& folder, const std::vector<Entry>& entries) {
  const Result<std::string> text = ReadWholeFile(LogPath(folder));
  if (!text.ok() && text.error().code != ErrorCode::kNotFound) return text.error();
  const auto keys = KeysIn(text.ok() ? *text : std::string());
  std::string lines;
  for (const Entry& entry : entries) {
    if (entry.attempts == 0 || !entry.started_at) continue;
    if (!keys.contains(KeyOf("START", entry))) lines += StartLine(entry);
    if (entry.state == EntryState::kRunning || !entry.finished_at) continue;
    if (!keys.contains(KeyOf("END", entry))) lines += EndLine(entry);
  }
  return lines.empty() ? Status() : AppendLog(folder, lines);
}

}  // namespace nl::queue
