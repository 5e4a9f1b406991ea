// SPDX-License-Identifier: Apache-2.0
// `neurolens summary`: where the time of one run went, on one screen.

#include <algorithm>

#include <fmt/format.h>

#include "analyze/accounting.h"
#include "analyze/facts/idle.h"
#include "analyze/facts/stages.h"
#include "base/human.h"
#include "base/record_json.h"
#include "base/units.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::summary {

namespace {

Json DeviceJson(const DeviceTime& d, const std::string& name) {
  Json out{{"index", IsNull(d.device) ? Json() : Json(d.device)},
           {"rank", IsNull(d.rank) ? Json() : Json(d.rank)},
           {"name", name.empty() ? Json() : Json(name)}};
  out["busy_ms"] = Ms(d.busy_ns);
  out["idle_ms"] = Ms(d.idle_ns());
  out["paused_ms"] = Ms(d.paused_ns);
  out["compute_ms"] = Ms(d.compute_ns);
  out["communication_ms"] = Ms(d.communication_ns);
  out["memory_ms"] = Ms(d.memory_ns);
  out["overlap_ms"] = Ms(d.overlap_ns);
  out["utilization"] = d.Utilization() ? Json(*d.Utilization()) : Json();
  out["events"] = d.events;
  return out;
}

Result<Json> CountersJson(Snapshot& snapshot) {
  ImportLogColumns log;
  NL_TRY(snapshot.Load(log, {"reason", "severity", "count", "advice"}));
  Json reasons = Json::array();
  int64_t lost = 0;
  for (size_t i = 0; i < log.reason.size(); ++i) {
    const std::string reason(snapshot.strings().Text(log.reason[i]));
    const std::string severity(snapshot.strings().Text(log.severity[i]));
    if (severity == "data_loss") lost += log.count[i];
    const auto same =
        std::find_if(reasons.begin(), reasons.end(), [&](const Json& r) { return r["name"] == reason; });
    if (same != reasons.end()) {
      (*same)["count"] = (*same)["count"].get<int64_t>() + log.count[i];
    } else {
      reasons.push_back({{"name", reason},
                         {"severity", severity},
                         {"count", log.count[i]},
                         {"advice", snapshot.strings().Text(log.advice[i])}});
    }
  }
  return Json{{"lost", lost}, {"reasons", reasons}};
}

// A summary answers at once; explaining millions of events takes a second that `idle` and `stages` may take.
constexpr int64_t kMaxExplainedEvents = 500'000;

constexpr char kNoTimeline[] = "how long kernels took is known, not when: there is no timeline";

// Why the devices were idle and the stages, where that costs no wait; else null with the reason.
Status Explain(const OpContext& context, const CatalogRun& run, Json& out) {
  out["idle"] = out["stages"] = out["explained_reason"] = Json();
  if (run.event_count > kMaxExplainedEvents) {
    out["explained_reason"] =
        fmt::format("over {} events: ask `neurolens idle` and `neurolens stages`", kMaxExplainedEvents);
    return {};
  }
  AnalysisParams params;
  params.run = run.run_id;
  NL_ASSIGN(const OpenAnalysis open, Analyze(context, params));
  if (open.analysis->data().OrderOnly()) {
    out["explained_reason"] = kNoTimeline;
    for (Json& device : out["devices"])
      device["idle_ms"] = device["utilization"] = device["overlap_ms"] = Json();
    return {};
  }
  NL_ASSIGN(const IdleFacts* idle, open.analysis->Need<IdleFacts>());
  Json idle_json =
      ToDocument(SectionOf(*idle, open.analysis->facts().Get<TimelineFacts>(), open.analysis->data()));
  Json& causes = idle_json["causes"];
  if (causes.size() > 10) causes.erase(causes.begin() + 10, causes.end());
  idle_json.erase("largest");
  out["idle"] = std::move(idle_json);
  NL_ASSIGN(const StagesFacts* stages, open.analysis->Need<StagesFacts>());
  out["stages"] = ToDocument(SectionOf(*stages))["stages"];
  return {};
}

class SummaryOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "summary";
    info.summary =
        "Where the time of a run went: wall, device busy and idle, top operators and kernels, copies";
    info.choose_when =
        "Choose it first. `operators` and `kernels` give the full lists, `query` anything else.";
    info.example = "neurolens summary @latest";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["run_id", "wall_ms", "devices", "operators", "kernels", "copies", "counters"],
      "properties": {"run_id": {"type": "string"}, "wall_ms": {"type": "number"}, "device_ms": {"type": "number"},
        "devices": {"type": "array", "items": {"type": "object", "required": ["index", "busy_ms", "idle_ms", "utilization"]}},
        "operators": {"type": "array"}, "kernels": {"type": "array"},
        "copies": {"type": "array", "items": {"type": "object", "required": ["kind", "calls", "total_ms", "bytes"]}},
        "idle": {"type": ["object", "null"], "required": ["host_ms", "launch_ms", "sync_ms", "other_ms", "causes"]},
        "stages": {"type": ["array", "null"]}, "cpu_samples": {"type": "integer"}, "explained_reason": {"type": ["string", "null"], "description": "why idle and stages are null"},
        "counters": {"type": "object", "required": ["lost", "reasons"]}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("run", run_, "Run to look at").Positional().Run();
    b.Add("top", top_, "Operators and kernels to list").Range(1, 1000);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenRun run, OpenSnapshot(context, run_));
    Snapshot& snapshot = *run.snapshot;
    NL_ASSIGN(const Json document, ReadDocument(run));
    NL_ASSIGN(const RunTime time, AccountRun(snapshot, PausesOf(document)));
    NL_ASSIGN(const std::vector<NameStats> ops, OperatorTotals(snapshot, {}));
    NL_ASSIGN(const std::vector<NameStats> kernels, KernelTotals(snapshot, {}));
    NL_ASSIGN(const std::vector<CopyStats> copies, CopyTotals(snapshot));
    DeviceColumns devices;
    NL_TRY(snapshot.Load(devices, {"device", "name"}));
    Reply reply;
    Json& out = reply.json;
    out["run_id"] = run.run.run_id;
    out["model"] = run.run.model;
    out["precision"] = run.run.precision;
    out["wall_ms"] = Ms(time.wall_ns());
    int64_t kernel_ns = 0;
    for (const NameStats& k : kernels) kernel_ns += k.total_ns;
    out["device_ms"] = Ms(kernel_ns);
    out["devices"] = Json::array();
    for (const DeviceTime& d : time.devices) {
      std::string name;
      for (size_t i = 0; i < devices.device.size(); ++i) {
        if (devices.device[i] == d.device) name = snapshot.strings().Text(devices.name[i]);
      }
      out["devices"].push_back(DeviceJson(d, name));
    }
    const TotalsWhole whole =
        kernel_ns > 0 ? TotalsWhole{kernel_ns, false} : WholeOf(ops, TotalsKind::kOperators);
    out["operators"] = Json::array();
    for (size_t i = 0; i < std::min<size_t>(ops.size(), static_cast<size_t>(top_)); ++i)
      out["operators"].push_back(NameStatsJson(ops[i], whole, TotalsKind::kOperators));
    out["operators_total"] = ops.size();
    out["kernels"] = Json::array();
    for (size_t i = 0; i < std::min<size_t>(kernels.size(), static_cast<size_t>(top_)); ++i)
      out["kernels"].push_back(NameStatsJson(kernels[i], {kernel_ns, false}, TotalsKind::kKernels));
    out["kernels_total"] = kernels.size();
    out["copies"] = Json::array();
    for (const CopyStats& c : copies) {
      out["copies"].push_back({{"kind", c.kind},
                               {"from", c.src_memory},
                               {"to", c.dst_memory},
                               {"calls", c.calls},
                               {"total_ms", Ms(c.total_ns)},
                               {"bytes", c.bytes}});
    }
    NL_ASSIGN(const SqlTable samples, snapshot.sql().QueryTable("SELECT count(*) FROM cpu_sample", {}));
    out["cpu_samples"] = samples.rows.at(0).at(0);
    NL_ASSIGN(out["counters"], CountersJson(snapshot));
    NL_TRY(Explain(context, run.run, out));
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    std::string out = fmt::format("{}  {}\n", r["run_id"].get<std::string>(), r["model"].get<std::string>());
    const bool order_only = r["explained_reason"] == kNoTimeline;
    if (r["wall_ms"] == 0 && r["cpu_samples"] > 0) {
      return out +
             fmt::format("{} CPU samples and nothing else: `neurolens flame` shows where they were taken\n",
                         HumanCount(r["cpu_samples"]));
    }
    out += fmt::format("{} {}", order_only ? "kernels, one after the other," : "wall", HumanMs(r["wall_ms"]));
    if (order_only) out += fmt::format("\n{}", kNoTimeline);
    if (r["devices"].empty()) out += ", no device work recorded";
    out += "\n";
    for (const Json& d : r["devices"]) out += DeviceText(d);
    if (r["idle"].is_object() && r["idle"]["idle_ms"] > 0) out += IdleText(r["idle"]);
    out += "\n" + TotalsText(List(r, "operators"), TotalsKind::kOperators, style);
    if (!r["kernels"].empty()) out += "\n" + TotalsText(List(r, "kernels"), TotalsKind::kKernels, style);
    if (!r["copies"].empty()) out += "\n" + CopiesText(r["copies"], style);
    for (const Json& c : r["counters"]["reasons"]) {
      if (c["severity"] != "info") {
        out += fmt::format("\n{}: {} x {}. {}\n", c["severity"].get<std::string>(), HumanCount(c["count"]),
                           c["name"].get<std::string>(), c["advice"].get<std::string>());
      }
    }
    return out;
  }

 private:
  static Json List(const Json& r, const char* name) {
    return {{name, r[name]}, {"rows_total", r[name].size()}};
  }

  static std::string DeviceText(const Json& d) {
    const auto ms = [&d](const char* key) { return HumanMs(d[key].get<double>()); };
    if (d["utilization"].is_null() && d["idle_ms"].is_null()) {
      return fmt::format("device {}{}: compute {}\n", d["index"].is_null() ? "?" : DumpJson(d["index"]),
                         d["name"].is_null() ? "" : " " + d["name"].get<std::string>(), ms("compute_ms"));
    }
    std::string out = fmt::format(
        "device {}{}{}: busy {} ({:.1f} %), idle {}{}\n", d["index"].is_null() ? "?" : DumpJson(d["index"]),
        d["rank"].is_null() ? "" : fmt::format(" of rank {}", d["rank"].get<int>()),
        d["name"].is_null() ? "" : " " + d["name"].get<std::string>(), ms("busy_ms"),
        d["utilization"].is_null() ? 0 : 100 * d["utilization"].get<double>(), ms("idle_ms"),
        d["paused_ms"] == 0 ? "" : fmt::format(", not recorded {}", ms("paused_ms")));
    out += fmt::format("  compute {}, communication {}, memory {}, overlapped {}\n", ms("compute_ms"),
                       ms("communication_ms"), ms("memory_ms"), ms("overlap_ms"));
    return out;
  }

  static std::string IdleText(const Json& idle) {
    const auto ms = [&idle](const char* key) { return HumanMs(idle[key].get<double>()); };
    return fmt::format("  idle for the host {}, launches {}, sync {}, other {}\n", ms("host_ms"),
                       ms("launch_ms"), ms("sync_ms"), ms("other_ms"));
  }

  static std::string CopiesText(const Json& copies, const TextStyle& style) {
    TextTable table({{"COPIES", Align::kLeft, false, 0},
                     {"FROM", Align::kLeft, false, 0},
                     {"TO", Align::kLeft, false, 0},
                     {"TOTAL", Align::kRight, false, 0},
                     {"CALLS", Align::kRight, false, 0},
                     {"BYTES", Align::kRight, false, 0},
                     {"GB/s", Align::kRight, false, 0}});
    for (const Json& c : copies) {
      const double total_ms = c["total_ms"];
      const double bytes = c["bytes"];
      table.AddRow({c["kind"], c["from"], c["to"], HumanMs(total_ms), HumanCount(c["calls"]),
                    HumanBytes(c["bytes"]),
                    total_ms > 0 ? fmt::format("{:.1f}", bytes / total_ms / 1e6) : "-"});
    }
    return table.Render(style.width, style.color);
  }

  std::string run_ = "@latest";
  int64_t top_ = 10;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<SummaryOp>(); }

}  // namespace nl::ops::summary
