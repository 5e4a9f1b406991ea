// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ops/op.h"
#include "ops/settings.h"
#include "report/text_table.h"

namespace nl::ops::config {

namespace {

struct ConfigSetting {
  std::string key;
  Scalar value;
  std::string source, environment, description;
};
void Describe(Record<ConfigSetting>& r) {
  r.Name("ConfigSetting", "A setting and the origin of its value");
  r.Field("key", &ConfigSetting::key, "Name");
  r.Field("value", &ConfigSetting::value, "Value: text or an integer");
  r.Field("source", &ConfigSetting::source, "Origin: flag, env NAME, file PATH:LINE or default");
  r.Field("environment", &ConfigSetting::environment, "Environment variable that sets it");
  r.Field("description", &ConfigSetting::description, "Meaning");
}

enum class ConfigFileKind : uint8_t { kProject, kUser };
std::span<const std::string_view> NamesOf(ConfigFileKind) {
  static constexpr std::string_view kNames[] = {"project", "user"};
  return kNames;
}

struct ConfigFile {
  ConfigFileKind kind = ConfigFileKind::kProject;
  std::optional<std::string> path;
  bool exists = false;
};
void Describe(Record<ConfigFile>& r) {
  r.Name("ConfigFile", "A settings file");
  r.Field("kind", &ConfigFile::kind, "Whose settings it holds");
  r.Field("path", &ConfigFile::path, "Path; null: no project file was found, or HOME is not set");
  r.Field("exists", &ConfigFile::exists, "The file exists and was read");
}

struct ConfigReply {
  std::vector<ConfigSetting> settings;
  std::vector<ConfigFile> files;
};
void Describe(Record<ConfigReply>& r) {
  r.Name("ConfigReply", "Reply of `neurolens config`");
  r.Field("settings", &ConfigReply::settings, "Every setting");
  r.Field("files", &ConfigReply::files, "Settings files, from the strongest to the weakest");
}

ConfigSetting SettingOf(const Settings& settings, const Settings::Entry& entry) {
  const SettingSpec* spec = Settings::FindSpec(entry.key);
  const bool number = spec != nullptr && spec->kind == SettingSpec::Kind::kInt;
  return {entry.key, number ? Scalar(settings.GetInt(entry.key)) : Scalar(entry.value), entry.source,
          entry.env_name, entry.description};
}

std::string ValueText(const Scalar& value) {
  const auto* number = std::get_if<int64_t>(&value);
  return number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
}

class ConfigOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "config";
    info.local = true;
    info.summary = "Show every setting and where its value came from";
    info.choose_when =
        "Choose it when a command does not use the store or the limit you expected. A flag overrides the "
        "environment, which overrides the project's .neurolens.yaml, which overrides the user's config file.";
    info.example = "neurolens config show";
    info.reply = ReplyOf<ConfigReply>();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("action", action_, "show: every setting; path: the path of each settings file")
        .Positional()
        .Choices({"show", "path"});
  }

  Result<Reply> Run(OpContext& context) override {
    ConfigReply reply;
    for (const Settings::Entry& entry : context.settings->entries())
      reply.settings.push_back(SettingOf(*context.settings, entry));
    for (const Settings::File& file : context.settings->files()) {
      ConfigFile out;
      out.kind = file.kind == "user" ? ConfigFileKind::kUser : ConfigFileKind::kProject;
      if (!file.path.empty()) out.path = file.path;
      out.exists = file.exists;
      reply.files.push_back(std::move(out));
    }
    return Reply::Of(std::move(reply));
  }

  // Paths are meant to be copied: never cut.
  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<ConfigReply>();
    if (action_ == "path") {
      TextTable table({{"FILE"}, {"PATH"}, {"STATE"}});
      for (const ConfigFile& file : reply.files)
        table.AddRow({std::string(NamesOf(file.kind)[static_cast<size_t>(file.kind)]),
                      file.path.value_or("-"), file.exists ? "read" : "does not exist"});
      return table.Render(0, style.color);
    }
    TextTable table({{"SETTING"}, {"VALUE"}, {"SOURCE"}, {"ENVIRONMENT"}});
    for (const ConfigSetting& entry : reply.settings)
      table.AddRow({entry.key, ValueText(entry.value), entry.source, entry.environment});
    return table.Render(0, style.color);
  }

 private:
  std::string action_ = "show";
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ConfigOp>(); }

}  // namespace nl::ops::config
