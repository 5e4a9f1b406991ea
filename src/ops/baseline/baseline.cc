// SPDX-License-Identifier: Apache-2.0
// `neurolens baseline`: named lists of runs that `gate` holds candidates against.

#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "ops/open_run_or_file.h"
#include "report/text_table.h"

namespace nl::ops::baseline {

namespace {

Result<Json> BaselineJson(Catalog& catalog, const Baseline& baseline) {
  Json out{{"name", baseline.name},
           {"created_at", Rfc3339Utc(baseline.created_at_ns)},
           {"note", baseline.note.empty() ? Json() : Json(baseline.note)},
           {"runs", Json::array()}};
  for (const std::string& run_id : baseline.run_ids) {
    NL_ASSIGN(const std::optional<CatalogRun> run, catalog.Find(run_id));
    if (!run) continue;  // deleted since the list was read
    Json row = CatalogRunToJson(*run);
    NL_ASSIGN(row["short_id"], catalog.ShortId(run_id));
    out["runs"].push_back(std::move(row));
  }
  return out;
}

Error NoBaseline(const std::string& name, const std::vector<Baseline>& all) {
  std::string names;
  for (const Baseline& b : all) names += (names.empty() ? "" : ", ") + b.name;
  return NotFound(fmt::format("no such baseline: '{}'", name))
      .Hint(names.empty() ? "neurolens baseline set NAME RUN... makes one" : "there are: " + names);
}

class BaselineOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "baseline";
    info.summary = "Named lists of runs that gate holds candidates against: set, show, list, rm";
    info.choose_when =
        "Choose it once per branch or release; several runs of the same thing, made like the candidates, let "
        "`gate` tell a change from chance. `tag` names single runs.";
    info.example = "neurolens baseline set main @latest";
    info.writes = true;
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["action", "baselines"], "properties": {
      "action": {"enum": ["set", "show", "list", "rm"]},
      "baselines": {"type": "array", "items": {"type": "object", "required": ["name", "created_at", "note", "runs"],
        "properties": {"name": {"type": "string"}, "created_at": {"type": "string"}, "note": {"type": ["string", "null"]},
          "runs": {"type": "array"}}}}}})");
    Json run = CatalogRunSchema();
    run["properties"]["short_id"] = {{"type", "string"}};
    run["required"].push_back("short_id");
    info.reply_schema["properties"]["baselines"]["items"]["properties"]["runs"]["items"] = std::move(run);
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("action", action_, "What to do").Positional().Choices({"list", "set", "show", "rm"});
    b.Add("name", name_, "Name of the baseline").Positional();
    b.Add("runs", runs_, "Runs it is made of, or profiles to import; they replace what it had")
        .Positional()
        .Run();
    b.Add("note", note_, "Words to keep with it");
    b.Add("add", add_, "With set: add the runs to those it has");
  }

  Result<Reply> Run(OpContext& context) override {
    NL_TRY(CheckWords());
    Reply reply;
    reply.json = {{"action", action_}, {"baselines", Json::array()}};
    if (action_ == "set") return Set(context, std::move(reply));
    if (action_ == "rm") return Remove(context, std::move(reply));
    Result<std::unique_ptr<Store>> store = OpenStore(context, Store::Mode::kReadOnly);
    // No store yet is an empty list, not a mistake.
    if (action_ == "list" && !store.ok() && store.error().code == ErrorCode::kNotFound) return reply;
    if (!store.ok()) return std::move(store).error();
    Catalog& catalog = (*store)->catalog();
    NL_ASSIGN(const std::vector<Baseline> all, catalog.ListBaselines());
    for (const Baseline& baseline : all) {
      if (action_ == "show" && baseline.name != name_) continue;
      NL_ASSIGN(Json json, BaselineJson(catalog, baseline));
      reply.json["baselines"].push_back(std::move(json));
    }
    if (action_ == "show" && reply.json["baselines"].empty()) return NoBaseline(name_, all);
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& list = reply.json["baselines"];
    const std::string action = reply.json["action"];
    if (action == "list") return ListText(list, style);
    const Json& b = list[0];
    const std::string name = PrintableText(b["name"].get<std::string>());
    const size_t runs = b["runs"].size();
    const std::string amount = fmt::format("{} run{}", runs, runs == 1 ? "" : "s");
    if (action == "rm") return fmt::format("removed baseline {}; its {} stay\n", name, amount);
    std::string out = fmt::format("baseline {}: {}, set {}\n", name, amount,
                                  b["created_at"].get<std::string>().substr(0, 16));
    if (!b["note"].is_null()) out += PrintableText(b["note"].get<std::string>()) + "\n";
    return out + RunsText(b["runs"], style);
  }

 private:
  Status CheckWords() const {
    if (action_ == "list") {
      if (name_.empty()) return {};
      return InvalidInput(fmt::format("baseline list takes no '{}'", name_))
          .Hint("did you mean baseline show?");
    }
    if (name_.empty()) return InvalidInput(fmt::format("baseline {} needs a NAME", action_));
    NL_TRY(CheckBaselineName(name_));
    if (action_ == "set" && runs_.empty())
      return InvalidInput("baseline set needs at least one RUN").Hint("neurolens baseline set main @latest");
    if (action_ != "set" && !runs_.empty())
      return InvalidInput(fmt::format("baseline {} takes one name, not '{}'", action_, runs_.front()));
    return {};
  }

  Result<Reply> Set(OpContext& context, Reply reply) {
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
    NL_ASSIGN(Json json, BaselineJson(catalog, baseline));
    reply.json["baselines"].push_back(std::move(json));
    return reply;
  }

  Result<Reply> Remove(OpContext& context, Reply reply) {
    { NL_ASSIGN(auto present, OpenStore(context, Store::Mode::kReadOnly)); }
    NL_ASSIGN(const auto store, OpenStore(context, Store::Mode::kReadWrite));
    Catalog& catalog = store->catalog();
    NL_ASSIGN(const std::optional<Baseline> baseline, catalog.FindBaseline(name_));
    if (!baseline) {
      NL_ASSIGN(const std::vector<Baseline> all, catalog.ListBaselines());
      return NoBaseline(name_, all);
    }
    NL_ASSIGN(Json json, BaselineJson(catalog, *baseline));
    reply.json["baselines"].push_back(std::move(json));
    NL_TRY(catalog.RemoveBaseline(name_));
    return reply;
  }

  static std::string ListText(const Json& list, const TextStyle& style) {
    if (list.empty()) return "no baselines\nneurolens baseline set NAME RUN... makes one\n";
    TextTable table({{"BASELINE", Align::kLeft, true, 12},
                     {"RUNS", Align::kRight, false, 0},
                     {"SET", Align::kLeft, false, 0},
                     {"NOTE", Align::kLeft, true, 10}});
    for (const Json& b : list) {
      std::string set = b["created_at"].get<std::string>().substr(0, 16);
      std::replace(set.begin(), set.end(), 'T', ' ');
      table.AddRow({b["name"], HumanCount(static_cast<int64_t>(b["runs"].size())), set,
                    b["note"].is_null() ? "" : b["note"].get<std::string>()});
    }
    return table.Render(style.width, style.color);
  }

  static std::string RunsText(const Json& runs, const TextStyle& style) {
    if (runs.empty()) return "its runs were deleted\n";
    TextTable table({{"RUN", Align::kLeft, false, 0},
                     {"MODEL", Align::kLeft, true, 10},
                     {"DEVICE", Align::kLeft, true, 8},
                     {"WALL", Align::kRight, false, 0},
                     {"CREATED", Align::kLeft, false, 0}});
    for (const Json& run : runs) {
      std::string model = run["model"];
      if (model.empty()) model = run["source_name"];
      table.AddRow({run["short_id"], std::move(model), run["device"],
                    HumanDurationNs(run["wall_ns"].get<int64_t>()),
                    ShortTime(run["created_at_ns"].get<int64_t>())});
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
