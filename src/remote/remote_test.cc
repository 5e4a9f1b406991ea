// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include <gtest/gtest.h>

#include "capture/format/chunk_format.h"
#include "remote/capture_sender.h"
#include "remote/http_client.h"

namespace nl::remote {
namespace {

TEST(RemoteUrlTest, PartsOfAnAddress) {
  const std::pair<const char*, const char*> same[] = {
      {"http://lens", "http://lens:80"},
      {"https://lens/", "https://lens:443"},
      {"http://127.0.0.1:7070", "http://127.0.0.1:7070"},
      {"http://[::1]:7070/team/lens//", "http://[::1]:7070/team/lens"},
  };
  for (const auto& [given, text] : same) {
    const Result<Url> url = ParseUrl(given);
    ASSERT_TRUE(url.ok()) << given;
    EXPECT_EQ(url->Text(), text);
  }
  EXPECT_EQ(ParseUrl("http://[::1]:7070/x")->host, "::1");
  EXPECT_EQ(ParseUrl("https://a:1/x/y")->prefix, "/x/y");
}

TEST(RemoteUrlTest, WhatIsNotAnAddressIsRefused) {
  for (const char* bad : {"", "lens", "lens:7070", "ftp://lens", "http://", "http://:80", "http://a:",
                          "http://a:0", "http://a:65536", "http://a:1x", "http://[::1", "http://[::1]x",
                          "http://u@a", "http://a?b", "http://a#b", "http://a b", "http://a\r\nX: y"})
    EXPECT_FALSE(ParseUrl(bad).ok()) << bad;
}

TEST(RemoteUrlTest, QueriesAreEncoded) {
  EXPECT_EQ(PercentEncoded("a=b c/\xc3\xa9~"), "a%3Db%20c%2F%C3%A9~");
}

TEST(RemoteProblemTest, ProblemsOfTheServerAreItsErrors) {
  HttpAnswer answer;
  answer.status = 404;
  answer.body = R"({"detail": "no such upload", "hint": "start it again"})";
  EXPECT_EQ(ErrorOf(answer).code, ErrorCode::kNotFound);
  EXPECT_EQ(ErrorOf(answer).message, "no such upload");
  EXPECT_EQ(ErrorOf(answer).hint, "start it again");
  answer.status = 502;
  answer.body = "<html>";
  EXPECT_EQ(ErrorOf(answer).code, ErrorCode::kIo);
  EXPECT_EQ(ErrorOf(answer).message, "the server answers with status 502");
  answer.status = 503;
  EXPECT_EQ(ErrorOf(answer).code, ErrorCode::kLimit);
}

class SealedTest : public ::testing::Test {
 protected:
  void AddChunk(uint32_t payload) {
    capture::ChunkHeader header{};
    header.magic = capture::kChunkMagic;
    header.payload_bytes = payload;
    bytes_.append(reinterpret_cast<const char*>(&header), sizeof header);
    bytes_.append(capture::PaddedBytes(payload), 'x');
  }
  int64_t End(int64_t offset, size_t size) {
    const UniqueFd file(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    EXPECT_EQ(write(file.get(), bytes_.data(), size), static_cast<ssize_t>(size));
    return SealedEnd(file.get(), offset, static_cast<int64_t>(size));
  }
  std::string bytes_;
};

TEST_F(SealedTest, OnlyWholeChunksAreSent) {
  AddChunk(13);
  const auto first = static_cast<int64_t>(bytes_.size());
  AddChunk(0);
  AddChunk(100);
  const auto last = static_cast<int64_t>(bytes_.size());
  for (size_t size = 0; size <= bytes_.size(); ++size) {
    const int64_t end = End(0, size);
    EXPECT_LE(end, static_cast<int64_t>(size));
    EXPECT_TRUE(end == 0 || end == first || end == first + 40 || end == last) << end << " of " << size;
  }
  EXPECT_EQ(End(0, bytes_.size()), last);
  EXPECT_EQ(End(first, bytes_.size()), last);
}

TEST_F(SealedTest, WhatIsNotAChunkIsSentAsItIs) {
  AddChunk(8);
  bytes_ += std::string(64, 'z');
  EXPECT_EQ(End(0, bytes_.size()), static_cast<int64_t>(bytes_.size()));
}

TEST(CaptureSenderTest, WithoutAServerNothingIsSentAndTheReasonIsNamed) {
  SenderOptions options;
  options.url = *ParseUrl("http://127.0.0.1:9");
  options.patience = std::chrono::milliseconds(0);
  options.interval = std::chrono::milliseconds(1);
  CaptureSender sender(options);
  EXPECT_EQ(sender.Check().error().code, ErrorCode::kIo);
  const Result<SentCapture> sent = sender.Finish("/nonexistent", {});
  ASSERT_FALSE(sent.ok());
  EXPECT_NE(sent.error().message.find("cannot connect to http://127.0.0.1:9"), std::string::npos);
}

}  // namespace
}  // namespace nl::remote
