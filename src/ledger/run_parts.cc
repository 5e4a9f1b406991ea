// SPDX-License-Identifier: Apache-2.0
#include "ledger/run_parts.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ledger/attachments.h"
#include "ledger/parquet_format.h"

namespace nl {

namespace {

// The table that a file name stands for; empty when it is not one.
std::string_view TableOf(std::string_view file) {
  const bool is_table = file.size() > kParquetSuffix.size() && file.ends_with(kParquetSuffix) &&
                        file.find('/') == std::string_view::npos;
  return is_table ? file.substr(0, file.size() - kParquetSuffix.size()) : std::string_view();
}

std::vector<std::string> NotedTables(const RunFiles& files) {
  std::vector<std::string> names;
  for (const auto& [name, file] : files) {
    if (const std::string_view table = TableOf(name); !table.empty()) names.emplace_back(table);
  }
  return names;
}

void AddParts(const RunSource& run, const std::string& run_folder, const std::string& prefix,
              const RunFiles& noted, RunParts& out) {
  const std::vector<std::string> tables = !run.tables.empty() ? run.tables
                                          : !noted.empty()    ? NotedTables(noted)
                                                              : TablesIn(run_folder + "/" + prefix);
  for (const std::string& table : tables) {
    const std::string name = fmt::format("{}{}", table, kParquetSuffix);
    const auto found = noted.find(name);
    RunPart part{run.label, run_folder, prefix + name,
                 found == noted.end() ? RunFile{-1, {}} : found->second};
    if (found == noted.end() && !PathExists(part.path())) continue;
    out[table].push_back(std::move(part));
  }
}

}  // namespace

std::vector<std::string> TablesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code ec;
  for (std::filesystem::directory_iterator it(directory, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string file = it->path().filename().string();
    if (const std::string_view table = TableOf(file); !table.empty()) names.emplace_back(table);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Error RemovedRun(const std::string& label) {
  return NotFound(fmt::format("no such run: {}: it was removed while it was read", label));
}

Result<RunParts> PartsOfRun(const RunSource& run) {
  std::error_code ec;
  const std::string run_folder = std::filesystem::absolute(run.directory, ec).lexically_normal().string();
  RunParts out;
  Result<RunFiles> of_run = ReadRunFiles(run_folder, kCatalogEntryFile);
  if (!of_run.ok()) return DamagedRun(run.label, of_run.error().message);
  AddParts(run, run_folder, "", *of_run, out);
  for (const std::string& folder : AttachmentFolders(run_folder)) {
    const std::string prefix =
        fmt::format("{}/{}/", kAttachedFolder, std::filesystem::path(folder).filename().string());
    if (!PathExists(fmt::format("{}/{}", folder, kAttachmentFile)))
      return DamagedRun(run.label, fmt::format("{}{} is missing", prefix, kAttachmentFile));
    Result<RunFiles> noted = ReadRunFiles(folder, kAttachmentFile);
    if (!noted.ok()) return DamagedRun(run.label, prefix + noted.error().message);
    AddParts(run, run_folder, prefix, *noted, out);
  }
  return out;
}

Status VerifyRunPart(const RunPart& part, const std::atomic<bool>* cancelled) {
  VerifyOptions options;
  options.cancelled = cancelled;
  const Status status = VerifyRunFile(part.run_folder, part.name, part.noted, options);
  if (status.ok() || status.error().code == ErrorCode::kCancelled) return status;
  if (!PathExists(part.run_folder)) return RemovedRun(part.label);
  return DamagedRun(part.label, status.error().message);
}

}  // namespace nl
