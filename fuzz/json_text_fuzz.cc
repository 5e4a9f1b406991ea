// SPDX-License-Identifier: Apache-2.0
// Our event scanner against nlohmann's parser: an event object that is JSON is read by
// both, with the same values; and the reader that learns shapes reads what the scanner reads.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/json.h"
#include "import/trace_json/event_reader.h"

namespace {

using namespace nl::trace_json;

[[noreturn]] void Fail(const char* what, std::string_view text) {
  std::fprintf(stderr, "%s: %.*s\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

const KeyTable& Keys() {
  static const KeyTable keys({"stream", "External id", "grid"});
  return keys;
}

void Compare(const JsonValue& ours, const nl::Json& theirs) {
  switch (ours.kind) {
    case JsonKind::kString: {
      bool bad = false;
      const std::string text = Unescape(ours.text(), bad);
      if (bad || !theirs.is_string() || text != theirs.get_ref<const std::string&>())
        Fail("string", ours.text());
      return;
    }
    case JsonKind::kNumber: {
      if (!theirs.is_number()) Fail("number", ours.text());
      int64_t whole = 0;
      double real = 0;
      const bool is_whole = ToInt64(ours, whole);
      const bool fits =
          theirs.is_number_integer() && (!theirs.is_number_unsigned() || theirs.get<uint64_t>() <= INT64_MAX);
      if (is_whole != fits) Fail("integer", ours.text());
      if (fits && whole != theirs.get<int64_t>()) Fail("integer value", ours.text());
      if (!ToDouble(ours, real) || real != theirs.get<double>()) Fail("real value", ours.text());
      return;
    }
    case JsonKind::kNested: {
      bool bad = false;
      const nl::Result<nl::Json> inner = nl::ParseJson(ours.text()),
                                 minified = nl::ParseJson(Minify(ours.text(), bad));
      if (!inner.ok() || !minified.ok() || *inner != theirs || *minified != theirs)
        Fail("nested", ours.text());
      return;
    }
    case JsonKind::kWord:
      if (ours.text() != nl::DumpJson(theirs)) Fail("word", ours.text());
      return;
  }
}

// Every (key, value) of the event, "args." in front of arguments.
std::vector<std::pair<std::string, const JsonValue*>> Members(const TraceEvent& e) {
  std::vector<std::pair<std::string, const JsonValue*>> out;
  const std::pair<const char*, const JsonValue*> fields[] = {
      {"ph", &e.ph}, {"cat", &e.cat}, {"name", &e.name}, {"pid", &e.pid}, {"tid", &e.tid},
      {"ts", &e.ts}, {"dur", &e.dur}, {"id", &e.id},     {"bp", &e.bp},   {"s", &e.scope}};
  for (const auto& [key, value] : fields) {
    if (value->given()) out.emplace_back(key, value);
  }
  bool bad = false;
  for (const Arg& arg : e.extra) out.emplace_back(Unescape(arg.key.text(), bad), &arg.value);
  for (const Arg& arg : e.args) out.emplace_back("args." + Unescape(arg.key.text(), bad), &arg.value);
  return out;
}

void CompareWithLibrary(const TraceEvent& event, const nl::Json& document) {
  const auto members = Members(event);
  std::map<std::string, int> count;
  for (const auto& [key, value] : members) ++count[key];
  for (const auto& [key, value] : members) {
    if (count[key] > 1) continue;  // written twice: the library keeps one
    const bool is_arg = key.starts_with("args.");
    if (is_arg && (count.count("args") > 0 || !document.contains("args") || !document["args"].is_object()))
      continue;
    // Arguments beside an "args" that is no object: the library keeps one of the two.
    if (key == "args" && document["args"].is_object()) continue;
    const nl::Json& owner = is_arg ? document["args"] : document;
    const std::string name = is_arg ? key.substr(5) : key;
    if (!owner.contains(name)) {
      if (!is_arg) Fail("no such key", key);
      continue;
    }
    Compare(*value, owner[name]);
  }
  for (const auto& [key, value] : document.items()) {
    if (count.count(key) == 0 && !(key == "args" && value.is_object())) Fail("lost key", key);
  }
}

std::string Describe(const TraceEvent& e, LocalStrings& strings) {
  std::string out;
  for (const auto& [key, value] : Members(e)) {
    int64_t ns = 0;
    double real = 0;
    out +=
        key + '\n' + std::string(value->json()) + '\n' + std::string(strings.At(strings.Json(*value))) + '\n';
    if (ToNs(*value, ns)) out += std::to_string(ns);
    if (ToDouble(*value, real)) out += std::to_string(real) + (std::signbit(real) ? "-" : "+");
  }
  return out;
}

// The event three times over: learned from the first, matched with the others.
void CompareReaders(std::string_view text) {
  std::string buffer;
  for (int i = 0; i < 3; ++i) buffer.append(text).append(",");
  const size_t size = buffer.size();
  buffer.append(kPadding, '\0');
  std::string results[2];
  for (const bool learning : {false, true}) {
    LocalStrings strings;
    EventReader reader(Keys(), strings);
    reader.set_learning(learning);
    const char* p = buffer.data();
    for (int i = 0; i < 3; ++i) {
      const TraceEvent* event = nullptr;
      const Scan scan = reader.Next(p, buffer.data() + size, event);
      results[learning] += std::to_string(static_cast<int>(scan));
      if (scan != Scan::kOk || *p != ',') break;
      results[learning] += Describe(*event, strings);
      if (*++p != '{') break;
    }
  }
  if (results[0] != results[1]) Fail("learning changes the event", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  size_t mended_size = 0;
  MendEvent(text, mended_size);
  if (text.empty() || text.front() != '{') return 0;
  CompareReaders(text);
  if (text.find('\0') != std::string_view::npos) return 0;  // the end of the text, for the library
  const nl::Result<nl::Json> document = nl::ParseJson(text);
  if (!document.ok() || !document->is_object()) return 0;
  std::string buffer(text);
  buffer.append(kPadding, '\0');
  const char* p = buffer.data();
  EventScanner scanner(Keys());
  TraceEvent event;
  if (scanner.Next(p, buffer.data() + text.size(), event) != Scan::kOk) Fail("refused", text);
  if (p != buffer.data() + text.size()) Fail("ended early", text);
  CompareWithLibrary(event, *document);
  return 0;
}
