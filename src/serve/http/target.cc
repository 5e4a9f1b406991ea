// SPDX-License-Identifier: Apache-2.0
#include "serve/http/target.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/terminal.h"
#include "base/utf8.h"

namespace nl::http {

namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Error BadTarget(std::string_view text, std::string_view why) {
  return InvalidInput(fmt::format("cannot read '{}' of the address: {}", PrintableName(text, 80), why));
}

// SQL in a query string has lines of its own; other control characters have no place in a name.
bool HasControl(std::string_view text, bool lines) {
  return std::any_of(text.begin(), text.end(), [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && !(lines && (c == '\n' || c == '\r' || c == '\t'))) || byte == 0x7f;
  });
}

Result<std::string> Decoded(std::string_view text, bool is_query) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_query && text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return BadTarget(text, "'%' is not followed by two hexadecimal digits");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  if (HasControl(out, is_query)) return BadTarget(text, "it has a control character");
  if (!IsUtf8(out)) return BadTarget(text, "not UTF-8");
  return out;
}

}  // namespace

Result<Target> ParseTarget(std::string_view target) {
  if (target.empty() || target.front() != '/')
    return InvalidInput("the address of a request begins with '/'");
  const size_t question = target.find('?');
  std::string_view path = target.substr(1, question == std::string_view::npos ? question : question - 1);
  std::string_view query = question == std::string_view::npos ? "" : target.substr(question + 1);
  Target out;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    NL_ASSIGN(std::string segment, Decoded(path.substr(0, slash), false));
    out.segments.push_back(std::move(segment));
    path = slash == std::string_view::npos ? "" : path.substr(slash + 1);
  }
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view field = query.substr(0, end);
    query = end == std::string_view::npos ? "" : query.substr(end + 1);
    if (field.empty()) continue;
    const size_t equals = field.find('=');
    NL_ASSIGN(std::string name, Decoded(field.substr(0, equals), true));
    NL_ASSIGN(std::string value,
              Decoded(equals == std::string_view::npos ? "" : field.substr(equals + 1), true));
    out.query.emplace_back(std::move(name), std::move(value));
  }
  return out;
}

}  // namespace nl::http
