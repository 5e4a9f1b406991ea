// SPDX-License-Identifier: Apache-2.0
#include "ledger/attachments.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/uuid.h"
#include "ledger/doctor.h"
#include "ledger/run_files.h"
#include "ledger/sql_session.h"

namespace nl {

namespace {

Result<Json> ReadAbout(const std::string& folder) {
  NL_ASSIGN(const std::string text, ReadWholeFile(fmt::format("{}/{}", folder, kAttachmentFile)));
  return ParseJson(text);
}

}  // namespace

std::vector<std::string> AttachmentFolders(const std::string& run_folder) {
  std::vector<std::string> out;
  std::error_code code;
  const std::string parent = fmt::format("{}/{}", run_folder, kAttachedFolder);
  for (std::filesystem::directory_iterator it(parent, code), end; !code && it != end; it.increment(code)) {
    if (it->is_directory(code) && IsUuidV7(it->path().filename().string()))
      out.push_back(it->path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<AttachOutcome> AttachTables(Store& store, const std::string& run_id, StagedRun&& staged_in,
                                   Json about) {
  StagedRun staged = std::move(staged_in);
  const std::string run_folder = store.RunPath(run_id);
  const std::string content = about.value("content_sha256", ""), plain = about.value("plain_sha256", "");
  for (const std::string& folder : AttachmentFolders(run_folder)) {
    const Result<Json> other = ReadAbout(folder);
    if (!other.ok() || !other->is_object()) continue;
    const std::string there = other->value("content_sha256", "");
    if (!there.empty() && (there == content || there == plain))
      return AttachOutcome{std::filesystem::path(folder).filename().string(), true};
  }
  AttachOutcome outcome{NewUuidV7(), false};
  about["attachment_id"] = outcome.attachment_id;
  NL_ASSIGN(const RunFiles files, MeasureRunFiles(staged.path(), kAttachmentFile));
  NL_TRY(WriteFileAtomically(fmt::format("{}/{}", staged.path(), kAttachmentFile),
                             SealedText(std::move(about), files)));
  const std::string parent = fmt::format("{}/{}", run_folder, kAttachedFolder);
  NL_TRY(MakeDirectories(parent));
  NL_TRY(store.Place(std::move(staged), fmt::format("{}/{}", parent, outcome.attachment_id)));
  return outcome;
}

std::string AttachmentDefect(const std::string& run_folder) {
  for (const std::string& folder : AttachmentFolders(run_folder)) {
    const std::string name =
        fmt::format("{}/{}", kAttachedFolder, std::filesystem::path(folder).filename().string());
    const Result<Json> about = ReadAbout(folder);
    if (!about.ok() || !about->is_object())
      return fmt::format("{}/{}: {}", name, kAttachmentFile,
                         about.ok() ? "not an object" : about.error().message);
    for (const std::string& table : TablesIn(folder)) {
      const std::string defect = ParquetDefect(fmt::format("{}/{}.parquet", folder, table));
      if (!defect.empty()) return fmt::format("{}/{}.parquet {}", name, table, defect);
    }
  }
  return "";
}

}  // namespace nl
