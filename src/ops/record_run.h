// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program recorded and its recording imported, as `run` and `deep` do it.
// Thread rule: one request, one thread.

#include <optional>
#include <string>
#include <vector>

#include "ops/record_program.h"

namespace nl {

struct RecordedRun {
  RecordReply capture;
  std::optional<std::string> run_id;  // the run; none: see `imported`
  Status imported;                    // why the capture is not a run
};

// An error when the program cannot be started; a capture that cannot be imported is not one, because it may
// be all that is left of a long run. The capture stays in options.directory.
// With a server it is imported there, and here only when that fails.
Result<RecordedRun> RecordAndImport(OpContext& context, capture::LaunchOptions options,
                                    const std::vector<std::string>& tags, ServedRecording* served = nullptr);

}  // namespace nl
