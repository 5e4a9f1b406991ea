// SPDX-License-Identifier: Apache-2.0
#pragma once
// JoinKernels: which kernel of a run is which of a second recording of the same program,
// such as a report with counters. Kernels are the same when their normalised names, grids
// and blocks are; those are paired in the order they ran. Where one side does not know the
// launch, the name and the order decide.
// Thread rule: pure function.

#include <cstdint>
#include <string>
#include <vector>

#include "model/string_pool.h"
#include "model/tables/kernel.h"

namespace nl {

// Columns name, start_ns, grid_* and block_* are read.
struct KernelList {
  const KernelColumns& columns;
  const StringPool& strings;
};

enum class JoinFailure : uint8_t { kNoSuchKernel, kOtherLaunch, kFewerExecutions };
const char* JoinFailureName(JoinFailure failure);     // no_such_kernel, other_launch, fewer_executions
const char* JoinFailureMeaning(JoinFailure failure);  // one sentence

struct KernelJoin {
  std::vector<int64_t> run_row;  // by row of the second recording; -1: not in the run
  int64_t matched = 0;
  struct Unmatched {
    JoinFailure why;
    std::string kernel, grid, block;  // as the second recording has them
    std::string instead;              // launches the run has of that kernel
    int64_t executions = 0;
  };
  std::vector<Unmatched> unmatched;  // by reason and kernel, most executions first
};

KernelJoin JoinKernels(const KernelList& run, const KernelList& other);

}  // namespace nl
