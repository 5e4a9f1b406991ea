// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the name of a copy means, as profilers spell it: "Memcpy HtoD (Pageable -> Device)",
// "MemcpyHostToDevice". For every adapter that meets copies by name.
// Thread rule: pure functions. Ownership: the views are of the name given.

#include <string_view>

namespace nl {

struct CopyName {
  std::string_view kind;      // HtoD, DtoH, DtoD, HtoH, PtoP, HtoA, AtoH; empty: not given
  std::string_view src, dst;  // memories; empty: not given
};
CopyName ParseCopyName(std::string_view name);

}  // namespace nl
