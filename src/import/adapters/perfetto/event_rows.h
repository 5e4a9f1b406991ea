// SPDX-License-Identifier: Apache-2.0
#pragma once
// EventRows: from slices, instants and counter values to rows. Slices wait on their track for
// their end. The categories that the export writes (docs/formats/perfetto.md) decide the
// table; everything else is a range.
// Thread rule: one thread. Ownership: lives for one import.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/adapters/perfetto/counters.h"
#include "import/adapters/perfetto/trace_state.h"
#include "import/rows/row_writer.h"
#include "import/rows/step_rows.h"

namespace nl::adapters::perfetto {

// One annotation of an event; text as JSON text.
struct Note {
  StringId name = StringId::kNull;
  std::string json, text;  // text: of a string
  int64_t number = kNone;
  double real = NullOf<double>::value;
};

struct Event {
  StringId name = StringId::kNull, category = StringId::kNull;
  int64_t at_ns = 0;
  std::vector<Note> notes;
  std::vector<uint64_t> flows, ending_flows;
};

class EventRows {
 public:
  explicit EventRows(ImportFile& file);

  Tracks tracks;
  RowWriter writer;

  StringId Text(std::string_view text);
  Status Begin(uint64_t track, Event event);
  // `end` may bring further annotations.
  Status End(uint64_t track, int64_t at_ns, std::vector<Note> notes);
  Status Instant(uint64_t track, Event event);
  Status Counter(uint64_t track, int64_t at_ns, double value, StringId name);
  // Open slices, lanes and processes, after the last packet.
  Status Finish();

 private:
  ThreadId LaneOf(uint64_t track);
  Status Put(uint64_t track, Event& event, int64_t dur_ns, std::string_view kind);
  template <class Row>
  void TakeWork(Row& row, uint64_t track);
  void PutKernel(uint64_t track, Event& e, int64_t dur_ns);
  template <class Columns, class Row>
  void PutCopy(Columns& columns, Table table, Row r, uint64_t track, Event& e, int64_t dur_ns);
  void PutSync(uint64_t track, Event& e, int64_t dur_ns);
  void PutOp(uint64_t track, Event& e, int64_t dur_ns);
  void PutApiCall(uint64_t track, Event& e, int64_t dur_ns, std::string_view domain);
  void PutRange(uint64_t track, Event& e, int64_t dur_ns, std::string_view kind);
  bool PutInstantRow(uint64_t track, Event& e);
  void PutFlows(ThreadId lane, const Event& e);
  // Takes an annotation out of the event; null when it has none of that name.
  int64_t TakeInt(Event& e, std::string_view name);
  double TakeReal(Event& e, std::string_view name);
  StringId TakeText(Event& e, std::string_view name);
  void TakeExtents(Event& e, std::string_view name, int32_t& x, int32_t& y, int32_t& z);
  void KeepNotes(Table table, RowId row, const Event& e);
  void PutLanes();

  ImportFile& file_;
  std::unordered_map<uint64_t, std::vector<Event>> open_;
  std::unordered_map<uint64_t, bool> flow_begun_;
  std::vector<uint64_t> lanes_;  // track of each
  int64_t first_process_, first_lane_;
  StepRows steps_;
};

}  // namespace nl::adapters::perfetto
