// SPDX-License-Identifier: Apache-2.0
// The one property that matters: with or without learned shapes, the same events.
#include "import/trace_json/event_reader.h"

#include <random>

#include "testing/import_fixture.h"

namespace nl::trace_json {
namespace {

const KeyTable& Keys() {
  static const KeyTable keys(
      {"External id", "correlation", "stream", "device", "grid", "Input Dims", "Ev Idx", "bytes"});
  return keys;
}

void Put(std::string& out, const char* name, const JsonValue& v, LocalStrings& strings, bool as_json) {
  if (!v.given()) return;
  int64_t i = -1, ns = -1;
  double d = -1;
  const bool is_int = ToInt64(v, i), is_ns = ToNs(v, ns), is_double = ToDouble(v, d);
  out += fmt::format("{}[{}] {} {} {} {} ", name, static_cast<int>(v.kind), v.json(), is_int ? i : -1,
                     is_ns ? ns : -1, is_double ? d : -1);
  out += as_json ? strings.At(strings.Json(v)) : strings.At(strings.Text(v));
  out += '\n';
}

// Everything an event says, and the strings a mapper would take from it.
std::string Describe(const TraceEvent& e, LocalStrings& strings) {
  std::string out;
  const std::pair<const char*, const JsonValue*> fields[] = {
      {"ph", &e.ph}, {"cat", &e.cat}, {"name", &e.name}, {"pid", &e.pid}, {"tid", &e.tid},
      {"ts", &e.ts}, {"dur", &e.dur}, {"id", &e.id},     {"bp", &e.bp},   {"s", &e.scope}};
  for (const auto& [name, value] : fields) Put(out, name, *value, strings, false);
  for (const Arg& arg : e.extra) {
    out += fmt::format("extra {} ", arg.key.text());
    Put(out, "", arg.value, strings, true);
  }
  for (const Arg& arg : e.args) {
    out += fmt::format("arg {} {} ", arg.key.text(), arg.key_id);
    Put(out, "", arg.value, strings, arg.key_id == KeyTable::kUnknown);
  }
  return out;
}

// Reads events one after the other, each followed by a comma.
std::vector<std::string> ReadAll(const std::vector<std::string>& events, bool learning) {
  std::string buffer;
  for (const std::string& event : events) buffer += event + ",\n";
  const size_t size = buffer.size();
  buffer.append(kPadding, '\0');
  LocalStrings strings;
  EventReader reader(Keys(), strings);
  reader.set_learning(learning);
  std::vector<std::string> out;
  const char* p = buffer.data();
  const char* end = p + size;
  for (size_t i = 0; i < events.size(); ++i) {
    const char* begin = p;
    const TraceEvent* event = nullptr;
    const Scan scan = reader.Next(p, end, event);
    if (scan != Scan::kOk) {
      out.push_back(fmt::format("scan {}", static_cast<int>(scan)));
      p = begin + events[i].size();
    } else {
      EXPECT_EQ(event->text, std::string_view(begin, static_cast<size_t>(p - begin)));
      out.push_back(Describe(*event, strings));
      if (p !=
          begin + events[i].size()) {  // the event ran over its end: both readers must agree, then resume
        out.back() += fmt::format("used {} of {}", p - begin, events[i].size());
        p = begin + events[i].size();
      }
    }
    p += 2;
  }
  return out;
}

void ExpectSame(const std::vector<std::string>& events) {
  const std::vector<std::string> learned = ReadAll(events, true), plain = ReadAll(events, false);
  for (size_t i = 0; i < events.size(); ++i)
    ASSERT_EQ(learned[i], plain[i]) << "event " << i << ": " << events[i];
}

std::vector<std::string> SampleEvents() {
  std::vector<std::string> out;
  for (const testing_import::Sample& sample : testing_import::Samples()) {
    std::string text = testing_import::ReadText(sample.path);
    const size_t size = text.size();
    text.append(kPadding, '\0');
    const size_t array =
        text.find('[', text.find("traceEvents") == std::string::npos ? 0 : text.find("traceEvents"));
    if (array == std::string::npos) continue;  // a sample of another format
    const char* p = text.data() + array;
    EventScanner scanner(Keys());
    TraceEvent event;
    while (p < text.data() + size) {
      const char* begin = p;
      if (*p != '{' || scanner.Next(p, text.data() + size, event) != Scan::kOk) {
        p = begin + 1;
        continue;
      }
      if (event.ph.given()) out.emplace_back(begin, p);
    }
  }
  return out;
}

TEST(EventReader, ReadsRealEventsAsTheScannerDoes) {
  const std::vector<std::string> events = SampleEvents();
  ASSERT_GT(events.size(), 300u);
  ExpectSame(events);
  std::vector<std::string> twice = events;
  twice.insert(twice.end(), events.begin(), events.end());
  ExpectSame(twice);
}

TEST(EventReader, ReadsShuffledAndChangedEventsAsTheScannerDoes) {
  const std::vector<std::string> real = SampleEvents();
  std::mt19937 random(20260101);
  const auto pick = [&random](size_t n) { return static_cast<size_t>(random() % n); };
  static constexpr std::string_view kPieces[] = {
      "\"",      "\\\"", "\\",  "0",    "-",  "-0",     "00",       "1e5", ".5",      "999999999999999999999",
      "\\u00e9", ",",    ":",   "{",    "}",  "[",      "]",        " ",   "\n  ",    "\xff",
      "null",    "NaN",  "123", "true", "\t", "stream", "\"x\":1,", "é",   "\\ud83d", "12345678901234567",
      "-1.25",   ""};
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> events;
    for (int i = 0; i < 150; ++i) {
      std::string event = real[pick(real.size())];
      for (size_t changes = pick(4); changes > 0; --changes) {
        const std::string_view piece = kPieces[pick(std::size(kPieces))];
        const size_t at = 1 + pick(event.size() - 1);
        switch (pick(3)) {
          case 0: event.insert(at, piece); break;
          case 1: event.replace(at, std::min<size_t>(1 + pick(12), event.size() - at), piece); break;
          default: event.erase(at, std::min<size_t>(1 + pick(4), event.size() - at)); break;
        }
        if (event.size() < 2) event = "{}";
        event[0] = '{';
      }
      events.push_back(event);
      if (pick(3) == 0) events.push_back(real[pick(real.size())]);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSame(events)) << "round " << round;
  }
}

std::string Event(std::string_view name, std::string_view ts, std::string_view dims) {
  return fmt::format(
      R"({{"ph":"X","cat":"cpu_op","name":"{}","pid":1,"tid":2,"ts":{},"args":{{"Input Dims":{},"note":"{}"}}}})",
      name, ts, dims, name);
}

TEST(EventReader, EveryNumberFormIsReadAlike) {
  std::vector<std::string> events;
  for (const char* ts : {"1", "1.5", "0", "-0", "-0.0", "-1", "01", "1.", "1e3", "1E-3", "123456789012345678",
                         "1234567890123456789", "12345678901234567.8", "0.000000000000000001",
                         "999999999999999999.999", "1.2.3", "--1", "-", "1x"})
    events.push_back(Event("op", ts, "[[1]]"));
  ExpectSame(events);
}

TEST(EventReader, ANumberThatRepeatsThenChangesIsRead) {
  std::vector<std::string> events;
  for (const char* ts : {"7", "7", "70", "7", "7.5", "7.5", "7.50", "7e2", "7", "-7", "1234567", "1234567",
                         "12345678", "12345678", "1234567", "07", "7"}) {
    events.push_back(Event("a", ts, "[[1, 2]]"));
  }
  ExpectSame(events);
}

TEST(EventReader, TextsThatShareABeginningStayApart) {
  std::vector<std::string> events;
  const std::string stem(40, 'n');
  for (int i = 0; i < 3000; ++i) {  // far more than one cache set holds
    events.push_back(
        Event(stem + std::to_string(i % 700), std::to_string(i), fmt::format("[[{}]]", i % 900)));
    if (i % 5 == 0) events.push_back(Event(stem + "\\\"" + std::to_string(i), "1", "[\"]\"]"));
    if (i % 7 == 0) events.push_back(Event("", "1", "[]"));
  }
  ExpectSame(events);
}

TEST(EventReader, AShortTextAtTheVeryEndIsStillRead) {
  for (size_t padding = 0; padding < 40; ++padding)
    ExpectSame(
        {Event("a", "1", "[]"), Event("b", "2", "[]") + std::string(padding, ' '), Event("c", "3", "[]")});
}

TEST(EventReader, MoreKindsThanItCanLearnAreStillRead) {
  std::vector<std::string> events;
  for (int round = 0; round < 3; ++round) {
    for (int kind = 0; kind < 150; ++kind)
      events.push_back(
          fmt::format(R"({{"ph":"X","k{}":1,"ts":{},"args":{{"a{}":"x"}}}})", kind, round, kind));
  }
  ExpectSame(events);
}

TEST(EventReader, ForgettingItsStringsLosesNothing) {
  LocalStrings strings;
  EventReader reader(Keys(), strings);
  for (int round = 0; round < 3; ++round) {
    std::string buffer = Event("again", "5", "[[1]]") + "," + Event("again", "6", "[[1]]") + ",";
    const size_t size = buffer.size();
    buffer.append(kPadding, '\0');
    const char* p = buffer.data();
    for (int i = 0; i < 2; ++i, ++p) {
      const TraceEvent* event = nullptr;
      ASSERT_EQ(reader.Next(p, buffer.data() + size, event), Scan::kOk);
      EXPECT_EQ(strings.At(strings.Text(event->name)), "again");
    }
    strings.Clear();
    reader.ForgetStrings();
    EXPECT_EQ(strings.generation(), static_cast<uint64_t>(round + 1));
  }
}

TEST(EventReader, CountsBadTextsHoweverAnEventIsRead) {
  // Of no phase, so that no row has its name.
  const std::string event = "{\"name\":\"no phase \xff\xff\", \"ts\":4, \"pid\":1, \"tid\":1}";
  for (const bool learning : {false, true}) {
    LocalStrings strings;
    EventReader reader(Keys(), strings);
    reader.set_learning(learning);
    std::string buffer = event + "," + event + ",";
    const size_t size = buffer.size();
    buffer.append(kPadding, '\0');
    const char* p = buffer.data();
    const TraceEvent* read = nullptr;
    ASSERT_EQ(reader.Next(p, buffer.data() + size, read), Scan::kOk);
    EXPECT_EQ(strings.TakeBadUtf8().size(), 1u) << "learning " << learning;
    ASSERT_EQ(reader.Next(++p, buffer.data() + size, read), Scan::kOk);
    EXPECT_TRUE(strings.TakeBadUtf8().empty()) << "learning " << learning;
  }
}

}  // namespace
}  // namespace nl::trace_json
