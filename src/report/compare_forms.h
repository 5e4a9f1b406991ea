// SPDX-License-Identifier: Apache-2.0
#pragma once
// The forms of a comparison, each written from its JSON model (docs/compare.md): a waterfall
// for a terminal, Markdown for a pull request, one self-contained page. Names in the model
// are untrusted and every value may be null.
// Thread rule: pure functions.

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace nl {

struct CompareTextOptions {
  int width = 80;
  bool color = false;
  std::string by;       // also this table: kernel, op, module or stage; "": none
  size_t by_rows = 12;  // of that table
};
// Lines of at most `width` columns (60 at least).
std::string CompareText(const Json& comparison, const CompareTextOptions& options);

std::string CompareMarkdown(const Json& comparison);

// Unsupported when this build has no page (no Node.js at build time).
Result<std::string> CompareHtml(const Json& comparison);

// The verdict in a sentence or two: the model's own, or one made of its numbers.
std::string CompareVerdictText(const Json& comparison);
// "decode_step · layers.*.mlp · aten::mm"; "" when the contribution is nowhere in particular.
std::string ComparePlace(const Json& contribution);
// What else is worth running, as [{command, why}]; `a` and `b` are what the user named the runs.
Json CompareNext(const Json& comparison, const std::string& a, const std::string& b);

}  // namespace nl
