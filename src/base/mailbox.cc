// SPDX-License-Identifier: Apache-2.0
#include "base/mailbox.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/uuid.h"

namespace nl {

namespace {

constexpr int64_t kMostMessageBytes = 4 << 20;

}  // namespace

Status LeaveMessage(const std::string& folder, const Json& content) {
  NL_TRY(MakeDirectories(folder));
  // Names sort by time, so that messages of one process are taken in their order.
  return WriteFileAtomically(fmt::format("{}/{}.json", folder, NewUuidV7()), DumpJson(content));
}

std::vector<Message> PendingMessages(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code ec;
  for (std::filesystem::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    if (it->path().extension() == ".json") paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Message> out;
  for (const std::string& path : paths) {
    const Result<std::string> text = ReadWholeFile(path, kMostMessageBytes);
    if (!text.ok() && text.error().code == ErrorCode::kNotFound) continue;  // taken meanwhile
    Result<Json> content = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
    if (content.ok() && content->is_object())
      out.push_back({path, *std::move(content)});
    else
      unlink(path.c_str());
  }
  return out;
}

}  // namespace nl
