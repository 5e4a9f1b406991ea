// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/local_names.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"

namespace nl::trace_json {

void LocalStrings::Clear() {
  const uint64_t next = generation_ + 1;
  *this = LocalStrings();
  generation_ = next;
}

LocalStrings::Kept LocalStrings::Keep(const JsonValue& v, bool as_json) {
  if (as_json || v.kind != JsonKind::kString) {
    const Slot& slot = FindSlot(v.json(), kJson);
    return {slot.id, slot.raw + (v.kind == JsonKind::kString ? 1 : 0)};
  }
  const Slot& slot = FindSlot(v.text(), v.escaped ? kEscaped : kPlain);
  return {slot.id, slot.raw};
}

const LocalStrings::Slot& LocalStrings::FindSlot(std::string_view raw, Form form) {
  const uint64_t hash = HashText(raw) + form;
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id == StringId::kNull) return Insert(raw, form, hash, i);
    if (slot.hash == hash && slot.raw_size == raw.size() &&
        std::memcmp(slot.raw, raw.data(), raw.size()) == 0)
      return slot;
  }
}

const LocalStrings::Slot& LocalStrings::Insert(std::string_view raw, Form form, uint64_t hash, size_t slot) {
  if ((used_ + 1) * 2 > slots_.size()) {
    Grow();
    return FindSlot(raw, form);
  }
  static constexpr char kEmpty[16] = {};
  const std::string_view kept = raw.empty() ? std::string_view(kEmpty, 0) : arena_.Copy(raw);
  std::string_view text = kept;
  const auto id = static_cast<StringId>(texts_.size());
  if (form != kPlain || !IsUtf8(raw)) {
    bool bad_utf8 = false;
    const std::string clean = form == kJson ? Minify(raw, bad_utf8) : Unescape(raw, bad_utf8);
    if (clean != raw) text = arena_.Copy(clean);
    if (bad_utf8) bad_utf8_.push_back(id);
  }
  texts_.push_back(text);
  slots_[slot] = {hash, kept.data(), static_cast<uint32_t>(raw.size()), id};
  ++used_;
  return slots_[slot];
}

void LocalStrings::Grow() {
  std::vector<Slot> grown(slots_.size() * 2);
  const size_t mask = grown.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.id == StringId::kNull) continue;
    size_t i = slot.hash & mask;
    while (grown[i].id != StringId::kNull) i = (i + 1) & mask;
    grown[i] = slot;
  }
  slots_.swap(grown);
}

ThreadId LocalLanes::FindText(const JsonValue& pid, const JsonValue& tid) {
  const std::string_view p = pid.given() ? pid.json() : std::string_view();
  const std::string_view t = tid.given() ? tid.json() : std::string_view();
  // "-0" has the digits of "0" but is another text.
  last_is_digits_ = pid.decimals == 0 && tid.decimals == 0 && pid.digits != 0 && tid.digits != 0;
  last_pid_ = pid.digits;
  last_tid_ = tid.digits;
  last_ = PlaceOf(p, t);
  if (last_ == lanes_.size()) lanes_.push_back({std::string(p), std::string(t)});
  return static_cast<ThreadId>(last_);
}

size_t LocalLanes::PlaceOf(std::string_view pid, std::string_view tid) {
  // Most traces have tens of lanes, for which looking is quicker than hashing.
  constexpr size_t kFew = 32;
  const size_t few = std::min(lanes_.size(), kFew);
  for (size_t i = 0; i < few; ++i) {
    if (lanes_[i].Is(pid, tid)) return i;
  }
  if (lanes_.size() <= kFew) return few;
  const auto hash_of = [](std::string_view p, std::string_view t) { return HashText(p) * 31 + HashText(t); };
  for (indexed_ = std::max(indexed_, kFew); indexed_ < lanes_.size(); ++indexed_)
    index_.emplace(hash_of(lanes_[indexed_].pid, lanes_[indexed_].tid), indexed_);
  const auto [first, last] = index_.equal_range(hash_of(pid, tid));
  for (auto it = first; it != last; ++it) {
    if (lanes_[it->second].Is(pid, tid)) return it->second;
  }
  return lanes_.size();
}

}  // namespace nl::trace_json
