// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables of what start-up and warm-up consist of, shared by `neurolens phases`, `analyze` and report.md.
// Thread rule: pure functions.

#include <string>
#include <vector>

#include "analyze/facts/startup.h"

namespace nl {

struct StartupTableStyle {
  bool markdown = false;
  int64_t depth = StartupFacts::kMaxDepth;  // deepest rows to list
  size_t rows = 0;                          // most rows of each level below one row; 0: all
  int width = 80;                           // of the terminal form
  bool color = false;
};
// "" without rows. `heading` is the title of the first column. Rows beyond the limit are summed in one.
std::string StartupTable(const std::vector<StartupPart>& parts, const char* heading,
                         const StartupTableStyle& style);

// Whether a report explains start-up: it is known and takes more than a quarter of the run.
bool ShowsStartup(const StartupSection& startup);

// "Start-up takes 5.6 s of 6.1 s (91.8 %), including 5.4 s before the first recorded event."
std::string StartupSentence(const StartupSection& startup);

}  // namespace nl
