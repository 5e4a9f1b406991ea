// SPDX-License-Identifier: Apache-2.0
#include "ops/settings.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace nl {
namespace {

namespace fs = std::filesystem;

class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/nl_settings_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = fs::canonical(pattern).string();
    fs::create_directories(root_ + "/project/sub");
    fs::create_directories(root_ + "/home/.config/neurolens");
    fs::create_directories(root_ + "/project/.git");
    environment_["HOME"] = root_ + "/home";
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) { std::ofstream(root_ + "/" + path) << text; }
  void WriteProject(const std::string& text) { Write("project/.neurolens.yaml", text); }
  void WriteUser(const std::string& text) { Write("home/.config/neurolens/config.yaml", text); }

  Result<Settings> Load(std::vector<std::pair<std::string, std::string>> flags = {}) {
    SettingsInput input;
    input.flags = std::move(flags);
    input.environment = [this](const char* name) -> const char* {
      const auto it = environment_.find(name);
      return it == environment_.end() ? nullptr : it->second.c_str();
    };
    input.directory = root_ + "/project/sub";
    return Settings::Load(input);
  }

  static std::string SourceOf(const Settings& settings, const std::string& key) {
    for (const Settings::Entry& entry : settings.entries()) {
      if (entry.key == key) return entry.source;
    }
    return "no such key";
  }

  // The message of the error loading must give; the hint too.
  std::string LoadError(std::vector<std::pair<std::string, std::string>> flags = {}) {
    const Result<Settings> settings = Load(std::move(flags));
    if (settings.ok()) return "loaded without error";
    EXPECT_EQ(settings.error().code, ErrorCode::kInvalidInput);
    return settings.error().ToString();
  }

  std::string root_;
  std::map<std::string, std::string> environment_;
};

TEST_F(SettingsTest, DefaultsHoldWhenNothingIsSet) {
  const Result<Settings> settings = Load();
  ASSERT_TRUE(settings.ok()) << settings.error().ToString();
  EXPECT_EQ(settings->Get("store"), root_ + "/home/.local/share/neurolens");
  EXPECT_EQ(settings->GetInt("import_memory_mb"), 512);
  EXPECT_EQ(settings->GetInt("query_rows"), 10000);
  EXPECT_EQ(settings->Get("color"), "auto");
  for (const Settings::Entry& entry : settings->entries()) EXPECT_EQ(entry.source, "default") << entry.key;
}

TEST_F(SettingsTest, EachSourceWinsOverTheOnesBelowIt) {
  WriteUser("threads: 1\nquery_rows: 1\nquery_seconds: 1\nimport_memory_mb: 101\n");
  WriteProject("# project\nthreads: 2\nquery_rows: 2\nquery_seconds: 2\n");
  environment_["NEUROLENS_THREADS"] = "3";
  environment_["NEUROLENS_QUERY_ROWS"] = "3";
  const Result<Settings> settings = Load({{"threads", "4"}});
  ASSERT_TRUE(settings.ok()) << settings.error().ToString();
  EXPECT_EQ(settings->GetInt("threads"), 4);
  EXPECT_EQ(SourceOf(*settings, "threads"), "flag");
  EXPECT_EQ(settings->GetInt("query_rows"), 3);
  EXPECT_EQ(SourceOf(*settings, "query_rows"), "env NEUROLENS_QUERY_ROWS");
  EXPECT_EQ(settings->GetInt("query_seconds"), 2);
  EXPECT_EQ(SourceOf(*settings, "query_seconds"), "file " + root_ + "/project/.neurolens.yaml:4");
  EXPECT_EQ(settings->GetInt("import_memory_mb"), 101);
  EXPECT_EQ(SourceOf(*settings, "import_memory_mb"),
            "file " + root_ + "/home/.config/neurolens/config.yaml:4");
}

TEST_F(SettingsTest, XdgFoldersAreHonouredUnlessRelative) {
  environment_["XDG_DATA_HOME"] = root_ + "/xdg";
  environment_["XDG_CONFIG_HOME"] = "relative/is/ignored";
  WriteUser("threads: 7\n");
  const Result<Settings> settings = Load();
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->Get("store"), root_ + "/xdg/neurolens");
  EXPECT_EQ(settings->GetInt("threads"), 7);
}

