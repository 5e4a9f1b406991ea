// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/ncu/report_file.h"

#include "base/run_program.h"
#include "import/read/report_program.h"

namespace nl::adapters::ncu {

bool LooksLikeReport(std::string_view head, std::string_view file_name) {
  constexpr std::string_view kEndings[] = {".ncu-rep", ".nsight-cuprof-report"};
  return LooksLikeReportFile(head, file_name, kEndings);
}

Result<PrintedPages> PrintPages(const ImportFile& file, const std::string& report,
                                const std::string& folder) {
  const std::string ncu = FindProgram("ncu");
  if (ncu.empty()) {
    return Unsupported(
               "a report of Nsight Compute can be read with the program ncu only, and there is none on PATH")
        .At(file.path)
        .Hint(
            "where ncu is installed run: ncu --import FILE.ncu-rep --csv --page raw > FILE.csv, then import "
            "FILE.csv");
  }
  NL_ASSIGN(const std::string named, LinkReport(report, folder, "report.ncu-rep"));
  PrintedPages pages{folder + "/raw.csv", folder + "/details.csv"};
  for (const auto& [page, output] : {std::pair("raw", pages.raw), std::pair("details", pages.details)}) {
    ExportCall call;
    call.output = output;
    call.prints = true;
    call.arguments = {ncu, "--import", named, "--csv", "--page", page};
    call.what = "ncu --import";
    call.hint =
        "the ncu on PATH may be older than the one that recorded: print the pages with that one "
        "(ncu --import FILE.ncu-rep --csv --page raw), then import the CSV";
    NL_TRY(RunExport(file, call));
  }
  return pages;
}

}  // namespace nl::adapters::ncu
