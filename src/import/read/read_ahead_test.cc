// SPDX-License-Identifier: Apache-2.0
#include "import/read/read_ahead.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace nl {
namespace {

// Letters in order, and an error at the end when told.
class Letters final : public ByteSource {
 public:
  Letters(size_t size, bool fails) : left_(size), fails_(fails) {}
  Result<size_t> Read(char* to, size_t size) override {
    const size_t n = std::min(size, left_);
    for (size_t i = 0; i < n; ++i) to[i] = static_cast<char>('a' + next_++ % 26);
    left_ -= n;
    if (n < size && fails_) return InvalidInput("broken");
    return n;
  }
  int64_t bytes_read() const override { return static_cast<int64_t>(next_); }
  int64_t bytes_total() const override { return -1; }
  std::string HashHex() override { return ""; }
  const std::string& name() const override { return name_; }
  bool is_plain_file() const override { return false; }

 private:
  size_t left_, next_ = 0;
  bool fails_;
  std::string name_ = "letters";
};

std::string ReadAll(size_t size, size_t piece_bytes) {
  Letters source(size, false);
  ReadAhead ahead(source, piece_bytes);
  std::string all, piece;
  for (;;) {
    const Result<bool> more = ahead.Next(piece);
    EXPECT_TRUE(more.ok());
    if (!more.ok() || !*more) return all;
    all += piece;
  }
}

TEST(ReadAhead, GivesEveryByteInOrderThread) {
  const std::string whole = ReadAll(1000, 1000);
  ASSERT_EQ(whole.size(), 1000u);
  for (const size_t piece_bytes : {1u, 7u, 100u, 333u, 4096u})
    EXPECT_EQ(ReadAll(1000, piece_bytes), whole) << piece_bytes;
  EXPECT_EQ(ReadAll(0, 10), "");
}

TEST(ReadAhead, AnErrorComesBehindWhatWasReadThread) {
  Letters source(25, true);
  ReadAhead ahead(source, 10);
  std::string piece;
  for (int i = 0; i < 2; ++i) {
    const Result<bool> more = ahead.Next(piece);
    ASSERT_TRUE(more.ok() && *more);
    EXPECT_EQ(piece.size(), 10u);
  }
  EXPECT_FALSE(ahead.Next(piece).ok());
}

TEST(ReadAhead, MayEndBeforeItsSourceThread) {
  Letters source(1 << 20, false);
  ReadAhead ahead(source, 16);
  std::string piece;
  ASSERT_TRUE(ahead.Next(piece).ok());
}

}  // namespace
}  // namespace nl
