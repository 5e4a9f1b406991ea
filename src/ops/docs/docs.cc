// SPDX-License-Identifier: Apache-2.0
#include "ops/docs/reference.h"

namespace nl::ops::docs {

namespace {

class DocsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "docs";
    info.summary = "Print a reference page of this documentation as Markdown.";
    info.choose_when = "For keeping docs/ current; people read 'neurolens --help'.";
    info.example = "neurolens docs cli";
    info.hidden = true;
    info.reply_schema =
        Json{{"type", "object"},
             {"required", {"page", "markdown"}},
             {"properties", {{"page", {{"type", "string"}}}, {"markdown", {{"type", "string"}}}}}};
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("page", page_, "The page to print.").Positional().Required().Choices({"cli"});
  }

  Result<Reply> Run(OpContext&) override {
    Reply reply;
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
