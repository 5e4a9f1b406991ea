// SPDX-License-Identifier: Apache-2.0
// `neurolens ranks`: who waited for whom in the collectives of a distributed run.

#include <fmt/format.h>

#include "analyze/facts/ranks.h"
#include "base/human.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::ranks {

namespace {

constexpr const char* kSchema = R"({"type": "object",
  "required": ["run_id", "wall_ms", "members_are", "times_of", "not_assessed", "waited_ms", "transfer_ms", "collectives_total",
    "clocks_corrected", "impossible", "members", "groups", "collectives", "unmatched"],
  "properties": {"run_id": {"type": "string"}, "wall_ms": {"type": "number"},
    "members_are": {"enum": ["ranks", "devices"]}, "times_of": {"enum": ["device kernels", "host calls"]},
    "not_assessed": {"type": ["string", "null"]},
    "waited_ms": {"type": "number", "description": "inside collectives until the last member arrived, sum over members"},
    "transfer_ms": {"type": "number", "description": "inside collectives from the last arrival on, sum over members"},
    "collectives_total": {"type": "integer"},
    "clocks_corrected": {"type": "boolean", "description": "some arrivals here are corrected; rows of the run never are"},
    "impossible": {"type": "integer", "description": "collectives a member left before the last arrived"},
    "members": {"type": "array", "items": {"type": "object", "required": ["rank", "device", "file", "collectives", "waited_ms", "transfer_ms",
      "late_ms", "mean_late_ms", "last", "held_up_ms", "clock_offset_ms", "clock_offset_low_ms", "clock_offset_high_ms", "clock_bound_ms",
      "clock_consistent", "clock_applied", "arrival_uncertainty_ms"]}},
    "groups": {"type": "array", "items": {"type": "object", "required": ["group", "description", "ranks", "size", "matched_by", "collectives",
      "incomplete", "skew_ms", "skew_p50_ms", "skew_p95_ms", "max_skew_ms", "transfer_ms", "transfer_p50_ms", "most_often_last", "last_count"]}},
    "collectives": {"type": "array", "items": {"type": "object", "required": ["group", "sequence", "name", "start_ms", "skew_ms", "transfer_ms",
      "first", "last", "everyone_waits", "arrivals"]}},
    "unmatched": {"type": "array", "items": {"type": "object", "required": ["why", "count"]}}}})";

std::string TextOr(const Json& value, const char* otherwise) {
  return value.is_string() ? value.get<std::string>() : otherwise;
}

std::string Signed(double ms) { return (ms < 0 ? "-" : "+") + HumanMs(ms < 0 ? -ms : ms); }

class RanksOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "ranks";
    info.summary = "Who waited for whom: arrival skew and transfer of every collective, per rank and group";
    info.choose_when =
        "Choose it for a distributed run (a folder of ranks) with communication; `overlap` tells what ran "
        "beside it.";
    info.example = "neurolens ranks @latest --limit 5";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(kSchema);
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("limit", limit_, "Collectives to list, largest skew first; 0: all").Range(0, 1e9);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const RanksFacts* facts, open.analysis->Need<RanksFacts>());
    const auto& timeline = open.analysis->facts().Get<TimelineFacts>();
    Reply reply;
    reply.json = ToJson(*facts, timeline, open.analysis->data(), static_cast<size_t>(limit_));
    reply.json["run_id"] = open.run.run.run_id;
    reply.json["wall_ms"] = static_cast<double>(timeline.wall_ns()) / 1e6;
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    if (r["collectives"].empty() && r["not_assessed"].is_string())
      return "not assessed: " + r["not_assessed"].get<std::string>() + "\n" + Unmatched(r);
    return Verdict(r) + "\n" + Members(r, style) + "\n" + Clocks(r, style) + "\n" + Groups(r, style) + "\n" +
           Collectives(r, style) + Unmatched(r);
  }

 private:
  static const char* Word(const Json& r) { return r["members_are"] == "ranks" ? "rank" : "device"; }
  static std::string Name(const Json& m) { return DumpJson(m["rank"].is_null() ? m["device"] : m["rank"]); }

  static std::string Verdict(const Json& r) {
    const double waited = r["waited_ms"], transfer = r["transfer_ms"];
    const Json* worst = nullptr;
    for (const Json& m : r["members"]) {
      if (worst == nullptr || m["held_up_ms"].get<double>() > (*worst)["held_up_ms"].get<double>())
        worst = &m;
    }
    std::string out = fmt::format("{} collectives of {} {}s\n", HumanCount(r["collectives_total"]),
                                  r["members"].size(), Word(r));
    out += fmt::format("  {} waiting for the last to arrive, {} of the time in them\n", HumanMs(waited),
                       HumanPercent(waited, waited + transfer));
    out += fmt::format("  {} moving data\n", HumanMs(transfer));
    if (worst != nullptr && (*worst)["held_up_ms"].get<double>() > 0) {
      out += fmt::format("  {} {} came last {} times and held the others up by {}\n", Word(r), Name(*worst),
                         HumanCount((*worst)["last"]), HumanMs((*worst)["held_up_ms"]));
    }
    if (r["times_of"] == "host calls")
      out += "times are those of host calls: no device work tells of the collectives\n";
    if (r["impossible"] > 0) {
      out += fmt::format("{} collectives: a member leaves before the last arrives, clocks disagree\n",
                         HumanCount(r["impossible"]));
    }
    return out;
  }

  static std::string Members(const Json& r, const TextStyle& style) {
    TextTable table({{r["members_are"] == "ranks" ? "RANK" : "DEVICE", Align::kRight, false, 0},
                     {"COLLECTIVES", Align::kRight, false, 0},
                     {"WAITED", Align::kRight, false, 0},
                     {"MOVING", Align::kRight, false, 0},
                     {"LATE BY (MEAN)", Align::kRight, false, 0},
                     {"LAST", Align::kRight, false, 0},
                     {"HELD UP", Align::kRight, false, 0}});
    for (const Json& m : r["members"]) {
      table.AddRow({Name(m), HumanCount(m["collectives"]), HumanMs(m["waited_ms"]), HumanMs(m["transfer_ms"]),
                    m["mean_late_ms"].is_null() ? "-" : HumanMs(m["mean_late_ms"]), HumanCount(m["last"]),
                    HumanMs(m["held_up_ms"])});
    }
    return table.Render(style.width, style.color);
  }

  static std::string Clocks(const Json& r, const TextStyle& style) {
    if (r["members_are"] != "ranks") return "clocks: one, as the devices are of one recording\n";
    TextTable table({{"RANK", Align::kRight, false, 0},
                     {"CLOCK OFFSET", Align::kRight, false, 0},
                     {"AT LEAST", Align::kRight, false, 0},
                     {"AT MOST", Align::kRight, false, 0},
                     {"CORRECTED", Align::kLeft, false, 0}});
    bool drift = false;
    for (const Json& m : r["members"]) {
      if (&m == &r["members"].front()) continue;
      const bool known = !m["clock_offset_ms"].is_null();
      drift |= !m["clock_consistent"].get<bool>();
      table.AddRow({Name(m), known ? Signed(m["clock_offset_ms"]) : "not known",
                    known ? Signed(m["clock_offset_low_ms"]) : "",
                    known ? Signed(m["clock_offset_high_ms"]) : "",
                    m["clock_applied"].get<bool>() ? "yes" : "no"});
    }
    std::string out =
        fmt::format("clocks against rank {}, from the ends of collectives:\n", Name(r["members"].front()));
    out += r["clocks_corrected"].get<bool>()
               ? "arrivals here are corrected where equal clocks are impossible;\n"
                 "times stored in the run are not\n"
               : "nothing is corrected, as equal clocks are possible\n";
    if (drift) {
      out +=
          "no single offset fits every collective: the clocks drift,\n"
          "or calls were matched wrongly\n";
    }
    return out + table.Render(style.width, style.color);
  }

  static std::string Groups(const Json& r, const TextStyle& style) {
    TextTable table({{"GROUP", Align::kLeft, true, 8},
                     {"CALLS", Align::kRight, false, 0},
                     {"MATCHED BY", Align::kLeft, false, 0},
                     {"SKEW", Align::kRight, false, 0},
                     {"P50", Align::kRight, false, 0},
                     {"P95", Align::kRight, false, 0},
                     {"TRANSFER", Align::kRight, false, 0},
                     {"LAST", Align::kRight, false, 0}});
    int64_t incomplete = 0;
    for (const Json& g : r["groups"]) {
      std::string name = TextOr(g["group"], "not told");
      if (g["description"].is_string()) name += " " + g["description"].get<std::string>();
      incomplete += g["incomplete"].get<int64_t>();
      table.AddRow({name, HumanCount(g["collectives"]), g["matched_by"], HumanMs(g["skew_ms"]),
                    HumanMs(g["skew_p50_ms"]), HumanMs(g["skew_p95_ms"]), HumanMs(g["transfer_ms"]),
                    g["most_often_last"].is_null() ? "-" : DumpJson(g["most_often_last"])});
    }
    std::string out = table.Render(style.width, style.color);
    if (incomplete > 0) {
      out += fmt::format("{} collectives lack members of their group: files of ranks are missing\n",
                         HumanCount(incomplete));
    }
    return out;
  }

  static std::string Collectives(const Json& r, const TextStyle& style) {
    TextTable table({{"LARGEST SKEW", Align::kLeft, true, 12},
                     {"SEQ", Align::kRight, false, 0},
                     {"AT", Align::kRight, false, 0},
                     {"SKEW", Align::kRight, false, 0},
                     {"TRANSFER", Align::kRight, false, 0},
                     {"FIRST", Align::kRight, false, 0},
                     {"LAST", Align::kRight, false, 0}});
    for (const Json& c : r["collectives"]) {
      table.AddRow({TextOr(c["name"], "(unnamed)"), DumpJson(c["sequence"]), HumanMs(c["start_ms"]),
                    HumanMs(c["skew_ms"]), HumanMs(c["transfer_ms"]), DumpJson(c["first"]),
                    DumpJson(c["last"])});
    }
    return table.Render(style.width, style.color);
  }

  static std::string Unmatched(const Json& r) {
    std::string out;
    for (const Json& u : r["unmatched"])
      out += fmt::format("not matched: {} {}\n", HumanCount(u["count"]), u["why"].get<std::string>());
    return out;
  }

  AnalysisParams params_;
  int64_t limit_ = 10;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<RanksOp>(); }

}  // namespace nl::ops::ranks
