// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of any origin inside a Markdown page: it stays on its line and in its table cell, and reads as it
// was written.
// Thread rule: pure functions.

#include <string>
#include <string_view>

namespace nl {

// Control characters made visible, everything that Markdown or HTML gives a meaning escaped.
std::string MarkdownText(std::string_view text);
// `text` between backticks, for text without backticks. In a table the pipe ends a cell even there.
std::string MarkdownCode(std::string_view text);

}  // namespace nl