TEST_F(SettingsTest, PathsAreRelativeToTheirFileOrToTheCurrentDirectory) {
  WriteProject("store: runs/\n");
  EXPECT_EQ(Load()->Get("store"), root_ + "/project/runs");
  environment_["NEUROLENS_STORE"] = "~/mine";
  EXPECT_EQ(Load()->Get("store"), root_ + "/home/mine");
  EXPECT_EQ(Load({{"store", "here"}})->Get("store"), root_ + "/project/sub/here");
}

TEST_F(SettingsTest, ProjectFilesAboveTheGitRootAreNotRead) {
  Write(".neurolens.yaml", "threads: 9\n");
  EXPECT_EQ(Load()->GetInt("threads"), 0);
  fs::remove(root_ + "/project/.git");
  EXPECT_EQ(Load()->GetInt("threads"), 9);
}

TEST_F(SettingsTest, WhatAProjectLinksToIsNotPrinted) {
  Write("secret.yaml", "password_of_the_owner: 1\n");
  fs::remove(root_ + "/project/.neurolens.yaml");
  fs::create_symlink(root_ + "/secret.yaml", root_ + "/project/.neurolens.yaml");
  EXPECT_NE(LoadError().find(".neurolens.yaml:1: unknown setting"), std::string::npos) << LoadError();
  EXPECT_EQ(LoadError().find("password"), std::string::npos) << LoadError();
}

TEST_F(SettingsTest, MistakesInAFileNameTheFileAndTheLine) {
  const std::string file = root_ + "/project/.neurolens.yaml";
  WriteProject("threads: 1\nthreds: 2\n");
  EXPECT_NE(LoadError().find(file + ":2: unknown setting 'threds'"), std::string::npos) << LoadError();
  WriteProject("\nthreads: many\n");
  EXPECT_NE(LoadError().find(file + ":2: 'threads' must be a whole number"), std::string::npos)
      << LoadError();
  WriteProject("threads: [1]\n");
  EXPECT_NE(LoadError().find(file + ":1: 'threads' must be a single value"), std::string::npos)
      << LoadError();
  WriteProject("color: pink\n");
  EXPECT_NE(LoadError().find(file + ":1: 'color' must be one of"), std::string::npos) << LoadError();
  WriteProject("a: b\nc: [\n");
  EXPECT_NE(LoadError().find("not valid YAML"), std::string::npos) << LoadError();
  WriteProject("threads: 1\nthreads: 2\n");
  EXPECT_NE(LoadError().find(":2: 'threads' is set twice"), std::string::npos) << LoadError();
  WriteProject("just a sentence\n");
  EXPECT_NE(LoadError().find(file + ":1:"), std::string::npos) << LoadError();
}

TEST_F(SettingsTest, EmptyFilesAreFine) {
  WriteProject("");
  WriteUser("# only a comment\n");
  EXPECT_TRUE(Load().ok());
}

TEST_F(SettingsTest, AProjectFileCannotNameALibraryToLoad) {
  WriteProject("duckdb: ./evil.so\n");
  EXPECT_NE(LoadError().find("not accepted in a project's file"), std::string::npos);
  WriteProject("");
  WriteUser("duckdb: /opt/libduckdb.so\n");
  EXPECT_EQ(Load()->Get("duckdb"), "/opt/libduckdb.so");
}

TEST_F(SettingsTest, ValuesOutsideTheirRangeAreRefusedFromEverySource) {
  environment_["NEUROLENS_QUERY_ROWS"] = "0";
  EXPECT_NE(LoadError().find("NEUROLENS_QUERY_ROWS"), std::string::npos);
  environment_.erase("NEUROLENS_QUERY_ROWS");
  EXPECT_NE(LoadError({{"threads", "-1"}}).find("'threads' must be a whole number"), std::string::npos);
  EXPECT_NE(LoadError({{"threads", "99999999999999999999"}}).find("'threads'"), std::string::npos);
  EXPECT_NE(LoadError({{"store", ""}}).find("'store'"), std::string::npos);
}

TEST_F(SettingsTest, WithoutAHomeTheStoreMustBeNamed) {
  environment_.clear();
  EXPECT_NE(LoadError().find("HOME is not set"), std::string::npos);
  EXPECT_TRUE(Load({{"store", "/data/runs"}}).ok());
}

}  // namespace
}  // namespace nl
