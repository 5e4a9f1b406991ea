// SPDX-License-Identifier: Apache-2.0
#pragma once
// The forms of a report, each written from the same model (report_model.h). Names in the
// model are untrusted: Markdown is escaped, and the page gets its data as JSON that cannot
// end the element it stands in.
// Thread rule: pure functions.

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/report_model.h"

namespace nl {

std::string ReportMarkdown(const Report& report);
std::string OperatorsMarkdown(const Report& report);
std::string KernelsMarkdown(const Report& report);
// For someone who never opened a profiler.
std::string StakeholderMarkdown(const Report& report);

// One self-contained page. Unsupported when this build has no page (no Node.js at build time).
Result<std::string> ReportHtml(const Report& report);
// Why this build cannot write the page; empty when it can.
std::string HtmlMissingReason();
// A built page of web/ with `json` as its data; Unsupported when the build has no pages.
Result<std::string> PageWithData(std::string_view page, std::string_view json);
// JSON text for a <script type="application/json"> element.
std::string ScriptSafeJson(std::string_view json);

}  // namespace nl
