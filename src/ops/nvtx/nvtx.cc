// SPDX-License-Identifier: Apache-2.0
// `neurolens nvtx check`: do the labels of a run follow the taxonomy?

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/human.h"
#include "model/labels/nvtx_label.h"
#include "ops/open_snapshot.h"
#include "report/text_table.h"

namespace nl::ops::nvtx {

namespace {

Json LabelJson(const std::string& label, int64_t count) {
  const auto llm = ParseLlmLabel(label);
  const bool framework = IsFrameworkLabel(label);
  Json out{{"label", label}, {"count", count}};
  out["standard_form"] = llm ? label : StandardLabel(label);
  out["is_standard"] = IsStandardLabel(label);
  out["by_framework"] = framework;
  out["llm_stage"] = llm ? Json(LlmStageName(llm->stage)) : Json();
  out["llm_sub_stage"] = llm && !llm->sub.empty() ? Json(llm->sub) : Json();
  return out;
}

class NvtxOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "nvtx";
    info.summary =
        "Check a run's labels: standard form of each, LLM stages, exit status 1 when one is not standard";
    info.choose_when =
        "Choose it to see whether `stages` will find what you labelled, and how to spell what it will not.";
    info.example = "neurolens nvtx check @latest";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["run_id", "standard", "labels_total", "not_standard", "labels"],
      "properties": {"run_id": {"type": "string"}, "standard": {"type": "boolean"}, "labels_total": {"type": "integer"},
        "not_standard": {"type": "integer"},
        "labels": {"type": "array", "items": {"type": "object",
          "required": ["label", "count", "standard_form", "is_standard", "by_framework", "llm_stage", "llm_sub_stage"],
          "properties": {"label": {"type": "string"}, "count": {"type": "integer"}, "standard_form": {"type": "string"},
            "is_standard": {"type": "boolean"}, "by_framework": {"type": "boolean"},
            "llm_stage": {"type": ["string", "null"]}, "llm_sub_stage": {"type": ["string", "null"]}}}}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("what", what_, "check: compare the labels with the taxonomy").Positional().Choices({"check"});
    b.Add("run", run_, "Run to look at").Positional().Run();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenRun run, OpenSnapshot(context, run_));
    RangeColumns range;
    NL_TRY(run.snapshot->Load(range, {"name", "category", "kind"}));
    const StringPool& strings = run.snapshot->strings();
    std::unordered_map<uint32_t, int64_t> counts;
    for (size_t i = 0; i < range.name.size(); ++i) {
      if (IsLabelCategory(strings.Text(range.category[i])) && strings.Text(range.kind[i]) != "instant")
        ++counts[static_cast<uint32_t>(range.name[i])];
    }
    std::vector<std::pair<std::string, int64_t>> labels;
    for (const auto& [name, count] : counts)
      labels.emplace_back(strings.Text(static_cast<StringId>(name)), count);
    std::sort(labels.begin(), labels.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    Reply reply;
    Json list = Json::array();
    int64_t wrong = 0;
    for (const auto& [label, count] : labels) {
      list.push_back(LabelJson(label, count));
      if (!list.back()["is_standard"] && !list.back()["by_framework"]) ++wrong;
    }
    reply.json = {{"run_id", run.run.run_id}, {"standard", wrong == 0}, {"labels_total", labels.size()}};
    reply.json["not_standard"] = wrong;
    reply.json["labels"] = std::move(list);
    reply.answer_is_no = wrong > 0;
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    const int64_t total = r["labels_total"], wrong = r["not_standard"];
    if (total == 0) return "This run has no labels (NVTX ranges, user annotations).\n";
    std::string out = wrong == 0 ? fmt::format("Every label is standard ({}).\n\n", HumanCount(total))
                                 : fmt::format("{} of {} labels {} not standard.\n\n", HumanCount(wrong),
                                               HumanCount(total), wrong == 1 ? "is" : "are");
    TextTable table({{"LABEL", Align::kLeft, true, 16},
                     {"COUNT", Align::kRight, false, 0},
                     {"OK", Align::kLeft, false, 0},
                     {"STANDARD FORM", Align::kLeft, true, 16}});
    for (const Json& l : r["labels"]) {
      const bool ok = l["is_standard"], framework = l["by_framework"];
      table.AddRow({l["label"], HumanCount(l["count"]),
                    ok          ? "yes"
                    : framework ? "framework"
                                : "no",
                    !l["llm_stage"].is_null() ? "LLM stage " + l["llm_stage"].get<std::string>()
                    : framework && !ok        ? "-"
                                              : l["standard_form"].get<std::string>()});
    }
    return out + table.Render(style.width, style.color);
  }

 private:
  std::string what_ = "check", run_ = "@latest";
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<NvtxOp>(); }

}  // namespace nl::ops::nvtx
