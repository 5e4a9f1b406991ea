// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/event_reader.h"

#include <algorithm>
#include <cstring>

namespace nl::trace_json {

namespace {

uint64_t Load64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

// memcmp without the call; n is mostly 8 to 40.
inline bool SameBytes(const char* a, const char* b, size_t n) {
  while (n >= 8) {
    if (Load64(a) != Load64(b)) return false;
    a += 8;
    b += 8;
    n -= 8;
  }
  uint64_t x = 0, y = 0;
  switch (n) {
    case 7:
      x |= static_cast<uint64_t>(static_cast<uint8_t>(a[6])) << 48,
          y |= static_cast<uint64_t>(static_cast<uint8_t>(b[6])) << 48;
      [[fallthrough]];
    case 6:
      x |= static_cast<uint64_t>(static_cast<uint8_t>(a[5])) << 40,
          y |= static_cast<uint64_t>(static_cast<uint8_t>(b[5])) << 40;
      [[fallthrough]];
    case 5:
      x |= static_cast<uint64_t>(static_cast<uint8_t>(a[4])) << 32,
          y |= static_cast<uint64_t>(static_cast<uint8_t>(b[4])) << 32;
      [[fallthrough]];
    case 4: {
      uint32_t u, v;
      std::memcpy(&u, a, 4);
      std::memcpy(&v, b, 4);
      return (x | u) == (y | v);
    }
    case 3:
      if (a[2] != b[2]) return false;
      [[fallthrough]];
    case 2:
      if (a[1] != b[1]) return false;
      [[fallthrough]];
    case 1: return a[0] == b[0];
    default: return true;
  }
}

// Reads a plain decimal number of at most 18 digits; false leaves it to the scanner.
inline bool MatchNumber(const char*& p, const char* end, JsonValue& out) {
  const char* begin = p;
  const bool negative = p < end && *p == '-';
  p += negative;
  uint64_t digits = 0;
  const char* first = p;
  while (static_cast<uint8_t>(*p - '0') < 10) digits = digits * 10 + static_cast<uint8_t>(*p++ - '0');
  const ptrdiff_t whole = p - first;
  ptrdiff_t decimals = 0;
  if (*p == '.') {
    const char* point = ++p;
    while (static_cast<uint8_t>(*p - '0') < 10) digits = digits * 10 + static_cast<uint8_t>(*p++ - '0');
    decimals = p - point;
    if (decimals == 0) return false;
  }
  if (whole == 0 || whole + decimals > 18 || p >= end) return false;
  // "01" and "1e5" are left to the scanner.
  if ((whole > 1 && *first == '0') || *p == 'e' || *p == 'E') return false;
  out.data = begin;
  out.size = static_cast<uint32_t>(p - begin);
  out.decimals = static_cast<uint8_t>(decimals);
  out.digits = negative ? -static_cast<int64_t>(digits) : static_cast<int64_t>(digits);
  return true;
}

}  // namespace

bool EventReader::MatchText(Slot& slot, const char*& p, const char* end) {
  if (end - p < 33) return false;
  const uint64_t mix = (Load64(p) * 0x9e3779b97f4a7c15ull) ^ (Load64(p + 8) * 0xc2b2ae3d27d4eb4full) ^
                       (Load64(p + 16) * 0x165667b19e3779f9ull) ^ (Load64(p + 24) * 0x27d4eb2f165667c5ull);
  KnownText* set = &slot.known->entries[((mix >> 40) % TextCache::kSets) * TextCache::kWays];
  const bool is_string = slot.kind == JsonKind::kString;
  JsonValue& out = *slot.value;
  for (size_t way = 0; way < TextCache::kWays; ++way) {
    const KnownText& known = set[way];
    if (known.data == nullptr) break;
    if (static_cast<size_t>(end - p) <= known.size || !SameBytes(p, known.data, known.size)) continue;
    out.data = p;
    out.size = known.size - is_string;
    out.escaped = known.escaped;
    out.known_id = known.id;
    out.known_as_json = slot.as_json;
    p += known.size;
    return true;
  }
  JsonValue found;
  const char* q = p;
  const Scan scan = is_string ? ScanString(q, end, found) : ScanNested(q, end, found);
  if (scan != Scan::kOk) return false;
  found.known_id = slot.as_json ? strings_.Json(found) : strings_.Text(found);
  found.known_as_json = slot.as_json;
  std::move_backward(set, set + TextCache::kWays - 1, set + TextCache::kWays);
  const std::string_view kept = texts_.Copy({p, static_cast<size_t>(q - p)});
  set[0] = {kept.data(), static_cast<uint32_t>(kept.size()), found.known_id, found.escaped};
  out = found;
  p = q;
  return true;
}

bool EventReader::Match(Shape& shape, const char*& p, const char* end) {
  const char* begin = p;
  const char* q = p;
  for (Slot& slot : shape.slots) {
    if (static_cast<size_t>(end - q) <= slot.before.size() ||
        !SameBytes(q, slot.before.data(), slot.before.size()))
      return false;
    q += slot.before.size();
    if (slot.kind == JsonKind::kNumber) {
      if (!MatchNumber(q, end, *slot.value)) return false;
    } else {
      // A nested value must be one: the scanner decides between kinds by the first character.
      if (slot.kind == JsonKind::kNested && *q != '[' && *q != '{') return false;
      if (!MatchText(slot, q, end)) return false;
    }
  }
  if (static_cast<size_t>(end - q) < shape.tail.size() || !SameBytes(q, shape.tail.data(), shape.tail.size()))
    return false;
  q += shape.tail.size();
  shape.event.text = {begin, static_cast<size_t>(q - begin)};
  p = q;
  return true;
}

void EventReader::Learn(const TraceEvent& event) {
  auto shape = std::make_unique<Shape>();
  shape->event = event;
  TraceEvent& e = shape->event;
  // ph and cat are part of the fixed text: a shape is one kind of event.
  struct Place {
    JsonValue* value;
    bool as_json;
  };
  std::vector<Place> places;
  for (JsonValue* v : {&e.name, &e.pid, &e.tid, &e.ts, &e.dur, &e.id, &e.bp, &e.scope}) {
    if (v->given()) places.push_back({v, false});
  }
  if (e.args_value.given()) places.push_back({&e.args_value, true});
  for (Arg& arg : e.extra) places.push_back({&arg.value, true});
  for (Arg& arg : e.args) places.push_back({&arg.value, arg.key_id == KeyTable::kUnknown});
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.value->data < b.value->data; });
  const char* at = event.text.data();
  for (const Place& place : places) {
    const JsonValue& v = *place.value;
    if (v.kind == JsonKind::kWord) continue;  // true, null, NaN: fixed text
    Slot slot;
    slot.before.assign(at, v.data);
    slot.kind = v.kind;
    slot.value = place.value;
    slot.as_json = place.as_json;
    if (v.kind != JsonKind::kNumber) slot.known = std::make_unique<TextCache>();
    shape->slots.push_back(std::move(slot));
    at = v.data + v.size +
         (v.kind == JsonKind::kString ? 1 : 0);  // the closing quote is matched with the value
  }
  shape->tail.assign(at, event.text.data() + event.text.size());
  // Constant values and keys must not point into the input, which goes away.
  const auto keep = [this](JsonValue& v) {
    if (!v.given()) return;
    const std::string_view json = texts_.Copy(v.json());
    v.data = v.kind == JsonKind::kString ? json.data() + 1 : json.data();
  };
  for (JsonValue* v : {&e.ph, &e.cat}) keep(*v);
  for (const Place& place : places) keep(*place.value);
  for (Arg& arg : e.extra) keep(arg.key);
  for (Arg& arg : e.args) keep(arg.key);
  shapes_.push_back(std::move(shape));
}

Scan EventReader::Next(const char*& p, const char* end, const TraceEvent*& out) {
  if (learning_) {
    Shape* guess = last_ != nullptr ? last_->followed_by : nullptr;
    if (guess != nullptr && Match(*guess, p, end)) {
      out = &guess->event;
      last_ = guess;
      return Scan::kOk;
    }
    for (const auto& shape : shapes_) {
      if (shape.get() == guess || !Match(*shape, p, end)) continue;
      if (last_ != nullptr) last_->followed_by = shape.get();
      last_ = shape.get();
      out = &shape->event;
      return Scan::kOk;
    }
  }
  const Scan scan = scanner_.Next(p, end, scanned_);
  out = &scanned_;
  if (scan == Scan::kOk && learning_ && shapes_.size() < kMaxShapes) Learn(scanned_);
  return scan;
}

void EventReader::ForgetStrings() {
  for (const auto& shape : shapes_) {
    for (Slot& slot : shape->slots) {
      if (slot.known) slot.known = std::make_unique<TextCache>();
    }
  }
  texts_ = TextArena();
  shapes_.clear();
  last_ = nullptr;
}

}  // namespace nl::trace_json
