// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes: what differs between the two calls of each match, which neighbouring changes
// belong together, and how much of the rest is the host being faster or slower as a whole.
// Thread rule: pure functions.

#include <cstdint>
#include <vector>

#include "analyze/compare/align/align.h"

namespace nl::compare {

enum ChangeBits : uint8_t {
  kInserted = 1,
  kDeleted = 2,
  kOpChanged = 4,       // same work, another operator
  kShapeChanged = 8,    // same operator, other shapes
  kTypeChanged = 16,    // same operator, other element types
  kKernelChanged = 32,  // same operator, other kernels
  kGraphChanged = 64    // launched by itself in one run, as part of a CUDA graph in the other
};
// Null: the call has no partner.
uint8_t ChangeOf(const CallSequence& sequence_a, const CallType* a, const CallSequence& sequence_b,
                 const CallType* b);
// A change of which the host's time is part.
inline bool IsWhole(uint8_t change) {
  return (change & (kInserted | kDeleted | kOpChanged | kGraphChanged)) != 0;
}
// The program does something else there; shapes alone are the input's doing.
inline bool IsStructural(uint8_t change) {
  return (change & (kInserted | kDeleted | kOpChanged | kTypeChanged | kGraphChanged)) != 0 ||
         change == kKernelChanged;
}

// Neighbouring structural changes in one pair of segments: [first, last) of Alignment::calls.
struct Cluster {
  uint32_t first, last;
  uint64_t signature;  // equal clusters are the same change again
  bool rewritten;      // of a stretch that was rewritten as a whole: what is equal in it belongs to it
};

// How fast the host was in B against A: > 1 is slower. Per pair of segments, from how long the
// operators (else the launches) that did not change took on the host, whether the device waited
// for them or not, by the weighted median of their ratios: one slow place does not move it.
struct Drift {
  std::vector<double> by_segment;
  double all = 1;
  double spread = 0;   // of ln(ratio) between kinds of calls
  bool known = false;  // enough unchanged work to tell
};

struct Changes {
  std::vector<uint8_t> change;  // by position in Alignment::calls
  std::vector<Cluster> clusters;
  Drift drift;
};
Changes FindChanges(const CallSequence& a, const CallSequence& b, Alignment& alignment);

}  // namespace nl::compare
