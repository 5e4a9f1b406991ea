// SPDX-License-Identifier: Apache-2.0
// `neurolens timeline-event`: one span with all that is known of it, and the chain it belongs to: kernel, the
// API call that launched it, the operator, and what the thread was inside of at that time.

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "model/kernel_name.h"
#include "ops/open_snapshot.h"
#include "ops/timeline_event/event_analysis.h"
#include "ops/timeline_event/event_stack.h"
#include "ops/timeline_request.h"
#include "report/text_table.h"
#include "timeline/tile.h"

namespace nl::ops::timeline_event {

namespace {

struct ChainLink {
  std::string role, table;
  int64_t id = 0;
  std::optional<int64_t> lane;
  std::string name;
  int64_t start_ns = 0;
  std::optional<int64_t> dur_ns;
};
void Describe(Record<ChainLink>& r) {
  using T = ChainLink;
  r.Name("TimelineChainLink", "One part of the chain from a span outwards");
  r.Field("role", &T::role,
          "event: the span itself; launch: the API call that caused it; operator: the framework operator; "
          "inside: "
          "the thread was inside of this; step: the step at that time; caused: work that the span launched; "
          "peer (with --analysis): the same collective on another rank or device");
  r.Field("table", &T::table, "Table that has it");
  r.Field("id", &T::id, "Its id in that table");
  r.Field("lane", &T::lane, "Lane it is drawn in; null: not drawn as a span");
  r.Field("name", &T::name, "Name as the source spells it");
  r.Field("start_ns", &T::start_ns, Unit::kNs, "Start, from the zero of the timeline");
  r.Field("dur_ns", &T::dur_ns, Unit::kNs, "Duration; null: not known");
}

struct EventReply {
  std::string run_id;
  std::vector<ChainLink> chain;
  std::map<std::string, Scalar> columns;
  std::map<std::string, Scalar> counters;
  std::optional<EventStack> stack;
  std::optional<EventAnalysis> analysis;
};
void Describe(Record<EventReply>& r) {
  using T = EventReply;
  r.Name("TimelineEventReply", "Reply of `neurolens timeline-event`");
  r.Field("run_id", &T::run_id, "The run");
  r.Field("chain", &T::chain, "The span, then its launch, operator and what encloses them, innermost first");
  r.Field("columns", &T::columns, "What the table has of the span, without empty columns");
  r.Field("counters", &T::counters,
          "Hardware counters of a kernel (table kernel_counter); empty: none were recorded");
  r.Field("stack", &T::stack, "Of a CPU sample its frames; null: another table");
  r.Field("analysis", &T::analysis, "Its findings and its place in the roofline; null without --analysis");
}

constexpr int64_t kMostCaused = 20;
constexpr size_t kMostPeers = 64;

Scalar ScalarOf(const Json& cell) {
  if (cell.is_boolean()) return cell.get<bool>();
  if (cell.is_number_integer()) return cell.get<int64_t>();
  if (cell.is_number()) return cell.get<double>();
  if (cell.is_string()) return cell.get<std::string>();
  return std::monostate{};
}

class ChainFinder {
 public:
  ChainFinder(const OpContext& context, const Timeline& timeline, SqlSession& sql)
      : timeline_(timeline), sql_(sql), limits_(SettingsLimits(context)) {
    limits_.cancelled = context.cancelled;
  }

  Result<EventReply> Find(const std::string& table, int64_t id, int64_t depth) {
    NL_ASSIGN(const Json event, RowOf(table, id));
    if (event.is_null()) return NotFound(fmt::format("the table {} of this run has no row {}", table, id));
    if (!event.contains("start_ns") || event["start_ns"].is_null())
      return Unsupported(fmt::format("row {} of {} has no time", id, table));
    Add("event", table, event);
    NL_TRY(AddCauses(table, event));
    NL_TRY(AddCaused(table, id));
    NL_TRY(AddStep(event["start_ns"].get<int64_t>()));
    for (const auto& [name, cell] : event.items()) {
      if (!cell.is_null() && name != "run") out_.columns[name] = ScalarOf(cell);
    }
    if (table == "kernel") NL_TRY(AddCounters(id));
    if (table == kSpanTableNames[static_cast<size_t>(SpanTable::kCpuSample)]) {
      const Json thread = event.value("thread_id", Json());
      out_.stack = StackOf(timeline_, out_.chain.front().name,
                           thread.is_null() ? NullOf<int64_t>::value : thread.get<int64_t>(), id, depth);
    }
    return std::move(out_);
  }

