// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ops/op.h"
#include "ops/settings.h"
#include "report/text_table.h"

namespace nl::ops::config {

namespace {

Json EntryJson(const Settings& settings, const Settings::Entry& entry) {
  const SettingSpec* spec = Settings::FindSpec(entry.key);
  const bool number = spec != nullptr && spec->kind == SettingSpec::Kind::kInt;
  return Json{{"key", entry.key},
              {"value", number ? Json(settings.GetInt(entry.key)) : Json(entry.value)},
              {"source", entry.source},
              {"environment", entry.env_name},
              {"description", entry.description}};
}

class ConfigOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "config";
    info.summary = "Show every setting and where its value came from.";
    info.choose_when =
        "Take it when a command does not use the store or the limit you expected. A flag wins over the "
        "environment, that over the project's .neurolens.yaml, that over the user's config file.";
    info.example = "neurolens config show";
    info.reply_schema =
        Json{{"type", "object"},
             {"required", {"settings", "files"}},
             {"properties",
              {{"settings",
                {{"type", "array"},
                 {"items",
                  {{"type", "object"},
                   {"required", {"key", "value", "source", "environment", "description"}},
                   {"properties",
                    {{"key", {{"type", "string"}}},
                     {"value", {{"type", {"string", "integer"}}}},
                     {"source",
                      {{"type", "string"}, {"description", "flag, env NAME, file PATH:LINE or default"}}},
                     {"environment", {{"type", "string"}}},
                     {"description", {{"type", "string"}}}}}}}}},
               {"files",
                {{"type", "array"},
                 {"items",
                  {{"type", "object"},
                   {"required", {"kind", "path", "exists"}},
                   {"properties",
                    {{"kind", {{"enum", {"project", "user"}}}},
                     {"path", {{"type", {"string", "null"}}}},
                     {"exists", {{"type", "boolean"}}}}}}}}}}}};
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("action", action_, "What to print: 'show' every setting, or the 'path' of each settings file.")
        .Positional()
        .Choices({"show", "path"});
  }

  Result<Reply> Run(OpContext& context) override {
    Reply reply;
    reply.json = Json{{"settings", Json::array()}, {"files", Json::array()}};
    for (const Settings::Entry& entry : context.settings->entries()) {
      reply.json["settings"].push_back(EntryJson(*context.settings, entry));
    }
    for (const Settings::File& file : context.settings->files()) {
      reply.json["files"].push_back(Json{{"kind", file.kind},
                                         {"path", file.path.empty() ? Json() : Json(file.path)},
                                         {"exists", file.exists}});
    }
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    if (action_ == "path") {
      TextTable table({{"file"}, {"path"}, {"state"}});
      for (const Json& file : reply.json["files"]) {
        table.AddRow({file["kind"], file["path"].is_string() ? file["path"].get<std::string>() : "-",
                      file["exists"].get<bool>() ? "read" : "not there"});
      }
      return table.Render(0, style.color);
    }
    TextTable table({{"setting"}, {"value"}, {"from"}, {"environment"}});
    for (const Json& entry : reply.json["settings"]) {
      const Json& value = entry["value"];
      table.AddRow({entry["key"], value.is_string() ? value.get<std::string>() : DumpJson(value),
                    entry["source"], entry["environment"]});
    }
    // Paths are meant to be copied: never cut.
    return table.Render(0, style.color);
  }

 private:
  std::string action_ = "show";
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ConfigOp>(); }

}  // namespace nl::ops::config
