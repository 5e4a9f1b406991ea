// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ordered: takes the decoders' rows in file order and makes them the run's: string
// numbers become global, row references get their final numbers, and consecutive work of
// one HLO op on a stream becomes one row of table op, on a lane of its own beside the
// stream (its executions of a module a range around them). Device time is that of the
// kernels, copies and fills alone: what is derived here is in other tables.
// Thread rule: one thread at a time, in file order.

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "import/adapters/xplane/decoder.h"
#include "import/run_facts.h"

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
    int64_t part = 0;  // execution it is of: the scope, else the correlation
    int64_t start_ns = 0, end_ns = 0;
    bool Holds(uint32_t at_line, const WorkNote& other, int64_t other_part) const {
      return open && line == at_line && part == other_part && note.module == other.module &&
             note.program == other.program;
    }
  };
  void Renumber(Decoder& decoder, const DecoderMap& strings);
  void TakeWork(Decoder& decoder, uint32_t line);
  void TakeSteps(Decoder& decoder);
  void CloseOp(EventBatch& batch);
  void CloseModule(EventBatch& batch);
  ThreadId OpLane(uint32_t line);
  void KeepArg(EventBatch& batch, const char* table, RowId row, const char* key, std::string_view json);
  void KeepText(EventBatch& batch, RowId row, const char* key, StringId text);

  ImportFile& file_;
  const SpaceMap& map_;
  std::unordered_map<const Decoder*, DecoderMap> maps_;
  std::unordered_set<uint32_t> bad_utf8_;
  Group op_, module_;
  int64_t ops_ = 0, steps_ = 0;
  std::map<uint32_t, ThreadId> op_lanes_;
  std::vector<uint32_t> op_lane_lines_;  // in order of their lanes
  int64_t first_lane_, first_process_;
};

}  // namespace nl::adapters::xplane
