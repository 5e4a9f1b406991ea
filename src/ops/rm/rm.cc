// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "ops/open_store.h"

namespace nl::ops::rm {

namespace {

// A gate compares against a baseline: it must not lose a run by accident.
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
  return InvalidInput(fmt::format("nothing was deleted: {}", held))
      .Hint("change the baseline with `neurolens baseline set NAME RUN...`, or delete with --force");
}

struct RemovedRun {
  std::string run_id, source_name;
  int64_t freed_bytes = 0;
};
void Describe(Record<RemovedRun>& r) {
  r.Name("RemovedRun", "A run that was deleted");
  r.Field("run_id", &RemovedRun::run_id, "The run");
  r.Field("source_name", &RemovedRun::source_name, "Name of the file it was imported from");
  r.Field("freed_bytes", &RemovedRun::freed_bytes, Unit::kBytes, "Size of its files");
}

struct RmReply {
  std::vector<RemovedRun> removed;
  int64_t freed_bytes = 0;
};
void Describe(Record<RmReply>& r) {
  r.Name("RmReply", "Reply of `neurolens rm`");
  r.Field("removed", &RmReply::removed, "Runs that were deleted");
  r.Field("freed_bytes", &RmReply::freed_bytes, Unit::kBytes, "Size of all their files");
}

class RmOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "rm";
    info.summary = "Delete runs and all their files";
    info.choose_when = "Choose it when a run is no longer needed; a deleted run cannot be restored.";
    info.example = "neurolens rm @latest";
    info.writes = true;
    info.reply = ReplyOf<RmReply>();
    info.role = ServerRole::kRunRemove;
    info.destructive = true;
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("runs", runs_, "Runs to delete: id, id prefix, @latest, tag or model name")
        .Run()
        .Positional()
        .Required();
    binder.Add("force", force_, "Also delete runs that are part of a baseline, and remove them from it");
    binder.Add("yes", yes_, "Confirm @all, which deletes every run");
  }

  Result<Reply> Run(OpContext& context) override {
    if (!yes_ && std::find(runs_.begin(), runs_.end(), "@all") != runs_.end()) {
      return InvalidInput("@all deletes every run of the store").Hint("add --yes to confirm");
    }
    { NL_ASSIGN(auto present, OpenStore(context, Store::Mode::kReadOnly)); }
    NL_ASSIGN(auto store, OpenStore(context, Store::Mode::kReadWrite));
    // All names are resolved first: one wrong name deletes nothing.
    NL_ASSIGN(std::vector<CatalogRun> runs, ResolveRuns(*store, runs_));
    if (!force_) NL_TRY(CheckBaselines(store->catalog(), runs));
    RmReply reply;
    for (const CatalogRun& run : runs) {
      if (context.Cancelled()) return Cancelled();
      NL_ASSIGN(const int64_t freed_bytes, store->Remove(run.run_id));
      reply.freed_bytes += freed_bytes;
      reply.removed.push_back({run.run_id, run.source_name, freed_bytes});
    }
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle&) const override {
    const auto& reply = any.As<RmReply>();
    std::string out;
    for (const RemovedRun& run : reply.removed) {
      out += fmt::format("removed {}  {}  {}\n", run.run_id, PrintableText(run.source_name),
                         HumanBytes(run.freed_bytes));
    }
    if (reply.removed.size() > 1)
      out += fmt::format("{} runs, {} freed\n", reply.removed.size(), HumanBytes(reply.freed_bytes));
    return out;
  }

 private:
  std::vector<std::string> runs_;
  bool yes_ = false, force_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<RmOp>(); }

}  // namespace nl::ops::rm
