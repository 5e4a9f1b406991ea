// SPDX-License-Identifier: Apache-2.0
#pragma once
// ApiList: which runtime and driver calls are recorded, by name. Every call of a program
// would be six to fifteen times the records, most of them questions like cudaGetDevice; the
// list has what launches, copies, waits, takes memory, or belongs to graphs and events.
// The numbers of the calls are asked of CUPTI, as they differ between versions.
// Thread rule: filled once, read by one thread.

#include <cstdint>
#include <string_view>

#include "capture/lib/cupti_types.h"

namespace nl::capture {

// Is a call of this name of interest? Endings of variants (_v2, _ptsz, _v7000) are ignored.
bool IsListedApi(std::string_view name);

class ApiList {
 public:
  static constexpr uint32_t kMostIds = 2048;

  // Asks for the names of all calls; `all` lists every one.
  void Learn(const cupti::Functions& call, bool all);
  bool Has(int domain, uint32_t callback_id) const {
    return callback_id < kMostIds && of(domain).listed[callback_id];
  }
  // Null when CUPTI has no name for it.
  const char* Name(int domain, uint32_t callback_id) const {
    return callback_id < kMostIds ? of(domain).name[callback_id] : nullptr;
  }
  cupti::Wait WaitOf(int domain, uint32_t callback_id) const {
    return callback_id < kMostIds ? of(domain).wait[callback_id] : cupti::Wait::kNothing;
  }
  // Does it mean the calling thread's own default stream where it is given none?
  bool IsOfThreadsStream(int domain, uint32_t callback_id) const {
    return callback_id < kMostIds && of(domain).threads_stream[callback_id];
  }
  // Calls are numbered 1 to this.
  uint32_t last(int domain) const { return of(domain).last; }

 private:
  struct Domain {
    const char* name[kMostIds] = {};
    bool listed[kMostIds] = {};
    cupti::Wait wait[kMostIds] = {};
    bool threads_stream[kMostIds] = {};
    uint32_t last = 0;
  };
  const Domain& of(int domain) const { return domain == cupti::kRuntimeApi ? runtime_ : driver_; }
  Domain runtime_, driver_;
};

}  // namespace nl::capture
