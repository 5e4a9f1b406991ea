// SPDX-License-Identifier: Apache-2.0
#pragma once
// The regular expression that finds a kernel in Nsight Compute by the name a timeline has for it. Both
// programs demangle, each in its own way: ncu leaves out some namespaces, prints T1 for parameters that are
// template arguments, "[lambda(int) (instance 1)]" for "{lambda(int)#1}" and casts literals. So the
// expression has what they share: the function, its template arguments up to the first that may be spelled in
// another way, and the identifiers among the others, in any order. It may match a kernel that differs in
// those alone.
//
//   vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>, std::array<char*, 2ul> >
//   ^([^<(]|<unnamed>)*\bvectorized_elementwise_kernel<([(][^)]*[)])?4, ?...CUDAFunctorOnSelf_add<...
//
// No colon: it separates the parts of `ncu --kernel-id`. Thread rule: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace nl::deep {

// `raw`: the kernel's name as the timeline spells it.
std::string NcuRegex(std::string_view raw);

// One expression for several, each once.
std::string Alternation(const std::vector<std::string>& regexes);

}  // namespace nl::deep
