// SPDX-License-Identifier: Apache-2.0
#include "base/markdown.h"

#include "base/terminal.h"

namespace nl {

std::string MarkdownText(std::string_view text) {
  constexpr std::string_view kMarks = "|\\`*_[]#$~";
  std::string out;
  for (const char c : PrintableText(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default:
        if (kMarks.find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
  }
  return out;
}

std::string MarkdownCode(std::string_view text) {
  std::string out = "`";
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out + "`";
}

}  // namespace nl
