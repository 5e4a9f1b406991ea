// SPDX-License-Identifier: Apache-2.0
#pragma once
// The forms of a comparison (compare_reply.h): a waterfall for a terminal, Markdown for a pull
// request, one self-contained page. Names in the comparison are untrusted; every form escapes them.
// Thread rule: pure functions.

#include <string>

#include "base/result.h"
#include "report/compare/compare_reply.h"

namespace nl {

struct CompareTextOptions {
  int width = 80;
  bool color = false;
  std::string by;       // also print this table: kernel, op, module or stage; "": none
  size_t by_rows = 12;  // of that table
};
// Lines of at most `width` columns (60 at least).
std::string CompareText(const CompareReply& comparison, const CompareTextOptions& options);

std::string CompareMarkdown(const CompareFacts& comparison);

// Unsupported when this build has no page (no Node.js at build time).
Result<std::string> CompareHtml(const CompareDocument& comparison);

}  // namespace nl
