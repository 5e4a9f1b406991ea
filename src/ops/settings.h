// SPDX-License-Identifier: Apache-2.0
#pragma once
// Settings: what the user configured, each value with the place it came from.
// Precedence: flag > NEUROLENS_<KEY> > .neurolens.yaml of the project > user
// config > default. Read once when a process starts, then handed to operations.
// Thread rule: immutable after Load.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace nl {

// One known setting. Flags, environment names, documentation and checks come from here.
struct SettingSpec {
  enum class Kind { kString, kInt, kChoice, kPath };
  std::string_view key;            // snake_case; flag --query-rows, environment NEUROLENS_QUERY_ROWS
  std::string_view default_value;  // empty for "store": its default depends on the user's home
  std::string_view description;    // one sentence, with the unit
  Kind kind = Kind::kString;
  int64_t min = 0, max = 0;                 // kInt
  std::vector<std::string_view> choices{};  // kChoice
  // Names code that would run: refused in a project file, which a stranger may have written.
  bool user_only = false;
};

// Where Load looks. The defaults are this process; tests replace them.
struct SettingsInput {
  std::vector<std::pair<std::string, std::string>> flags{};    // key, value
  std::function<const char*(const char* name)> environment{};  // empty: getenv
  std::string directory{};                                     // empty: the current directory
};

class Settings {
 public:
  struct Entry {
    std::string key;
    std::string value;
    std::string source;  // "flag", "env NEUROLENS_STORE", "file /path:3", "default"
    std::string description;
    std::string env_name;
  };
  struct File {
    std::string kind;  // "project" or "user"
    std::string path;  // empty when no project file was found
    bool exists = false;
  };

  static Result<Settings> Load(const SettingsInput& input);
  static const std::vector<SettingSpec>& Specs();
  static const SettingSpec* FindSpec(std::string_view key);
  static std::string EnvironmentName(std::string_view key);  // "store" -> "NEUROLENS_STORE"

  // Keys are those of Specs(); another key gives "" or 0.
  std::string Get(std::string_view key) const;
  int64_t GetInt(std::string_view key) const;
  // A copy with another value of one key, for work beside the user's own store.
  Settings With(std::string_view key, std::string value) const;
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<File>& files() const { return files_; }

 private:
  std::vector<Entry> entries_;
  std::vector<File> files_;
};

}  // namespace nl
