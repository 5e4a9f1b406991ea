// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/terminal.h"
#include "import/adapter.h"
#include "ledger/bundle.h"
#include "ops/open_store.h"

namespace nl::ops::formats {

namespace {

class FormatsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "formats";
    info.summary = "The formats that import reads";
    info.choose_when = "to see whether a profile can be imported, and what --format takes";
    info.example = "neurolens formats";
    info.reply_schema = SchemaFromText(R"({"type": "object", "required": ["formats"], "properties": {
      "formats": {"type": "array", "items": {"type": "object",
        "required": ["name", "version", "reads", "produced_by", "names"], "properties": {
          "name": {"type": "string"}, "version": {"type": "integer"}, "reads": {"type": "string"},
          "produced_by": {"type": "string"}, "names": {"type": "array", "items": {"type": "string"}},
          "adapter": {"type": "boolean", "description": "may be given to import --format"}}}}}})");
    return info;
  }

  void Bind(ParamBinder&) override {}

  Result<Reply> Run(OpContext&) override {
    Reply reply;
    reply.json["formats"] = Json::array();
    for (const AdapterFn describe : AllAdapters()) {
      const AdapterInfo info = describe().Info();
      Add(reply, info, true);
    }
    AdapterInfo bundle;
    bundle.name = "bundle";
    bundle.version = static_cast<int>(kBundleVersion);
    bundle.summary = "A whole run of another store, restored bit by bit";
    bundle.produced_by = "neurolens export --format bundle";
    bundle.name_hints = {".zip"};
    Add(reply, bundle, false);
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    std::string out;
    for (const Json& format : reply.json["formats"]) {
      std::string names;
      for (const Json& name : format["names"]) names += (names.empty() ? "" : " ") + name.get<std::string>();
      out += fmt::format("{} (version {})\n", format["name"].get<std::string>(),
                         format["version"].get<int64_t>());
      for (const auto& [label, text] :
           {std::pair<const char*, std::string>("reads", format["reads"].get<std::string>()),
            std::pair<const char*, std::string>("from", format["produced_by"].get<std::string>()),
            std::pair<const char*, std::string>("files", names)}) {
        out += fmt::format("  {:<7}{}\n", label, Wrap(text, style.width, 9));
      }
    }
    return out +
           Wrap("The content tells the format, not the name; .gz and .zst are read as they are.", style.width,
                0) +
           "\n";
  }

 private:
  static void Add(Reply& reply, const AdapterInfo& info, bool adapter) {
    reply.json["formats"].push_back({{"name", info.name},
                                     {"version", info.version},
                                     {"reads", info.summary},
                                     {"produced_by", info.produced_by},
                                     {"names", info.name_hints},
                                     {"adapter", adapter}});
  }
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<FormatsOp>(); }

}  // namespace nl::ops::formats
