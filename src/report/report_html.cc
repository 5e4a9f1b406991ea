// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "base/record_json.h"
#include "report/report_forms.h"

// The built page (web/), or empty when the build had no Node.js.
namespace nl::embedded {
extern const std::string_view kReportPage;
}

namespace nl {

namespace {
constexpr std::string_view kDataMark = "\"@neurolens-report-data@\"";
}

std::string ScriptSafeJson(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    // These stand only inside of strings, where an escape means the same.
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else if (c == '\xe2' && (json.substr(i, 3) == "\xe2\x80\xa8" || json.substr(i, 3) == "\xe2\x80\xa9")) {
      out += json[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

std::string HtmlMissingReason() {
  if (!embedded::kReportPage.empty()) return "";
  return "this build has no pages: Node.js or npm was missing when it was built";
}

Result<std::string> PageWithData(std::string_view page, std::string_view json) {
  const size_t at = page.find(kDataMark);
  if (at == std::string_view::npos) {
    return Unsupported(HtmlMissingReason().empty() ? "the built page has no place for its data"
                                                   : HtmlMissingReason())
        .Hint("install nodejs and npm, then build again; Markdown and JSON work without");
  }
  std::string out(page.substr(0, at));
  out += ScriptSafeJson(json);
  out += page.substr(at + kDataMark.size());
  return out;
}

Result<std::string> ReportHtml(const Report& report) {
  return PageWithData(embedded::kReportPage, ToJsonText(report));
}

}  // namespace nl
