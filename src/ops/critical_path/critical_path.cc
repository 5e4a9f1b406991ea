// SPDX-License-Identifier: Apache-2.0
// `neurolens critical-path`: what the run waited for, and what would change if it were faster.

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "analyze/facts/critical_path.h"
#include "base/human.h"
#include "base/terminal.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::critical_path {

namespace {

// What a class of time is called in a sentence.
std::string Words(const std::string& what) {
  static const std::map<std::string, std::string> kWords = {
      {"host_op", "framework ops on the host"},
      {"python", "Python functions"},
      {"host_range", "host code inside a labelled range"},
      {"api", "API calls"},
      {"launch", "launch calls"},
      {"launch_latency", "launch latency"},
      {"sync_wait", "blocking calls and waits"},
      {"kernel", "kernels"},
      {"copy", "copies and memsets"},
      {"communication", "communication"},
      {"device_gap", "gaps between device work"},
      {"unrecorded", "time with nothing recorded"}};
  const auto it = kWords.find(what);
  return it == kWords.end() ? what : it->second;
}

std::string Percent(const Json& share) {
  return share.is_null() ? "-" : fmt::format("{:.1f} %", 100 * share.get<double>());
}

// "58 % of the wall is framework ops on the host, 21 % kernels, 9 % launch calls."
std::string Verdict(const Json& path) {
  if (path["reason"].is_string()) return "No critical path: " + path["reason"].get<std::string>() + ".";
  std::string out;
  for (size_t i = 0; i < path["shares"].size() && i < 3; ++i) {
    const Json& s = path["shares"][i];
    if (s["share"].is_null() || s["share"].get<double>() < 0.005) break;
    out += fmt::format("{}{:.0f} %{} {}", i == 0 ? "" : ", ", 100 * s["share"].get<double>(),
                       i == 0 ? " of the wall is" : "", Words(s["class"]));
  }
  return out.empty() ? "The run has no length." : out + ".";
}

struct Question {
  std::string selector;
  double factor = 1;
};

// "kernel:NAME=0.5"; names may hold '=' themselves.
Result<Question> ParseQuestion(const std::string& text) {
  const size_t equals = text.rfind('=');
  char* end = nullptr;
  Question out;
  if (equals != std::string::npos) {
    out.selector = text.substr(0, equals);
    out.factor = std::strtod(text.c_str() + equals + 1, &end);
  }
  if (end == nullptr || *end != '\0' || end == text.c_str() + equals + 1) {
    return InvalidInput(fmt::format("--what-if: '{}' is not SELECTOR=FACTOR", text))
        .Hint("for example --what-if 'kernel:gemm*=0.5'");
  }
  return out;
}

class CriticalPathOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "critical-path";
    info.summary =
        "What the run waited for from its first event to its last, and what if something were faster";
    info.choose_when =
        "Choose it to learn whether a kernel, the host or a copy decides the run time before making it "
        "faster. "
        "`kernels` lists kernels whether they matter or not.";
    info.example = "neurolens critical-path @latest --what-if launch=0";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["run_id", "wall_ms", "verdict", "bound_by", "shares", "sums", "contributors", "segments",
          "slack", "what_if"],
      "properties": {"run_id": {"type": "string"}, "wall_ms": {"type": "number"}, "verdict": {"type": "string"},
        "reason": {"type": ["string", "null"]},
        "bound_by": {"type": "array", "items": {"type": "object", "required": ["bound", "ms", "share"]}},
        "shares": {"type": "array", "items": {"type": "object", "required": ["class", "bound", "ms", "share"]}},
        "sums": {"type": "object", "required": ["wall_ns", "path_ns"]},
        "contributors": {"type": "array", "items": {"type": "object", "required": ["class", "name", "ms", "share", "segments"]}},
        "segments": {"type": "array", "items": {"type": "object", "required": ["class", "name", "start_ms", "ms"]}},
        "slack": {"type": "object", "required": ["histogram", "kernels"]},
        "what_if": {"type": "array", "items": {"type": "object",
          "required": ["selector", "factor", "matched", "old_wall_ms", "new_wall_ms", "saved_ms"]}}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("what_if", what_if_,
          "SELECTOR=FACTOR, scale and schedule again: kernel:NAME, op:NAME, copy:KIND, api:NAME, host or "
          "launch; "
          "NAME may hold *");
    b.Add("limit", limit_, "Contributors, segments and kernels to list").Range(1, 100000);
  }

