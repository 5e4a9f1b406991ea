// SPDX-License-Identifier: Apache-2.0
#include "import/read/protobuf_wire.h"

#include <string>

#include <gtest/gtest.h>

namespace nl {
namespace {

using namespace std::string_view_literals;

TEST(WireReader, ReadsEveryKindOfField) {
  // 1: 300, 2: "ab", 3: double 0.5, 4: fixed32 7, 5: -1
  const std::string_view bytes =
      "\x08\xac\x02\x12\x02\x61\x62\x19\x00\x00\x00\x00\x00\x00\xe0\x3f\x25\x07\x00\x00\x00\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv;
  WireReader r(bytes);
  ASSERT_TRUE(r.Next());
  EXPECT_EQ(r.field(), 1u);
  EXPECT_EQ(r.Number(), 300u);
  ASSERT_TRUE(r.Next());
  EXPECT_EQ(r.Bytes(), "ab");
  ASSERT_TRUE(r.Next());
  EXPECT_EQ(r.type(), WireType::kFixed64);
  EXPECT_EQ(r.Double(), 0.5);
  ASSERT_TRUE(r.Next());
  EXPECT_EQ(r.Number(), 7u);
  ASSERT_TRUE(r.Next());
  EXPECT_EQ(r.Int(), -1);
  EXPECT_FALSE(r.Next());
  EXPECT_TRUE(r.ok());
}

TEST(WireReader, BytesThatAreNoMessageEndIt) {
  for (const std::string_view bytes : {"\x08"sv, "\x12\x05\x61"sv, "\x19\x00"sv, "\x0b"sv, "\x00\x01"sv,
                                       "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv,
                                       "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv}) {
    WireReader r(bytes);
    while (r.Next()) {
    }
    EXPECT_FALSE(r.ok()) << bytes.size();
  }
}

TEST(WireReader, AFieldThatReachesOverTheEndGivesWhatThereIs) {
  WireReader r("\x0a\x09\x61\x62\x63"sv);
  WireField field;
  EXPECT_FALSE(r.Next(field));
  EXPECT_FALSE(r.ok());
  EXPECT_TRUE(r.cut());
  EXPECT_TRUE(field.Is(1, WireType::kBytes));
  EXPECT_EQ(field.bytes, "abc");
  EXPECT_EQ(r.wanted(), 9u);
}

}  // namespace
}  // namespace nl
