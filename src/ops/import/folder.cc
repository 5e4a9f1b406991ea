// SPDX-License-Identifier: Apache-2.0
#include "ops/import/folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "import/file_sets.h"
#include "import/importer.h"
#include "ledger/bundle.h"

namespace nl::ops::import {

namespace {

namespace fs = std::filesystem;

constexpr char kStore[] = "stores of NeuroLens";
constexpr char kOwnExport[] = "files that NeuroLens wrote";
constexpr char kNotAProfile[] = "not profiles";
constexpr char kNotAllowed[] = "links that lead out of the folders that the server allows";

bool IsHidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.empty() || name.front() == '.';
}

bool IsStore(const fs::path& folder) {
  std::error_code code;
  return fs::is_regular_file(folder / "catalog.sqlite", code) && fs::is_directory(folder / "runs", code);
}

// "MODEL-0193abcd.pftrace": the name that `export` gives the file of a run, when this store has the run.
bool IsNamedAsExport(const fs::path& path, Catalog& catalog) {
  const std::string stem = path.stem().string();
  const size_t dash = stem.rfind('-', stem.size() > 9 ? stem.size() - 9 : 0);
  const std::string id = dash == std::string::npos ? "" : stem.substr(dash + 1);
  const bool hex = id.size() >= 8 && id.find_first_not_of("0123456789abcdef-") == std::string::npos;
  if (!hex) return false;
  const Result<std::vector<CatalogRun>> runs = catalog.FindByPrefix(id, 1);
  return runs.ok() && !runs->empty();
}

bool IsOwnExport(const fs::path& path, Catalog& catalog) {
  if (path.extension() == ".parquet" || IsNamedAsExport(path, catalog)) return true;
  std::string head(4096, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  for (const char* mark :
       {"\"exporter\":\"neurolens\"",
        "\"schema_version\":1,\"run_id\":", "\"schema_version\":1,\"generated_from\":",
        "\"schema_version\": 1,\n  \"generated_from\":", "\"schema_version\": 1,\n  \"run_id\":"}) {
    if (head.find(mark) != std::string::npos) return true;
  }
  return false;
}

Result<std::vector<std::string>> FilesOf(const std::string& folder, const MayRead& may_read, Catalog& catalog,
                                         std::vector<ImportSkipped>& skipped) {
  std::vector<std::string> files;
  std::error_code code;
  for (fs::recursive_directory_iterator it(folder, code), end; it != end && !code; it.increment(code)) {
    const bool hidden = IsHidden(it->path());
    if (it->is_directory(code)) {
      if (hidden || IsStore(it->path())) it.disable_recursion_pending();
      if (IsStore(it->path())) skipped.push_back({it->path().string(), kStore});
    } else if (it->is_regular_file(code) && !hidden) {
      if (may_read && !may_read(it->path().string()))
        skipped.push_back({it->path().string(), kNotAllowed});
      else if (IsOwnExport(it->path(), catalog))
        skipped.push_back({it->path().string(), kOwnExport});
      else
        files.push_back(it->path().string());
    }
  }
  if (code) return IoError(fmt::format("cannot list {}", folder), code.value());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<std::vector<FileGroup>> GroupsOfFolder(const std::string& folder, bool apart, const MayRead& may_read,
                                              Catalog& catalog, std::vector<ImportSkipped>& skipped) {
  if (IsStore(folder)) {
    return InvalidInput("the folder is a store of NeuroLens, not a folder of profiles")
        .At(folder)
        .Hint("use it with --store, or import bundles that `neurolens export --format bundle` wrote");
  }
  NL_ASSIGN(const std::vector<std::string> files, FilesOf(folder, may_read, catalog, skipped));
  std::vector<RankedFile> profiles;
  std::vector<FileGroup> bundles;
  std::string first_error;
  for (FileSet& set : GroupParts(files)) {
    const std::vector<std::string>& paths = set.paths;
    const std::string& file = paths[0];
    const fs::path below = fs::path(file).lexically_relative(folder);
    const Result<RankHint> hint = PeekRank(file);
    if (hint.ok() && paths.size() > 1) {
      const Result<FileRole> role = PeekRole(file);
      profiles.push_back({file,
                          BelowOfSet(below.parent_path().string(), role.ok() ? role->set : ""),
                          *hint,
                          {paths.begin() + 1, paths.end()},
                          std::move(set.siblings)});
    } else if (hint.ok()) {
      profiles.push_back({file, below.string(), *hint});
    } else if (LooksLikeBundle(file)) {
      bundles.push_back({{file}, {}, {}});
    } else {
      if (first_error.empty()) first_error = hint.error().ToString();
      for (const std::string& path : paths) skipped.push_back({path, kNotAProfile});
    }
  }
  if (profiles.empty() && bundles.empty()) {
    return InvalidInput(!first_error.empty() ? "no profile in this folder: " + first_error
                        : skipped.empty()    ? "the folder holds no files"
                                             : "the folder holds only what NeuroLens wrote itself")
        .At(folder);
  }
  std::vector<FileGroup> groups;
  if (!apart) {
    groups = GroupRanks(profiles);
    profiles.clear();
  }
  for (RankedFile& file : profiles) {
    FileGroup& group = groups.emplace_back();
    group.paths.push_back(file.path);
    std::move(file.more.begin(), file.more.end(), std::back_inserter(group.paths));
    group.siblings = std::move(file.siblings);
  }
  std::move(bundles.begin(), bundles.end(), std::back_inserter(groups));
  return groups;
}

}  // namespace nl::ops::import
