// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nsys/report_file.h"

#include "base/run_program.h"
#include "import/read/report_program.h"

namespace nl::adapters::nsys {

bool LooksLikeReport(std::string_view head, std::string_view file_name) {
  constexpr std::string_view kEndings[] = {".nsys-rep", ".qdrep"};
  return LooksLikeReportFile(head, file_name, kEndings);
}

Result<std::string> ExportReport(const ImportFile& file, const std::string& report,
                                 const std::string& folder) {
  const std::string nsys = FindProgram("nsys");
  if (nsys.empty()) {
    return Unsupported(
               "a report of Nsight Systems can be read with the program nsys only, and there is none on PATH")
        .At(file.path)
        .Hint(
            "where nsys is installed run: nsys export --type sqlite FILE.nsys-rep, then import FILE.sqlite");
  }
  NL_ASSIGN(const std::string named, LinkReport(report, folder, "report.nsys-rep"));
  ExportCall call;
  call.output = folder + "/report.sqlite";
  call.arguments = {nsys,   "export",   "--type",    "sqlite", "--force-overwrite",
                    "true", "--output", call.output, named};
  call.what = "nsys export";
  call.hint =
      "the nsys on PATH may be older than the one that recorded: export with that one, then import the "
      ".sqlite";
  NL_TRY(RunExport(file, call));
  return call.output;
}

}  // namespace nl::adapters::nsys
