// SPDX-License-Identifier: Apache-2.0
// Any bytes through one adapter. Promises: no crash, the same run whatever the size of
// the pieces, and a document that fits its schema.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "import/importer.h"
#include "model/schema.h"
#include "row_sink.h"

extern const char* const kFuzzAdapter;  // of each target, written by CMakeLists.txt

namespace {

struct Outcome {
  bool ok = false;
  uint64_t rows = 0;
  std::string text;
};

Outcome Import(const std::string& path, size_t chunk_bytes, bool check_document) {
  nl::RowSink sink;
  nl::ImportRequest request;
  request.paths = {path};
  request.format = kFuzzAdapter;
  request.model_name = "fuzz";
  request.options.threads = 1;
  request.options.chunk_bytes = chunk_bytes;
  request.options.allow_truncated = true;
  nl::Result<nl::ImportResult> result = nl::ImportFiles(request, sink);
  Outcome out;
  out.ok = result.ok();
  if (!result.ok()) {
    out.text = result.error().ToString();
    return out;
  }
  out.rows = sink.Hash();
  result->document.run_id = "01890a5d-ac96-7c3c-8f5a-3f1c2d4e5f60";
  result->document.created_at = "2026-01-01T00:00:00Z";
  out.text = nl::DumpJson(nl::ToJson(result->document));
  if (!check_document) return out;
  const nl::Result<std::string> document = nl::SerializeValid(result->document);
  if (!document.ok()) {
    std::fprintf(stderr, "%s\n", document.error().ToString().c_str());
    std::abort();
  }
  return out;
}

}  // namespace

// The importer's threads make libFuzzer suspect a leak in every run and search the whole
// heap, ten times the cost of the run itself. Leaks are the unit tests' matter.
extern "C" int __lsan_is_turned_off() { return 1; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = memfd_create("fuzz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  const Outcome whole = Import(path, 1 << 20, true);
  const Outcome pieces = Import(path, 150 + size % 509, false);
  if (whole.ok != pieces.ok || whole.rows != pieces.rows || (whole.ok && whole.text != pieces.text)) {
    std::fprintf(stderr, "depends on the cuts:\n%s\n%s\n", whole.text.c_str(), pieces.text.c_str());
    std::abort();
  }
  return 0;
}