  Result<Reply> Run(OpContext& context) override {
    std::vector<Question> questions;
    for (const std::string& text : what_if_) {
      NL_ASSIGN(Question question, ParseQuestion(text));
      questions.push_back(std::move(question));
    }
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_TRY(NeedTimeline(open));
    NL_ASSIGN(const CriticalPathFacts* facts, open.analysis->Need<CriticalPathFacts>());
    NL_ASSIGN(const TimelineFacts* timeline, open.analysis->Need<TimelineFacts>());
    const RunData& data = open.analysis->data();
    Reply reply;
    reply.json["run_id"] = open.run.run.run_id;
    const Json path = ToJson(*facts, data, static_cast<size_t>(limit_));
    reply.json["verdict"] = Verdict(path);
    reply.json.update(path);
    reply.json["what_if"] = Json::array();
    for (const Question& q : questions) {
      NL_ASSIGN(const WhatIfResult result, WhatIf(*facts, *timeline, data, q.selector, q.factor));
      reply.json["what_if"].push_back(ToJson(result));
    }
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    std::string out =
        Line(r["verdict"].get<std::string>(), style) + fmt::format("wall {}\n", HumanMs(r["wall_ms"]));
    for (const Json& w : r["what_if"]) out += Line(WhatIfText(w), style);
    TextTable shares({{"ON THE PATH", Align::kLeft, true, 12},
                      {"TIME", Align::kRight, false, 0},
                      {"SHARE", Align::kRight, false, 0}});
    for (const Json& s : r["shares"]) {
      if (s["ms"] > 0) shares.AddRow({Words(s["class"]), HumanMs(s["ms"]), Percent(s["share"])});
    }
    out += "\n" + shares.Render(style.width, style.color);
    TextTable names({{"WHAT", Align::kLeft, false, 0},
                     {"NAME", Align::kLeft, true, 12},
                     {"TIME", Align::kRight, false, 0},
                     {"SHARE", Align::kRight, false, 0},
                     {"TIMES", Align::kRight, false, 0}});
    for (const Json& c : r["contributors"]) {
      names.AddRow({c["class"], c["name"].is_null() ? "-" : c["name"].get<std::string>(), HumanMs(c["ms"]),
                    Percent(c["share"]), HumanCount(c["segments"])});
    }
    if (names.rows() > 0) out += "\n" + names.Render(style.width, style.color);
    const size_t total = r["contributors_total"], shown = r["contributors"].size();
    if (total > shown)
      out += fmt::format("{} more; --limit shows them\n", HumanCount(static_cast<int64_t>(total - shown)));
    if (r["inferred_waits"] > 0)
      out += Line(fmt::format("{} waits between streams were inferred: the trace does not record them.",
                              HumanCount(r["inferred_waits"])),
                  style);
    if (r["impossible_edges"] > 0)
      out += Line(fmt::format("{} dependencies were left out: the trace shows the effect before its cause.",
                              HumanCount(r["impossible_edges"])),
                  style);
    return out;
  }

 private:
  static std::string Line(const std::string& text, const TextStyle& style) {
    return Wrap(text, style.width, 2) + "\n";
  }
  static std::string WhatIfText(const Json& w) {
    const std::string what = fmt::format("if {} took {:g} x its time", w["selector"].get<std::string>(),
                                         w["factor"].get<double>());
    if (w["matched"] == 0) return what + ": nothing in this run has that name";
    const double old_ms = w["old_wall_ms"], saved_ms = w["saved_ms"];
    if (saved_ms == 0) return what + ": the run would take as long as it does";
    return fmt::format("{}: at least {} instead of {} ({}{:.1f} %)", what, HumanMs(w["new_wall_ms"]),
                       HumanMs(old_ms), saved_ms > 0 ? "-" : "+",
                       old_ms > 0 ? 100 * std::abs(saved_ms) / old_ms : 0);
  }

  AnalysisParams params_;
  std::vector<std::string> what_if_;
  int64_t limit_ = 15;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<CriticalPathOp>(); }

}  // namespace nl::ops::critical_path
