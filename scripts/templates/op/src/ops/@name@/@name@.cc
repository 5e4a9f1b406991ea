// SPDX-License-Identifier: Apache-2.0
// `neurolens @name@`: the id of the run that a name stands for.

#include <fmt/format.h>

#include "ops/open_store.h"

namespace nl::ops::@name@ {

namespace {

struct @Name@Reply {
  std::string run_id;
};
void Describe(Record<@Name@Reply>& r) {
  r.Name("@Name@Reply", "Reply of `neurolens @name@`");
  r.Field("run_id", &@Name@Reply::run_id, "The run");
}

class @Name@Op final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "@name@";
    info.summary = "Print the id of the run that a name stands for";
    info.choose_when = "Choose it to turn a prefix or a tag into a run id.";
    info.example = "neurolens @name@ @latest";
    info.reply = ReplyOf<@Name@Reply>();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("run", run_, "Run: id, id prefix, @latest or tag").Run().Positional().Required();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(auto store, OpenStore(context, Store::Mode::kReadOnly));
    NL_ASSIGN(std::vector<CatalogRun> runs, ResolveRuns(*store, {run_}));
    return Reply::Of(@Name@Reply{runs.front().run_id});
  }

  std::string Text(const Reply& reply, const TextStyle&) const override {
    return fmt::format("{}\n", reply.As<@Name@Reply>().run_id);
  }

 private:
  std::string run_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<@Name@Op>(); }

}  // namespace nl::ops::@name@
