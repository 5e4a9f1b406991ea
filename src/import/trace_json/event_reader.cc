// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/event_reader.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"

namespace nl::trace_json {

namespace {

uint64_t Load64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

// Are the first n bytes equal? Reads up to 8 bytes past n on both sides. One branch at
// the end instead of one per word: the words of a right guess are all equal.
inline bool SameBytes(const char* a, const char* b, size_t n) {
  if (n < 8) {
    const uint64_t wanted = n == 0 ? 0 : ~uint64_t{0} >> (64 - 8 * n);
    return ((Load64(a) ^ Load64(b)) & wanted) == 0;
  }
  uint64_t different = Load64(a + n - 8) ^ Load64(b + n - 8);
  if (different != 0) return false;  // texts with a common beginning mostly differ here
  for (size_t i = 0; i + 8 < n; i += 8) different |= Load64(a + i) ^ Load64(b + i);
  return different == 0;
}

// How many of the 8 characters at p are digits before the first that is not, and
// their value; all in a register.
struct Digits8 {
  unsigned count;
  uint64_t value;
};
inline Digits8 ReadDigits8(const char* p) {
  const uint64_t x = Load64(p) ^ 0x3030303030303030ull;  // digits become 0..9
  const uint64_t other = ((x + 0x7676767676767676ull) | x) & 0x8080808080808080ull;
  const unsigned count = other == 0 ? 8 : static_cast<unsigned>(__builtin_ctzll(other)) >> 3;
  if (count == 0) return {0, 0};
  uint64_t v = x << ((8 - count) * 8);  // leading zeros in front
  v = (v * 10) + (v >> 8);
  v = (((v & 0x000000ff000000ffull) * 0x000f424000000064ull) +
       (((v >> 16) & 0x000000ff000000ffull) * 0x0000271000000001ull)) >>
      32;
  return {count, v};
}

constexpr uint64_t kPowersOfTen[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// Appends the run of digits at p to `value`; gives how many there were (at most 24 are read).
inline unsigned ReadDigits(const char* p, uint64_t& value) {
  unsigned total = 0;
  for (;;) {
    const Digits8 d = ReadDigits8(p + total);
    value = value * kPowersOfTen[d.count] + d.value;
    total += d.count;
    if (d.count < 8 || total >= 24) return total;
  }
}

// Reads a plain decimal number of at most 18 digits; false leaves it to the scanner.
inline bool MatchNumber(const char*& p, const char* end, JsonValue& out) {
  const char* begin = p;
  const bool negative = *p == '-';
  p += negative;
  const char* first = p;
  uint64_t digits = 0;
  const unsigned whole = ReadDigits(p, digits);
  p += whole;
  unsigned decimals = 0;
  if (*p == '.') {
    decimals = ReadDigits(++p, digits);
    p += decimals;
    if (decimals == 0) return false;
  }
  if (whole == 0 || whole + decimals > 18 || p >= end) return false;
  // "01", "-0" and "1e5" are left to the scanner.
  if ((whole > 1 && *first == '0') || *p == 'e' || *p == 'E' || (negative && digits == 0)) return false;
  out.data = begin;
  out.size = static_cast<uint32_t>(p - begin);
  out.decimals = static_cast<uint8_t>(decimals);
  out.digits = negative ? -static_cast<int64_t>(digits) : static_cast<int64_t>(digits);
  return true;
}

}  // namespace

const char* EventReader::Keep(const char* begin, const char* end) {
  std::string padded(begin, end);
  padded.append(8, '\0');
  return texts_.Copy(padded).data();
}

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
    if (is_string && p[known.size] != '"') continue;
    out.data = p;
    out.size = known.size;
    out.escaped = known.escaped;
    out.known_id = known.id;
    out.known_as_json = slot.as_json;
    p += known.size + is_string;
    return true;
  }
  JsonValue found;
  const char* q = p;
  const Scan scan = is_string ? ScanString(q, end, found) : ScanNested(q, end, found);
  if (scan != Scan::kOk) return false;
  new_texts_.push_back({&slot, set});
  out = found;
  p = q;
  return true;
}

void EventReader::Remember(const NewText& found) {
  JsonValue& value = *found.slot->value;
  const LocalStrings::Kept kept = strings_.Keep(value, found.slot->as_json);
  value.known_id = kept.id;
  value.known_as_json = found.slot->as_json;
  std::move_backward(found.set, found.set + TextCache::kWays - 1, found.set + TextCache::kWays);
  found.set[0] = {kept.raw, value.size, kept.id, value.escaped};
}

bool EventReader::Match(Shape& shape, const char*& p, const char* end) {
  const char* begin = p;
  const char* q = p;
  if (!new_texts_.empty()) new_texts_.clear();
  for (Slot& slot : shape.slots) {
    if (end - q <= slot.before_size || !SameBytes(q, slot.before, slot.before_size)) return false;
    q += slot.before_size;
    if (slot.kind == JsonKind::kNumber) {
      // Most arguments repeat (stream, context, registers): the same short text is the same value.
      if (((Load64(q) ^ slot.last) & slot.last_mask) == 0 && slot.last_mask != 0) {
        slot.value->data = q;
        q += slot.value->size;
        continue;
      }
      if (!MatchNumber(q, end, *slot.value)) return false;
      const uint32_t size = slot.value->size;
      slot.last = Load64(slot.value->data);
      slot.last_mask = size < 8 ? ~uint64_t{0} >> (56 - 8 * size) : 0;  // with the character after it
    } else {
      // A nested value must be one: the scanner decides between kinds by the first character.
      if (slot.kind == JsonKind::kNested && *q != '[' && *q != '{') return false;
      if (!MatchText(slot, q, end)) return false;
    }
  }
  if (end - q < shape.tail_size || !SameBytes(q, shape.tail, shape.tail_size)) return false;
  q += shape.tail_size;
  for (const NewText& found : new_texts_) Remember(found);
  shape.event.text = {begin, static_cast<size_t>(q - begin)};
  p = q;
  return true;
}

