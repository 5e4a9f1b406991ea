// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/open_store.h"

namespace nl::ops::@name@ {

namespace {

class @Name@Op final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "@name@";
    info.summary = "Say which run a name stands for";
    info.choose_when = "when a prefix or a tag should be turned into a run id";
    info.example = "neurolens @name@ @latest";
    info.reply_schema = SchemaFromText(R"({"type": "object", "required": ["run_id"],
      "properties": {"run_id": {"type": "string"}}})");
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("run", run_, "Run: id, id prefix, @latest or tag").Run().Positional().Required();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(auto store, OpenStore(context, Store::Mode::kReadOnly));
    NL_ASSIGN(std::vector<CatalogRun> runs, ResolveRuns(*store, {run_}));
    Reply reply;
    reply.json = {{"run_id", runs.front().run_id}};
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle&) const override {
    return fmt::format("{}\n", reply.json["run_id"].get<std::string>());
  }

 private:
  std::string run_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<@Name@Op>(); }

}  // namespace nl::ops::@name@
