// SPDX-License-Identifier: Apache-2.0
#pragma once
// `neurolens import --attach RUN FILE`: counters that a second recording of the same program
// holds become part of a run, joined kernel by kernel.
// Thread rule: one request, one thread.

#include <string>

#include "import/importer.h"
#include "ops/open_store.h"

namespace nl::ops::import {

// The attachment as a JSON object: what was attached to which run, how many kernels of the
// file were matched, and why the others were not. A file without counters, or of which no
// kernel is one of the run, is InvalidInput; then nothing is stored.
Result<Json> AttachFile(OpContext& context, Store& store, const std::string& run_ref,
                        const ImportRequest& request);

std::string AttachedText(const Json& attached, int width);

}  // namespace nl::ops::import
