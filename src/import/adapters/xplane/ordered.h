// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ordered: takes the decoders' rows in file order and makes them the run's: string
// numbers become global, row references get their final numbers, and consecutive work of
// one HLO op on a stream becomes one row of table op: around its launches on their thread,
// or, where they were not recorded, on a lane beside the stream. An execution of a module
// is a range around its ops. Device time is that of kernels, copies and fills alone: what
// is derived here is in other tables.
// Thread rule: one thread at a time, in the order of the pieces (hosts first).

#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/packed_column.h"
#include "import/adapters/xplane/decoder.h"
#include "import/rows/run_facts.h"

namespace nl::adapters::xplane {

class Ordered {
 public:
  Ordered(ImportFile& file, const SpaceMap& map);

  // Takes over the rows that `decoder` made of a piece of this line.
  void Take(Decoder& decoder, uint32_t line);
  // Closes what is open and writes lanes and processes.
  void Finish();

 private:
  struct DecoderMap {
    std::vector<StringId> strings;
    uint64_t generation = 0;
  };
  // Consecutive device work of one op, or of one execution of a module.
  struct Group {
    bool open = false;
    uint32_t line = 0;
    WorkNote note{};
    int64_t part = 0;                   // execution it is of: the scope, else the correlation
    int64_t start_ns = 0, end_ns = 0;   // on the device
    ThreadId thread = ThreadId::kNull;  // that launched all of it; null: not one, or not known
    int64_t launch_start_ns = 0, launch_end_ns = 0;
    bool Holds(uint32_t at_line, const WorkNote& other, int64_t other_part) const {
      return open && line == at_line && part == other_part && note.module == other.module &&
             note.program == other.program;
    }
  };
  // API calls by their correlation.
  struct Launches {
    PackedColumn correlation, thread, start_ns, dur_ns;
    std::unique_ptr<IdIndex> index;
    size_t hint = 0;
  };
  void TakeLaunches(const ApiCallColumns& calls);
  // Adds a piece of work to the group it is part of.
  void Enter(Group& group, uint32_t line, const WorkNote& note, int64_t part, int64_t start_ns,
             int64_t end_ns, int64_t launch);
  template <class Row>
  void TakeSpan(const Group& group, Row& row);
  void Renumber(Decoder& decoder, const DecoderMap& strings);
  void TakeWork(Decoder& decoder, uint32_t line);
  void TakeSteps(Decoder& decoder);
  void CloseOp(EventBatch& batch);
  void CloseModule(EventBatch& batch);
  ThreadId OpLane(uint32_t line);
  void KeepArg(EventBatch& batch, StringId table, RowId row, StringId key, StringId json);
  void KeepText(EventBatch& batch, RowId row, StringId key, StringId text);
  StringId NumberText(int64_t number);
  // The number of a word of our own, added when it is needed first.
  StringId Word(StringId& id, std::string_view text);

  ImportFile& file_;
  const SpaceMap& map_;
  std::unordered_map<const Decoder*, DecoderMap> maps_;
  std::unordered_set<uint32_t> bad_utf8_;
  struct Words {
    StringId op = StringId::kNull, range = StringId::kNull, module = StringId::kNull, name = StringId::kNull,
             tf_op = StringId::kNull, program = StringId::kNull, scope = StringId::kNull,
             span = StringId::kNull, xla_module = StringId::kNull;
  } words_;
  std::unordered_map<uint32_t, StringId> quoted_;  // JSON text of a text
  std::unordered_map<int64_t, StringId> programs_;
  Launches launches_;
  Group op_, module_;
  int64_t ops_ = 0, steps_ = 0;
  std::map<uint32_t, ThreadId> op_lanes_;
  std::vector<uint32_t> op_lane_lines_;  // in order of their lanes
  int64_t first_lane_, first_process_;
};

}  // namespace nl::adapters::xplane
