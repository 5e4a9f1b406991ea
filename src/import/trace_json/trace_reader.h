// SPDX-License-Identifier: Apache-2.0
#pragma once
// ReadTrace: reads a Chrome-style trace (an object with traceEvents, or a bare array)
// of any size with bounded memory: one thread reads and cuts the text at event
// boundaries, N threads parse, an ordered gate hands the rows on in file order, and
// whoever has time encodes full row groups.
// A cut is a guess (a string may look like an event boundary); it is proven by the
// piece before it ending exactly there. A wrong guess costs a second parse, not truth.

#include <string>

#include "import/adapter.h"
#include "import/trace_json/mapper.h"

namespace nl::trace_json {

// Reads every event into file.sink and returns what surrounds the array.
Result<TraceText> ReadTrace(ImportFile& file, const EventMapper& mapper);

// Header and trailer as one JSON object (without the events).
Json HeaderJson(const TraceText& text, CounterSet& counters);

// Is `head` the beginning of such a trace? Position of the first event, or npos.
// Quick, for Score().
struct TraceHead {
  bool is_trace = false;
  bool is_json = false;  // begins like JSON, whatever follows
  bool bare_array = false;
  std::string_view first_events;  // what follows the opening bracket
};
TraceHead LookAtHead(std::string_view head);

}  // namespace nl::trace_json
