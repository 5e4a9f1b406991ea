// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decoder: from the events of one piece to rows. What one thread owns: its string
// numbers, the rows of the present piece, and notes for the ordered stage (which op a
// piece of device work is part of, which range is a step). A name is looked up and its
// details are parsed once per metadata id, not per event.
// Thread rule: one thread; the ordered stage takes it over when its turn has come.

#include <array>
#include <string>
#include <vector>

#include "import/adapters/xplane/details.h"
#include "import/adapters/xplane/space_map.h"
#include "import/trace_json/local_names.h"
#include "model/event_batch.h"

namespace nl::adapters::xplane {

// What a piece of device work says of the op it is part of.
struct WorkNote {
  Table table;
  uint32_t row;  // of the batch
  StringId op, module, framework_op, framework_name;
  int64_t program, scope;
};
struct StepNote {
  size_t range;  // row of the batch
  int64_t number;
};

class Decoder {
 public:
  explicit Decoder(const SpaceMap& map) : map_(map), names_(map.planes.size()) {
    table_names_.fill(StringId::kNull);
    words_.fill(StringId::kNull);
  }

  void Decode(const Piece& piece);
  // Forgets the rows, and the strings when they have become many.
  void ClearRows();

  trace_json::LocalStrings strings;
  EventBatch batch;
  std::vector<uint8_t> arg_owner;  // table per row of batch.args
  std::vector<WorkNote> work;
  std::vector<StepNote> steps;
  std::vector<std::pair<StringId, int64_t>> bad_utf8;  // text, offset of the event that has it first
  CounterSet counters;

 private:
  enum class Answer : uint8_t { kUnknown, kNo, kYes };
  // Words of our own, numbered when they are needed first.
  enum Word : uint8_t {
    kSpan,
    kInstant,
    kHost,
    kNvtx,
    kModule,
    kStep,
    kDriver,
    kRuntime,
    kHip,
    kOtherApi,
    kWords
  };
  struct PlaneNames {  // numbers of a plane's names, kNull until they are needed
    std::vector<StringId> event, stat, quoted;
    std::vector<uint32_t> kernel_details;               // place in kernel_details_ plus 1, by stat name
    std::vector<std::pair<uint64_t, StringId>> number;  // last number of a stat, and its text
    std::vector<Answer> step_label;                     // by event name
  };
  struct Event {
    int64_t metadata_id = 0, offset_ps = 0, duration_ps = 0, occurrences = 0;
    bool has_duration = false, has_occurrences = false;
    uint32_t name = IdTable<EventName>::kNone;
    int64_t start_ns = 0, dur_ns = 0;
    int64_t offset = 0;  // in the file
  };

  bool ReadEvent(std::string_view bytes, Event& event);
  bool PlaceInTime(std::string_view bytes, Event& event);
  void Map(const Event& event);
  void MapWork(const Event& event);
  void MapKernel(const Event& event);
  void MapCopy(const Event& event, const StatValue& details);
  void MapFill(const Event& event, const StatValue& details);
  void MapHost(const Event& event);
  void MapApiCall(const Event& event, NameKind kind);
  void MapMemory(const Event& event, bool release);
  void MapOp(const Event& event);
  void MapPython(const Event& event);
  void MapRange(const Event& event, StringId category, bool step);
  StringId WordId(Word word);
  bool IsStep(const Event& event);
  void MapCounter(const Event& event);
  void PutFlow(const Event& event, const StatValue& id, const StatValue& type, std::string_view phase);

  template <class Row>
  bool TakeWorkStat(const StatValue& stat, Row& row, WorkNote& note);
  void PutNote(Table table, size_t row, WorkNote note);
  template <class Row>
  void TakePlace(const Event& event, Row& row);

  const StatValue* FindStat(StatKind kind) const;
  StringId NameOf(const Event& event);
  StringId StatNameOf(const StatValue& stat);
  StringId TextOf(const StatValue& stat);  // plain text; null when it has none
  StringId JsonOf(const StatValue& stat);
  const KernelDetails& DetailsOf(const StatValue& stat);
  void KeepArg(Table table, size_t row, StringId key, StringId value);
  void KeepArg(Table table, size_t row, std::string_view key, int64_t value);
  void KeepStat(Table table, size_t row, const StatValue& stat);
  // What every row keeps beside its columns: a name that is missing, a duration that is none.
  void KeepOdd(Table table, size_t row, const Event& event);

  const SpaceMap& map_;
  std::vector<PlaneNames> names_;
  std::array<StringId, EventBatch::kTables> table_names_;
  std::array<StringId, kWords> words_;
  std::vector<KernelDetails> kernel_details_;
  KernelDetails one_details_;
  const Plane* plane_ = nullptr;
  const Line* line_ = nullptr;
  PlaneNames* plane_names_ = nullptr;
  std::vector<StatValue> stats_;  // of the present event
  std::string text_;
};

}  // namespace nl::adapters::xplane
