// SPDX-License-Identifier: Apache-2.0
// `neurolens rules`: which rules there are, what one of them says, whether a file is good.

#include <filesystem>

#include <fmt/format.h>

#include "analyze/features/features.h"
#include "analyze/rules/rule.h"
#include "base/terminal.h"
#include "ops/op.h"
#include "ops/open_store.h"
#include "report/text_table.h"

namespace nl::ops::rules {

namespace {

Json RuleJson(const Rule& rule) {
  Json out;
  out["id"] = rule.id;
  out["title"] = rule.title;
  out["scope"] = RuleScopeName(rule.scope);
  out["severity"] = RuleSeverityName(rule.severity);
  out["where"] = rule.where.text();
  out["message"] = rule.message.text();
  out["suggest"] = Json::array();
  for (const Suggestion& s : rule.suggest)
    out["suggest"].push_back({{"when", s.when ? Json(s.when->text()) : Json()}, {"text", s.text.text()}});
  out["refs"] = rule.refs;
  out["impact"] = rule.impact ? Json(rule.impact->text()) : Json();
  out["confidence"] = rule.confidence.text();
  out["needs"] = rule.needs;
  out["covered_by"] = rule.covered_by;
  out["params"] = Json::object();
  for (const auto& [name, value] : rule.params) out["params"][name] = value;
  out["enabled"] = rule.enabled;
  out["source"] = rule.source;
  return out;
}

class RulesOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "rules";
    info.summary =
        "The rules behind `findings`: list them, explain one, check a file, list the names they may use";
    info.choose_when =
        "Choose it to see or change what `findings` looks for. docs/rules.md tells the format.";
    info.example = "neurolens rules explain sync_in_loop";
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["action"],
      "properties": {"action": {"enum": ["list", "check", "explain", "names"]},
        "rules": {"type": "array", "items": {"type": "object", "required": ["id", "scope", "severity", "where", "suggest", "needs", "params"]}},
        "file": {"type": ["string", "null"]}, "rules_files": {"type": "array", "items": {"type": "string"}},
        "names": {"type": "array", "items": {"type": "object", "required": ["name", "unit", "doc"]}}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("action", action_, "What to do").Positional().Choices({"list", "check", "explain", "names"});
    b.Add("subject", subject_, "File to check, or id of the rule to explain").Positional();
    b.Add("rules", files_, "YAML file with rules to add or override").Path().LocalOnly();
  }

  Result<Reply> Run(OpContext&) override {
    Reply reply;
    reply.json["action"] = action_;
    if (action_ == "names") {
      reply.json["names"] = Json::array();
      for (const FeatureInfo& f : FeatureNames())
        reply.json["names"].push_back({{"name", f.name}, {"unit", f.unit}, {"doc", f.doc}});
      return reply;
    }
    if ((action_ == "check" || action_ == "explain") && subject_.empty()) {
      return InvalidInput(action_ == "check" ? "rules check needs a FILE" : "rules explain needs a rule's ID")
          .Hint("neurolens rules list names every rule");
    }
    if (action_ == "list" && !subject_.empty())
      return InvalidInput(fmt::format("rules list takes no '{}'", subject_))
          .Hint("did you mean rules explain?");
    std::error_code ignored;
    const std::string project = FindProjectRules(std::filesystem::current_path(ignored).string());
    std::vector<std::string> files = files_;
    if (!project.empty() && action_ != "check") files.insert(files.begin(), project);
    if (action_ == "check") files.push_back(subject_);
    NL_ASSIGN(const RuleSet set, RuleSet::Load(files));
    reply.json["rules_files"] = files;
    reply.json["rules"] = Json::array();
    if (action_ == "explain") {
      const Rule* rule = set.Find(subject_);
      if (rule == nullptr)
        return NotFound(fmt::format("no rule '{}'", subject_)).Hint("neurolens rules list names every rule");
      reply.json["rules"].push_back(RuleJson(*rule));
      return reply;
    }
    for (const Rule& rule : set.rules()) {
      const bool of_file = rule.source.rfind(subject_ + ":", 0) == 0;
      if (action_ == "list" || of_file) reply.json["rules"].push_back(RuleJson(rule));
    }
    if (action_ == "check") reply.json["file"] = subject_;
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    if (r["action"] == "explain") return ExplainText(r["rules"][0], style.width);
    if (r["action"] == "names") return NamesText(r["names"], style);
    std::string out;
    if (r["action"] == "check") {
      out = fmt::format("{}: good, {} rule{} added or changed\n", PrintableText(r["file"].get<std::string>()),
                        r["rules"].size(), r["rules"].size() == 1 ? "" : "s");
      if (r["rules"].empty()) return out;
    }
    TextTable table({{"RULE", Align::kLeft, false, 0},
                     {"SCOPE", Align::kLeft, false, 0},
                     {"SEVERITY", Align::kLeft, false, 0},
                     {"TITLE", Align::kLeft, true, 16},
                     {"SOURCE", Align::kLeft, true, 8}});
    for (const Json& rule : r["rules"])
      table.AddRow({rule["id"], rule["scope"], rule["severity"], rule["title"],
                    rule["enabled"].get<bool>() ? rule["source"].get<std::string>() : "off"});
    return out + table.Render(style.width, style.color);
  }

 private:
  static std::string ExplainText(const Json& rule, int width) {
    const auto line = [width](const std::string& text) { return Wrap(PrintableText(text), width, 4) + "\n"; };
    std::string out =
        line(fmt::format("{}: {} ({}, {}; {})", rule["id"].get<std::string>(),
                         rule["title"].get<std::string>(), rule["scope"].get<std::string>(),
                         rule["severity"].get<std::string>(), rule["source"].get<std::string>()));
    out += line("fires when " + rule["where"].get<std::string>());
    std::string params;
    for (const auto& [name, value] : rule["params"].items())
      params += fmt::format("{}{} = {}", params.empty() ? "" : ", ", name, value.get<double>());
    if (!params.empty()) out += line("with " + params);
    if (!rule["impact"].is_null()) out += line("impact in ms: " + rule["impact"].get<std::string>());
    out += line("confidence: " + rule["confidence"].get<std::string>());
    for (const Json& need : rule["needs"]) {
      for (const DataKind& kind : DataKinds()) {
        if (kind.name == need.get<std::string>())
          out += line(fmt::format("needs {}: {}", kind.text, kind.advice));
      }
    }
    for (const Json& other : rule["covered_by"])
      out += line("its cost is left to " + other.get<std::string>() + " where that fires");
    out += line("says: " + rule["message"].get<std::string>());
    for (const Json& s : rule["suggest"]) {
      out += line("  - " + (s["when"].is_null() ? "" : "(when " + s["when"].get<std::string>() + ") ") +
                  s["text"].get<std::string>());
    }
    for (const Json& ref : rule["refs"]) out += line("see " + ref.get<std::string>());
    return out;
  }

  static std::string NamesText(const Json& names, const TextStyle& style) {
    TextTable table({{"NAME", Align::kLeft, false, 0},
                     {"UNIT", Align::kLeft, false, 0},
                     {"MEANING", Align::kLeft, true, 20}});
    for (const Json& n : names) table.AddRow({n["name"], n["unit"], n["doc"]});
    return table.Render(style.width, style.color);
  }

  std::string action_ = "list", subject_;
  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<RulesOp>(); }

}  // namespace nl::ops::rules
