// SPDX-License-Identifier: Apache-2.0
#include "report/written_file.h"

#include <filesystem>

#include "base/file_ops.h"

namespace nl {

void Describe(Record<WrittenFile>& r) {
  r.Name("WrittenFile", "A file that the operation wrote");
  r.Field("path", &WrittenFile::path, "Path as given");
  r.Field("form", &WrittenFile::form, "Format: md, html, json, junit");
  r.Field("bytes", &WrittenFile::bytes, Unit::kBytes, "Size of the file");
}

Status WriteForm(const std::string& path, const char* form, std::string_view bytes,
                 std::vector<WrittenFile>& written) {
  if (path.empty()) return {};
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) NL_TRY(MakeDirectories(folder));
  NL_TRY(WriteFileAtomically(path, bytes));
  written.push_back({path, form, static_cast<int64_t>(bytes.size())});
  return {};
}

}  // namespace nl
