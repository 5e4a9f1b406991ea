// SPDX-License-Identifier: Apache-2.0
#pragma once
// The regular expression that finds a kernel in Nsight Compute by the name a timeline has for it: the
// function, without namespaces, template arguments and parameters. ncu spells all of these in its own way,
// which changes with its version. So a kernel's filter also takes the other kernels of its function template;
// which of them belongs to which kernel of the timeline is decided by whole names when the counters are
// joined.
//
//   void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>, ...>(...)
//   vectorized_elementwise_kernel
//
// No more than that, because of what ncu 2025.3.1 does with more: where alternatives had template arguments,
// it left out kernels of cuBLAS and cuDNN (docs/deep.md). No colon: it separates the parts of
// `ncu --kernel-id`. Thread rule: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace nl::deep {

// `raw`: the kernel's name as the timeline spells it. Not anchored: Alternation does that.
std::string NcuRegex(std::string_view raw);

// One expression for whole words of several, each once.
std::string Alternation(const std::vector<std::string>& regexes);

}  // namespace nl::deep