  // The same collective on other members, after Find.
  Result<std::vector<ChainLink>> Peers(const std::vector<std::pair<std::string, int64_t>>& rows) {
    out_.chain.clear();
    for (const auto& [table, id] : rows) {
      if (out_.chain.size() == kMostPeers) break;
      NL_ASSIGN(const Json row, RowOf(table, id));
      if (!row.is_null() && !row["start_ns"].is_null()) Add("peer", table, row);
    }
    return std::move(out_.chain);
  }

 private:
  // The columns of one row; null when the table does not have it.
  Result<Json> First(const std::string& statement) {
    NL_ASSIGN(const SqlTable found, sql_.QueryTable(statement, limits_));
    if (found.rows.empty()) return Json();
    Json out = Json::object();
    for (size_t i = 0; i < found.columns.size(); ++i) out[found.columns[i].name] = found.rows[0][i];
    return out;
  }
  Result<Json> RowOf(const std::string& table, int64_t id) {
    return First(fmt::format("SELECT * FROM \"{}\" WHERE id = {}", table, id));
  }

  void Add(const char* role, const std::string& table, const Json& row) {
    ChainLink link;
    link.role = role;
    link.table = table;
    link.id = row["id"].get<int64_t>();
    if (row.contains("thread_id") && !row["thread_id"].is_null()) {
      const LaneUse use = table == "cpu_sample"                  ? LaneUse::kSamples
                          : row.value("kind", Json()) == "async" ? LaneUse::kAsync
                                                                 : LaneUse::kSpans;
      const int64_t lane = timeline_.LaneOf(SlotOf(row["thread_id"].get<int64_t>(), use));
      if (lane >= 0) link.lane = lane;
    }
    const Json& name = row.contains("name") ? row["name"] : row.value("stack", Json());
    if (name.is_string()) link.name = name.get<std::string>();
    link.start_ns = row["start_ns"].get<int64_t>() - timeline_.spans().zero_ns();
    if (row.contains("dur_ns") && !row["dur_ns"].is_null()) link.dur_ns = row["dur_ns"].get<int64_t>();
    out_.chain.push_back(std::move(link));
  }

  // Outwards from the span: its launch, its operator, and what encloses the innermost of these on its thread.
  Status AddCauses(const std::string& table, const Json& event) {
    for (const auto& [column, role, of] :
         {std::tuple("api_call_id", "launch", "api_call"), std::tuple("op_id", "operator", "op")}) {
      if (!event.contains(column) || event[column].is_null()) continue;
      NL_ASSIGN(const Json row, RowOf(of, event[column].get<int64_t>()));
      if (!row.is_null() && !row["start_ns"].is_null()) Add(role, of, row);
    }
    const size_t host =
        table == "kernel" || table == "memcpy" || table == "memset" || table == "sync" ? 1 : 0;
    if (out_.chain.size() <= host || !out_.chain[host].lane) return {};
    return AddEnclosing(out_.chain[host]);
  }

