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

// Of a second recording that has one or a few executions of each kernel: every execution of the run is given
// the one of the second recording with the same normalised name, grid and block; of several, the one whose
// duration is nearest by ratio. `run_row` is the execution of the run nearest in duration to each one of the
// second recording. Column dur_ns is read too.
struct SameKernelJoin : KernelJoin {
  std::vector<int64_t> other_row;  // by row of the run; -1: the second recording does not have its kernel
};
SameKernelJoin JoinSameKernels(const KernelList& run, const KernelList& other);

}  // namespace nl
