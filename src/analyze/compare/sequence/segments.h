// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts sequences into segments that repeat: instances of the run's labels, and where there are
// none, the periods of the sequence itself. Aligning then works on one representative of
// each pair of segments, and statistics on their instances.
// Thread rule: pure functions.

#include "analyze/compare/sequence/call_sequence.h"
#include "analyze/facts/attribution.h"
#include "analyze/program/program.h"

namespace nl::compare {

// By label and thread. Expects the lane of each call in Call::segment.
void CutSegments(const TimelineFacts& timeline, const program::Program& program, CallSequence& sequence);

// Gives the threads of B the lanes of the threads of A that do the same: neither ids nor loads say which is
// which.
void PairLanes(const CallSequence& a, CallSequence& b);

// Cuts long segments of both sequences where one and the same call heads a loop in both.
void CutPeriods(CallSequence& a, CallSequence& b);

// "ProfilerStep#3" and "ProfilerStep#4" are one label: numbers become '#', at the end nothing.
std::string FoldNumbers(std::string_view label);

}  // namespace nl::compare
