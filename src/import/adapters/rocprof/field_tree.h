// SPDX-License-Identifier: Apache-2.0
#pragma once
// FieldTree: reads JSON objects of one known kind at memory speed. The fields that are wanted
// are named by their path; a record comes back as an array of values, in the order of the
// paths. A writer puts the fields of every record in the same order, so each key is first
// compared with the one that came there the last time.
// Thread rule: one thread (it remembers the order).

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "import/trace_json/json_text.h"

namespace nl::adapters::rocprof {

class FieldTree {
 public:
  // "correlation_id.internal"; the place in the list is the number of the value.
  FieldTree(std::initializer_list<const char*> paths);

  struct Other {
    std::string_view key;
    trace_json::JsonValue value;
  };
  // p at the opening brace; on success p is after the closing one.
  trace_json::Scan Read(const char*& p, const char* end);

  const trace_json::JsonValue& At(size_t slot) const { return values_[slot]; }
  int64_t Int(size_t slot) const {
    int64_t out = NullOf<int64_t>::value;
    return trace_json::ToInt64(values_[slot], out) ? out : NullOf<int64_t>::value;
  }
  std::string_view Raw(size_t slot) const {
    return values_[slot].kind == trace_json::JsonKind::kString ? values_[slot].text() : std::string_view();
  }
  // Values of the last record that no path names.
  const std::vector<Other>& others() const { return others_; }

 private:
  struct Child {
    std::string key;
    int slot = -1, node = -1;
  };
  struct Node {
    std::vector<Child> children;
    size_t next = 0;  // child that is expected
  };
  trace_json::Scan ReadObject(const char*& p, const char* end, size_t node);
  const Child* Find(Node& node, std::string_view key);
  static const Child* TakeExpected(const char*& p, const char* end, Node& node);
  static bool TakeDigits(const char*& p, const char* end, trace_json::JsonValue& out);

  std::vector<Node> nodes_;
  std::vector<trace_json::JsonValue> values_;
  std::vector<Other> others_;
};

}  // namespace nl::adapters::rocprof
