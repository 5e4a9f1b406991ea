// SPDX-License-Identifier: Apache-2.0
#include "deep/bundle.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/ascii.h"
#include "base/file_ops.h"
#include "base/run_program.h"
#include "base/sha256.h"
#include "base/uuid.h"

namespace nl::deep {

namespace fs = std::filesystem;

namespace {

constexpr char kUnfinished[] = "The command that makes this bundle is still running, or was ended.\n";
// What --max-size removes: recordings whose contents are in the store or in the CSV files.
constexpr std::string_view kRemovable[] = {"timeline/capture.nlcap", "nsys/report.nsys-rep",
                                           "nsys/report.sqlite", "ncu/report.ncu-rep"};

Error FolderError(const std::error_code& code, const std::string& path) {
  return FileError("read", path, code.value());
}

// The paths, with the files below those that are folders, by name.
std::vector<std::string> FilesIn(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  std::error_code code;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path, code)) {
      out.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator it(path, code), end; !code && it != end; it.increment(code))
      found.push_back(it->path().string());
    std::sort(found.begin(), found.end());
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

bool IsBundle(const fs::path& folder) {
  return IsUuidV7(folder.filename().string()) &&
         (PathExists((folder / "metrics.json").string()) || PathExists((folder / kPartialFile).string()));
}

}  // namespace

Result<Bundle> Bundle::Make(const std::string& out) {
  NL_TRY(MakeDirectories(out));
  std::error_code code;
  const std::string whole = fs::absolute(out, code).lexically_normal().string();
  if (code) return FolderError(code, out);
  Bundle bundle(whole, fmt::format("{}/.deep-{}", whole, RandomHex(12)));
  NL_TRY(MakeDirectories(bundle.path_));
  NL_TRY(bundle.Write(kPartialFile, kUnfinished));
  return bundle;
}

Status Bundle::Rename(const std::string& id) {
  const std::string named = fmt::format("{}/{}", out_, id);
  if (PathExists(named)) return InvalidInput("the folder of the bundle is already there").At(named);
  std::error_code code;
  fs::rename(path_, named, code);
  if (code) return FileError("rename", path_, code.value());
  path_ = named;
  return SyncDirectory(out_);
}

Status Bundle::Write(const std::string& name, std::string_view bytes) {
  const std::string path = PathOf(name);
  NL_TRY(MakeDirectories(fs::path(path).parent_path().string()));
  return WriteFileAtomically(path, bytes);
}

Result<std::string> Bundle::Folder(const std::string& name) {
  std::string path = PathOf(name);
  NL_TRY(MakeDirectories(path));
  return path;
}

Status Bundle::WriteCommand(const std::string& folder,
                            const std::vector<std::vector<std::string>>& commands) {
  std::string text;
  for (const std::vector<std::string>& words : commands) {
    for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : " ") + Quoted(words[i]);
    text += "\n";
  }
  return Write(folder + "/cmd.txt", text);
}

Status Bundle::Finish(const std::vector<std::string>& problems) {
  if (!problems.empty()) return Write(kPartialFile, fmt::format("{}\n", fmt::join(problems, "\n")));
  std::error_code code;
  fs::remove(PathOf(kPartialFile), code);
  if (code) return FileError("remove", PathOf(kPartialFile), code.value());
  return SyncDirectory(path_);
}

Result<std::vector<std::string>> Bundle::Shrink(int64_t max_bytes) {
  std::vector<std::string> dropped;
  if (max_bytes <= 0) return dropped;
  for (;;) {
    NL_ASSIGN(const int64_t bytes, TreeBytes(path_));
    if (bytes <= max_bytes) return dropped;
    std::string largest;
    int64_t most = 0;
    for (const std::string_view name : kRemovable) {
      const std::string path = PathOf(std::string(name));
      if (!PathExists(path)) continue;
      std::error_code code;
      int64_t size = 0;
      if (IsDirectory(path)) {
        NL_ASSIGN(size, TreeBytes(path));
      } else {
        size = static_cast<int64_t>(fs::file_size(path, code));
      }
      if (!code && size > most) {
        most = size;
        largest = name;
      }
    }
    if (largest.empty()) {
      return Limit(
          fmt::format("the bundle has {} bytes and cannot be made smaller than that; --max-size is {}", bytes,
                      max_bytes));
    }
    NL_TRY(RemoveTree(PathOf(largest)));
    dropped.push_back(largest);
  }
}

Result<std::vector<std::string>> Bundle::Files() const {
  std::vector<std::string> out;
  std::error_code code;
  for (fs::recursive_directory_iterator it(path_, code), end; !code && it != end; it.increment(code)) {
    if (it->is_regular_file(code)) out.push_back(fs::relative(it->path(), path_, code).string());
  }
  if (code) return FolderError(code, path_);
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<std::string>> KeepNewest(const std::string& out, int64_t keep, const std::string& own) {
  std::vector<std::string> removed;
  if (keep <= 0) return removed;
  std::vector<std::string> bundles;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(out, code)) {
    if (entry.is_directory(code) && !entry.is_symlink(code) && IsBundle(entry.path()))
      bundles.push_back(entry.path().filename().string());
  }
  if (code) return FolderError(code, out);
  // Ids are UUIDv7: by name is by time.
  std::sort(bundles.rbegin(), bundles.rend());
  for (size_t i = static_cast<size_t>(keep); i < bundles.size(); ++i) {
    if (bundles[i] == own) continue;
    NL_TRY(RemoveTree(fmt::format("{}/{}", out, bundles[i])));
    removed.push_back(bundles[i]);
  }
  return removed;
}

std::string Quoted(std::string_view word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_-./=:,+%@").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

Result<std::string> InputsYaml(const std::vector<std::string>& command, const std::vector<std::string>& more,
                               const std::vector<InputText>& texts) {
  std::vector<std::string> paths = FilesIn(more);
  for (size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (i == 0) {
      if (std::string program = FindProgram(word); !program.empty()) paths.push_back(std::move(program));
      continue;
    }
    paths.push_back(word);
    if (const size_t equals = word.find('='); equals != std::string::npos)
      paths.push_back(word.substr(equals + 1));  // --model=FILE
  }
  YAML::Emitter yaml;
  yaml << YAML::BeginMap << YAML::Key << "inputs" << YAML::Value << YAML::BeginSeq;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    std::error_code code;
    if (path.empty() || !fs::is_regular_file(path, code) || !seen.insert(path).second) continue;
    const auto bytes = static_cast<int64_t>(fs::file_size(path, code));
    NL_ASSIGN(const std::string hash, FileSha256Hex(path));
    yaml << YAML::BeginMap << YAML::Key << "path" << YAML::Value << path << YAML::Key << "bytes"
         << YAML::Value << bytes << YAML::Key << "sha256" << YAML::Value << hash << YAML::EndMap;
  }
  for (const InputText& input : texts) {
    yaml << YAML::BeginMap << YAML::Key << "name" << YAML::Value << input.name << YAML::Key << "origin"
         << YAML::Value << input.origin << YAML::Key << "bytes" << YAML::Value << input.text.size()
         << YAML::Key << "sha256" << YAML::Value << Sha256Hex(input.text) << YAML::EndMap;
  }
  yaml << YAML::EndSeq << YAML::EndMap;
  return std::string(yaml.c_str()) + "\n";
}

}  // namespace nl::deep