  Status AddEnclosing(const ChainLink inner) {
    TileRequest request;
    request.from_ns = inner.start_ns;
    request.to_ns = inner.start_ns + 1;
    request.width = 1;
    request.lanes = {*inner.lane};
    NL_ASSIGN(const Tile tile, MakeTile(timeline_, request, limits_.cancelled));
    const int64_t end_ns = inner.start_ns + inner.dur_ns.value_or(0);
    for (auto row = tile.rows.rbegin(); row != tile.rows.rend(); ++row) {
      for (size_t i = row->start_ns.size(); i-- > 0;) {
        const bool around = row->start_ns[i] <= inner.start_ns && row->start_ns[i] + row->dur_ns[i] >= end_ns;
        const std::string& table = tile.name_tables[static_cast<size_t>(row->name[i])];
        if (!around || Has(table, row->id[i])) continue;
        ChainLink link;
        link.role = "inside";
        link.table = table;
        link.id = row->id[i];
        link.lane = row->lane;
        link.name = tile.names[static_cast<size_t>(row->name[i])];
        link.start_ns = row->start_ns[i];
        link.dur_ns = row->dur_ns[i];
        out_.chain.push_back(std::move(link));
      }
    }
    return {};
  }
  bool Has(const std::string& table, int64_t id) const {
    return std::any_of(out_.chain.begin(), out_.chain.end(),
                       [&](const ChainLink& link) { return link.table == table && link.id == id; });
  }

  // The work that an API call launched.
  Status AddCaused(const std::string& table, int64_t id) {
    if (table != "api_call") return {};
    for (const char* work : {"kernel", "memcpy", "memset"}) {
      NL_ASSIGN(
          const SqlTable found,
          sql_.QueryTable(
              fmt::format("SELECT id, thread_id, name, start_ns, dur_ns FROM {} WHERE api_call_id = {} AND "
                          "start_ns IS NOT NULL ORDER BY start_ns LIMIT {}",
                          work, id, kMostCaused),
              limits_));
      for (const Json& cells : found.rows) {
        Json row = Json::object();
        for (size_t i = 0; i < found.columns.size(); ++i) row[found.columns[i].name] = cells[i];
        Add("caused", work, row);
      }
    }
    return {};
  }

  Status AddStep(int64_t start_ns) {
    NL_ASSIGN(
        const Json step,
        First(fmt::format(
            "SELECT id, name, start_ns, dur_ns FROM step WHERE start_ns <= {0} AND start_ns + dur_ns > {0} "
            "ORDER BY dur_ns LIMIT 1",
            start_ns)));
    if (!step.is_null()) Add("step", "step", step);
    return {};
  }

  Status AddCounters(int64_t id) {
    NL_ASSIGN(
        const Json row,
        First(fmt::format("SELECT * FROM kernel_counter WHERE kernel_id = {} ORDER BY id LIMIT 1", id)));
    if (row.is_null()) return {};
    for (const auto& [name, cell] : row.items()) {
      if (!cell.is_null() && name != "run" && name != "id" && name != "kernel_id")
        out_.counters[name] = ScalarOf(cell);
    }
    return {};
  }

