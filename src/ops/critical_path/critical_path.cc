// SPDX-License-Identifier: Apache-2.0
// `neurolens critical-path`: what the run waited for, and what would change if something were faster.

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "ops/critical_path/reply.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::critical_path {

namespace {

// What a class of time is called in a sentence.
std::string_view Words(PathClass what) {
  switch (what) {
    case PathClass::kHostOp: return "framework operators on the host";
    case PathClass::kPython: return "Python functions";
    case PathClass::kHostRange: return "host code inside a labelled range";
    case PathClass::kApi: return "API calls";
    case PathClass::kLaunch: return "launch calls";
    case PathClass::kLaunchLatency: return "launch latency";
    case PathClass::kSyncWait: return "blocking calls and waits";
    case PathClass::kKernel: return "kernels";
    case PathClass::kCopy: return "copies and memsets";
    case PathClass::kCommunication: return "communication";
    case PathClass::kDeviceGap: return "gaps between device work";
    case PathClass::kUnrecorded: break;
  }
  return "time with nothing recorded";
}

std::string Percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

// "58 % of the wall time is framework operators on the host, 21 % kernels, 9 % launch calls."
std::string Verdict(const CriticalPathSection& path) {
  if (path.reason) return fmt::format("No critical path: {}.", *path.reason);
  std::string out;
  for (size_t i = 0; i < path.shares.size() && i < 3; ++i) {
    const PathClassShare& s = path.shares[i];
    if (s.share.value_or(0) < 0.005) break;
    out += fmt::format("{}{:.0f} %{} {}", i == 0 ? "" : ", ", 100 * *s.share,
                       i == 0 ? " of the wall time is" : "", Words(s.what));
  }
  return out.empty() ? "The run has no duration." : out + ".";
}

WhatIfAnswer AnswerOf(const WhatIfResult& r) {
  return {r.selector,
          r.factor,
          r.matched,
          Ms(r.matched_ns),
          Ms(r.old_wall_ns),
          Ms(r.new_wall_ns),
          Ms(r.old_wall_ns - r.new_wall_ns)};
}

struct Question {
  std::string selector;
  double factor = 1;
};

// "kernel:NAME=0.5"; a name may contain '='.
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
        "What the run waited for from its first event to its last, and what would change if something were "
        "faster";
    info.choose_when =
        "Choose it before optimizing, to learn whether a kernel, the host or a copy determines the run time. "
        "`kernels` lists kernels whether or not they are on the path.";
    info.example = "neurolens critical-path @latest --what-if launch=0";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<CriticalPathReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    params_.BindPhase(b);
    b.Add(
        "what_if", what_if_,
        "SELECTOR=FACTOR: multiply durations by FACTOR and schedule again. Selectors: kernel:NAME, op:NAME, "
        "copy:KIND, api:NAME, host, launch; NAME may contain *");
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
    CriticalPathReply reply;
    static_cast<CriticalPathSection&>(reply) = SectionOf(*facts, data, static_cast<size_t>(limit_));
    reply.run_id = open.run.run.run_id;
    reply.phase = open.phase;
    reply.verdict = Verdict(reply);
    for (const Question& q : questions) {
      NL_ASSIGN(const WhatIfResult result, WhatIf(*facts, *timeline, data, q.selector, q.factor));
      reply.what_if.push_back(AnswerOf(result));
    }
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<CriticalPathReply>();
    std::string out =
        PhaseLine(r.phase) + Line(r.verdict, style) + fmt::format("wall time {}\n", HumanMs(r.wall_ms));
    for (const WhatIfAnswer& w : r.what_if) out += Line(WhatIfText(w), style);
    out += "\n" + SharesText(r, style) + ContributorsText(r, style);
    if (r.inferred_waits > 0) {
      out +=
          Line(fmt::format("{} waits between streams were inferred, because the trace does not record them.",
                           HumanCount(r.inferred_waits)),
               style);
    }
    if (r.impossible_edges > 0) {
      out += Line(
          fmt::format("{} dependencies were ignored, because the effect precedes its cause in the trace.",
                      HumanCount(r.impossible_edges)),
          style);
    }
    return out;
  }

 private:
  static std::string Line(const std::string& text, const TextStyle& style) {
    return Wrap(text, style.width, 2) + "\n";
  }

  static std::string SharesText(const CriticalPathReply& r, const TextStyle& style) {
    TextTable table({{"ON THE PATH", Align::kLeft, true, 12},
                     {"TIME", Align::kRight, false, 0},
                     {"SHARE", Align::kRight, false, 0}});
    for (const PathClassShare& s : r.shares) {
      if (s.ms > 0) table.AddRow({std::string(Words(s.what)), HumanMs(s.ms), Percent(s.share)});
    }
    return table.Render(style.width, style.color);
  }

  static std::string ContributorsText(const CriticalPathReply& r, const TextStyle& style) {
    TextTable table({{"CLASS", Align::kLeft, false, 0},
                     {"NAME", Align::kLeft, true, 12},
                     {"TIME", Align::kRight, false, 0},
                     {"SHARE", Align::kRight, false, 0},
                     {"SEGMENTS", Align::kRight, false, 0}});
    for (const PathContributor& c : r.contributors) {
      table.AddRow({std::string(PathClassName(c.what)), c.name.value_or("-"), HumanMs(c.ms), Percent(c.share),
                    HumanCount(c.segments)});
    }
    if (table.rows() == 0) return "";
    std::string out = "\n" + table.Render(style.width, style.color);
    const int64_t more = r.contributors_total - static_cast<int64_t>(r.contributors.size());
    if (more > 0)
      out += fmt::format("{} more; use --limit {} to list all\n", HumanCount(more), r.contributors_total);
    return out;
  }

  static std::string WhatIfText(const WhatIfAnswer& w) {
    const std::string what = fmt::format("if {} took {:g} x its time", w.selector, w.factor);
    if (w.matched == 0) return what + ": nothing in this run matches";
    if (w.saved_ms == 0) return what + ": no change, the run takes as long as before";
    return fmt::format("{}: at least {} instead of {} ({}{:.1f} %)", what, HumanMs(w.new_wall_ms),
                       HumanMs(w.old_wall_ms), w.saved_ms > 0 ? "-" : "+",
                       w.old_wall_ms > 0 ? 100 * std::abs(w.saved_ms) / w.old_wall_ms : 0);
  }

  AnalysisParams params_;
  std::vector<std::string> what_if_;
  int64_t limit_ = 15;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<CriticalPathOp>(); }

}  // namespace nl::ops::critical_path
