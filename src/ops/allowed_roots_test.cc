// SPDX-License-Identifier: Apache-2.0
#include "ops/allowed_roots.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/file_ops.h"

namespace nl {
namespace {

namespace fs = std::filesystem;

class AllowedRootsTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = fs::canonical(dir_.path());
    fs::create_directories(base_ / "root/sub");
    fs::create_directories(base_ / "root-beside");
    for (const char* name : {"root/a.json", "root/sub/b.json", "root-beside/c.json", "secret.json"})
      std::ofstream(base_ / name) << "{}";
    fs::create_symlink(base_ / "secret.json", base_ / "root/link.json");
    fs::create_symlink("../a.json", base_ / "root/sub/inside.json");
    fs::create_directory_symlink(base_, base_ / "root/up");
    fs::create_directory_symlink(base_ / "root", base_ / "alias");
    roots_ = *AllowedRoots::Open({(base_ / "alias").string()});
  }
  std::string Path(const char* name) const { return base_.string() + "/" + name; }
  ErrorCode CodeOf(const std::string& path) const { return roots_.Resolve(path).error().code; }

  TempDir dir_ = *TempDir::Make("nl-roots-");
  fs::path base_;
  AllowedRoots roots_;
};

TEST_F(AllowedRootsTest, PathsBelowARootLoseTheirLinks) {
  for (const char* name : {"root/a.json", "alias/a.json", "root/sub/../a.json", "root/sub/inside.json",
                           "root/./sub//../a.json"}) {
    const Result<std::string> found = roots_.Resolve(Path(name));
    ASSERT_TRUE(found.ok()) << name << ": " << found.error().ToString();
    EXPECT_EQ(*found, Path("root/a.json")) << name;
  }
  EXPECT_EQ(*roots_.Resolve(Path("root")), Path("root"));
  EXPECT_EQ(CodeOf(Path("root/nothing.json")), ErrorCode::kNotFound);
}

TEST_F(AllowedRootsTest, WhatLeadsElsewhereIsForbiddenWhetherItExistsOrNot) {
  for (const char* name : {"secret.json", "nothing.json", "root/../secret.json", "root/link.json",
                           "root/up/secret.json", "root/up/nothing.json", "root-beside/c.json", ""})
    EXPECT_EQ(CodeOf(Path(name)), ErrorCode::kForbidden) << name;
  for (const std::string& path : {std::string(), std::string("-"), std::string("root/a.json"),
                                  std::string("/"), Path("root/a.json") + std::string("\0x", 2)})
    EXPECT_EQ(CodeOf(path), ErrorCode::kForbidden) << path;
}

TEST_F(AllowedRootsTest, OnlyFilesAndFoldersAreRead) {
  ASSERT_EQ(mkfifo(Path("root/pipe").c_str(), 0600), 0);
  EXPECT_EQ(CodeOf(Path("root/pipe")), ErrorCode::kInvalidInput);
  EXPECT_EQ(AllowedRoots::Open({Path("nothing")}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(AllowedRoots::Open({Path("secret.json")}).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(ResolveAllowed(nullptr, Path("root/a.json")).error().code, ErrorCode::kForbidden);
}

}  // namespace
}  // namespace nl
