// SPDX-License-Identifier: Apache-2.0
#pragma once
// The forms of a report, each written from the same model (report_model.h). Names in the
// model are untrusted: Markdown is escaped, and the page gets its data as JSON that cannot
// end the element it stands in.
// Thread rule: pure functions.

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace nl {

std::string ReportMarkdown(const Json& report);
std::string OperatorsMarkdown(const Json& report);
std::string KernelsMarkdown(const Json& report);
// For someone who never opened a profiler.
std::string StakeholderMarkdown(const Json& report);

// One self-contained page. Unsupported when this build has no page (no Node.js at build time).
Result<std::string> ReportHtml(const Json& report);
// Why this build cannot write the page; empty when it can.
std::string HtmlMissingReason();
// A built page of web/ with `data` in its place; Unsupported when the build has no pages.
Result<std::string> PageWithData(std::string_view page, const Json& data);
// `json` as text for a <script type="application/json"> element.
std::string ScriptSafeJson(const Json& json);

}  // namespace nl
