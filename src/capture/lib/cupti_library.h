// SPDX-License-Identifier: Apache-2.0
#pragma once
// LoadCupti: finds libcupti in this process or on this machine and takes its functions.
// Thread rule: called once. Ownership: the library stays loaded for the process's life.

#include "capture/lib/cupti_types.h"

namespace nl::capture {

struct CuptiLibrary {
  cupti::Functions call{};
  uint32_t version = 0;
  char path[512] = {};
  char problem[256] = {};  // why it could not be loaded; empty when it was
};

bool LoadCupti(CuptiLibrary& to);

}  // namespace nl::capture
