// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one parsing thread owns: its string and lane numbers, the rows it made from the
// present piece of the file, and what must wait for file order (begin/end pairs,
// metadata). Numbers are local; the ordered stage maps them to the run's.
// Thread rule: one thread; the ordered stage takes it over when its turn has come.

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counter.h"
#include "import/trace_json/event_reader.h"
#include "import/trace_json/local_names.h"
#include "model/event_batch.h"

namespace nl::trace_json {

// An event whose meaning depends on those before it in the file.
struct OrderedEvent {
  enum Kind : uint8_t { kBegin, kEnd, kAsyncBegin, kAsyncEnd, kMetadata } kind;
  ThreadId lane;
  int64_t offset;
  int64_t at_ns;
  size_t row;  // of batch.range, for kEnd and kAsyncEnd
  StringId name, category;
  StringId async_id;                                // id as JSON text
  std::vector<std::pair<StringId, StringId>> args;  // key, JSON value
};

constexpr std::array<StringId, EventBatch::kTables> NoNames() {
  std::array<StringId, EventBatch::kTables> names{};
  for (StringId& name : names) name = StringId::kNull;
  return names;
}

struct Worker {
  explicit Worker(const KeyTable& keys) : reader(keys, strings) {}

  LocalStrings strings;
  EventReader reader;
  LocalLanes lanes;
  EventBatch batch;
  CounterSet counters;
  std::vector<OrderedEvent> ordered;
  std::vector<uint8_t> arg_owner;                      // table index (EventBatch order) per args row
  std::vector<uint8_t> collective_owner;               // the same per collective row
  std::vector<size_t> step_rows;                       // rows of batch.range that mark a step
  std::vector<std::pair<StringId, int64_t>> bad_utf8;  // text, offset of the event that has it first
  size_t lanes_taken = 0, strings_taken = 0;           // by the ordered stage
  int64_t events = 0;

  // Forgets the rows, keeps the numbers.
  void ClearRows();
  std::array<StringId, EventBatch::kTables> table_names = NoNames();  // local ids, when known

  // Starts the string numbers again.
  void ForgetStrings();
  // Forgets the rows and every number the ordered stage has not seen: the text was not what it seemed.
  void Discard();
};

}  // namespace nl::trace_json
