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

struct TagReply {
  std::string run_id;
  std::map<std::string, std::string> tags;
};
void Describe(Record<TagReply>& r) {
  r.Name("TagReply", "Reply of `neurolens tag`");
  r.Field("run_id", &TagReply::run_id, "The run");
  r.Field("tags", &TagReply::tags, "Its tags by key, after the change");
}

class TagOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "tag";
    info.summary = "Set, change or remove tags of a run";
    info.choose_when = "Choose it to name a run: every command accepts the value of a tag as RUN.";
    info.example = "neurolens tag @latest name=baseline";
    info.writes = true;
    info.repeatable = true;
    info.reply = ReplyOf<TagReply>();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("run", run_, "The run: id, id prefix, @latest, tag or model name")
        .Run()
        .Positional()
        .Required();
    binder.Add("tags", tags_, "Tags to set; KEY= removes one; without any, the tags are listed")
        .KeyValue()
        .Positional();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(std::vector<Change> changes, Parse());
    const auto mode = changes.empty() ? Store::Mode::kReadOnly : Store::Mode::kReadWrite;
    // Opened for reading first: a typing error in --store must not create a store.
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
    TagReply reply;
    reply.run_id = run.run_id;
    if (updated) reply.tags = updated->tags;
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle&) const override {
    const auto& reply = any.As<TagReply>();
    std::string out = reply.run_id + "\n";
    for (const auto& [key, value] : reply.tags)
      out += fmt::format("  {}={}\n", PrintableText(key), PrintableText(value));
    if (reply.tags.empty()) out += "  no tags\n";
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
        return InvalidInput(fmt::format("the tag is too long: at most {} bytes are allowed", kMaxTagBytes));
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
