// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes: what differs between the two calls of each match, which neighbouring changes
// belong together, and how much faster or slower the host was as a whole.
// Thread rule: pure functions.

#include <cstdint>
#include <vector>

#include "analyze/compare/align/align.h"

namespace nl::compare {

enum ChangeBits : uint8_t {
  kInserted = 1,
  kDeleted = 2,
  kOpChanged = 4,       // same work, different operator
  kShapeChanged = 8,    // same operator, different shapes
  kTypeChanged = 16,    // same operator, different element types
  kKernelChanged = 32,  // same operator, different kernels
  kGraphChanged = 64    // launched directly in one run, as part of a CUDA graph in the other
};
// Null: the call has no partner.
uint8_t ChangeOf(const CallSequence& sequence_a, const CallType* a, const CallSequence& sequence_b,
                 const CallType* b);
// A change that includes the host time of the call.
inline bool IsWhole(uint8_t change) {
  return (change & (kInserted | kDeleted | kOpChanged | kGraphChanged)) != 0;
}
// The program does something else there; shapes alone follow from the input.
inline bool IsStructural(uint8_t change) {
  return (change & (kInserted | kDeleted | kOpChanged | kTypeChanged | kGraphChanged)) != 0 ||
         change == kKernelChanged;
}

// Neighbouring structural changes in one pair of segments: [first, last) of Alignment::calls.
struct Cluster {
  uint32_t first, last;
  uint64_t signature;  // equal for repetitions of the same change
  bool rewritten;      // the whole range was rewritten: equal calls in it belong to the change
};

// Host time of B relative to A: above 1 is slower. Per pair of segments, from the host duration of
// unchanged operators (else launches), whether the device waited for them or not: the weighted
// median of the ratios, which one slow place does not move.
struct Drift {
  std::vector<double> by_segment;
  double all = 1;
  double spread = 0;   // of ln(ratio) between kinds of calls
  bool known = false;  // there is enough unchanged work
};

struct Changes {
  std::vector<uint8_t> change;  // by position in Alignment::calls
  std::vector<Cluster> clusters;
  Drift drift;
};
Changes FindChanges(const CallSequence& a, const CallSequence& b, Alignment& alignment);

}  // namespace nl::compare
