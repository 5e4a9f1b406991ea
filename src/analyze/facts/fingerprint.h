// SPDX-License-Identifier: Apache-2.0
#pragma once
// FingerprintFacts: one short vector per op of the run document, what two runs are
// compared by at a glance. Built from the document and the roofline, so the same run
// always gives the same bytes. What was not measured is null, and stays null.
// Made by passes/fingerprint.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/run_data.h"
#include "base/json.h"

namespace nl {

struct FingerprintFacts {
  static constexpr const char* kName = "fingerprint";
  static constexpr std::array<std::string_view, 6> kVector = {"lat_norm", "ai",     "occ",
                                                              "warp_eff", "l2_hit", "dram_norm"};

  struct OpVector {
    // Of (op type, shapes, dtypes, module, occurrence among equals); never of its place.
    std::string sig;
    std::string name, type;
    int64_t index = 0;
    std::array<std::optional<double>, kVector.size()> values;
    std::string ai_source;  // counters or shapes; empty: unknown
  };
  std::string source_run_sha;  // of the document without run id and creation time
  Json hardware = nullptr;     // device and peaks the vectors are scaled by
  std::vector<OpVector> ops;
};

Json ToJson(const FingerprintFacts& facts, const RunData& data);

}  // namespace nl
