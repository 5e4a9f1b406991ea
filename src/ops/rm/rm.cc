// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "ops/open_store.h"

namespace nl::ops::rm {

namespace {

// A baseline is what a gate stands on: it does not lose a run by accident.
Status CheckBaselines(Catalog& catalog, const std::vector<CatalogRun>& runs) {
  std::string held;
  for (const CatalogRun& run : runs) {
    NL_ASSIGN(const std::vector<std::string> names, catalog.BaselinesOf(run.run_id));
    if (names.empty()) continue;
    NL_ASSIGN(const std::string id, catalog.ShortId(run.run_id));
    held +=
        fmt::format("{}run {} is part of baseline {}", held.empty() ? "" : "; ", id, fmt::join(names, ", "));
  }
  if (held.empty()) return {};
  return InvalidInput(fmt::format("nothing is deleted: {}", held))
      .Hint("neurolens baseline set NAME RUN... changes a baseline; --force deletes all the same");
}

class RmOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "rm";
    info.summary = "Delete runs with all their files";
    info.choose_when = "when a run is no longer wanted; it cannot be brought back";
    info.example = "neurolens rm @latest";
    info.writes = true;
    info.reply_schema =
        SchemaFromText(R"({"type": "object", "required": ["removed", "freed_bytes"], "properties": {
      "removed": {"type": "array", "items": {"type": "object", "required": ["run_id", "source_name", "freed_bytes"],
        "properties": {"run_id": {"type": "string"}, "source_name": {"type": "string"},
                       "freed_bytes": {"type": "integer"}}}},
      "freed_bytes": {"type": "integer"}}})");
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("runs", runs_, "Runs to delete: id, id prefix, @latest or tag").Run().Positional().Required();
    binder.Add("force", force_,
               "Delete also runs that are part of a baseline, which then goes on without them");
    binder.Add("yes", yes_, "Needed with @all, which deletes every run");
  }

  Result<Reply> Run(OpContext& context) override {
    if (!yes_ && std::find(runs_.begin(), runs_.end(), "@all") != runs_.end()) {
      return InvalidInput("@all deletes every run of the store").Hint("add --yes if that is meant");
    }
    { NL_ASSIGN(auto present, OpenStore(context, Store::Mode::kReadOnly)); }
    NL_ASSIGN(auto store, OpenStore(context, Store::Mode::kReadWrite));
    // All names first: one wrong name deletes nothing.
    NL_ASSIGN(std::vector<CatalogRun> runs, ResolveRuns(*store, runs_));
    if (!force_) NL_TRY(CheckBaselines(store->catalog(), runs));
    Reply reply;
    reply.json = {{"removed", Json::array()}, {"freed_bytes", 0}};
    int64_t total_bytes = 0;
    for (const CatalogRun& run : runs) {
      if (context.Cancelled()) return Cancelled();
      NL_ASSIGN(int64_t freed_bytes, store->Remove(run.run_id));
      total_bytes += freed_bytes;
      reply.json["removed"].push_back(
          {{"run_id", run.run_id}, {"source_name", run.source_name}, {"freed_bytes", freed_bytes}});
    }
    reply.json["freed_bytes"] = total_bytes;
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle&) const override {
    std::string out;
    for (const Json& run : reply.json["removed"]) {
      out += fmt::format("removed {}  {}  {}\n", run["run_id"].get<std::string>(),
                         PrintableText(run["source_name"].get<std::string>()),
                         HumanBytes(run["freed_bytes"].get<int64_t>()));
    }
    if (reply.json["removed"].size() > 1) {
      out += fmt::format("{} runs, {} freed\n", reply.json["removed"].size(),
                         HumanBytes(reply.json["freed_bytes"].get<int64_t>()));
    }
    return out;
  }

 private:
  std::vector<std::string> runs_;
  bool yes_ = false, force_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<RmOp>(); }

}  // namespace nl::ops::rm
