// SPDX-License-Identifier: Apache-2.0
#pragma once
// RecordWalk: the ways through a JSON file of records that do not depend on what the records
// are: keys of an object, elements of an array, objects of an array read by a FieldTree, where
// a broken one costs itself alone. Symbol and RecordKinds are what records refer to.
// Thread rule: one thread. Ownership: owns the cursor.

#include <functional>
#include <string>
#include <vector>

#include "import/adapters/rocprof/field_tree.h"
#include "import/read/json_cursor.h"

namespace nl::adapters::rocprof {

inline constexpr size_t kShownBytes = 4096;  // of a bad record

struct Symbol {
  std::string name;  // as written, escapes included
  bool escaped = false;
  StringId id = StringId::kNull;
  int64_t vgpr = NullOf<int64_t>::value, accum_vgpr = vgpr, sgpr = vgpr, scratch_bytes = vgpr,
          lds_bytes = vgpr;
};

// Kinds of records and their operations, by number.
class RecordKinds {
 public:
  struct Names {
    std::string kind;
    std::vector<std::string> operations;
  };
  void Add(Names names) { list_.push_back(std::move(names)); }
  void clear() { list_.clear(); }
  bool empty() const { return list_.empty(); }
  // Empty where the file does not say.
  const std::string& Kind(int64_t kind) const;
  const std::string& Operation(int64_t kind, int64_t operation) const;

 private:
  std::vector<Names> list_;
};

class RecordWalk {
 public:
  RecordWalk(JsonCursor cursor, ImportFile& file)
      : cursor_(std::move(cursor)), counters_of_file_(file.counters) {}

 protected:
  template <class Fn>
  Status ForElements(Fn&& fn) {
    NL_TRY(cursor_.Enter('['));
    for (;;) {
      NL_ASSIGN(const bool more, cursor_.NextElement());
      if (!more) return {};
      NL_TRY(fn());
    }
  }

  template <class Fn>
  Status ForKeys(Fn&& fn) {
    NL_TRY(cursor_.Enter('{'));
    std::string key;
    for (;;) {
      NL_ASSIGN(const bool more, cursor_.NextKey(key));
      if (!more) return {};
      NL_TRY(fn(key));
    }
  }

  // Every object of an array, with its place and text.
  Status ForRecords(FieldTree& tree, const std::function<Status(int64_t, std::string_view)>& fn);
  // Leaves a value out. True: it was an empty array or object, or a single value.
  Result<bool> SkipValue();
  bool any_record() const { return any_record_; }

  JsonCursor cursor_;

 private:
  // What stands here is not a record: goes to the next one, or gives up.
  Status Recover(int64_t place);

  CounterSet& counters_of_file_;
  bool any_record_ = false;
};

}  // namespace nl::adapters::rocprof
