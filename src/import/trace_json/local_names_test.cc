// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/local_names.h"

#include <gtest/gtest.h>

#include <set>

namespace nl::trace_json {
namespace {

JsonValue String(const std::string& quoted) {
  JsonValue v;
  v.data = quoted.data() + 1;
  v.size = static_cast<uint32_t>(quoted.size() - 2);
  v.kind = JsonKind::kString;
  v.escaped = quoted.find('\\') != std::string::npos;
  return v;
}
JsonValue Number(const std::string& text) {
  JsonValue v;
  v.data = text.data();
  v.size = static_cast<uint32_t>(text.size());
  v.kind = JsonKind::kNumber;
  return v;
}

TEST(LocalStrings, OneTextOneNumber) {
  LocalStrings strings;
  const std::string a = "\"name\"", b = "\"name\"", c = "\"other\"";
  const StringId first = strings.Text(String(a));
  EXPECT_EQ(strings.Text(String(b)), first);
  EXPECT_NE(strings.Text(String(c)), first);
  EXPECT_EQ(strings.Text("name"), first);
  EXPECT_EQ(strings.At(first), "name");
}

TEST(LocalStrings, ContentAndJsonTextAreDifferentStrings) {
  LocalStrings strings;
  const std::string quoted = "\"a\\tb\"";
  EXPECT_EQ(strings.At(strings.Text(String(quoted))), "a\tb");
  EXPECT_EQ(strings.At(strings.Json(String(quoted))), "\"a\\tb\"");
}

TEST(LocalStrings, ManyTextsKeepTheirNumbers) {
  LocalStrings strings;
  std::vector<StringId> ids;
  for (int i = 0; i < 50000; ++i) ids.push_back(strings.Text("text " + std::to_string(i)));
  for (int i = 0; i < 50000; ++i) {
    ASSERT_EQ(strings.Text("text " + std::to_string(i)), ids[static_cast<size_t>(i)]);
    ASSERT_EQ(strings.At(ids[static_cast<size_t>(i)]), "text " + std::to_string(i));
  }
  EXPECT_EQ(strings.size(), 50000u);
}

TEST(LocalStrings, ReportsTextThatIsNotUtf8OncePerText) {
  LocalStrings strings;
  const std::string bad = "\"x\xff\"";
  const StringId id = strings.Text(String(bad));
  EXPECT_EQ(strings.At(id), "x\xef\xbf\xbd");
  EXPECT_EQ(strings.TakeBadUtf8(), std::vector<StringId>{id});
  strings.Text(String(bad));
  EXPECT_TRUE(strings.TakeBadUtf8().empty());
}

TEST(LocalStrings, ClearBeginsAnotherGeneration) {
  LocalStrings strings;
  strings.Text("a");
  const uint64_t before = strings.generation();
  strings.Clear();
  EXPECT_EQ(strings.size(), 0u);
  EXPECT_NE(strings.generation(), before);
}

TEST(LocalLanes, ALaneIsAPidAndATidAsWritten) {
  LocalLanes lanes;
  const std::string one = "1", two = "2", text = "\"1\"";
  const ThreadId a = lanes.Find(Number(one), Number(two));
  const ThreadId b = lanes.Find(Number(two), Number(one));
  const ThreadId c = lanes.Find(String(text), Number(two));
  const ThreadId d = lanes.Find({}, Number(two));
  EXPECT_EQ(lanes.Find(Number(one), Number(two)), a);
  EXPECT_EQ(std::set<ThreadId>({a, b, c, d}).size(), 4u);
  EXPECT_EQ(lanes.lanes().size(), 4u);
  EXPECT_EQ(lanes.lanes()[2].pid, "\"1\"");
  EXPECT_EQ(lanes.lanes()[3].pid, "");
}

TEST(LocalLanes, ParsedAndUnparsedNumbersMeanTheSameLane) {
  LocalLanes lanes;
  const std::string pid = "12", tid = "0";
  JsonValue p = Number(pid), t = Number(tid);
  const ThreadId lane = lanes.Find(p, t);
  p.decimals = t.decimals = 0;
  p.digits = 12;
  t.digits = 0;
  EXPECT_EQ(lanes.Find(p, t), lane);
  EXPECT_EQ(lanes.Find(p, t), lane);
}

TEST(LocalLanes, TruncatedLanesAreForgotten) {
  LocalLanes lanes;
  const std::string one = "1", two = "2";
  lanes.Find(Number(one), Number(one));
  JsonValue p = Number(two), t = Number(two);
  p.decimals = t.decimals = 0;
  p.digits = t.digits = 2;
  const ThreadId second = lanes.Find(p, t);
  lanes.Truncate(1);
  EXPECT_EQ(lanes.lanes().size(), 1u);
  EXPECT_EQ(lanes.Find(p, t), second);
  EXPECT_EQ(lanes.lanes().size(), 2u);
}

TEST(LocalLanes, ThousandsKeepTheirNumbersAlsoAfterSomeAreForgotten) {
  LocalLanes lanes;
  std::vector<std::string> ids;
  for (int i = 0; i < 3000; ++i) ids.push_back(std::to_string(i % 1500) + (i < 1500 ? "" : "0"));
  const auto find = [&](int i) { return lanes.Find(Number(ids[i]), Number(ids[2999 - i])); };
  for (int i = 0; i < 3000; ++i) EXPECT_EQ(static_cast<int>(find(i)), i);
  for (int i = 2999; i >= 0; --i) EXPECT_EQ(static_cast<int>(find(i)), i);
  lanes.Truncate(40);
  EXPECT_EQ(static_cast<int>(find(39)), 39);
  EXPECT_EQ(static_cast<int>(find(2999)), 40);
  EXPECT_EQ(static_cast<int>(find(41)), 41);
  EXPECT_EQ(static_cast<int>(find(2999)), 40);
}

}  // namespace
}  // namespace nl::trace_json
