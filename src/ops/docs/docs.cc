// SPDX-License-Identifier: Apache-2.0
#include "base/record_json.h"
#include "ops/docs/reference.h"

namespace nl::ops::docs {

namespace {

struct DocsOperation {
  std::string name, summary, choose_when, example;
  bool writes = false;
  Json parameters, reply;
};
void Describe(Record<DocsOperation>& r) {
  r.Name("DocsOperation", "An operation");
  r.Field("name", &DocsOperation::name, "Command, route and tool name");
  r.Field("summary", &DocsOperation::summary, "What it does, one line");
  r.Field("choose_when", &DocsOperation::choose_when, "When to choose it rather than a similar one");
  r.Field("example", &DocsOperation::example, "A complete command line that works");
  r.Field("writes", &DocsOperation::writes, "It changes the store");
  r.Field("parameters", &DocsOperation::parameters, "JSON Schema (draft-07) of its parameters");
  r.Field("reply", &DocsOperation::reply, "JSON Schema (draft-07) of its reply");
}

enum class DocsPage : uint8_t { kCli, kOps };
std::span<const std::string_view> NamesOf(DocsPage) {
  static constexpr std::string_view kNames[] = {"cli", "ops"};
  return kNames;
}

struct DocsReply {
  DocsPage page = DocsPage::kCli;
  std::optional<std::string> markdown;
  std::optional<std::vector<DocsOperation>> ops;
};
void Describe(Record<DocsReply>& r) {
  r.Name("DocsReply", "Reply of `neurolens docs`");
  r.Field("page", &DocsReply::page, "The page");
  r.Field("markdown", &DocsReply::markdown, "Text of the page, for cli");
  r.Field("ops", &DocsReply::ops, "Every operation, for ops");
}

std::vector<DocsOperation> OperationList() {
  std::vector<DocsOperation> out;
  for (const OpEntry& entry : AllOps()) {
    const std::unique_ptr<Op> op = entry.make();
    const OpInfo info = op->Info();
    ParamBinder binder;
    op->Bind(binder);
    out.push_back({info.name, info.summary, info.choose_when, info.example, info.writes,
                   ParamSchema(binder.params()), JsonSchema(info.reply())});
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
        "parameters and reply";
    info.choose_when = "Choose it to update docs/; `neurolens --help` is for people.";
    info.example = "neurolens docs cli";
    info.hidden = true;
    info.reply = ReplyOf<DocsReply>();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("page", page_, "The page to print").Positional().Required().Choices({"cli", "ops"});
  }

  Result<Reply> Run(OpContext&) override {
    DocsReply out;
    std::string raw;
    if (page_ == "ops") {
      out.page = DocsPage::kOps;
      out.ops = OperationList();
      Json list = Json::array();
      for (const DocsOperation& op : *out.ops) list.push_back(ToDocument(op));
      raw = DumpJson(list, 2) + "\n";
    } else {
      raw = CommandReference(DescribeCommands(AllOps()));
      out.markdown = raw;
    }
    Reply reply = Reply::Of(std::move(out));
    reply.raw = std::move(raw);
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle&) const override { return reply.raw; }

 private:
  std::string page_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<DocsOp>(); }

}  // namespace nl::ops::docs
