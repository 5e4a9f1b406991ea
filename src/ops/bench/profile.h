// SPDX-License-Identifier: Apache-2.0
#pragma once
// Profiles a pair outside the timed runs: both programs do the same number of runs under the recorder, and
// under Nsight Compute where counters are asked for; then the recordings are compared. What cannot be
// collected has a reason. Thread rule: one request, one thread. Ownership: recordings are in the store, the
// rest below the folder.

#include <optional>
#include <string>

#include "ops/bench/measure.h"
#include "ops/op.h"
#include "report/compare/compare_reply.h"

namespace nl::ops::bench {

struct ProfileOptions {
  std::string profile = "none";  // none, minimal, roofline, deep_dive
  std::string metric_set;        // of Nsight Compute; empty: that of the profile
  std::string folder;            // of the run, with profiles/ and logs/

  bool wanted() const { return profile != "none"; }
  std::string MetricSet() const;  // empty: no counters
};

// Fills out.profile; `comparison` where both sides were recorded. An error only for Cancelled.
Status ProfilePair(OpContext& context, const MeasureOptions& measure, const ProfileOptions& options,
                   const nl::bench::Target& target, BenchTarget& out,
                   std::optional<CompareFacts>& comparison);

}  // namespace nl::ops::bench
