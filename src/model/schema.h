// SPDX-License-Identifier: Apache-2.0
#pragma once
// Validation of run documents against schemas/run.schema.json, which is compiled
// into the program: the keywords of JSON Schema that it uses, and no others.
// Used before a document is written and on every document given to us.
// Thread rule: any thread; the compiled schema is shared and never changes.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/run_document.h"

namespace nl {

struct SchemaViolation {
  std::string pointer;  // JSON pointer of the offending value; empty: the whole document
  std::string rule;     // "type: number|null", "required: run_id", "additionalProperties", ...
  std::string value;    // what was found, as JSON, at most 80 characters
  std::string message;  // one sentence for people

  // "/timeline/3/duration_ms: expected number, found string (type: number; found "abc")"
  std::string ToString() const;
};

// No element: the document is valid. The most specific violation comes first: a foreign schema_version,
// then by depth, then in document order; one value is reported once per rule, and not for further rules
// once its type is wrong. At most 200 are reported. Nesting beyond 200 levels is a Limit error.
Result<std::vector<SchemaViolation>> ValidateRunDocument(const Json& document);

// The document as compact JSON text with a final newline. A document that breaks the schema is our own
// bug: Internal, naming the first violation.
Result<std::string> SerializeValid(const RunDocument& document);

// The schema itself, byte for byte.
std::string_view RunSchemaText();

}  // namespace nl
