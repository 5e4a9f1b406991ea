// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/worker.h"

namespace nl::trace_json {

void Worker::ClearRows() {
  batch.Clear();
  counters.Clear();
  ordered.clear();
  arg_owner.clear();
  collective_owner.clear();
  step_rows.clear();
  bad_utf8.clear();
  events = 0;
}

void Worker::ForgetStrings() {
  strings.Clear();
  reader.ForgetStrings();
  table_names = NoNames();
  strings_taken = 0;
}

void Worker::Discard() {
  ClearRows();
  if (strings.size() > strings_taken) ForgetStrings();
  lanes.Truncate(lanes_taken);
}

}  // namespace nl::trace_json
