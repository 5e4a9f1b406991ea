// SPDX-License-Identifier: Apache-2.0
#pragma once
// FingerprintFacts: one short vector per op of the run document, to compare two runs at
// a glance. Built from the document and the roofline, so the same run always gives the
// same bytes. What was not measured is null.
// Made by passes/fingerprint.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/cost_model/peaks.h"
#include "analyze/facts/roofline.h"
#include "analyze/run_data.h"
#include "base/json.h"
#include "base/record.h"

namespace nl {

// The device and the peaks that the vectors are scaled by.
struct FingerprintHardware {
  std::optional<std::string> device;
  std::optional<int64_t> devices;
  std::optional<Peaks> peaks;
};

struct FingerprintFacts {
  static constexpr const char* kName = "fingerprint";
  static constexpr std::array<std::string_view, 6> kVector = {"lat_norm", "ai",     "occ",
                                                              "warp_eff", "l2_hit", "dram_norm"};

  struct OpVector {
    // Hash of op type, shapes, dtypes, module and occurrence among equals, but not of its position.
    std::string sig;
    std::string name, type;
    int64_t index = 0;
    std::array<std::optional<double>, kVector.size()> values;
    std::optional<CostSource> ai_source;
  };
  std::string source_run_sha;  // of the document without run id and creation time
  FingerprintHardware hardware;
  std::vector<OpVector> ops;
};

// The facts as `neurolens fingerprint` gives and writes them.
struct FingerprintVectorSpec {
  int64_t version = 1;
  std::vector<std::string> fields;
};
struct FingerprintRow {
  std::string sig, name, type;
  int64_t index = 0;
  std::vector<std::optional<double>> vector;
  std::optional<CostSource> ai_source;
};
struct FingerprintSection {
  std::optional<std::string> run_id;
  std::string source_run_sha;
  FingerprintHardware hardware_norm;
  FingerprintVectorSpec vector_spec;
  std::vector<FingerprintRow> ops;
  Json summary;  // of the run document
  std::optional<std::string> created_at;
};
void Describe(Record<FingerprintHardware>& r);
void Describe(Record<FingerprintVectorSpec>& r);
void Describe(Record<FingerprintRow>& r);
void Describe(Record<FingerprintSection>& r);

FingerprintSection SectionOf(const FingerprintFacts& facts, const RunData& data);

}  // namespace nl
