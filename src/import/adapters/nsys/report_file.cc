// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nsys/report_file.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/run_program.h"

namespace nl::adapters::nsys {

namespace {

constexpr std::string_view kEndings[] = {".nsys-rep", ".qdrep"};

// The last lines of what a program said, as one line.
std::string LastWords(std::string_view text) {
  constexpr size_t kMaxBytes = 600;
  if (text.size() > kMaxBytes) text.remove_prefix(text.size() - kMaxBytes);
  std::string out;
  for (const char c : text) {
    const bool space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (space && (out.empty() || out.back() == ' ')) continue;
    out.push_back(space ? ' ' : c);
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

bool LooksLikeReport(std::string_view head, std::string_view file_name) {
  if (head.find('\0') == std::string_view::npos) return false;
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (file_name.ends_with(packed)) file_name.remove_suffix(packed.size());
  }
  for (const std::string_view ending : kEndings) {
    if (file_name.ends_with(ending)) return true;
  }
  return false;
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
  // nsys tells reports by their ending, which an unpacked copy does not have.
  const std::string named = folder + "/report.nsys-rep", database = folder + "/report.sqlite";
  std::error_code code;
  std::filesystem::create_symlink(report, named, code);
  if (code) return IoError(fmt::format("cannot link {}", named), code.value());
  const auto keep_going = [&] {
    std::error_code ignored;
    const auto written = std::filesystem::file_size(database, ignored);
    if (file.options.progress && !ignored) file.options.progress(static_cast<int64_t>(written), 0);
    return !file.options.Cancelled();
  };
  NL_ASSIGN(const ProgramResult result, RunProgram({nsys, "export", "--type", "sqlite", "--force-overwrite",
                                                    "true", "--output", database, named},
                                                   keep_going));
  if (result.status == 0 && std::filesystem::exists(database, code)) return database;
  std::string said = LastWords(result.err);
  if (said.empty()) said = LastWords(result.out);
  return InvalidInput(fmt::format("nsys export ended with status {}{}{}", result.status,
                                  said.empty() ? "" : ": ", said))
      .At(file.path)
      .Hint(
          "the nsys on PATH may be older than the one that recorded: export with that one, then import the "
          ".sqlite");
}

}  // namespace nl::adapters::nsys
