// SPDX-License-Identifier: Apache-2.0
// `neurolens timeline-find`: all spans of a run by name: how many there are, and the next ones from a time.

#include <unordered_set>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "ledger/sql_guard.h"
#include "ops/open_snapshot.h"
#include "ops/timeline_request.h"
#include "report/text_table.h"
#include "timeline/find.h"

namespace nl::ops::timeline_find {

namespace {

struct FindName {
  std::string table, name;
  int64_t count = 0;
};
void Describe(Record<FindName>& r) {
  r.Name("TimelineFindName", "A name that matches");
  r.Field("table", &FindName::table, "Table of its spans");
  r.Field("name", &FindName::name, "The name as the source spells it");
  r.Field("count", &FindName::count, "Spans of this name");
}

struct FindSpan {
  std::string table;
  int64_t id = 0, lane = 0;
  std::string name;
  int64_t start_ns = 0, dur_ns = 0;
};
void Describe(Record<FindSpan>& r) {
  using T = FindSpan;
  r.Name("TimelineFindSpan", "A span whose name matches");
  r.Field("table", &T::table, "Table that has it");
  r.Field("id", &T::id, "Its id in that table");
  r.Field("lane", &T::lane, "Lane it is drawn in (`timeline-lanes`)");
  r.Field("name", &T::name, "Name as it is shown");
  r.Field("start_ns", &T::start_ns, Unit::kNs, "Start, from the zero of the timeline");
  r.Field("dur_ns", &T::dur_ns, Unit::kNs, "Duration");
}

struct FindReply {
  std::string run_id;
  int64_t total = 0, names_total = 0;
  std::vector<FindName> names;
  int64_t from_ns = 0;
  std::vector<FindSpan> next, previous;
};
void Describe(Record<FindReply>& r) {
  using T = FindReply;
  r.Name("TimelineFindReply", "Reply of `neurolens timeline-find`");
  r.Field("run_id", &T::run_id, "The run");
  r.Field("total", &T::total, "Spans that match, in all of the run");
  r.Field("names_total", &T::names_total, "Names that match, before --limit");
  r.Field(
      "names", &T::names,
      "Names that match, those with most spans first; of CPU samples the innermost frames of the stacks that "
      "match");
  r.Field("from_ns", &T::from_ns, Unit::kNs, "The time from which next and previous are counted");
  r.Field("next", &T::next, "Spans that start at this time or after it, the nearest first");
  r.Field("previous", &T::previous, "Spans that start before it, the nearest first");
}

class TimelineFindOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "timeline-find";
    info.summary = "Find spans by name in all of a run: how many, and the next and previous ones";
    info.choose_when =
        "Choose it to find where something runs. `kernels` and `operators` have totals of time; `query` "
        "answers "
        "other conditions.";
    info.example = "neurolens timeline-find @latest gemm --from-ns 5000000 --limit 3";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<FindReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("run", run_, "Run to look at").Positional().Run().Required();
    b.Add("text", text_, "Text in the name, in upper or lower case; of CPU samples in any frame of the stack")
        .Positional()
        .Required();
    b.Add("regex", regex_, "The text is a regular expression (RE2)");
    b.Add("from_ns", from_ns_, "Time from which to look, in ns from the first event of the run")
        .Range(-4.6e18, 4.6e18);
    b.Add("lanes", lanes_, kLanesHelp);
    b.Add("limit", limit_, "Names, next spans and previous spans to list").Range(0, 10000);
  }

