// SPDX-License-Identifier: Apache-2.0
// Any bytes through import, every pass, the report and a comparison with a good run. The format is detected,
// so that one corpus holds seeds of all of them. Promises: no crash, no report of a sanitizer, no exit
// status 4.

#include "program_fuzz.h"

// As in adapter_fuzz.cc: the program's threads make libFuzzer suspect leaks.
extern "C" int __lsan_is_turned_off() { return 1; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static nl::Program program;
  const std::string path = program.PathOf("input");
  if (!nl::WriteFileAtomically(path, {reinterpret_cast<const char*>(data), size}).ok()) return 0;
  program.Explain(path, {"--allow-truncated"});
  return 0;
}
