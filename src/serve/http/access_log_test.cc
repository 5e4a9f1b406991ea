// SPDX-License-Identifier: Apache-2.0
#include "serve/http/access_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/file_ops.h"

namespace nl::http {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    out = UniqueFd(ends[0]);
    in = UniqueFd(ends[1]);
  }
  UniqueFd out, in;
};

TEST(AccessLog, WritesLinesInOrder) {
  Pipe pipe;
  {
    AccessLog log(pipe.in.get());
    log.Add("one\n");
    log.Add("two\n");
  }
  char read_back[16] = {};
  EXPECT_EQ(read(pipe.out.get(), read_back, sizeof read_back), 8);
  EXPECT_STREQ(read_back, "one\ntwo\n");
}

TEST(AccessLog, AReaderThatStallsCostsLinesAndNothingElse) {
  Pipe pipe;
  ASSERT_EQ(fcntl(pipe.in.get(), F_SETPIPE_SZ, 4096), 4096);
  AccessLog log(pipe.in.get(), 10);
  const std::string line(1000, 'x');
  for (int i = 0; i < 100; ++i) log.Add(line);
  // At most four fit into the pipe, one is on its way and ten wait; the rest was dropped, and Add returned.
  EXPECT_GE(log.dropped(), 85);
  EXPECT_LT(log.dropped(), 100);
}  // and the end does not wait for the reader

}  // namespace
}  // namespace nl::http
