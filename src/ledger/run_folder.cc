// SPDX-License-Identifier: Apache-2.0
// What a run folder tells about itself, without the catalog (declared in doctor.h).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/json.h"
#include "base/time_text.h"
#include "ledger/doctor.h"
#include "ledger/store.h"
#include "model/run_document.h"

namespace nl {

namespace {

constexpr int64_t kParquetMinBytes = 12;

CatalogRun FromDocument(const RunDocument& document, const std::string& folder) {
  CatalogRun run;
  run.run_id = document.run_id;
  if (Result<int64_t> created = ParseTimePoint(document.created_at); created.ok())
    run.created_at_ns = *created;
  run.backend = document.software.backend;
  run.precision = document.software.precision;
  run.model = document.model.name.value_or("");
  run.device_count = static_cast<int64_t>(document.hardware.devices.size());
  if (run.device_count > 0) run.device = document.hardware.devices[0].name.value_or("");
  run.adapter = document.source.adapter;
  run.tool = document.source.tool.value_or("");
  for (const SourceFile& file : document.source.files) run.source_bytes += file.bytes;
  if (!document.source.files.empty()) run.source_name = document.source.files[0].name;
  if (document.source.files.size() == 1) run.content_sha256 = document.source.files[0].sha256;
  run.wall_ns = std::llround(document.summary.total_duration_ms * 1e6);
  run.op_count = document.summary.total_ops;
  run.kernel_count = document.summary.total_kernels;
  if (document.capture) run.lost_records = document.capture->lost_records.value_or(0);
  run.schema_version = document.schema_version;
  if (document.tags) run.tags = *document.tags;
  if (Result<int64_t> bytes = TreeBytes(folder); bytes.ok()) run.stored_bytes = *bytes;
  return run;
}

}  // namespace

Result<CatalogRun> ReadRunFolder(const std::string& folder) {
  const std::string entry_path = fmt::format("{}/{}", folder, kCatalogEntryFile);
  if (PathExists(entry_path)) {
    NL_ASSIGN(std::string text, ReadWholeFile(entry_path));
    NL_ASSIGN(Json json, ParseJson(text));
    return CatalogRunFromJson(json);
  }
  NL_ASSIGN(std::string text, ReadWholeFile(fmt::format("{}/{}", folder, kRunDocumentFile)));
  NL_ASSIGN(Json json, ParseJson(text));
  NL_ASSIGN(RunDocument document, RunDocumentFromJson(json));
  return FromDocument(document, folder);
}

std::string ParquetDefect(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return "cannot be opened";
  if (info.st_size < kParquetMinBytes) return "is too short to be Parquet";
  char head[4];
  unsigned char tail[8];
  if (::pread(fd.get(), head, 4, 0) != 4 || ::pread(fd.get(), tail, 8, info.st_size - 8) != 8) {
    return "cannot be read";
  }
  if (std::memcmp(head, "PAR1", 4) != 0) return "does not begin as Parquet";
  if (std::memcmp(tail + 4, "PAR1", 4) != 0) return "is cut short (no Parquet end mark)";
  const uint32_t footer = tail[0] | tail[1] << 8 | tail[2] << 16 | static_cast<uint32_t>(tail[3]) << 24;
  if (footer == 0 || footer > info.st_size - kParquetMinBytes)
    return "has a footer that does not fit the file";
  return "";
}

}  // namespace nl
