// SPDX-License-Identifier: Apache-2.0
#include "serve/http/list_watch.h"

#include <gtest/gtest.h>

#include "ops/settings.h"

namespace nl::http {
namespace {

struct WatchedRow {
  std::string id, state;
  int64_t bytes = 0;
};
void Describe(Record<WatchedRow>& r) {
  r.Name("WatchedRow", "A row");
  r.Field("id", &WatchedRow::id, "Id");
  r.Field("state", &WatchedRow::state, "State");
  r.Field("bytes", &WatchedRow::bytes, "Bytes");
}
struct WatchedReply {
  std::vector<WatchedRow> rows;
};
void Describe(Record<WatchedReply>& r) {
  r.Name("WatchedReply", "Rows");
  r.Field("rows", &WatchedReply::rows, "Rows");
}

std::vector<WatchedRow> listed;

class ListOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "list";
    info.reply = ReplyOf<WatchedReply>();
    return info;
  }
  void Bind(ParamBinder&) override {}
  Result<Reply> Run(OpContext&) override { return Reply::Of(WatchedReply{listed}); }
  std::string Text(const Reply&, const TextStyle&) const override { return ""; }
};

RemoteOp ListRemote() {
  RemoteOp op;
  op.make = []() -> std::unique_ptr<Op> { return std::make_unique<ListOp>(); };
  op.info = ListOp().Info();
  op.info.watched.event = "row";
  op.info.watched.rows = "rows";
  op.info.watched.id = "id";
  return op;
}

TEST(ListWatchTest, RowsThatWereThereBeforeAreNotNews) {
  const Settings settings;
  const RemoteOp op = ListRemote();
  ListWatch watch(op);
  listed = {{"a", "on"}};
  EXPECT_TRUE(watch.Look(settings).empty());
  listed = {{"b", "on"}, {"a", "off"}};
  const std::vector<ListEvent> events = watch.Look(settings);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, "row");
  EXPECT_EQ(events[0].data.at("id"), "b");
  EXPECT_TRUE(events[0].kept);
  listed = {};
  EXPECT_TRUE(watch.Look(settings).empty());
  EXPECT_FALSE(watch.ended());
  listed = {{"a", "on"}};
  EXPECT_TRUE(watch.Look(settings).empty()) << "a row that comes back is not new";
}

TEST(ListWatchTest, GrowthAndTheEndAreEventsWhereTheListSaysSo) {
  const Settings settings;
  RemoteOp op = ListRemote();
  op.info.watched.first_are_new = true;
  op.info.watched.changes = {"bytes"};
  op.info.watched.end_member = "state";
  op.info.watched.end_value = "ended";
  ListWatch watch(op);
  listed = {{"a", "on", 1}};
  EXPECT_EQ(watch.Look(settings).size(), 1u);
  listed = {{"a", "paused", 1}};
  EXPECT_TRUE(watch.Look(settings).empty()) << "its state is not a change that counts";
  listed = {{"a", "on", 2}};
  std::vector<ListEvent> events = watch.Look(settings);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].kept);
  EXPECT_EQ(events[0].data.at("bytes"), 2);
  listed = {};
  events = watch.Look(settings);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].kept);
  EXPECT_TRUE(watch.ended());
  EXPECT_EQ(events[0].data.at("state"), "ended");
  EXPECT_TRUE(watch.Look(settings).empty());
  EXPECT_FALSE(watch.ended());
}

std::string listed_mark;

TEST(ListWatchTest, AReplyWithoutRowsIsAnEventWheneverItsMarkIsAnotherOne) {
  const Settings settings;
  RemoteOp op = ListRemote();
  op.info.watched.rows.clear();
  op.info.watched.first_are_new = true;
  op.info.watched.mark = [](const Settings&) { return listed_mark; };
  ListWatch watch(op);
  listed_mark = "";
  listed = {{"a", "on"}};
  EXPECT_EQ(watch.Look(settings).size(), 1u) << "also with an empty mark";
  listed = {{"b", "on"}};
  EXPECT_TRUE(watch.Look(settings).empty());
  listed_mark = "2";
  const std::vector<ListEvent> events = watch.Look(settings);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].kept);
  EXPECT_EQ(events[0].data.at("rows").at(0).at("id"), "b");
}

TEST(ListWatchTest, RowsAreLookedAtOnlyWhenTheMarkChanged) {
  const Settings settings;
  RemoteOp op = ListRemote();
  op.info.watched.mark = [](const Settings&) { return listed_mark; };
  ListWatch watch(op);
  listed_mark = "1";
  listed = {};
  EXPECT_TRUE(watch.Look(settings).empty());
  listed = {{"a", "on"}};
  EXPECT_TRUE(watch.Look(settings).empty());
  listed_mark = "2";
  EXPECT_EQ(watch.Look(settings).size(), 1u);
}

}  // namespace
}  // namespace nl::http
