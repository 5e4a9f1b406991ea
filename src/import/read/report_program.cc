// SPDX-License-Identifier: Apache-2.0
#include "import/read/report_program.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/run_program.h"
#include "base/utf8.h"
#include "import/read/file_name.h"

namespace nl {

namespace {

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
  return ValidUtf8(out);
}

}  // namespace

bool LooksLikeReportFile(std::string_view head, std::string_view file_name,
                         std::span<const std::string_view> endings) {
  if (head.find('\0') == std::string_view::npos) return false;
  file_name = UnpackedName(file_name);
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return file_name.ends_with(ending); });
}

Result<std::string> LinkReport(const std::string& report, const std::string& folder, std::string_view name) {
  std::string named = fmt::format("{}/{}", folder, name);
  std::error_code code;
  std::filesystem::create_symlink(report, named, code);
  if (code) return IoError(fmt::format("cannot link {}", named), code.value());
  return named;
}

Status RunExport(const ImportFile& file, const ExportCall& call) {
  constexpr size_t kKeptBytes = 64 << 10;
  std::error_code code;
  const auto keep_going = [&] {
    std::error_code ignored;
    const auto written = std::filesystem::file_size(call.output, ignored);
    if (file.options.progress && !ignored) file.options.progress(static_cast<int64_t>(written), 0);
    return !file.options.Cancelled();
  };
  NL_ASSIGN(const ProgramResult result,
            RunProgram(call.arguments, keep_going, kKeptBytes, call.prints ? call.output : std::string()));
  const auto size = std::filesystem::file_size(call.output, code);
  if (result.status == 0 && !code && size > 0) return {};
  std::string said = LastWords(result.err);
  if (said.empty()) said = LastWords(result.out);
  const std::string how =
      result.status == 0 ? "made nothing" : fmt::format("ended with status {}", result.status);
  return InvalidInput(fmt::format("{} {}{}{}", call.what, how, said.empty() ? "" : ": ", said))
      .At(file.path)
      .Hint(call.hint);
}

}  // namespace nl
