// SPDX-License-Identifier: Apache-2.0
#include "analyze/run_data.h"

#include "model/run_document.h"

namespace nl {

std::string_view RunData::Noted(const char* place) const {
  const Json::json_pointer at(place);
  if (!document.contains(at) || !document[at].is_string()) return "";
  return document[at].get_ref<const std::string&>();
}

bool RunData::FromProgramStart() const {
  const Json::json_pointer at("/source/from_program_start");
  return document.contains(at) && document[at] == true;
}

bool RunData::OrderOnly() const { return Noted("/clock/source") == kClockOfOrder; }

std::vector<Interval> PausesOf(const Json& document) {
  std::vector<Interval> out;
  const Json::json_pointer place("/capture/pauses");
  if (!document.contains(place)) return out;
  for (const Json& pause : document[place])
    out.push_back({pause.value("start_ns", int64_t{0}), pause.value("end_ns", int64_t{0})});
  MergeIntervals(out);
  return out;
}

Status RunColumns::Load(Snapshot& snapshot, const Reads& reads) {
  strings = &snapshot.strings();
  const auto tables = Tables();
  for (size_t t = 0; t < tables.size(); ++t) {
    const std::span<const ColumnInfo> all = tables[t]->info().columns;
    std::vector<const char*> missing;
    for (size_t c = 0; c < all.size(); ++c) {
      if ((reads.columns[t] & ~loaded.columns[t]) >> c & 1) missing.push_back(all[c].name);
    }
    if (!missing.empty()) NL_TRY(snapshot.Load(*tables[t], missing));
  }
  loaded |= reads;
  return {};
}

size_t RunColumns::Bytes() {
  size_t sum = 0;
  for (ColumnSet* table : Tables()) {
    const std::span<const ColumnInfo> columns = table->info().columns;
    for (size_t c = 0; c < columns.size(); ++c) {
      void* const vector = table->VectorOf(c);
      sum += ElementBytes(columns[c].type) == 8 ? static_cast<std::vector<int64_t>*>(vector)->size() * 8
                                                : static_cast<std::vector<int32_t>*>(vector)->size() * 4;
    }
  }
  return sum;
}

RunData::RunData(const RunColumns& from, const Reads& reads, const char* reader)
    : document(from.document), strings(from.strings) {
  Show(from, reads, reader);
}

void RunData::Show(const RunColumns& from, const Reads& reads, const char* reader) {
  strings = from.strings;
#define NL_SHOW_TABLE(Type, name) name.Show(from.name, reads.Of(Table::k##Type), reader);
  NL_ALL_TABLES(NL_SHOW_TABLE)
#undef NL_SHOW_TABLE
}

}  // namespace nl
