// SPDX-License-Identifier: Apache-2.0
#include "ops/allowed_roots.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/terminal.h"

namespace nl {

namespace {

namespace fs = std::filesystem;

constexpr char kUploadHint[] =
    "upload the profile (POST /api/v1/runs); `neurolens serve --allow-root DIR` allows the files of a folder";

bool IsBelow(const fs::path& path, const fs::path& root) {
  const auto [in_root, in_path] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return in_root == root.end();
}

// Where the path leads: links of its existing part are resolved, and the rest is made plain.
fs::path PlaceOf(const std::string& path) {
  std::error_code code;
  fs::path place = fs::weakly_canonical(path, code);
  return code ? fs::path() : place;
}

}  // namespace

Result<AllowedRoots> AllowedRoots::Open(const std::vector<std::string>& folders) {
  AllowedRoots out;
  for (const std::string& folder : folders) {
    std::error_code code;
    const fs::path place = fs::canonical(folder, code);
    if (code) return NotFound("the allowed root does not exist").At(folder);
    if (!fs::is_directory(place, code)) return InvalidInput("the allowed root is not a folder").At(folder);
    out.roots_.push_back(place.string());
  }
  return out;
}

bool AllowedRoots::Contains(const std::string& path) const {
  const fs::path place = PlaceOf(path);
  return place.is_absolute() && std::any_of(roots_.begin(), roots_.end(),
                                            [&](const std::string& root) { return IsBelow(place, root); });
}

Result<std::string> AllowedRoots::Resolve(const std::string& path) const {
  // A zero byte would end the path for the operating system only.
  const bool named = path.starts_with('/') && path.find('\0') == std::string::npos;
  if (!named || !Contains(path))
    return Forbidden(fmt::format("'{}' is not an absolute path below a folder that the server allows",
                                 PrintableName(path, 200)))
        .Hint(kUploadHint);
  const fs::path place = PlaceOf(path);
  std::error_code code;
  if (!fs::exists(place, code)) return NotFound("no such file or folder").At(path);
  if (!fs::is_regular_file(place, code) && !fs::is_directory(place, code))
    return InvalidInput("neither a file nor a folder").At(path);
  return place.string();
}

Result<std::string> ResolveAllowed(const AllowedRoots* roots, const std::string& path) {
  if (roots != nullptr) return roots->Resolve(path);
  return Forbidden("this server reads no files that its clients name").Hint(kUploadHint);
}

}  // namespace nl
