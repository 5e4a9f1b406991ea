// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "base/record_json.h"
#include "report/compare/compare_forms.h"
#include "report/report_forms.h"

// The built page (web/), or empty when the build had no Node.js.
namespace nl::embedded {
extern const std::string_view kComparePage;
}

namespace nl {

Result<std::string> CompareHtml(const CompareDocument& comparison) {
  return PageWithData(embedded::kComparePage, ToJsonText(comparison));
}

}  // namespace nl
