// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables of what CPU samples show: functions, threads, waits.
// Thread rule: pure functions.

#include <string>

#include "analyze/facts/samples.h"

namespace nl {

struct SamplesTableStyle {
  bool markdown = false;
  size_t rows = 10;
  int width = 80;  // of the terminal form
  bool color = false;
};
// Python functions, native functions, threads and waits, each with at most `rows` rows; tables without rows
// are left out. `wall_ms` 0: not known.
std::string SamplesTables(const SamplesFacts& samples, double wall_ms, const SamplesTableStyle& style);

}  // namespace nl
