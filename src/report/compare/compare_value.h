// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the forms of a comparison share: times of one table in one unit, signs, shares, names.
// Thread rule: pure functions.

#include <optional>
#include <string>

#include "report/compare/compare_reply.h"

namespace nl {

// One unit for all times of a table, so that a column can be read and added up.
struct DeltaScale {
  double factor = 1;  // from ms
  const char* unit = "ms";
  int digits = 2;

  // For values of at most this size.
  static DeltaScale For(double largest_ms);
  std::string Signed(double ms) const;  // "+18.21"
  std::string Plain(double ms) const;   // "18.21"
};
// For every row of the waterfall, not for the walls.
DeltaScale ScaleOf(const CompareFacts& comparison);

std::string SignedMs(double ms);                        // "+18.2 ms"
std::string SignedPercent(std::optional<double> part);  // a share as "+12.3 %"; ">999 %" beyond
std::string ShareText(std::optional<double> share);     // "80.9 %", "-12.0 %"; "-" when null
std::string ConfidenceText(double confidence);          // "99 %"; above 99.5 % ">99 %"
std::string CallsText(int64_t a, int64_t b);            // "12 -> 24", or "12" when equal

// "copy added (HtoD pageable)".
std::string CauseText(const CompareContribution& contribution);
// The contribution's confidence; "-" for noise, which makes no claim.
// Cells of a row of CompareFacts::across: calls, time in A and B, ratio, roofline share in A and B, and the
// side that is nearer to its roofline.
std::vector<std::string> AcrossCells(const AcrossRow& row);
// "aten::cudnn_convolution -> aten::miopen_convolution" where the names differ.
std::string AcrossName(const AcrossRow& row);
// Why rows have no roofline share: the most common reasons, most rows first.
std::vector<std::string> AcrossReasons(const std::vector<AcrossRow>& rows, size_t shown);
// A difference that is shown as zero.
bool IsZeroMs(double ms);
std::string ConfidenceOf(const CompareContribution& contribution);
// "decode_step · layers.*.mlp · aten::mm"; "" when the contribution is nowhere in particular.
std::string PlaceText(const CompareContribution& contribution);
std::string PlaceText(const CompareShift& shift);
// The share of A's wall, null when that is 0.
std::optional<double> RelativeDelta(const CompareFacts& comparison);
// "base.json.gz and 2 more", or the run's id. `b`: of side B.
std::string SideName(const CompareFacts& comparison, bool b);
// "cudaStreamSynchronize 1.5 ms (api_call row 7)".
std::string EvidenceText(const CompareEvidence& evidence);

}  // namespace nl
