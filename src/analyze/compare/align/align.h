// SPDX-License-Identifier: Apache-2.0
#pragma once
// Alignment: which call of run A is which call of run B. Segments first, by label and
// order; then the calls of each pair of segments, once per pair of different contents.
// Exact for short sequences; long ones are first cut at elements that are unique in both
// (anchors), so that an insertion does not misalign the rest.
// Replacing a call by another of the same operator, kernel or kind of work is preferred
// over deleting one and inserting one.
// Thread rule: pure functions.

#include <cstdint>
#include <vector>

#include "analyze/compare/sequence/call_sequence.h"

namespace nl::compare {

// A call (or segment) in A and its partner in B; kNone: it has none.
struct Match {
  uint32_t a = kNone, b = kNone;
};

// An element as alignment sees it.
struct Element {
  uint64_t exact = 0;   // equal: the same call
  uint64_t loose = 0;   // equal: the same call, changed
  uint64_t kernel = 0;  // equal and not 0: the same kernel under another operator
  uint64_t group = 0;   // equal and not 0: one may replace the other
};
// In order; every element of both occurs once.
std::vector<Match> AlignElements(const std::vector<Element>& a, const std::vector<Element>& b);

struct Alignment {
  std::vector<Match> segments;       // in order
  std::vector<Match> calls;          // in order of the segments
  std::vector<uint32_t> segment_of;  // by position in calls: position in segments
};
Alignment Align(const CallSequence& a, const CallSequence& b);

}  // namespace nl::compare
