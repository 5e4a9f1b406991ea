// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts sequences into segments that repeat: instances of the run's labels or, without labels,
// the periods of the sequence itself. Alignment then works on one representative of each pair
// of segments, and statistics on their instances.
// Thread rule: pure functions.

#include "analyze/compare/sequence/call_sequence.h"
#include "analyze/facts/attribution.h"
#include "analyze/program/program.h"

namespace nl::compare {

// By label and thread. Expects the lane of each call in Call::segment.
void CutSegments(const TimelineFacts& timeline, const program::Program& program, CallSequence& sequence);

// Gives the threads of B the lanes of the threads of A that make the same calls: neither ids nor
// load identify them.
void PairLanes(const CallSequence& a, CallSequence& b);

// Cuts long segments of both sequences where the same call starts a loop in both.
void CutPeriods(CallSequence& a, CallSequence& b);

// "ProfilerStep#3" and "ProfilerStep#4" are one label: numbers become '#', and are dropped at the end.
std::string FoldNumbers(std::string_view label);

}  // namespace nl::compare
