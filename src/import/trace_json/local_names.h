// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that one parsing thread gives to the strings and lanes it meets, in order of
// first sight; the ordered stage maps them to the run's own.
// Thread rule: one thread. Ownership: keeps copies of what it numbered.

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/trace_json/json_text.h"
#include "model/string_pool.h"

namespace nl::trace_json {

// Maps raw JSON tokens to local string ids; escapes are resolved on first sight only.
class LocalStrings {
 public:
  LocalStrings() : slots_(1 << 14) {}

  // A JSON string's content, or any text of our own.
  StringId Text(const JsonValue& v) {
    if (v.known_id != StringId::kNull && !v.known_as_json) return v.known_id;
    return v.kind == JsonKind::kString ? Find(v.text(), v.escaped ? kEscaped : kPlain) : Json(v);
  }
  StringId Text(std::string_view text) { return Find(text, kPlain); }
  // Any value as JSON text without needless spaces; strings keep their quotes.
  StringId Json(const JsonValue& v) {
    if (v.known_id != StringId::kNull && v.known_as_json) return v.known_id;
    return Find(v.json(), kJson);
  }

  // The same, and where the token's own text is kept (without quotes for Text of a string);
  // readable 8 bytes past its end.
  struct Kept {
    StringId id;
    const char* raw;
  };
  Kept Keep(const JsonValue& v, bool as_json);

  std::string_view At(StringId id) const { return texts_[static_cast<uint32_t>(id)]; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  size_t bytes() const { return arena_.bytes(); }
  // Texts that were not UTF-8, numbered since the last call.
  std::vector<StringId> TakeBadUtf8() { return std::exchange(bad_utf8_, {}); }
  void Clear();
  // Changes with every Clear: numbers of different generations do not mix.
  uint64_t generation() const { return generation_; }

 private:
  enum Form : uint32_t { kPlain = 0, kEscaped = 1, kJson = 2 };
  struct Slot {
    uint64_t hash = 0;
    const char* raw = nullptr;
    uint32_t raw_size = 0;
    StringId id = StringId::kNull;
  };
  StringId Find(std::string_view raw, Form form) { return FindSlot(raw, form).id; }
  const Slot& FindSlot(std::string_view raw, Form form);
  const Slot& Insert(std::string_view raw, Form form, uint64_t hash, size_t slot);
  void Grow();

  TextArena arena_;
  std::vector<Slot> slots_;
  std::vector<std::string_view> texts_;
  std::vector<StringId> bad_utf8_;
  uint64_t generation_ = 0;
  uint32_t used_ = 0;
};

// A lane is a (pid, tid) pair as written. Local numbers, in order of first sight.
class LocalLanes {
 public:
  ThreadId Find(const JsonValue& pid, const JsonValue& tid) {
    const bool digits = pid.decimals == 0 && tid.decimals == 0;
    if (digits && last_is_digits_ && pid.digits == last_pid_ && tid.digits == last_tid_)
      return static_cast<ThreadId>(last_);
    return FindText(pid, tid);
  }
  struct Lane {
    std::string pid, tid;  // JSON text; empty when absent
    bool Is(std::string_view other_pid, std::string_view other_tid) const {
      return tid == other_tid && pid == other_pid;
    }
  };
  const std::vector<Lane>& lanes() const { return lanes_; }
  // Forgets all but the first `count`.
  void Truncate(size_t count) {
    if (count >= lanes_.size()) return;
    lanes_.resize(count);
    last_is_digits_ = false;
    index_.clear();
    indexed_ = 0;
  }

 private:
  ThreadId FindText(const JsonValue& pid, const JsonValue& tid);
  // The number of a lane; that of the next one when it is new.
  size_t PlaceOf(std::string_view pid, std::string_view tid);

  std::vector<Lane> lanes_;
  std::unordered_multimap<uint64_t, size_t> index_;  // by hash, of lanes beyond the first few
  size_t indexed_ = 0;                               // lanes that are in it or before it
  size_t last_ = 0;
  int64_t last_pid_ = 0, last_tid_ = 0;  // digits, when both are plain integers
  bool last_is_digits_ = false;
};

}  // namespace nl::trace_json
