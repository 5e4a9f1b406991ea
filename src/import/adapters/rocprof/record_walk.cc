// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/rocprof/record_walk.h"

#include <algorithm>

#include "import/adapters/rocprof/counters.h"

namespace nl::adapters::rocprof {

namespace {
constexpr size_t kMaxRecordBytes = 16 << 20;  // a longer one is broken text
const std::string kNoName;
}  // namespace

using trace_json::Scan;

const std::string& RecordKinds::Kind(int64_t kind) const {
  return kind >= 0 && kind < static_cast<int64_t>(list_.size()) ? list_[static_cast<size_t>(kind)].kind
                                                                : kNoName;
}

const std::string& RecordKinds::Operation(int64_t kind, int64_t operation) const {
  if (kind < 0 || kind >= static_cast<int64_t>(list_.size())) return kNoName;
  const auto& operations = list_[static_cast<size_t>(kind)].operations;
  return operation >= 0 && operation < static_cast<int64_t>(operations.size())
             ? operations[static_cast<size_t>(operation)]
             : kNoName;
}

Status RecordWalk::ForRecords(FieldTree& tree, const std::function<Status(int64_t, std::string_view)>& fn) {
  return ForElements([&]() -> Status {
    const int64_t place = cursor_.offset();
    const char* p = nullptr;
    Scan scan = Scan::kOk;
    do {
      p = cursor_.begin();
      scan = tree.Read(p, cursor_.end());
    } while (scan == Scan::kNeedMore && cursor_.window_bytes() < kMaxRecordBytes && cursor_.More());
    if (scan != Scan::kOk) return Recover(place);
    const std::string_view text(cursor_.begin(), static_cast<size_t>(p - cursor_.begin()));
    cursor_.Advance(p);
    any_record_ = true;
    return fn(place, text.substr(0, kShownBytes));
  });
}

Status RecordWalk::Recover(int64_t place) {
  while (cursor_.window_bytes() < kMaxRecordBytes && cursor_.More()) {
  }
  const std::string_view text(cursor_.begin(), cursor_.window_bytes());
  for (size_t at = text.find('}'); at != std::string_view::npos; at = text.find('}', at + 1)) {
    const char* p = trace_json::SkipSpace(text.data() + at + 1, text.data() + text.size());
    if (*p != ',') continue;
    const char* next = trace_json::SkipSpace(p + 1, text.data() + text.size());
    if (*next != '{') continue;
    counters_of_file_.Add(kBadRecord, place, text.substr(0, std::min(at + 1, kShownBytes)));
    cursor_.Advance(next);
    return {};
  }
  if (text.size() < kMaxRecordBytes) cursor_.Advance(cursor_.end());
  return cursor_.Broken("the rest of a record");
}

Result<bool> RecordWalk::SkipValue() {
  const char c = cursor_.Peek();
  bool empty = true;
  if (c == '[' || c == '{') {
    const int64_t place = cursor_.offset();
    NL_TRY(cursor_.Enter(c));
    const char first = cursor_.Peek();
    empty = first == ']' || first == '}';
    cursor_.Seek(place);
  }
  NL_TRY(cursor_.Skip());
  return empty;
}

}  // namespace nl::adapters::rocprof
