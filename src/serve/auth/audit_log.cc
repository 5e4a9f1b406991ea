// SPDX-License-Identifier: Apache-2.0
#include "serve/auth/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file_ops.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/time_text.h"

namespace nl::auth {

namespace {

constexpr size_t kMostTargetBytes = 1000;
constexpr unsigned kOwnerReads = 0600;

// One line of text for every reader: JSON escapes control characters, and what would turn the direction of a
// terminal's text or end a line for some programs (U+202E, U+2028) is made visible too.
std::string Visible(std::string_view text) { return PrintableText(text.substr(0, kMostTargetBytes)); }

}  // namespace

Status AuditLog::Append(const AuditEntry& entry) const {
  NL_TRY(MakeDirectories(store_));
  const std::string path = store_ + "/audit.log";
  const UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwnerReads));
  if (!file.valid()) return FileError("open", path);
  const Json line{{"time", Rfc3339Utc(UnixNowNs())},
                  {"actor", Visible(entry.actor)},
                  {"address", TextOrNull(entry.address)},
                  {"action", Visible(entry.action)},
                  {"target", TextOrNull(Visible(entry.target))},
                  {"outcome", entry.outcome}};
  const std::string text = DumpJson(line) + "\n";
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return FileError("write", path);
  return {};
}

}  // namespace nl::auth
