// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/trace_event.h"

#include <gtest/gtest.h>

namespace nl::trace_json {
namespace {

const KeyTable& ThreeKeys() {
  static const KeyTable keys({"stream", "External id", ""});
  return keys;
}

struct ScannedEvent {
  std::string buffer;
  TraceEvent event;
  Scan scan = Scan::kBad;
  size_t used = 0;
};

std::unique_ptr<ScannedEvent> ScanText(std::string_view text) {
  auto out = std::make_unique<ScannedEvent>();
  out->buffer = std::string(text) + std::string(kPadding, '\0');
  const char* p = out->buffer.data();
  EventScanner scanner(ThreeKeys());
  out->scan = scanner.Next(p, p + text.size(), out->event);
  out->used = static_cast<size_t>(p - out->buffer.data());
  return out;
}

TEST(KeyTable, FindsItsNamesAndNothingElse) {
  EXPECT_EQ(ThreeKeys().Find("stream", 6), 0);
  EXPECT_EQ(ThreeKeys().Find("External id", 11), 1);
  EXPECT_EQ(ThreeKeys().Find("", 0), 2);
  EXPECT_EQ(ThreeKeys().Find("streams", 7), KeyTable::kUnknown);
  EXPECT_EQ(ThreeKeys().Find("Stream", 6), KeyTable::kUnknown);
}

TEST(EventScanner, PutsEveryTopLevelKeyWhereItBelongs) {
  const auto s = ScanText(
      R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 1.5, "dur": 2, "id": 9, "bp": "e", "s": "t", "tts": 3, "args": {"stream": 7, "other": [1, 2]}} tail)");
  ASSERT_EQ(s->scan, Scan::kOk);
  const TraceEvent& e = s->event;
  EXPECT_EQ(e.ph.text(), "X");
  EXPECT_EQ(e.cat.text(), "kernel");
  EXPECT_EQ(e.name.text(), "k");
  EXPECT_EQ(e.pid.text(), "0");
  EXPECT_EQ(e.tid.json(), "\"stream 7\"");
  EXPECT_EQ(e.ts.text(), "1.5");
  EXPECT_EQ(e.dur.text(), "2");
  EXPECT_EQ(e.id.text(), "9");
  EXPECT_EQ(e.bp.text(), "e");
  EXPECT_EQ(e.scope.text(), "t");
  ASSERT_EQ(e.extra.size(), 1u);
  EXPECT_EQ(e.extra[0].key.text(), "tts");
  ASSERT_EQ(e.args.size(), 2u);
  EXPECT_EQ(e.args[0].key_id, 0);
  EXPECT_EQ(e.args[1].key_id, KeyTable::kUnknown);
  EXPECT_EQ(e.args[1].value.text(), "[1, 2]");
  EXPECT_EQ(s->buffer.substr(s->used, 5), " tail");
  EXPECT_EQ(e.text, std::string_view(s->buffer).substr(0, s->used));
}

TEST(EventScanner, KeepsBothValuesOfAKeyWrittenTwice) {
  const auto s = ScanText(R"({"ph":"X","ts":1,"ts":2,"args":{"a":1,"a":2}})");
  ASSERT_EQ(s->scan, Scan::kOk);
  EXPECT_EQ(s->event.ts.text(), "1");
  ASSERT_EQ(s->event.extra.size(), 1u);
  EXPECT_EQ(s->event.extra[0].value.text(), "2");
  EXPECT_EQ(s->event.args.size(), 2u);
}

TEST(EventScanner, ArgsThatAreNoObjectAreAnOrdinaryValue) {
  const auto s = ScanText(R"({"ph":"X","args":"text"})");
  ASSERT_EQ(s->scan, Scan::kOk);
  ASSERT_EQ(s->event.extra.size(), 1u);
  EXPECT_EQ(s->event.extra[0].value.json(), "\"text\"");
}

TEST(EventScanner, EveryCutNeedsMore) {
  const std::string text =
      R"({"ph": "X", "name": "a\"b", "ts": 1, "args": {"k": [1, {"z": "}"}], "w": true}})";
  for (size_t cut = 1; cut < text.size(); ++cut)
    EXPECT_EQ(ScanText(text.substr(0, cut))->scan, Scan::kNeedMore) << text.substr(0, cut);
  EXPECT_EQ(ScanText(text)->scan, Scan::kOk);
}

TEST(EventScanner, BrokenEventsAreBad) {
  for (const char* text : {R"({"a" "b"})", R"({"a":1 "b":2})", R"({"a":1,})", R"({,})", R"({"name":"x"y"z"})",
                           R"({a:1})", R"({"a":})"})
    EXPECT_EQ(ScanText(text)->scan, Scan::kBad) << text;
}

TEST(EventStart, IsAnObjectBehindAnObjectAndAComma) {
  const std::string text = R"(x":1}, {"ph":"X"},)"
                           "\n"
                           R"({ "ph":"M"}, {}, [{"a":1)";
  const char* begin = text.data();
  const char* end = begin + text.size();
  const char* first = FindEventStart(begin, end);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first - begin, static_cast<ptrdiff_t>(text.find("{\"ph\":\"X\"")));
  const char* last = FindLastEventStart(begin, end);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last - begin, static_cast<ptrdiff_t>(text.find("{ \"ph\":\"M\"")));
  EXPECT_EQ(FindEventStart(begin, begin + 6), nullptr);
  EXPECT_EQ(FindLastEventStart(begin, begin), nullptr);
}

TEST(MendEvent, EscapesQuotesTheWriterForgot) {
  size_t size = 0;
  EXPECT_EQ(MendEvent(R"({"name":"say "hi" now","ts":1})", size), R"({"name":"say \"hi\" now","ts":1})");
  EXPECT_EQ(size, 30u);
}

TEST(MendEvent, DropsACommaBeforeAClosingBracket) {
  size_t size = 0;
  EXPECT_EQ(MendEvent(R"({"a":[1,2,],"b":{"c":1,},})", size), R"({"a":[1,2],"b":{"c":1}})");
}

TEST(MendEvent, StopsWhereTheEventEnds) {
  size_t size = 0;
  const std::string event = R"({"name":"a"b","args":{"k":[1]}})";
  EXPECT_EQ(MendEvent(event + "]\n, \"more\": {}}", size), R"({"name":"a\"b","args":{"k":[1]}})");
  EXPECT_EQ(size, event.size());
}

TEST(MendEvent, SaysNothingAboutSoundEvents) {
  size_t size = 0;
  EXPECT_EQ(MendEvent(R"({"name":"a, \"b\": }","ts":1})", size), "");
}

}  // namespace
}  // namespace nl::trace_json
