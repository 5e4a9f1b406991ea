// SPDX-License-Identifier: Apache-2.0
#pragma once
// What follows from the description of a struct (base/record.h): its JSON, JSON Schema, TypeScript
// and documentation. Each is one function over the table, compiled once for all structs.
// Thread rule: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/record.h"

namespace nl {

// Appends the value at `at` as compact JSON, straight into `out`. Text that is not UTF-8 gets U+FFFD,
// as DumpJson does. `indent` >= 0: pretty-printed like DumpJson(json, indent).
void WriteJson(std::string& out, const void* at, const RecordInfo& info, int indent = -1);

template <class T>
std::string ToJsonText(const T& value, int indent = -1) {
  std::string out;
  WriteJson(out, &value, RecordOf<T>(), indent);
  return out;
}

// The same as a document, where one must be built (the run document, tests).
Json ToDocument(const void* at, const RecordInfo& info);
template <class T>
Json ToDocument(const T& value) {
  return ToDocument(&value, RecordOf<T>());
}

// JSON Schema, draft-07: every member required that cannot be absent and nothing else allowed, nested
// records under "definitions", units as "x-unit".
Json JsonSchema(const RecordInfo& info);

// Exported interfaces of the records and all they hold, each once, sorted by name.
std::string TypeScript(const std::vector<const RecordInfo*>& records);

// Every record reached from `info`, itself first, each once.
std::vector<const RecordInfo*> RecordsOf(const RecordInfo& info);

// A Markdown table of the fields: name, type, unit, meaning.
std::string DocTable(const RecordInfo& info);

}  // namespace nl
