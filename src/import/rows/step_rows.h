// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collects the spans of step labels (step_label.h) and puts them into table step, by time. A span
// inside one of the same label on its lane is not a step of its own: the program's label and a
// recorder's are the same step.
// Thread rule: one thread. Ownership: plain values.

#include <vector>

#include "model/string_pool.h"
#include "model/tables/step.h"

namespace nl {

class StepRows {
 public:
  void Add(ThreadId thread, StringId name, int64_t start_ns, int64_t dur_ns, RowId range) {
    spans_.push_back({thread, name, start_ns, dur_ns, range});
  }
  // Numbers are those the labels carry, else the place in time.
  void Put(const StringPool& strings, StepColumns& to);

 private:
  struct Span {
    ThreadId thread;
    StringId name;
    int64_t start_ns, dur_ns;
    RowId range;
  };
  std::vector<Span> spans_;
};

}  // namespace nl
