// SPDX-License-Identifier: Apache-2.0
// `neurolens baseline`: named lists of runs that `gate` compares candidates with.

#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "ops/ls/reply.h"
#include "ops/open_run_or_file.h"
#include "report/text_table.h"

namespace nl::ops::baseline {

namespace {

enum class BaselineAction : uint8_t { kList, kSet, kShow, kRm };
std::span<const std::string_view> NamesOf(BaselineAction) {
  static constexpr std::string_view kNames[] = {"list", "set", "show", "rm"};
  return kNames;
}

struct BaselineEntry {
  std::string name, created_at;
  std::optional<std::string> note;
  std::vector<ListedRun> runs;
};
void Describe(Record<BaselineEntry>& r) {
  r.Name("BaselineEntry", "A baseline: a named list of runs");
  r.Field("name", &BaselineEntry::name, "Name");
  r.Field("created_at", &BaselineEntry::created_at, "Time of the last change (RFC 3339, UTC)");
  r.Field("note", &BaselineEntry::note, "Note given when it was set");
  r.Field("runs", &BaselineEntry::runs, "Its runs, in the order given");
}

struct BaselineReply {
  BaselineAction action = BaselineAction::kList;
  std::vector<BaselineEntry> baselines;
};
void Describe(Record<BaselineReply>& r) {
  r.Name("BaselineReply", "Reply of `neurolens baseline`");
  r.Field("action", &BaselineReply::action, "What was done");
  r.Field("baselines", &BaselineReply::baselines,
          "All baselines (list), or the one that was set, shown or removed");
}

Result<BaselineEntry> EntryOf(Catalog& catalog, const Baseline& baseline) {
  BaselineEntry out;
  out.name = baseline.name;
  out.created_at = Rfc3339Utc(baseline.created_at_ns);
  if (!baseline.note.empty()) out.note = baseline.note;
  for (const std::string& run_id : baseline.run_ids) {
    NL_ASSIGN(const std::optional<CatalogRun> run, catalog.Find(run_id));
    if (!run) continue;  // deleted since the list was read
    NL_ASSIGN(ListedRun listed, ListRun(catalog, *run));
    out.runs.push_back(std::move(listed));
  }
  return out;
}

Error NoBaseline(const std::string& name, const std::vector<Baseline>& all) {
  std::string names;
  for (const Baseline& b : all) names += (names.empty() ? "" : ", ") + b.name;
  return NotFound(fmt::format("no such baseline: '{}'", name))
      .Hint(names.empty() ? "create one: neurolens baseline set NAME RUN..."
                          : "existing baselines: " + names);
}

class BaselineOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "baseline";
    info.summary =
        "Set, show, list or remove baselines: named lists of runs that `gate` compares candidates with";
    info.choose_when =
        "Choose it once per branch or release. With several runs, recorded in the same way as the "
        "candidates, "
        "`gate` can distinguish a change from noise. `tag` names single runs.";
    info.example = "neurolens baseline set main @latest";
    info.writes = true;
    info.reply = ReplyOf<BaselineReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("action", action_, "What to do").Positional().Choices({"list", "set", "show", "rm"});
    b.Add("name", name_, "Name of the baseline").Positional();
    b.Add("runs", runs_, "Its runs, or profiles to import; they replace the previous ones")
        .Positional()
        .Run();
    b.Add("note", note_, "Note to keep with it");
    b.Add("add", add_, "With set: add the runs instead of replacing them");
  }

  Result<Reply> Run(OpContext& context) override {
    NL_TRY(CheckWords());
    const auto names = NamesOf(BaselineAction());
    BaselineReply reply;
    reply.action =
        static_cast<BaselineAction>(std::find(names.begin(), names.end(), action_) - names.begin());
    switch (reply.action) {
      case BaselineAction::kSet: NL_TRY(Set(context, reply)); break;
      case BaselineAction::kRm: NL_TRY(Remove(context, reply)); break;
      case BaselineAction::kShow:
      case BaselineAction::kList: NL_TRY(List(context, reply)); break;
    }
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<BaselineReply>();
    if (reply.action == BaselineAction::kList) return ListText(reply.baselines, style);
    const BaselineEntry& b = reply.baselines[0];
    const std::string name = PrintableText(b.name);
    const std::string amount = fmt::format("{} run{}", b.runs.size(), b.runs.size() == 1 ? "" : "s");
    if (reply.action == BaselineAction::kRm)
      return fmt::format("removed baseline {}; its {} remain in the store\n", name, amount);
    std::string out = fmt::format("baseline {}: {}, set {}\n", name, amount, b.created_at.substr(0, 16));
    if (b.note) out += PrintableText(*b.note) + "\n";
    return out + RunsText(b.runs, style);
  }

