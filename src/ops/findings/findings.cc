// SPDX-License-Identifier: Apache-2.0
// `neurolens findings`: what bounds a run, what is wrong in it, and what to do about it.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "analyze/facts/findings.h"
#include "base/human.h"
#include "base/terminal.h"
#include "ops/open_analysis.h"
#include "ops/open_store.h"

namespace nl::ops::findings {

namespace {

// A paragraph led by `indent` blanks, its further lines by two more.
std::string Para(const std::string& text, int width, int indent) {
  std::string out(static_cast<size_t>(indent), ' ');
  for (const char c : Wrap(PrintableText(text), std::max(20, width - indent), 2)) {
    out += c;
    if (c == '\n') out.append(static_cast<size_t>(indent), ' ');
  }
  return out + "\n";
}

std::string BoundText(const std::string& bound) {
  if (bound == "launch_bound") return "launch-bound: the device waits for the host to launch short kernels";
  if (bound == "cpu_bound") return "CPU-bound: the device waits for the host";
  if (bound == "gpu_bound_compute") return "GPU-bound by compute";
  if (bound == "gpu_bound_memory") return "GPU-bound by memory traffic";
  if (bound == "transfer_bound") return "transfer-bound: copies between host and device take the time";
  if (bound == "sync_bound")
    return "sync-bound: the host blocks on the device, and the device then waits for the host";
  if (bound == "communication_bound") return "communication-bound: collectives take the time";
  if (bound == "balanced") return "balanced: nothing stands out";
  return "not known";
}

std::string ValueText(const Json& e) {
  if (e["value"].is_null()) return "unknown";
  const double value = e["value"];
  const std::string unit = e["unit"].is_null() ? "" : e["unit"].get<std::string>();
  if (unit == "ms") return HumanMs(value);
  if (unit == "us") return HumanMs(value / 1e3);
  if (unit == "ratio") return fmt::format("{:.1f} %", 100 * value);
  if (unit == "bytes") return HumanBytes(static_cast<int64_t>(value));
  if (unit == "count" && value == static_cast<double>(static_cast<int64_t>(value)))
    return HumanCount(static_cast<int64_t>(value));
  return fmt::format("{:.4g}", value);
}

std::string EvidenceText(const Json& evidence) {
  std::string out;
  for (const Json& e : evidence) {
    if (!out.empty()) out += ", ";
    if (!e["table"].is_null()) {
      out += fmt::format("{} {} ({}) {}", e["table"].get<std::string>(), e["row"].get<int64_t>(),
                         e["what"].get<std::string>(), ValueText(e));
    } else {
      out += fmt::format("{} {}", e["what"].get<std::string>(), ValueText(e));
    }
  }
  return out;
}

std::string PlaceText(const Json& f) {
  std::string out;
  for (const char* part : {"stage", "module", "op", "kernel"}) {
    if (f[part].is_null()) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", part, f[part].get<std::string>());
  }
  return out.empty() ? "whole run" : out;
}

class FindingsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "findings";
    info.summary = "What bounds a run, and what to change: ranked findings with evidence and suggestions";
    info.choose_when =
        "Choose it to learn what is wrong and what to do. `summary` tells where the time went, `rules` what "
        "is checked.";
    info.example = "neurolens findings @latest";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["run_id", "diagnosis", "findings", "not_assessed", "findings_total", "rules"],
      "properties": {"run_id": {"type": "string"},
        "diagnosis": {"type": "object", "required": ["class", "confidence", "evidence", "settle", "nearest"],
          "properties": {"class": {"enum": ["cpu_bound", "gpu_bound_compute", "gpu_bound_memory", "launch_bound",
            "transfer_bound", "sync_bound", "communication_bound", "balanced", "unknown"]},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1}, "evidence": {"$ref": "#/definitions/evidence"},
            "settle": {"type": "array", "items": {"type": "string"}}, "nearest": {"type": ["string", "null"]}}},
        "findings": {"type": "array", "items": {"type": "object",
          "required": ["rule", "severity", "score", "confidence", "impact_ms", "stage", "module", "op", "kernel", "message",
            "suggestions", "evidence"],
          "properties": {"rule": {"type": "string"}, "title": {"type": "string"}, "severity": {"enum": ["low", "medium", "high"]},
            "score": {"type": ["number", "null"], "minimum": 0}, "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "impact_ms": {"type": ["number", "null"], "minimum": 0}, "cost_ms": {"type": ["number", "null"], "minimum": 0},
            "counted_in": {"type": "array", "items": {"type": "string"}},
            "stage": {"type": ["string", "null"]}, "module": {"type": ["string", "null"]},
            "op": {"type": ["string", "null"]}, "kernel": {"type": ["string", "null"]},
            "message": {"type": "string"}, "suggestions": {"type": "array", "items": {"type": "string"}},
            "refs": {"type": "array", "items": {"type": "string"}}, "evidence": {"$ref": "#/definitions/evidence"}}}},
        "findings_total": {"type": "integer", "minimum": 0}, "rules": {"type": "integer"},
        "rules_files": {"type": "array", "items": {"type": "string"}},
        "tool_findings": {"type": "array", "description": "what the profiling tool itself suggests; its word, not a rule of ours",
          "items": {"type": "object", "required": ["tool", "rule", "kernel", "executions", "kernel_ms", "speedup_pct", "message"],
            "properties": {"tool": {"type": "string"}, "rule": {"type": "string"}, "kernel": {"type": "string"},
              "executions": {"type": "integer"}, "kernel_ms": {"type": "number"}, "speedup_pct": {"type": ["number", "null"]},
              "scope": {"type": ["string", "null"]}, "estimated_ms": {"type": ["number", "null"]}, "message": {"type": "string"}}}},
        "not_assessed": {"type": "array", "items": {"type": "object", "required": ["rule", "needs"],
          "properties": {"rule": {"type": "string"}, "needs": {"type": "array", "items": {"type": "string"}},
            "advice": {"type": ["string", "null"]}}}}},
      "definitions": {"evidence": {"type": "array", "items": {"type": "object", "required": ["table", "row", "what", "value"],
        "properties": {"table": {"type": ["string", "null"]}, "row": {"type": ["integer", "null"]},
          "what": {"type": "string"}, "value": {"type": ["number", "null"]}, "unit": {"type": ["string", "null"]}}}}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("severity", severity_, "Lowest severity to list").Choices({"low", "medium", "high"});
    params_.BindRules(b);
    b.Add("limit", limit_, "Most findings to list").Range(1, 1000);
  }

