// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `import_log`: what the importer met that it could not take as it was.

#include "model/table.h"

// clang-format off
#define NL_IMPORT_LOG_COLUMNS(X) \
  X(StringId, reason, kDict, "", "Counter it belongs to") \
  X(StringId, severity, kDict, "", "info, notice, data_loss or error") \
  X(int64_t, count, kDict, "", "Records this row stands for") \
  X(StringId, file, kDict, "", "Source file") \
  X(int64_t, byte_offset, kDelta, "", "Where in the (decompressed) file") \
  X(StringId, text, kDict, "", "The record itself, cut at 4096 bytes") \
  X(StringId, advice, kDict, "", "What it means and what to do")
// clang-format on

namespace nl {
NL_TABLE(ImportLog, "import_log", reason, "What the importer met that it could not take as it was",
         NL_IMPORT_LOG_COLUMNS)
}  // namespace nl
