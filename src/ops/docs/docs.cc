// SPDX-License-Identifier: Apache-2.0
#include "ops/docs/reference.h"

namespace nl::ops::docs {

namespace {

// What a face needs to offer every operation: the faces to come build on this.
Json OperationList() {
  Json out = Json::array();
  for (const OpFactory make : AllOps()) {
    const std::unique_ptr<Op> op = make();
    const OpInfo info = op->Info();
    ParamBinder binder;
    op->Bind(binder);
    out.push_back({{"name", info.name},
                   {"summary", info.summary},
                   {"choose_when", info.choose_when},
                   {"example", info.example},
                   {"writes", info.writes},
                   {"parameters", ParamSchema(binder.params())},
                   {"reply", ReplySchema(info)}});
  }
  return out;
}

class DocsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "docs";
    info.summary =
        "Print a reference page: the commands as Markdown, or every operation with the JSON Schemas of its "
        "parameters and reply.";
    info.choose_when = "For keeping docs/ current; people read 'neurolens --help'.";
    info.example = "neurolens docs cli";
    info.hidden = true;
    info.reply_schema = Json{
        {"type", "object"},
        {"required", Json::array({"page"})},
        {"properties",
         {{"page", {{"type", "string"}}}, {"markdown", {{"type", "string"}}}, {"ops", {{"type", "array"}}}}}};
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("page", page_, "The page to print.").Positional().Required().Choices({"cli", "ops"});
  }

  Result<Reply> Run(OpContext&) override {
    Reply reply;
    if (page_ == "ops") {
      reply.json = Json{{"page", page_}, {"ops", OperationList()}};
      reply.raw = DumpJson(reply.json["ops"], 2) + "\n";
      return reply;
    }
    reply.raw = CommandReference(DescribeCommands(AllOps()));
    reply.json = Json{{"page", page_}, {"markdown", reply.raw}};
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle&) const override { return reply.raw; }

 private:
  std::string page_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<DocsOp>(); }

}  // namespace nl::ops::docs
