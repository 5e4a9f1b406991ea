// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/python_layout.h"

#include <gtest/gtest.h>

#include <cstring>

namespace nl::capture {
namespace {

std::string Bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

// The published offsets with 100, 101, 102... in its words, so that each field shows which word it took.
std::string Published(int minor, size_t words) {
  std::string head = "xdebugpy";
  const auto add = [&head](uint64_t value) { head.append(reinterpret_cast<const char*>(&value), 8); };
  add((uint64_t{3} << 24) | (static_cast<uint64_t>(minor) << 16));
  add(0);
  for (size_t i = 0; i < words; ++i) add(100 + i);
  return head;
}

TEST(PythonLayout, LinesOf39) {
  // def f(): three lines of 4, 6 and 2 bytes, then one that goes back.
  const std::string table = Bytes({0, 1, 4, 1, 6, 1, 2, 254});
  EXPECT_EQ(LineAt(LineTable::kLnotab, table, 10, 0), 11);
  EXPECT_EQ(LineAt(LineTable::kLnotab, table, 10, 3), 11);
  EXPECT_EQ(LineAt(LineTable::kLnotab, table, 10, 4), 12);
  EXPECT_EQ(LineAt(LineTable::kLnotab, table, 10, 10), 13);
  EXPECT_EQ(LineAt(LineTable::kLnotab, table, 10, 12), 11);
  EXPECT_EQ(LineAt(LineTable::kLnotab, "", 10, 12), 10);
}

TEST(PythonLayout, LinesOf310) {
  const std::string table = Bytes({4, 1, 6, 128, 2, 2});
  EXPECT_EQ(LineAt(LineTable::kLinetable, table, 10, 0), 11);
  EXPECT_EQ(LineAt(LineTable::kLinetable, table, 10, 4), 0) << "an artificial instruction has no line";
  EXPECT_EQ(LineAt(LineTable::kLinetable, table, 10, 10), 13);
  EXPECT_EQ(LineAt(LineTable::kLinetable, table, 10, 12), 0);
}

TEST(PythonLayout, LinesOf311AndLater) {
  // 2 instructions one line on, 1 short on the same line, 1 without columns 5 lines back, 1 with none.
  const std::string table =
      Bytes({0x80 | (11 << 3) | 1, 0, 4, 0x80 | 0, 0x12, 0x80 | (13 << 3), 11, 0x80 | (15 << 3)});
  EXPECT_EQ(LineAt(LineTable::kLocations, table, 10, 0), 11);
  EXPECT_EQ(LineAt(LineTable::kLocations, table, 10, 2), 11);
  EXPECT_EQ(LineAt(LineTable::kLocations, table, 10, 4), 11);
  EXPECT_EQ(LineAt(LineTable::kLocations, table, 10, 6), 6);
  EXPECT_EQ(LineAt(LineTable::kLocations, table, 10, 8), 0);
  EXPECT_EQ(LineAt(LineTable::kLocations, table, 10, 1000), 0);
}

TEST(PythonLayout, CutTablesEndQuietly) {
  const std::string table = Bytes({0x80 | (14 << 3), 0x7f, 0x7f, 0x7f});
  for (size_t bytes = 0; bytes <= table.size(); ++bytes) {
    LineAt(LineTable::kLocations, table.substr(0, bytes), 1, 100);
    LineAt(LineTable::kLinetable, table.substr(0, bytes), 1, 100);
    LineAt(LineTable::kLnotab, table.substr(0, bytes), 1, 100);
  }
}

TEST(PythonLayout, VersionsAreReadFromFileNames) {
  EXPECT_EQ(VersionInName("/usr/bin/python3.11")->minor, 11);
  EXPECT_EQ(VersionInName("/opt/lib/libpython3.9.so.1.0")->minor, 9);
  EXPECT_EQ(VersionInName("libpython3.13t.so.1.0")->minor, 13);
  EXPECT_FALSE(VersionInName("/usr/bin/python3"));
  EXPECT_FALSE(VersionInName("/python3.11/lib/other.so"));
}

TEST(PythonLayout, TableHoldsFourVersions) {
  for (int minor = 9; minor <= 12; ++minor) {
    const auto layout = PythonLayoutOf(3, minor);
    ASSERT_TRUE(layout) << minor;
    EXPECT_EQ(layout->minor, minor);
  }
  EXPECT_FALSE(PythonLayoutOf(3, 8));
  EXPECT_FALSE(PythonLayoutOf(3, 13));
  EXPECT_FALSE(PythonLayoutOf(2, 7));
}

TEST(PythonLayout, PublishedOffsetsOf313) {
  const auto p = ParseDebugOffsets(Published(13, 90), nullptr);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->runtime_interpreters, 102u);
  EXPECT_EQ(p->interp_next, 105u);
  EXPECT_EQ(p->interp_threads, 106u);
  EXPECT_EQ(p->gil, 111u);
  EXPECT_EQ(p->gil_locked, 114u - 112u);
  EXPECT_EQ(p->gil_holder, 115u - 112u);
  EXPECT_EQ(p->thread_next, 118u);
  EXPECT_EQ(p->thread_frame, 120u);
  EXPECT_EQ(p->thread_native_id, 122u);
  EXPECT_EQ(p->frame_previous, 126u);
  EXPECT_EQ(p->frame_owner, 130u);
  EXPECT_EQ(p->code_file, 132u);
  EXPECT_EQ(p->code_bytes, 140u);
  EXPECT_EQ(p->bytes_data, 163u);
  EXPECT_EQ(p->ascii_bytes, 167u);
}

TEST(PythonLayout, PublishedOffsetsOf314) {
  const auto p = ParseDebugOffsets(Published(14, 100), nullptr);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->gil, 112u);
  EXPECT_EQ(p->thread_next, 121u);
  EXPECT_EQ(p->frame_previous, 129u);
  EXPECT_EQ(p->code_file, 137u);
  EXPECT_EQ(p->code_tag_mask, 7u);
  EXPECT_EQ(p->ascii_bytes, 177u);
}

TEST(PythonLayout, DamagedOffsetsAreRefusedWithAReason) {
  std::string why;
  EXPECT_FALSE(ParseDebugOffsets("", &why));
  EXPECT_FALSE(ParseDebugOffsets(Published(15, 90), &why));
  EXPECT_NE(why.find("3.15"), std::string::npos);
  EXPECT_FALSE(ParseDebugOffsets(Published(13, 20), &why));
  EXPECT_NE(why.find("cut short"), std::string::npos);
  std::string absurd = Published(13, 90);
  const uint64_t large = 1 << 20;
  std::memcpy(absurd.data() + 24 + 20 * 8, &large, 8);
  EXPECT_FALSE(ParseDebugOffsets(absurd, &why));
  EXPECT_NE(why.find("no sense"), std::string::npos);
}

}  // namespace
}  // namespace nl::capture