  Result<Reply> Run(OpContext& context) override {
    std::error_code ignored;
    const std::string project = FindProjectRules(std::filesystem::current_path(ignored).string());
    if (!project.empty()) params_.rules.insert(params_.rules.begin(), project);
    NL_TRY(RuleSet::Load(params_.rules));  // a bad file is told before the run is loaded
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const FindingsFacts* facts, open.analysis->Need<FindingsFacts>());
    Reply reply;
    reply.json["run_id"] = open.run.run.run_id;
    reply.json["model"] = open.run.run.model;
    reply.json.update(ToJson(*facts, open.analysis->data()));
    Json kept = Json::array();
    const RuleSeverity lowest = ParseRuleSeverity(severity_).value_or(RuleSeverity::kLow);
    int64_t total = 0;
    for (size_t i = 0; i < facts->findings.size(); ++i) {
      if (facts->findings[i].severity < lowest) continue;
      if (++total <= limit_) kept.push_back(std::move(reply.json["findings"][i]));
    }
    reply.json["findings"] = std::move(kept);
    reply.json["findings_total"] = total;
    reply.json["rules_files"] = params_.rules;
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    const int width = style.width;
    std::string out = fmt::format("{}  {}\n", r["run_id"].get<std::string>(), r["model"].get<std::string>());
    out += DiagnosisText(r["diagnosis"], width);
    size_t number = 0;
    for (const Json& f : r["findings"]) out += "\n" + FindingText(f, ++number, width);
    const auto total = r["findings_total"].get<size_t>();
    if (total > number) out += fmt::format("\n{} more: --limit {}\n", total - number, total);
    if (number == 0) out += "\nNo findings.\n";
    if (!r["tool_findings"].empty()) out += "\n" + ToolText(r["tool_findings"], width);
    if (!r["not_assessed"].empty()) out += "\n" + NotAssessedText(r, width);
    return out;
  }

 private:
  static std::string DiagnosisText(const Json& d, int width) {
    const std::string bound = d["class"];
    std::string text = fmt::format("The run is {}", BoundText(bound));
    if (bound == "unknown") {
      text = "What bounds the run is not known";
      if (!d["nearest"].is_null())
        text += fmt::format(" (nearest: {}, confidence {:.2f})", d["nearest"].get<std::string>(),
                            d["confidence"].get<double>());
    } else {
      text += fmt::format(" (confidence {:.2f})", d["confidence"].get<double>());
    }
    if (!d["evidence"].empty()) text += ". Evidence: " + EvidenceText(d["evidence"]);
    std::string out = Para(text + ".", width, 0);
    for (const Json& s : d["settle"]) out += Para("would settle it: " + s.get<std::string>(), width, 2);
    return out;
  }

  static std::string FindingText(const Json& f, size_t number, int width) {
    std::string head = fmt::format("{}. {} [{}, {}]", number, f["title"].get<std::string>(),
                                   f["rule"].get<std::string>(), f["severity"].get<std::string>());
    // A cost that another finding carries is told below, not as "at most 0".
    if (!f["impact_ms"].is_null() && (f["impact_ms"] > 0 || f["counted_in"].empty()))
      head += fmt::format(" at most {}", HumanMs(f["impact_ms"]));
    head += fmt::format(", confidence {:.2f}", f["confidence"].get<double>());
    std::string out = Para(head, width, 0);
    out += Para("where: " + PlaceText(f), width, 3);
    out += Para(f["message"].get<std::string>(), width, 3);
    if (!f["counted_in"].empty()) {
      std::vector<std::string> in;
      for (const Json& rule : f["counted_in"]) in.push_back(rule.get<std::string>());
      out += Para(fmt::format("Its cost is counted in {}.", fmt::join(in, ", ")), width, 3);
    }
    out += Para("evidence: " + EvidenceText(f["evidence"]), width, 3);
    for (const Json& s : f["suggestions"]) out += Para("- " + s.get<std::string>(), width, 3);
    return out;
  }

  // Another program's opinion, marked as such.
  static std::string ToolText(const Json& words, int width) {
    constexpr size_t kShown = 6;
    std::string out = Para(fmt::format("What {} itself suggests (its words and estimates, not checked here):",
                                       words[0]["tool"].get<std::string>()),
                           width, 0);
    for (size_t i = 0; i < std::min(kShown, words.size()); ++i) {
      const Json& w = words[i];
      std::string head =
          fmt::format("- {} [{}]", w["kernel"].get<std::string>(), w["rule"].get<std::string>());
      if (w["executions"] > 1) head += fmt::format(", {} executions", HumanCount(w["executions"]));
      head += fmt::format(", {}", HumanMs(w["kernel_ms"]));
      if (!w["estimated_ms"].is_null())
        head += fmt::format(": it estimates {} less", HumanMs(w["estimated_ms"]));
      else if (!w["speedup_pct"].is_null())
        head += fmt::format(": it estimates up to {:.0f} % less of a part", w["speedup_pct"].get<double>());
      out += Para(head, width, 0) + Para(FirstSentences(w["message"]), width, 3);
    }
    if (words.size() > kShown)
      out += fmt::format("{} more: SELECT * FROM tool_finding\n", words.size() - kShown);
    return out;
  }
  // As much of a long text as a screen can take.
  static std::string FirstSentences(const std::string& text) {
    constexpr size_t kMost = 240;
    if (text.size() <= kMost) return text;
    const size_t stop = text.rfind(". ", kMost);
    return stop == std::string::npos ? text.substr(0, text.rfind(' ', kMost)) + " ..."
                                     : text.substr(0, stop + 1);
  }

  static std::string NotAssessedText(const Json& r, int width) {
    std::vector<std::pair<std::string, int>> reasons;
    for (const Json& n : r["not_assessed"]) {
      std::string reason;
      for (const Json& need : n["needs"]) reason += (reason.empty() ? "" : " and ") + need.get<std::string>();
      const auto same =
          std::find_if(reasons.begin(), reasons.end(), [&](const auto& x) { return x.first == reason; });
      if (same == reasons.end()) {
        reasons.emplace_back(reason, 1);
      } else {
        ++same->second;
      }
    }
    std::string text =
        fmt::format("{} of {} rules not assessed:", r["not_assessed"].size(), r["rules"].get<int64_t>());
    for (const auto& [reason, count] : reasons)
      text += fmt::format("{} {} need{} {}", &reason == &reasons[0].first ? "" : ",", count,
                          count == 1 ? "s" : "", reason);
    return Para(text + ".", width, 0);
  }

  AnalysisParams params_;
  std::string severity_ = "low";
  int64_t limit_ = 15;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<FindingsOp>(); }

}  // namespace nl::ops::findings
