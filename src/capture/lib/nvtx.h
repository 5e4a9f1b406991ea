// SPDX-License-Identifier: Apache-2.0
#pragma once
// AttachNvtx: puts our functions into one copy of NVTX in this process.
// Thread rule: any thread.

#include <cstdint>

#include "capture/lib/host_ring.h"

namespace nl::capture {

bool AttachNvtx(const void* (*get_export_table)(uint32_t));

// The same events without NVTX, for the Python package; `payload` is JSON text or null.
// Ranges without attributes, as PyTorch's profiler makes them, that are open on this thread.
int OpenRanges();
void EmitRange(HostWhat what, const char* name, const char* payload);

}  // namespace nl::capture
