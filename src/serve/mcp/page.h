// SPDX-License-Identifier: Apache-2.0
#pragma once
// A page of a reply: as much of it as fits a number of bytes, and a cursor for the rest. What agents read is
// paid for by the token, so numbers are rounded and lists are cut; every member stays, so the page is valid
// by the schema of the reply.
//
// Lists that are not inside other lists are cut, each from its end, and the cursor has the place where each
// goes on: "kernels=12,copies=3". A list that the cursor does not name was given whole. The pages of a reply
// have every row exactly once. A row is never divided, but one larger than a quarter of the page has its
// texts and lists shortened. Thread rule: pure functions.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/record.h"
#include "base/result.h"

namespace nl::mcp {

// A list that one page does not have whole.
struct ListPart {
  std::string list;  // path of its name: "runs", "startup.parts"
  size_t first = 0, shown = 0, total = 0;
};

struct Page {
  Json value;
  std::vector<ListPart> parts;
  std::string next_cursor;  // empty: this is the last page
};

// `cursor` empty: the first page. InvalidInput when the reply gives no such cursor.
Result<Page> PageOf(Json document, size_t max_bytes, std::string_view cursor);

// Rounds measured numbers to three significant digits (places on the timeline to the microsecond) and cuts
// kernel names as the source spells them. Cells of a query and documents stay exact.
void RoundNumbers(Json& document, const RecordInfo& info);

}  // namespace nl::mcp
