// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `stream`: one stream of a device, with what ran on it.

#include "model/table.h"

// clang-format off
#define NL_STREAM_COLUMNS(X) \
  X(int32_t, device, kDict, "", "Device index") \
  X(int64_t, context, kDict, "", "Driver context number") \
  X(int64_t, stream, kDict, "", "Stream number") \
  X(ThreadId, thread_id, kDict, "", "Lane of the stream (thread.id)") \
  X(int64_t, events, kDict, "", "Kernels, copies and memsets on it")
// clang-format on

namespace nl {
NL_TABLE(Stream, "stream", device, "One stream of a device, with what ran on it", NL_STREAM_COLUMNS)
}  // namespace nl
