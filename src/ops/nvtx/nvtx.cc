// SPDX-License-Identifier: Apache-2.0
// `neurolens nvtx check`: whether the labels of a run follow the taxonomy.

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "model/labels/nvtx_label.h"
#include "ops/nvtx/reply.h"
#include "ops/open_snapshot.h"
#include "report/text_table.h"

namespace nl::ops::nvtx {

namespace {

NvtxLabel LabelOf(std::string label, int64_t count) {
  NvtxLabel out;
  const auto llm = ParseLlmLabel(label);
  out.count = count;
  out.standard_form = llm ? label : StandardLabel(label);
  out.is_standard = IsStandardLabel(label);
  out.by_framework = IsFrameworkLabel(label);
  if (llm) {
    out.llm_stage = LlmStageName(llm->stage);
    out.llm_sub_stage = KnownText(llm->sub);
  }
  out.label = std::move(label);
  return out;
}

// How often each label occurs, most frequent first.
std::vector<NvtxLabel> CountLabels(const RangeColumns& range, const StringPool& strings) {
  std::unordered_map<uint32_t, int64_t> counts;
  for (size_t i = 0; i < range.name.size(); ++i) {
    if (IsLabelCategory(strings.Text(range.category[i])) && strings.Text(range.kind[i]) != "instant")
      ++counts[static_cast<uint32_t>(range.name[i])];
  }
  std::vector<NvtxLabel> out;
  for (const auto& [name, count] : counts)
    out.push_back(LabelOf(std::string(strings.Text(static_cast<StringId>(name))), count));
  std::sort(out.begin(), out.end(), [](const NvtxLabel& a, const NvtxLabel& b) {
    return a.count != b.count ? a.count > b.count : a.label < b.label;
  });
  return out;
}

class NvtxOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "nvtx";
    info.summary =
        "Check the labels of a run against the taxonomy: standard form and LLM stage of each; exit status 1 "
        "if "
        "any is not standard";
    info.choose_when =
        "Choose it to see whether `stages` will find your labels, and how to spell those it will not find.";
    info.example = "neurolens nvtx check @latest";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<NvtxReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("what", what_, "check compares the labels with the taxonomy").Positional().Choices({"check"});
    b.Add("run", run_, "Run to look at").Positional().Run();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenRun run, OpenSnapshot(context, run_));
    RangeColumns range;
    NL_TRY(run.snapshot->Load(range, {"name", "category", "kind"}));
    NvtxReply out;
    out.run_id = run.run.run_id;
    out.labels = CountLabels(range, run.snapshot->strings());
    out.labels_total = static_cast<int64_t>(out.labels.size());
    out.not_standard = std::count_if(out.labels.begin(), out.labels.end(),
                                     [](const NvtxLabel& l) { return !l.is_standard && !l.by_framework; });
    out.standard = out.not_standard == 0;
    Reply reply = Reply::Of(out);
    reply.answer_is_no = !out.standard;
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<NvtxReply>();
    if (r.labels_total == 0) return "This run has no labels (NVTX ranges, user annotations).\n";
    std::string out = r.standard ? fmt::format("All {} labels are standard.\n\n", HumanCount(r.labels_total))
                                 : fmt::format("{} of {} not standard.\n\n", HumanCount(r.not_standard),
                                               Counted(r.labels_total, "label"));
    TextTable table({{"LABEL", Align::kLeft, true, 16},
                     {"COUNT", Align::kRight, false, 0},
                     {"STANDARD", Align::kLeft, false, 0},
                     {"STANDARD FORM", Align::kLeft, true, 16}});
    for (const NvtxLabel& l : r.labels) {
      const bool framework = l.by_framework && !l.is_standard;
      table.AddRow({l.label, HumanCount(l.count),
                    l.is_standard ? "yes"
                    : framework   ? "framework"
                                  : "no",
                    l.llm_stage ? "LLM stage " + *l.llm_stage
                    : framework ? "-"
                                : l.standard_form});
    }
    return out + table.Render(style.width, style.color);
  }

 private:
  std::string what_ = "check", run_ = "@latest";
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<NvtxOp>(); }

}  // namespace nl::ops::nvtx