  const Timeline& timeline_;
  SqlSession& sql_;
  SqlLimits limits_;
  EventReply out_;
};

class TimelineEventOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "timeline-event";
    info.summary = "One span of a run: its launch, operator, what encloses it, its counters and findings";
    info.choose_when =
        "Choose it for a span that `timeline`, `timeline-find` or `timeline-window` names by table and id.";
    info.example = "neurolens timeline-event @latest kernel 12";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<EventReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("run", run_, "Run to look at").Positional().Run().Required();
    b.Add("table", table_, "Table of the span")
        .Positional()
        .Required()
        .Choices(std::vector<std::string>(kSpanTableNames.begin(), kSpanTableNames.end()));
    b.Add("id", id_, "Its id in that table").Positional().Required().Range(0, 9e15);
    b.Add("analysis", analysis_,
          "Also its findings and its distance from the limits of the device; this analyses the run");
    b.Add("depth", depth_, "Of a CPU sample: also the box of the stacks at this depth that has it; -1: none")
        .Range(-1, FlameStrips::kMostDepths - 1);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const TimelineRun open, OpenTimelineRun(context, run_));
    NL_ASSIGN(const OpenRun run, OpenSnapshot(context, open.run.run_id));
    NL_ASSIGN(const std::unique_ptr<SqlSession> sql, OpenSql(context, *run.store, {run.run}));
    ChainFinder finder(context, *open.timeline, *sql);
    NL_ASSIGN(EventReply reply, finder.Find(table_, id_, depth_));
    reply.run_id = open.run.run_id;
    if (analysis_) {
      NL_ASSIGN(const EventIdentity event, IdentityOf(reply, *sql, context));
      NL_ASSIGN(reply.analysis, AnalyzeEvent(context, open.run.run_id, event));
      NL_ASSIGN(std::vector<ChainLink> peers, finder.Peers(reply.analysis->peers));
      std::move(peers.begin(), peers.end(), std::back_inserter(reply.chain));
    }
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<EventReply>();
    TextTable table({{"", Align::kLeft, false, 0},
                     {"AT", Align::kRight, false, 0},
                     {"DURATION", Align::kRight, false, 0},
                     {"TABLE", Align::kLeft, false, 0},
                     {"ID", Align::kRight, false, 0},
                     {"NAME", Align::kLeft, true, 20}});
    for (const ChainLink& link : r.chain) {
      table.AddRow({link.role, HumanMs(static_cast<double>(link.start_ns) / 1e6),
                    link.dur_ns ? HumanMs(static_cast<double>(*link.dur_ns) / 1e6) : "", link.table,
                    std::to_string(link.id), link.name});
    }
    std::string out = table.Render(style.width, style.color);
    for (const auto& [title, cells] :
         {std::pair("columns", &r.columns), std::pair("counters", &r.counters)}) {
      if (cells->empty()) continue;
      TextTable list({{"NAME", Align::kLeft, false, 0}, {"VALUE", Align::kLeft, true, 20}});
      for (const auto& [name, value] : *cells) list.AddRow({name, ScalarText(value)});
      out += fmt::format("\n{}\n{}", title, list.Render(style.width, style.color));
    }
    if (r.stack) out += StackText(*r.stack);
    return r.analysis ? out + AnalysisText(*r.analysis, style) : out;
  }

 private:
  // The operator of the event: itself, or the one that launched it.
  static Result<EventIdentity> IdentityOf(const EventReply& reply, SqlSession& sql,
                                          const OpContext& context) {
    EventIdentity out;
    for (const ChainLink& link : reply.chain) {
      if (link.role != "event" && link.role != "launch" && link.role != "operator") continue;
      out.rows.emplace_back(link.table, link.id);
      if (link.role == "event" && link.table == "kernel") {
        out.kernel = link.name;
        out.kernel_short = ParseKernelName(link.name).short_name;
      }
      if (link.table != "op") continue;
      out.op = link.name;
      SqlLimits limits = SettingsLimits(context);
      limits.cancelled = context.cancelled;
      NL_ASSIGN(const SqlTable found,
                sql.QueryTable(fmt::format("SELECT input_dims FROM op WHERE id = {}", link.id), limits));
      if (!found.rows.empty() && found.rows[0][0].is_string())
        out.op_shapes = found.rows[0][0].get<std::string>();
    }
    return out;
  }

  static std::string AnalysisText(const EventAnalysis& analysis, const TextStyle& style) {
    std::string out = "\n";
    if (const auto& row = analysis.roofline; row && row->efficiency) {
      out += fmt::format(
          "{:.0f} % of the roofline{}\n", 100 * *row->efficiency,
          row->bound ? fmt::format(", {}-bound", NamesOf(*row->bound)[static_cast<size_t>(*row->bound)])
                     : "");
    } else {
      const std::string why = row && row->reason ? *row->reason : analysis.roofline_reason.value_or("");
      out +=
          Wrap(fmt::format("roofline: not assessed{}", why.empty() ? "" : ": " + why), style.width, 2) + "\n";
    }
    for (const Finding& finding : analysis.findings)
      out += Wrap(fmt::format("{}: {}", finding.rule, PrintableText(finding.message)), style.width, 2) + "\n";
    if (analysis.findings.empty()) out += "no finding names it\n";
    return out;
  }

  static std::string ScalarText(const Scalar& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return PrintableName(*text, 200);
    if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
    if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:.6g}", *number);
    if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
    return "";
  }

  std::string run_, table_;
  int64_t id_ = 0, depth_ = -1;
  bool analysis_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<TimelineEventOp>(); }

}  // namespace nl::ops::timeline_event
