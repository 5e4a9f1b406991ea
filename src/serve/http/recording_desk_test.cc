// SPDX-License-Identifier: Apache-2.0
#include "serve/http/recording_desk.h"

#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "base/json.h"

namespace nl::http {
namespace {

class RecordingDeskTest : public ::testing::Test {
 protected:
  Response Ask(const std::string& method, std::vector<std::string> rest, const std::string& body) {
    Route route;
    route.rest = std::move(rest);
    Request request;
    request.method = method;
    request.body = body;
    request.client = "10.0.0.5";
    return desk_.Answer(route, request);
  }
  std::string Make() { return (*ParseJson(Ask("POST", {}, R"({"command": ["train"]})").body))["live_id"]; }

  TempDir dir_ = *TempDir::Make("nl-recordings-");
  uploads::UploadStore uploads_{dir_.path()};
  std::chrono::steady_clock::time_point now_{};
  RecordingDesk desk_{dir_.path(), uploads_, [this] { return now_; }};
};

TEST_F(RecordingDeskTest, ASilentSenderLeavesTheList) {
  const std::string one = Make();
  now_ += kSenderSilence / 2;
  const std::string two = Make();
  EXPECT_EQ(ListLive(dir_.path()).size(), 2u);
  now_ += kSenderSilence / 2;
  desk_.DropSilent();
  ASSERT_EQ(ListLive(dir_.path()).size(), 1u);
  EXPECT_EQ(ListLive(dir_.path())[0].live_id, two);
  EXPECT_EQ(Ask("PUT", {one}, "{}").status, 404);
  EXPECT_EQ(Ask("PUT", {two}, R"({"kernels": 3})").status, 200);
  now_ += kSenderSilence - std::chrono::seconds(1);
  desk_.DropSilent();
  ASSERT_EQ(ListLive(dir_.path()).size(), 1u) << "it was heard";
  EXPECT_EQ(ListLive(dir_.path())[0].numbers.kernels, 3);
}

TEST_F(RecordingDeskTest, ThereAreNotTooMany) {
  for (size_t i = 0; i < kMostRecordings; ++i)
    EXPECT_EQ(Ask("POST", {}, R"({"command": ["x"]})").status, 201);
  EXPECT_EQ(Ask("POST", {}, R"({"command": ["x"]})").status, 503);
}

TEST_F(RecordingDeskTest, AStoppedServerListsNothing) {
  const std::string id = Make();
  desk_.Stop();
  EXPECT_TRUE(ListLive(dir_.path()).empty());
  EXPECT_EQ(Ask("POST", {}, R"({"command": ["x"]})").status, 503);
  EXPECT_EQ(Ask("PUT", {id}, "{}").status, 404);
}

}  // namespace
}  // namespace nl::http
