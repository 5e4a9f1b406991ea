// SPDX-License-Identifier: Apache-2.0
#include "base/xml_text.h"

#include "base/terminal.h"

namespace nl {

std::string XmlText(std::string_view text) {
  std::string out;
  const std::string printable = PrintableText(text, Keep::kLines);
  for (size_t i = 0; i < printable.size(); ++i) {
    // XML does not allow U+FFFE and U+FFFF, not even escaped.
    if (printable.compare(i, 2, "\xef\xbf") == 0 && (printable[i + 2] & 0x7e) == 0x3e) {
      out += "\xef\xbf\xbd";
      i += 2;
      continue;
    }
    switch (const char c = printable[i]) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      case '\t': out += "&#9;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace nl
