// SPDX-License-Identifier: Apache-2.0
// Any bytes as a run document. Promises: no crash; what the validator accepts is read,
// and written again it is still valid and means the same.

#include <cstdio>
#include <cstdlib>

#include "model/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const nl::Result<nl::Json> json = nl::ParseJson({reinterpret_cast<const char*>(data), size});
  if (!json.ok()) return 0;
  const auto violations = nl::ValidateRunDocument(*json);
  if (!violations.ok()) return 0;
  for (const nl::SchemaViolation& violation : *violations) {
    if (violation.rule.empty() || violation.ToString().empty()) std::abort();
  }
  const nl::Result<nl::RunDocument> document = nl::RunDocumentFromJson(*json);
  if (!violations->empty()) return 0;
  if (!document.ok()) {
    std::fprintf(stderr, "valid but not read: %s\n", document.error().ToString().c_str());
    std::abort();
  }
  const nl::Result<std::string> text = nl::SerializeValid(*document);
  if (!text.ok()) {
    std::fprintf(stderr, "valid but not written: %s\n", text.error().ToString().c_str());
    std::abort();
  }
  const nl::Result<nl::Json> again = nl::ParseJson(*text);
  if (!again.ok() || !(*nl::RunDocumentFromJson(*again) == *document)) std::abort();
  return 0;
}
