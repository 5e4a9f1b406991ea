// SPDX-License-Identifier: Apache-2.0
// The nsys adapter: Nsight Systems recordings, as SQLite exports, as reports that an
// installed nsys exports, or as the sums that nsys stats prints of one. README.md in this folder explains the
// format.

#include <filesystem>
#include <fstream>

#include "import/adapter.h"
#include "import/adapters/nsys/export_file.h"
#include "import/adapters/nsys/report_file.h"
#include "import/adapters/nsys/stats_csv.h"
#include "import/read/whole_file.h"

namespace nl::adapters::nsys {

namespace {

constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);

// Names that no other profiler's database has; some stand in the first pages.
bool NamesExportTables(std::string_view head) {
  for (const std::string_view name : {"TARGET_INFO_SYSTEM_ENV", "CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS",
                                      "ENUM_NSYS_EVENT_TYPE", "META_DATA_EXPORT", "Serialized GlobalId"}) {
    if (head.find(name) != std::string_view::npos) return true;
  }
  return false;
}

// Tables whose rows make up the time an import takes, for progress; one of them is enough to know an export.
constexpr const char* kEventTables[] = {"NVTX_EVENTS",
                                        "CUPTI_ACTIVITY_KIND_RUNTIME",
                                        "CUPTI_ACTIVITY_KIND_KERNEL",
                                        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                        "CUPTI_ACTIVITY_KIND_MEMCPY",
                                        "CUPTI_ACTIVITY_KIND_MEMSET",
                                        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                        "OSRT_API",
                                        "GPU_METRICS",
                                        "COMPOSITE_EVENTS",
                                        "SAMPLING_CALLCHAINS"};

bool IsExport(const SqliteReader& reader) {
  if (reader.Find("StringIds") != nullptr && reader.Find("TARGET_INFO_SYSTEM_ENV") != nullptr) return true;
  for (const char* table : kEventTables) {
    if (reader.Find(table) != nullptr) return true;
  }
  return reader.Find("META_DATA_EXPORT") != nullptr;
}

Status ImportExport(ImportFile& file, const std::string& path, int64_t size_bytes) {
  NL_ASSIGN(const std::unique_ptr<SqliteReader> reader, SqliteReader::Open(path, file.path, file.options));
  if (!IsExport(*reader)) {
    return InvalidInput("a SQLite database, but not one that Nsight Systems exported")
        .At(file.path)
        .Hint("make one with: nsys export --type sqlite report.nsys-rep");
  }
  ExportFile e(file, *reader, size_bytes);
  e.PlanProgress(kEventTables);
  NL_TRY(ReadTargetInfo(e));
  NL_TRY(ReadNvtx(e));
  NL_TRY(ReadApiCalls(e));
  NL_TRY(ReadDeviceWork(e));
  NL_TRY(ReadSynchronization(e));
  NL_TRY(ReadOtherSpans(e));
  NL_TRY(ReadMemoryEvents(e));
  NL_TRY(ReadGpuMetrics(e));
  NL_TRY(ReadCpuSamples(e));
  NL_TRY(ReadMessages(e));
  file.facts.NoteDuplicateIds(e.launches.duplicates());
  e.lanes.Put(file.counters);
  NL_TRY(e.writer.Finish());
  NL_TRY(PutHeader(e));
  return e.CountLeftOut();
}

std::string HeadOf(const std::string& path) {
  std::string head(4096, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(in.gcount()));
  return head;
}

Status ImportReport(ImportFile& file, const std::string& path) {
  NL_ASSIGN(const TempDir folder, TempDir::Make("neurolens-nsys-"));
  NL_ASSIGN(const std::string database, ExportReport(file, path, folder.path()));
  std::error_code code;
  const auto size_bytes = static_cast<int64_t>(std::filesystem::file_size(database, code));
  return ImportExport(file, database, size_bytes);
}

class NsysAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"nsys",
            1,
            "Nsight Systems recordings: SQLite exports; reports where nsys is installed; sums of nsys stats",
            "nsys export --type sqlite, nsys profile, nsys stats --format csv",
            {".sqlite", ".nsys-rep", "_cuda_gpu_kern_sum.csv", ".csv"}};
  }

  int Score(std::string_view head, std::string_view file_name) const override {
    const bool named = file_name.find(".sqlite") != std::string_view::npos;
    if (head.starts_with(kSqliteMagic)) return NamesExportTables(head) ? 95 : 20 + (named ? 5 : 0);
    // An export that was interrupted has a first page of zeros.
    const bool zero =
        head.size() >= 100 && head.substr(0, 100).find_first_not_of('\0') == std::string_view::npos;
    if (zero) return NamesExportTables(head) ? 60 : named ? 10 : 0;
    if (LooksLikeStats(head)) return 80;
    return LooksLikeReport(head, file_name) ? 30 : 0;
  }

  // The tables of sums of one recording are one run; exports and reports are whole.
  FileRole Role(std::string_view head, std::string_view file_name) const override {
    return StatsRole(head, file_name);
  }

  Status ImportParts(std::vector<ImportFile>& files) const override { return ImportStats(files); }

  Status Import(ImportFile& file) const override {
    NL_ASSIGN(const std::unique_ptr<WholeFile> whole, WholeFile::Open(file));
    const std::string head = HeadOf(whole->path());
    if (LooksLikeStats(head)) return RefuseStats(head, file.path);
    if (!head.starts_with(kSqliteMagic) && LooksLikeReport(head, file.path))
      NL_TRY(ImportReport(file, whole->path()));
    else
      NL_TRY(ImportExport(file, whole->path(), whole->size_bytes()));
    return whole->Finish();
  }
};

}  // namespace

const Adapter& Describe() {
  static const NsysAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::nsys