void EventReader::FindPlaces(TraceEvent& e) {
  places_.clear();
  for (JsonValue* v : {&e.name, &e.pid, &e.tid, &e.ts, &e.dur, &e.id, &e.bp, &e.scope}) {
    if (v->given()) places_.push_back({v, false});
  }
  if (e.args_value.given()) places_.push_back({&e.args_value, true});
  for (Arg& arg : e.extra) places_.push_back({&arg.value, true});
  for (Arg& arg : e.args) places_.push_back({&arg.value, arg.key_id == KeyTable::kUnknown});
}

// A matched event has all its texts numbered, also those that no row uses. Of a scanned one the bad ones are,
// so that as many are counted whichever way an event was read.
void EventReader::NumberBadTexts() {
  FindPlaces(scanned_);
  for (const Place& place : places_) {
    const JsonValue& v = *place.value;
    const bool is_text = v.kind == JsonKind::kString || v.kind == JsonKind::kNested;
    if (is_text && !IsUtf8(v.text())) strings_.Keep(v, place.as_json);
  }
}

void EventReader::Learn(const TraceEvent& event) {
  auto shape = std::make_unique<Shape>();
  shape->event = event;
  TraceEvent& e = shape->event;
  // ph and cat are part of the fixed text: a shape is one kind of event.
  FindPlaces(e);
  std::vector<Place>& places = places_;
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.value->data < b.value->data; });
  const char* at = event.text.data();
  for (const Place& place : places) {
    const JsonValue& v = *place.value;
    if (v.kind == JsonKind::kWord) continue;  // true, null, NaN: fixed text
    Slot slot;
    slot.before = Keep(at, v.data);
    slot.before_size = static_cast<uint32_t>(v.data - at);
    slot.kind = v.kind;
    slot.value = place.value;
    slot.as_json = place.as_json;
    if (v.kind != JsonKind::kNumber) {
      shape->caches.push_back(std::make_unique<TextCache>());
      slot.known = shape->caches.back().get();
    }
    shape->slots.push_back(slot);
    at = v.data + v.size +
         (v.kind == JsonKind::kString ? 1 : 0);  // the closing quote is matched with the value
  }
  const char* event_end = event.text.data() + event.text.size();
  shape->tail = Keep(at, event_end);
  shape->tail_size = static_cast<uint32_t>(event_end - at);
  const bool fixed = shape->slots.empty();
  const size_t head_size = fixed ? shape->tail_size : shape->slots.front().before_size;
  if (head_size < 8) return;                              // "{}" and the like: not worth a shape
  shape->probe_at = std::min<size_t>(24, head_size - 8);  // after `"ph": "X", "cat": "`
  shape->probe = Load64((fixed ? shape->tail : shape->slots.front().before) + shape->probe_at);
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

EventReader::Shape* EventReader::Guess(const char*& p, const char* end) {
  const auto fits = [&](Shape& shape) {
    return static_cast<size_t>(end - p) > shape.probe_at + 8 && Load64(p + shape.probe_at) == shape.probe &&
           Match(shape, p, end);
  };
  if (last_ == nullptr) {
    for (const auto& shape : shapes_) {
      if (fits(*shape)) return shape.get();
    }
    return nullptr;
  }
  auto& next = last_->next;
  for (size_t i = 0; i < next.size() && next[i] != nullptr; ++i) {
    if (!fits(*next[i])) continue;
    std::rotate(next.begin(), next.begin() + static_cast<ptrdiff_t>(i),
                next.begin() + static_cast<ptrdiff_t>(i) + 1);
    return next[0];
  }
  for (const auto& shape : shapes_) {
    if (std::find(next.begin(), next.end(), shape.get()) != next.end() || !fits(*shape)) continue;
    std::move_backward(next.begin(), next.end() - 1, next.end());
    next[0] = shape.get();
    return shape.get();
  }
  return nullptr;
}

Scan EventReader::Next(const char*& p, const char* end, const TraceEvent*& out) {
  if (learning_) {
    if (Shape* shape = Guess(p, end); shape != nullptr) {
      last_ = shape;
      out = &shape->event;
      return Scan::kOk;
    }
  }
  const Scan scan = scanner_.Next(p, end, scanned_);
  out = &scanned_;
  if (scan != Scan::kOk) return scan;
  NumberBadTexts();
  if (learning_ && shapes_.size() < kMaxShapes) Learn(scanned_);
  return scan;
}

void EventReader::ForgetStrings() {
  shapes_.clear();
  texts_ = TextArena();
  last_ = nullptr;
}

}  // namespace nl::trace_json
