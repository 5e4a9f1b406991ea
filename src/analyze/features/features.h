// SPDX-License-Identifier: Apache-2.0
#pragma once
// Features: the named values that rules speak about, for the run as a whole and for each
// stage, call site of an operator and kernel in it. Computed from TimelineFacts and the
// columns in O(n log n); what the source did not record is absent, which rules see as null.
// The call sites carry the patterns that need the order of events: syncs and copies by
// caller, unfused attention, fp32 islands, chains of pointwise kernels.
// Thread rule: pure functions. Ownership: plain values.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/idle.h"
#include "analyze/facts/phases.h"
#include "analyze/facts/timeline.h"
#include "analyze/replay/fix_targets.h"
#include "analyze/run_data.h"

namespace nl {

struct FeatureInfo {
  std::string_view name;  // "run.wall_ms"; what precedes the dot is the group
  std::string_view unit;  // ms, us, bytes, ratio, count, flag, text
  std::string_view doc;
};
// Every name there is, by group.
const std::vector<FeatureInfo>& FeatureNames();
const FeatureInfo* FindFeature(std::string_view name);
// Bare names of the short rule form ("h2d_time"), as the feature they stand for; "" for none.
std::string_view FeatureOfShortName(std::string_view name);

// A row that shows what a value was read from.
struct EvidenceRow {
  std::string table;
  int64_t row = 0;
  std::string what;
  double value = 0;
  std::string unit;
};

// One thing rules look at. Absent number: null.
struct FeatureSubject {
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> texts;
  std::vector<EvidenceRow> rows;
  std::map<std::string, replay::FixTargets, std::less<>> targets;  // what rules may have fixed, by name

  std::optional<double> Number(std::string_view name) const {
    const auto it = numbers.find(name);
    return it == numbers.end() ? std::nullopt : std::optional(it->second);
  }
  std::string Text(std::string_view name) const {
    const auto it = texts.find(name);
    return it == texts.end() ? std::string() : it->second;
  }
};

// Made by passes/features.
struct Features {
  static constexpr const char* kName = "features";
  FeatureSubject run;
  std::vector<FeatureSubject> stages, ops, kernels, gaps;
  std::vector<std::string> available;  // kinds of data this run has (DataKinds())
  bool Has(std::string_view kind) const;
};

Reads FeatureReads();  // of ComputeFeatures
// `phases`: for the steps of a run without labelled ones; may be null.
Features ComputeFeatures(const RunData& data, const TimelineFacts& timeline, const IdleFacts& idle,
                         const PhasesFacts* phases = nullptr);

}  // namespace nl
