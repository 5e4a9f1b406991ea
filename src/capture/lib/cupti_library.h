// SPDX-License-Identifier: Apache-2.0
#pragma once
// LoadCupti: finds libcupti in this process or on this machine and takes its functions.
// Thread rule: called once. Ownership: the library stays loaded for the process's life.

#include "capture/lib/cupti_pm_types.h"
#include "capture/lib/cupti_types.h"

namespace nl::capture {

struct CuptiLibrary {
  void* handle = nullptr;  // of dlopen
  cupti::Functions call{};
  uint32_t version = 0;
  char path[512] = {};
  char problem[256] = {};  // why it could not be loaded; empty when it was
};

bool LoadCupti(CuptiLibrary& to);

// The functions of PM sampling; false: `problem` says what the library lacks.
bool LoadPmSampling(const CuptiLibrary& library, cupti::pm::Functions& to, char* problem,
                    size_t problem_bytes);
// Loads what CUPTI loads when PM sampling is first used, from where CUPTI is; nothing of it
// is used yet. What is not there is left to CUPTI.
void LoadPerfLibraries(const CuptiLibrary& library);

}  // namespace nl::capture
