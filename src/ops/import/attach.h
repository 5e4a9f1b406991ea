// SPDX-License-Identifier: Apache-2.0
#pragma once
// `neurolens import --attach RUN FILE`: counters from a second recording of the same program
// become part of a run, joined kernel by kernel.
// Thread rule: one request, one thread.

#include <cstdint>
#include <string>

#include "import/importer.h"
#include "ops/import/reply.h"
#include "ops/open_store.h"

namespace nl::ops::import {

enum class AttachJoin : uint8_t {
  kLaunchOrder,  // the report has every execution: joined one to one, in order
  kSameKernel,   // it has samples of them: its counters are those of all executions of the same launch
};

// A file without counters, or of which no kernel is in the run, is InvalidInput; then nothing is stored.
Result<ImportAttachment> AttachFile(OpContext& context, Store& store, const std::string& run_ref,
                                    const ImportRequest& request, AttachJoin how);

std::string AttachedText(const ImportAttachment& attached, int width);

}  // namespace nl::ops::import
