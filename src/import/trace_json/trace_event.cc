// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/trace_event.h"

#include <algorithm>
#include <cstring>

namespace nl::trace_json {

KeyTable::KeyTable(const std::vector<std::string_view>& names) : slots_(kMask + 1) {
  for (size_t id = 0; id < names.size(); ++id) {
    size_t i = Hash(names[id].data(), names[id].size());
    while (slots_[i].id != kUnknown) i = (i + 1) & kMask;
    slots_[i] = {names[id], static_cast<uint8_t>(id)};
  }
}

void TraceEvent::Reset() {
  ph = cat = name = pid = tid = ts = dur = id = bp = scope = args_value = {};
  mapper_note = 0;
  category_note = StringId::kNull;
  extra.clear();
  args.clear();
}

namespace {

// Where a top-level key's value goes; null for keys without a field.
JsonValue* FieldOf(TraceEvent& e, const JsonValue& key) {
  const auto is = [&](const char* name) { return std::memcmp(key.data, name, key.size) == 0; };
  switch (key.size) {
    case 1: return is("s") ? &e.scope : nullptr;
    case 2:
      if (is("ph")) return &e.ph;
      if (is("ts")) return &e.ts;
      if (is("id")) return &e.id;
      if (is("bp")) return &e.bp;
      return nullptr;
    case 3:
      if (is("cat")) return &e.cat;
      if (is("pid")) return &e.pid;
      if (is("tid")) return &e.tid;
      if (is("dur")) return &e.dur;
      return nullptr;
    case 4: return is("name") ? &e.name : nullptr;
    default: return nullptr;
  }
}

// Scans `"key" :` and leaves p at the value. kOk with an empty key means the closing brace was met.
Scan ScanKey(const char*& p, const char* end, JsonValue& key, bool first) {
  p = SkipSpace(p, end);
  if (p >= end) return Scan::kNeedMore;
  key = {};
  if (*p == '}') {
    ++p;
    return Scan::kOk;
  }
  if (!first) {
    if (*p != ',') return Scan::kBad;
    p = SkipSpace(p + 1, end);
    if (p >= end) return Scan::kNeedMore;
  }
  if (*p != '"') return Scan::kBad;
  if (const Scan s = ScanString(++p, end, key); s != Scan::kOk) return s;
  p = SkipSpace(p, end);
  if (p >= end) return Scan::kNeedMore;
  if (*p != ':') return Scan::kBad;
  p = SkipSpace(p + 1, end);
  return p >= end ? Scan::kNeedMore : Scan::kOk;
}

}  // namespace

Scan EventScanner::ScanArgs(const char*& p, const char* end, TraceEvent& event) {
  ++p;
  for (bool first = true;; first = false) {
    Arg arg;
    if (const Scan s = ScanKey(p, end, arg.key, first); s != Scan::kOk) return s;
    if (!arg.key.given()) return Scan::kOk;
    if (const Scan s = ScanValue(p, end, arg.value); s != Scan::kOk) return s;
    arg.key_id = arg_keys_.Find(arg.key.data, arg.key.size);
    event.args.push_back(arg);
  }
}

Scan EventScanner::Next(const char*& p, const char* end, TraceEvent& event) {
  event.Reset();
  const char* begin = p;
  ++p;
  for (bool first = true;; first = false) {
    JsonValue key;
    if (const Scan s = ScanKey(p, end, key, first); s != Scan::kOk) return s;
    if (!key.given()) break;
    if (key.size == 4 && *p == '{' && std::memcmp(key.data, "args", 4) == 0) {
      if (const Scan s = ScanArgs(p, end, event); s != Scan::kOk) return s;
      continue;
    }
    JsonValue value;
    if (const Scan s = ScanValue(p, end, value); s != Scan::kOk) return s;
    JsonValue* field = FieldOf(event, key);
    if (field != nullptr && !field->given()) {
      *field = value;
    } else {  // no field of its own, or the same key twice: the later value is kept beside the first
      event.extra.push_back({key, value, KeyTable::kUnknown});
    }
  }
  event.text = {begin, static_cast<size_t>(p - begin)};
  return Scan::kOk;
}

namespace {

// Is the brace at p the start of an event, judged by what stands around it?
bool LooksLikeEventStart(const char* p, const char* begin, const char* end) {
  const char* q = SkipSpace(p + 1, end);
  if (q >= end || *q != '"') return false;
  q = p - 1;
  while (q > begin && IsSpace(*q)) --q;
  if (q <= begin || *q != ',') return false;
  --q;
  while (q > begin && IsSpace(*q)) --q;
  return q >= begin && *q == '}';
}

}  // namespace

const char* FindEventStart(const char* p, const char* end) {
  const char* begin = p;
  while (p < end) {
    p = static_cast<const char*>(std::memchr(p, '{', static_cast<size_t>(end - p)));
    if (p == nullptr) return nullptr;
    if (p > begin && LooksLikeEventStart(p, begin, end)) return p;
    ++p;
  }
  return nullptr;
}

const char* FindLastEventStart(const char* begin, const char* end) {
  const char* limit = end;
  while (limit > begin) {
    const auto* p = static_cast<const char*>(memrchr(begin, '{', static_cast<size_t>(limit - begin)));
    if (p == nullptr) return nullptr;
    if (p > begin && LooksLikeEventStart(p, begin, end)) return p;
    limit = p;
  }
  return nullptr;
}

std::string MendEvent(std::string_view text, size_t& size) {
  // A quote closes a string only where JSON could go on: before , : } or ]. Any other
  // quote inside a string is one the writer forgot to escape. A comma before a closing
  // bracket is dropped.
  std::string out;
  bool in_string = false, mended = false;
  size_t ahead = 0;
  int64_t depth = 0;
  size = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out.push_back(c);
      out.push_back(text[++i]);
      continue;
    }
    // Rises with `from`, so the spaces of a text are skipped once however often it is asked.
    const auto next = [&](size_t from) {
      ahead = std::max(ahead, from);
      while (ahead < text.size() && IsSpace(text[ahead])) ++ahead;
      return ahead < text.size() ? text[ahead] : '\0';
    };
    if (c == '"') {
      const char after = next(i + 1);
      if (in_string && after != ',' && after != ':' && after != '}' && after != ']') {
        out += "\\\"";
        mended = true;
        continue;
      }
      in_string = !in_string;
    }
    if (!in_string && c == ',' && (next(i + 1) == '}' || next(i + 1) == ']')) {
      mended = true;
      continue;
    }
    out.push_back(c);
    if (in_string) continue;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth <= 0) {
      size = i + 1;
      break;
    }
  }
  return mended ? out : std::string();
}

}  // namespace nl::trace_json
