// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file that an operation wrote, as replies list it.
// Thread rule: plain values; one thread per file.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"

namespace nl {

struct WrittenFile {
  std::string path, form;
  int64_t bytes = 0;
};
void Describe(Record<WrittenFile>& r);

// Writes the file, with the folders above it, and adds it to `written`. No path: does nothing.
Status WriteForm(const std::string& path, const char* form, std::string_view bytes,
                 std::vector<WrittenFile>& written);

}  // namespace nl
