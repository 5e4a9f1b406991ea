// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values for display, and reading of documents whose members may be absent (run documents, replies
// of other programs): every getter answers "not there" instead of failing, whatever it finds.
// Thread rule: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyze/facts/findings.h"
#include "base/json.h"

namespace nl {

// The member, or a shared null.
const Json& ChildAt(const Json& object, const char* key);
// The member as a list, or a shared empty list.
const Json& ListAt(const Json& object, const char* key);
// The member's text, or "".
std::string TextAt(const Json& object, const char* key);
std::optional<double> NumberAt(const Json& object, const char* key);

// "launch_latency" as people write it.
std::string PlainWords(std::string_view word);
// What a finding costs, as the end of a sentence: "could save up to 12.3 ms", "this cost is counted in
// X"; "" when it is not known.
std::string CostText(const Finding& finding);
// One piece of evidence: "short kernel share 85.7 % (kernel row 3)". Not escaped.
std::string EvidenceText(const Evidence& evidence);

// For display; "-" when null.
std::string MsOrDash(std::optional<double> ms);  // "12.3 ms"
std::string GainShareText(double share);         // of a predicted gain: "12 %", "0.3 %", "below 0.1 %"
std::string PercentOrDash(std::optional<double> share);  // a share 0..1 as "12.3 %"
std::string CountOrDash(std::optional<int64_t> count);   // "1,234"
std::string MsNumber(std::optional<double> ms);          // "12.345" with sensible digits, without the unit

// One line of prose for Markdown: control characters made visible, cut to `columns`, escaped.
std::string MdText(std::string_view text, int columns = 200);
// A cell for TextTable::Markdown, which escapes it: one line, cut to `columns`.
std::string MdCell(std::string_view text, int columns = 120);

}  // namespace nl
