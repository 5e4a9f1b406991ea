// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading a report model whose sections may be absent: every getter answers "not there"
// instead of failing, whatever the type of what it finds.
// Thread rule: pure functions.

#include <optional>
#include <string>

#include "base/json.h"

namespace nl {

// The member, or a shared null.
const Json& ChildAt(const Json& object, const char* key);
// The member as a list, or a shared empty list.
const Json& ListAt(const Json& object, const char* key);
// The member's text, or "".
std::string TextAt(const Json& object, const char* key);
std::optional<double> NumberAt(const Json& object, const char* key);

// A list of texts (or one text) in one line.
std::string JoinedAt(const Json& object, const char* key);
// "launch_latency" as people write it.
std::string PlainWords(std::string word);
// What a finding costs, as the end of a sentence: "could save up to 12.3 ms", "this cost is counted in
// X"; "" when it is not known.
std::string CostText(const Json& finding);
// One piece of evidence: "short kernel share 85.7 % (kernel row 3)". Not escaped.
std::string EvidenceText(const Json& evidence);

// For display; "-" when there is none.
std::string MsAt(const Json& object, const char* key);       // "12.3 ms"
std::string PercentAt(const Json& object, const char* key);  // a share 0..1 as "12.3 %"
std::string CountAt(const Json& object, const char* key);    // "1,234"
std::string MsNumber(std::optional<double> ms);  // "12.345" with sensible digits, without the unit

// One line of prose for Markdown: control characters made visible, cut to `columns`, escaped.
std::string MdText(std::string_view text, int columns = 200);
// A cell for TextTable::Markdown, which escapes it: one line, cut to `columns`.
std::string MdCell(std::string_view text, int columns = 120);

}  // namespace nl
