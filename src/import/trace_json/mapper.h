// SPDX-License-Identifier: Apache-2.0
#pragma once
// EventMapper: from one trace event to rows. The base class knows the Chrome trace
// format; an adapter overrides what its categories mean.
// Thread rule: stateless apart from what the worker holds; shared by all workers.

#include <string>

#include "import/trace_json/counters.h"
#include "import/trace_json/worker.h"

namespace nl::trace_json {

// What stands around the event array.
struct TraceText {
  std::string header;   // text before the event array: `{"schemaVersion": 1, ...`, or empty
  std::string trailer;  // text after it: `, "traceName": ... }`, or empty
  bool bare_array = false;
  int64_t events = 0;
};

class EventMapper {
 public:
  virtual ~EventMapper() = default;
  // Names of the args that MapComplete and MapInstant recognise, by key id.
  virtual const KeyTable& arg_keys() const = 0;

  // The rank this file is of, as its header states; null when it does not.
  virtual int32_t Rank(const TraceText&) const { return NullOf<int32_t>::value; }

  // Adds the event's rows to the worker's batch.
  void Map(const TraceEvent& event, Worker& worker) const;

 protected:
  // Where and when; shared by every table of spans.
  struct Place {
    ThreadId lane;
    int64_t start_ns;
    int64_t dur_ns;  // null: not given or not usable
  };

  // A complete event (ph X). The default makes a row of table range.
  virtual void MapComplete(const TraceEvent& event, const Place& place, Worker& worker) const;
  // An instant (ph i, I, R). The default makes a row of table range without duration.
  virtual void MapInstant(const TraceEvent& event, const Place& place, Worker& worker) const;

  // Keeps one value that has no column, exactly as written.
  static void KeepArg(Worker& worker, Table table, size_t row, const JsonValue& key, const JsonValue& value);
  static void KeepArg(Worker& worker, Table table, size_t row, std::string_view key, const JsonValue& value);
  // Keeps all top-level keys without a field or a column in the table, and an args value
  // that is not an object. `scope_taken`: the row has the event's scope ("s").
  static void KeepExtra(const TraceEvent& event, Worker& worker, Table table, size_t row, bool scope_taken);

  static StringId NameOf(const TraceEvent& event, Worker& worker) {
    return event.name.given() ? worker.strings.Text(event.name) : StringId::kNull;
  }
  static StringId CategoryOf(const TraceEvent& event, Worker& worker) {
    if (event.category_note == StringId::kNull && event.cat.given())
      event.category_note = worker.strings.Text(event.cat);
    return event.category_note;
  }

 private:
  void MapSpan(const TraceEvent& event, Worker& worker, ThreadId lane, int64_t start_ns) const;
  void MapCounter(const TraceEvent& event, Worker& worker, ThreadId lane, int64_t at_ns) const;
  void MapFlow(const TraceEvent& event, Worker& worker, ThreadId lane, int64_t at_ns) const;
  void MapOrdered(const TraceEvent& event, Worker& worker, ThreadId lane, int64_t at_ns,
                  OrderedEvent::Kind kind) const;
};

}  // namespace nl::trace_json
