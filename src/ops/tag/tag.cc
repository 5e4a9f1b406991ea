// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/terminal.h"
#include "ops/open_store.h"

namespace nl::ops::tag {

namespace {

constexpr size_t kMaxTagBytes = 200;

struct Change {
  std::string key;
  std::string value;  // empty: remove
};

class TagOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "tag";
    info.summary = "Set, change or remove tags of a run";
    info.choose_when = "to name a run: a tag's value can stand for RUN everywhere";
    info.example = "neurolens tag @latest name=baseline";
    info.writes = true;
    info.reply_schema = SchemaFromText(R"({"type": "object", "required": ["run_id", "tags"], "properties": {
      "run_id": {"type": "string"}, "tags": {"type": "object", "additionalProperties": {"type": "string"}}}})");
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("run", run_, "The run: id, id prefix, @latest or tag").Run().Positional().Required();
    binder.Add("tags", tags_, "Tags to set; KEY= removes one; none lists them").KeyValue().Positional();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(std::vector<Change> changes, Parse());
    const auto mode = changes.empty() ? Store::Mode::kReadOnly : Store::Mode::kReadWrite;
    // Writing must not make a store where there is none.
    NL_ASSIGN(auto store, OpenStore(context, Store::Mode::kReadOnly));
    NL_ASSIGN(CatalogRun run, store->catalog().Resolve(run_));
    if (mode == Store::Mode::kReadWrite) {
      NL_ASSIGN(store, OpenStore(context, mode));
    }
    for (const Change& change : changes) {
      NL_TRY(change.value.empty() ? store->catalog().RemoveTag(run.run_id, change.key)
                                  : store->catalog().SetTag(run.run_id, change.key, change.value));
    }
    NL_ASSIGN(auto updated, store->catalog().Find(run.run_id));
    Reply reply;
    reply.json = {{"run_id", run.run_id}, {"tags", Json::object()}};
    if (updated) reply.json["tags"] = CatalogRunToJson(*updated)["tags"];
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle&) const override {
    std::string out = reply.json["run_id"].get<std::string>() + "\n";
    for (const auto& [key, value] : reply.json["tags"].items()) {
      out += fmt::format("  {}={}\n", PrintableText(key), PrintableText(value.get<std::string>()));
    }
    if (reply.json["tags"].empty()) out += "  no tags\n";
    return out;
  }

 private:
  Result<std::vector<Change>> Parse() const {
    std::vector<Change> changes;
    for (const std::string& tag : tags_) {
      const size_t equals = tag.find('=');
      if (equals == std::string::npos || equals == 0) {
        return InvalidInput(fmt::format("'{}' is not a tag; write KEY=VALUE, or KEY= to remove one", tag));
      }
      if (tag.size() > kMaxTagBytes)
        return InvalidInput(fmt::format("a tag has at most {} bytes", kMaxTagBytes));
      for (const char c : tag) {
        if (static_cast<unsigned char>(c) < 0x20)
          return InvalidInput("a tag cannot contain control characters");
      }
      if (tag[0] == '@') return InvalidInput("a tag cannot begin with '@'");
      changes.push_back({tag.substr(0, equals), tag.substr(equals + 1)});
    }
    return changes;
  }

  std::string run_;
  std::vector<std::string> tags_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<TagOp>(); }

}  // namespace nl::ops::tag
