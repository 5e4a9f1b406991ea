// SPDX-License-Identifier: Apache-2.0
// The ncu adapter: Nsight Compute reports, as the CSV pages ncu prints or as report files
// that an installed ncu prints. README.md in this folder explains the format.

#include <fstream>

#include "base/file_ops.h"
#include "import/adapter.h"
#include "import/adapters/ncu/page.h"
#include "import/adapters/ncu/report_file.h"
#include "import/adapters/ncu/report_reader.h"
#include "import/read/whole_file.h"

namespace nl::adapters::ncu {

namespace {

void DescribeSource(SourceFacts& about) {
  about.backend = "cuda";
  about.tool = "NVIDIA Nsight Compute";
  about.vendor = "nvidia";
  about.order_only = true;
  about.notes.push_back(
      "each kernel was run alone and repeatedly by the profiler: durations and counters are measured, starts "
      "give only the order, gaps and overlap are not known");
}

Status ImportPages(ImportFile& file) {
  ReportReader reader(file);
  NL_TRY(reader.Read(file.source));
  return reader.Finish();
}

bool IsText(const std::string& path) {
  std::string head(4096, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(in.gcount()));
  return head.find('\0') == std::string::npos;
}

Status ImportReport(ImportFile& file) {
  NL_ASSIGN(const std::unique_ptr<WholeFile> whole, WholeFile::Open(file));
  if (IsText(whole->path())) {
    ReportReader reader(file);
    NL_ASSIGN(const std::unique_ptr<ByteSource> text, OpenByteSource(whole->path(), file.options.cancelled));
    NL_TRY(reader.Read(*text));
    NL_TRY(reader.Finish());
    return whole->Finish();
  }
  NL_ASSIGN(const TempDir folder, TempDir::Make("neurolens-ncu-"));
  NL_ASSIGN(const PrintedPages pages, PrintPages(file, whole->path(), folder.path()));
  ReportReader reader(file);
  NL_ASSIGN(const std::unique_ptr<ByteSource> raw, OpenByteSource(pages.raw, file.options.cancelled));
  NL_TRY(reader.Read(*raw));
  NL_ASSIGN(const std::unique_ptr<ByteSource> details, OpenByteSource(pages.details, file.options.cancelled));
  NL_TRY(reader.Read(*details, true));
  NL_TRY(reader.Finish());
  return whole->Finish();
}

class NcuAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"ncu",
            1,
            "Nsight Compute reports: CSV pages (details, raw); report files where ncu is installed",
            "ncu --csv --page details|raw, ncu -o FILE",
            {".csv", ".ncu-rep"}};
  }

  int Score(std::string_view head, std::string_view file_name) const override {
    if (LooksLikeReport(head, file_name)) return 30;
    // Lines of the profiler and of the program may precedes the header.
    for (std::string_view rest = head; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      if (LooksLikeHeader(rest.substr(0, end))) return 90;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return head.starts_with("==PROF==") ? 40 : 0;
  }

  Status Import(ImportFile& file) const override {
    DescribeSource(file.about);
    if (!LooksLikeReport(std::string_view("\0", 1), file.path)) return ImportPages(file);
    return ImportReport(file);
  }
};

}  // namespace

const Adapter& Describe() {
  static const NcuAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::ncu
