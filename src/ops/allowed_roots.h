// SPDX-License-Identifier: Apache-2.0
#pragma once
// AllowedRoots: the folders of this machine below which remote callers may name files (`serve --allow-root`).
// Symbolic links are resolved before a path is compared with a root, so a link that leads out of a root is
// refused. Whoever can change a root while an import reads it can still exchange a file for a link.
// Thread rule: constant after Open; any thread.

#include <string>
#include <vector>

#include "base/result.h"

namespace nl {

class AllowedRoots {
 public:
  // The roots without symbolic links; NotFound or InvalidInput for what is not an existing folder.
  static Result<AllowedRoots> Open(const std::vector<std::string>& folders);

  bool empty() const { return roots_.empty(); }
  // Whether this path leads to a place below a root; it need not exist.
  bool Contains(const std::string& path) const;
  // The path without symbolic links, "." and "..". Forbidden when it is not absolute or leads elsewhere,
  // whether or not something exists there; NotFound when nothing exists below the root.
  Result<std::string> Resolve(const std::string& path) const;

 private:
  std::vector<std::string> roots_;
};

// Resolve of `roots`; null: no path is allowed.
Result<std::string> ResolveAllowed(const AllowedRoots* roots, const std::string& path);

}  // namespace nl