  Result<Reply> Run(OpContext& context) override {
    if (text_.empty()) return InvalidInput("the text to find is empty");
    NL_ASSIGN(const TimelineRun open, OpenTimelineRun(context, run_));
    FindRequest request;
    NL_ASSIGN(request.matches, Matcher(context, open.run.run_id));
    request.from_ns = from_ns_;
    request.limit = static_cast<size_t>(limit_);
    if (!lanes_.empty()) {
      NL_ASSIGN(const std::vector<int64_t> chosen, ChooseLanes(*open.timeline, lanes_));
      request.slots.assign(static_cast<size_t>(open.timeline->spans().threads() + 1) * 3, 0);
      for (const int64_t lane : chosen) {
        const LaneNode& node = open.timeline->lanes()[static_cast<size_t>(lane)];
        if (node.slot) request.slots[*node.slot] = 1;
      }
    }
    NL_ASSIGN(const Found found, FindSpans(*open.timeline, request, context.cancelled));
    return Reply::Of(ReplyOfFound(open, found));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<FindReply>();
    std::string out = fmt::format("{} with {}\n", Counted(r.total, "span"), Counted(r.names_total, "name"));
    if (r.total == 0) return out;
    TextTable names({{"TABLE", Align::kLeft, false, 0},
                     {"SPANS", Align::kRight, false, 0},
                     {"NAME", Align::kLeft, true, 20}});
    for (const FindName& name : r.names) names.AddRow({name.table, HumanCount(name.count), name.name});
    out += "\n" + names.Render(style.width, style.color);
    for (const auto& [title, spans] : {std::pair("next", &r.next), std::pair("previous", &r.previous)}) {
      if (spans->empty()) continue;
      TextTable table({{"AT", Align::kRight, false, 0},
                       {"DURATION", Align::kRight, false, 0},
                       {"LANE", Align::kRight, false, 0},
                       {"TABLE", Align::kLeft, false, 0},
                       {"ID", Align::kRight, false, 0},
                       {"NAME", Align::kLeft, true, 20}});
      for (const FindSpan& s : *spans) {
        table.AddRow({HumanMs(static_cast<double>(s.start_ns) / 1e6),
                      HumanMs(static_cast<double>(s.dur_ns) / 1e6), std::to_string(s.lane), s.table,
                      std::to_string(s.id), s.name});
      }
      out += fmt::format("\n{}\n{}", title, table.Render(style.width, style.color));
    }
    return out;
  }

 private:
  // Regular expressions run in the SQL engine, over the distinct texts of the run: it takes linear time
  // whatever the expression.
  Result<std::function<bool(std::string_view)>> Matcher(const OpContext& context,
                                                        const std::string& run_id) const {
    if (!regex_) {
      return std::function<bool(std::string_view)>([wanted = Lower(text_)](std::string_view name) {
        return Lower(name).find(wanted) != std::string::npos;
      });
    }
    NL_ASSIGN(const OpenRun run, OpenSnapshot(context, run_id));
    SqlLimits limits = SettingsLimits(context);
    limits.max_rows = -1;
    NL_ASSIGN(const std::unique_ptr<SqlSession> sql, OpenSql(context, *run.store, {run.run}));
    Result<SqlTable> table = sql->QueryTable(
        fmt::format("SELECT value FROM string WHERE regexp_matches(value, {}, 'i')", SqlQuote(text_)),
        limits);
    if (!table.ok())
      return std::move(table).error().Hint("the text is not a regular expression that RE2 takes");
    auto names = std::make_shared<std::unordered_set<std::string>>();
    for (const Json& row : table->rows) names->insert(row[0].get<std::string>());
    return std::function<bool(std::string_view)>(
        [names](std::string_view name) { return names->count(std::string(name)) > 0; });
  }

  static std::string Lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return out;
  }

  FindReply ReplyOfFound(const TimelineRun& open, const Found& found) const {
    const Timeline& timeline = *open.timeline;
    FindReply reply;
    reply.run_id = open.run.run_id;
    reply.total = found.total;
    reply.names_total = static_cast<int64_t>(found.names.size());
    reply.from_ns = from_ns_;
    const auto table = [&timeline](StringId name) {
      return std::string(kSpanTableNames[static_cast<size_t>(timeline.spans().TableOf(name))]);
    };
    for (const FoundName& name : found.names) {
      if (static_cast<int64_t>(reply.names.size()) == limit_) break;
      reply.names.push_back({table(name.name), std::string(timeline.spans().NameOf(name.name)), name.count});
    }
    const auto list = [&](const std::vector<FoundSpan>& spans, std::vector<FindSpan>& out) {
      for (const FoundSpan& f : spans)
        out.push_back({table(f.span.name), f.span.row(), timeline.LaneOf(f.slot),
                       timeline.DisplayName(f.span.name), f.span.start_ns, f.span.dur_ns});
    };
    list(found.next, reply.next);
    list(found.previous, reply.previous);
    return reply;
  }

  std::string run_, text_;
  bool regex_ = false;
  int64_t from_ns_ = 0, limit_ = 10;
  std::vector<std::string> lanes_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<TimelineFindOp>(); }

}  // namespace nl::ops::timeline_find
