// SPDX-License-Identifier: Apache-2.0
#include "model/python_path.h"

#include <algorithm>

namespace nl {

namespace {

constexpr std::string_view kEnding = ".py", kFrozen = "<frozen ", kPackage = "/__init__";

// What follows the folder "lib/python3.12/"; empty when the path is not below one.
std::string_view InStandardLibrary(std::string_view path) {
  for (const std::string_view folder : {"lib/python3", "lib64/python3"}) {
    const size_t at = path.find(folder);
    if (at == std::string_view::npos || (at > 0 && path[at - 1] != '/')) continue;
    const size_t slash = path.find('/', at + folder.size());
    if (slash != std::string_view::npos) return path.substr(slash + 1);
  }
  return {};
}

}  // namespace

std::string_view PackagePath(std::string_view path) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (const size_t at = path.rfind(folder); at != std::string_view::npos)
      return path.substr(at + folder.size());
  }
  if (const std::string_view library = InStandardLibrary(path); !library.empty()) return library;
  return path.substr(path.rfind('/') + 1);
}

std::string ModuleOfFile(std::string_view path) {
  if (path.starts_with(kFrozen) && path.ends_with('>'))
    return std::string(path.substr(kFrozen.size(), path.size() - kFrozen.size() - 1));
  if (!path.ends_with(kEnding)) return {};
  path.remove_suffix(kEnding.size());
  if (path.starts_with('/')) path = PackagePath(path);
  if (path.ends_with(kPackage)) path.remove_suffix(kPackage.size());
  std::string out(path);
  std::replace(out.begin(), out.end(), '/', '.');
  return out;
}

}  // namespace nl