 private:
  Status CheckWords() const {
    if (action_ == "list") {
      if (name_.empty()) return {};
      return InvalidInput(fmt::format("`baseline list` does not take a name: '{}'", name_))
          .Hint("did you mean baseline show?");
    }
    if (name_.empty()) return InvalidInput(fmt::format("baseline {} needs a NAME", action_));
    NL_TRY(CheckBaselineName(name_));
    if (action_ == "set" && runs_.empty())
      return InvalidInput("baseline set needs at least one RUN")
          .Hint("for example: neurolens baseline set main @latest");
    if (action_ != "set" && !runs_.empty())
      return InvalidInput(
          fmt::format("`baseline {}` takes one name; unexpected argument '{}'", action_, runs_.front()));
    return {};
  }

  Status List(OpContext& context, BaselineReply& reply) {
    const bool all_of_them = reply.action == BaselineAction::kList;
    Result<std::unique_ptr<Store>> store = OpenStore(context, Store::Mode::kReadOnly);
    // A store that does not exist yet is an empty list, not an error.
    if (all_of_them && !store.ok() && store.error().code == ErrorCode::kNotFound) return {};
    if (!store.ok()) return std::move(store).error();
    Catalog& catalog = (*store)->catalog();
    NL_ASSIGN(const std::vector<Baseline> all, catalog.ListBaselines());
    for (const Baseline& baseline : all) {
      if (!all_of_them && baseline.name != name_) continue;
      NL_TRY(Add(catalog, baseline, reply));
    }
    if (!all_of_them && reply.baselines.empty()) return NoBaseline(name_, all);
    return {};
  }

  static Status Add(Catalog& catalog, const Baseline& baseline, BaselineReply& reply) {
    NL_ASSIGN(BaselineEntry entry, EntryOf(catalog, baseline));
    reply.baselines.push_back(std::move(entry));
    return {};
  }

  Status Set(OpContext& context, BaselineReply& reply) {
    Baseline baseline{name_, UnixNowNs(), note_, {}};
    std::vector<std::string> ids;
    for (const std::string& target : runs_) {
      NL_ASSIGN(std::string id, RunOrFileId(context, target));
      ids.push_back(std::move(id));
    }
    NL_ASSIGN(const auto store, OpenStore(context, Store::Mode::kReadWrite));
    Catalog& catalog = store->catalog();
    if (add_) {
      NL_ASSIGN(std::optional<Baseline> old, catalog.FindBaseline(name_));
      if (old) ids.insert(ids.begin(), old->run_ids.begin(), old->run_ids.end());
      if (old && note_.empty()) baseline.note = old->note;
    }
    for (std::string& id : ids) {
      const auto end = baseline.run_ids.end();
      if (std::find(baseline.run_ids.begin(), end, id) == end) baseline.run_ids.push_back(std::move(id));
    }
    NL_TRY(catalog.SetBaseline(baseline));
    return Add(catalog, baseline, reply);
  }

  Status Remove(OpContext& context, BaselineReply& reply) {
    { NL_ASSIGN(auto present, OpenStore(context, Store::Mode::kReadOnly)); }
    NL_ASSIGN(const auto store, OpenStore(context, Store::Mode::kReadWrite));
    Catalog& catalog = store->catalog();
    NL_ASSIGN(const std::optional<Baseline> baseline, catalog.FindBaseline(name_));
    if (!baseline) {
      NL_ASSIGN(const std::vector<Baseline> all, catalog.ListBaselines());
      return NoBaseline(name_, all);
    }
    NL_TRY(Add(catalog, *baseline, reply));
    return catalog.RemoveBaseline(name_);
  }

  static std::string ListText(const std::vector<BaselineEntry>& list, const TextStyle& style) {
    if (list.empty()) return "no baselines\ncreate one: neurolens baseline set NAME RUN...\n";
    TextTable table({{"BASELINE", Align::kLeft, true, 12},
                     {"RUNS", Align::kRight, false, 0},
                     {"SET", Align::kLeft, false, 0},
                     {"NOTE", Align::kLeft, true, 10}});
    for (const BaselineEntry& b : list) {
      std::string set = b.created_at.substr(0, 16);
      std::replace(set.begin(), set.end(), 'T', ' ');
      table.AddRow({b.name, HumanCount(static_cast<int64_t>(b.runs.size())), set, b.note.value_or("")});
    }
    return table.Render(style.width, style.color);
  }

  static std::string RunsText(const std::vector<ListedRun>& runs, const TextStyle& style) {
    if (runs.empty()) return "its runs were deleted\n";
    TextTable table({{"RUN", Align::kLeft, false, 0},
                     {"MODEL", Align::kLeft, true, 10},
                     {"DEVICE", Align::kLeft, true, 8},
                     {"WALL", Align::kRight, false, 0},
                     {"CREATED", Align::kLeft, false, 0}});
    for (const ListedRun& run : runs) {
      table.AddRow({run.short_id, run.model.empty() ? run.source_name : run.model, run.device,
                    HumanDurationNs(run.wall_ns), ShortTime(run.created_at_ns)});
    }
    return table.Render(style.width, style.color);
  }

  std::string action_ = "list", name_, note_;
  std::vector<std::string> runs_;
  bool add_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<BaselineOp>(); }

}  // namespace nl::ops::baseline
