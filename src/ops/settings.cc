// SPDX-License-Identifier: Apache-2.0
#include "ops/settings.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "ops/settings_file.h"

namespace nl {

namespace fs = std::filesystem;

namespace {

constexpr const char* kProjectFile = ".neurolens.yaml";
using Kind = SettingSpec::Kind;

struct Places {
  const SettingsInput& input;
  std::string directory;

  std::string Environment(const std::string& name) const {
    const char* value = input.environment ? input.environment(name.c_str()) : std::getenv(name.c_str());
    return value != nullptr ? value : "";
  }
  std::string Home() const {
    std::string home = Environment("HOME");
    if (home.empty() && !input.environment) {
      if (const passwd* user = getpwuid(getuid())) home = user->pw_dir;
    }
    return home;
  }
  // $XDG_<kind>_HOME/neurolens, else the given folder of the home; "" when neither is known.
  // The XDG rules say a relative value is to be ignored.
  std::string XdgFolder(const std::string& variable, const char* under_home) const {
    if (const std::string xdg = Environment(variable); !xdg.empty() && xdg[0] == '/')
      return xdg + "/neurolens";
    const std::string home = Home();
    return home.empty() ? "" : home + "/" + under_home + "/neurolens";
  }
};

// "~/x" from the home, a relative path from `base`; no trailing slash.
std::string AbsolutePath(const std::string& value, const std::string& base, const std::string& home) {
  if (value.empty()) return value;
  std::string path = value;
  if (!home.empty() && (value == "~" || value.rfind("~/", 0) == 0)) path = home + value.substr(1);
  path = (fs::path(base) / path).lexically_normal().string();
  if (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Status CheckValue(const SettingSpec& spec, const std::string& value) {
  if (spec.kind == Kind::kChoice) {
    if (std::find(spec.choices.begin(), spec.choices.end(), value) != spec.choices.end()) return {};
    return InvalidInput(
        fmt::format("'{}' must be one of {}, not '{}'", spec.key, fmt::join(spec.choices, ", "), value));
  }
  if (spec.kind == Kind::kInt) {
    int64_t number = 0;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stop != end || number < spec.min || number > spec.max) {
      return InvalidInput(fmt::format("'{}' must be a whole number from {} to {}, not '{}'", spec.key,
                                      spec.min, spec.max, value));
    }
  }
  if (spec.key == "store" && value.empty()) return InvalidInput("'store' must name a folder");
  return {};
}

// The nearest .neurolens.yaml from `directory` upwards, not beyond the root of a Git work tree.
std::string FindProjectFile(const std::string& directory) {
  std::error_code ignored;
  for (fs::path at = directory;; at = at.parent_path()) {
    if (fs::is_regular_file(at / kProjectFile, ignored)) return (at / kProjectFile).string();
    if (fs::exists(at / ".git", ignored) || at == at.parent_path()) return "";
  }
}

std::string KnownKeys() {
  std::vector<std::string_view> keys;
  for (const SettingSpec& spec : Settings::Specs()) keys.push_back(spec.key);
  return fmt::format("known settings: {}", fmt::join(keys, ", "));
}

struct Value {
  const SettingSpec* spec;
  std::string value;
  std::string source;
};

Result<std::vector<Value>> ReadFile(const Settings::File& file, const std::string& home) {
  std::vector<Value> values;
  if (!file.exists) return values;
  NL_ASSIGN(const std::vector<FileSetting> lines, ReadSettingsFile(file.path));
  // A project may be somebody else's: what its link leads to is not printed.
  std::error_code ec;
  const bool link = file.kind == "project" && fs::is_symlink(file.path, ec);
  for (const FileSetting& line : lines) {
    const std::string place = fmt::format("{}:{}", file.path, line.line);
    const SettingSpec* spec = Settings::FindSpec(line.key);
    if (spec == nullptr) {
      return InvalidInput(link ? fmt::format("{}: unknown setting", place)
                               : fmt::format("{}: unknown setting '{}'", place, line.key))
          .Hint(KnownKeys());
    }
    if (spec->user_only && file.kind == "project") {
      return InvalidInput(fmt::format("{}: '{}' names code to load and is not accepted in a project's file",
                                      place, line.key))
          .Hint(fmt::format("set it in the user's config file, with {} or with a flag",
                            Settings::EnvironmentName(line.key)));
    }
    if (Status status = CheckValue(*spec, line.value); !status.ok()) {
      return std::move(status).error().With(place);
    }
    std::string value = line.value;
    if (spec->kind == Kind::kPath) value = AbsolutePath(value, fs::path(file.path).parent_path(), home);
    values.push_back({spec, std::move(value), "file " + place});
  }
  return values;
}

Result<std::vector<Value>> ReadEnvironment(const Places& places) {
  std::vector<Value> values;
  for (const SettingSpec& spec : Settings::Specs()) {
    const std::string name = Settings::EnvironmentName(spec.key);
    std::string value = places.Environment(name);
    if (value.empty()) continue;
    if (Status status = CheckValue(spec, value); !status.ok()) return std::move(status).error().With(name);
    if (spec.kind == Kind::kPath) value = AbsolutePath(value, places.directory, places.Home());
    values.push_back({&spec, std::move(value), "env " + name});
  }
  return values;
}

Result<std::vector<Value>> ReadFlags(const Places& places) {
  std::vector<Value> values;
  for (const auto& [key, given] : places.input.flags) {
    const SettingSpec* spec = Settings::FindSpec(key);
    if (spec == nullptr) return InvalidInput(fmt::format("unknown setting '{}'", key)).Hint(KnownKeys());
    NL_TRY(CheckValue(*spec, given));
    // The shell has already expanded "~" where it was meant.
    values.push_back(
        {spec, spec->kind == Kind::kPath ? AbsolutePath(given, places.directory, "") : given, "flag"});
  }
  return values;
}

std::vector<SettingSpec> MakeSpecs() {
  return {
      {"store", "", "Folder that holds the runs and their catalog.", Kind::kPath},
      {"threads", "0", "Worker threads for import and queries; 0: one per core.", Kind::kInt, 0, 1024},
      {"import_memory_mb", "512", "Memory limit for the buffers and columns of an import, in MB.", Kind::kInt,
       64, 1 << 20},
      {"query_rows", "10000", "Limit for the rows of a query.", Kind::kInt, 1, 1'000'000'000},
      {"query_seconds", "60", "Time limit of a query, in seconds.", Kind::kInt, 1, 86'400},
      {"query_memory_mb", "2048", "Memory limit of a query, in MB.", Kind::kInt, 64, 1 << 20},
      {"color", "auto", "Colour in terminal output.", Kind::kChoice, 0, 0, {"auto", "always", "never"}},
      {"bench_root", "", "Folder of the benchmark suites that `bench-pairs` and a server list; empty: none.",
       Kind::kPath},
      {"duckdb",
       "",
       "Path of the DuckDB library to load; empty: the usual places are searched.",
       Kind::kPath,
       0,
       0,
       {},
       true},
  };
}

}  // namespace

const std::vector<SettingSpec>& Settings::Specs() {
  static const std::vector<SettingSpec> specs = MakeSpecs();
  return specs;
}

const SettingSpec* Settings::FindSpec(std::string_view key) {
  for (const SettingSpec& spec : Specs()) {
    if (spec.key == key) return &spec;
  }
  return nullptr;
}

std::string Settings::EnvironmentName(std::string_view key) {
  std::string name = "NEUROLENS_";
  for (const char c : key) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

Result<Settings> Settings::Load(const SettingsInput& input) {
  std::error_code error;
  Places places{input, input.directory.empty() ? fs::current_path(error).string() : input.directory};
  if (error) places.directory = "/";  // the current directory was removed: relative paths mean nothing

  Settings settings;
  const std::string project = FindProjectFile(places.directory);
  settings.files_.push_back({"project", project, !project.empty()});
  const std::string user_folder = places.XdgFolder("XDG_CONFIG_HOME", ".config");
  const std::string user = user_folder.empty() ? "" : user_folder + "/config.yaml";
  settings.files_.push_back({"user", user, !user.empty() && fs::is_regular_file(user, error)});

  for (const SettingSpec& spec : Specs()) {
    std::string value(spec.default_value);
    if (spec.key == "store") value = places.XdgFolder("XDG_DATA_HOME", ".local/share");
    settings.entries_.push_back({std::string(spec.key), std::move(value), "default",
                                 std::string(spec.description), EnvironmentName(spec.key)});
  }
  const auto apply = [&](const std::vector<Value>& values) {
    for (const Value& v : values) {
      Entry& entry = settings.entries_[static_cast<size_t>(v.spec - Specs().data())];
      entry.value = v.value;
      entry.source = v.source;
    }
  };
  for (auto file = settings.files_.rbegin(); file != settings.files_.rend(); ++file) {
    NL_ASSIGN(const std::vector<Value> values, ReadFile(*file, places.Home()));
    apply(values);
  }
  NL_ASSIGN(const std::vector<Value> environment, ReadEnvironment(places));
  apply(environment);
  NL_ASSIGN(const std::vector<Value> flags, ReadFlags(places));
  apply(flags);

  if (settings.Get("store").empty()) {
    return InvalidInput("no folder for the store: HOME is not set")
        .Hint("set NEUROLENS_STORE or give --store");
  }
  return settings;
}

std::string Settings::Get(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return entry.value;
  }
  return "";
}

Settings Settings::With(std::string_view key, std::string value) const {
  Settings out = *this;
  for (Entry& entry : out.entries_) {
    if (entry.key == key) entry.value = std::move(value);
  }
  return out;
}

int64_t Settings::GetInt(std::string_view key) const {
  int64_t number = 0;
  const std::string value = Get(key);
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

}  // namespace nl
