// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/mapper.h"

#include "model/labels/step_label.h"

namespace nl::trace_json {

namespace {
constexpr int64_t kYearNs = int64_t{366} * 24 * 3600 * 1'000'000'000;

std::string_view TableName(Table table) { return kAllTables[static_cast<size_t>(table)]->name; }
}  // namespace

void EventMapper::KeepArg(Worker& w, Table table, size_t row, const JsonValue& key, const JsonValue& value) {
  ArgsRow arg;
  StringId& owner = w.table_names[static_cast<size_t>(table)];
  if (owner == StringId::kNull) owner = w.strings.Text(TableName(table));
  arg.owner = owner;
  arg.owner_id = static_cast<RowId>(row);
  // A learned shape keeps its keys, so the number found once stays with them.
  if (key.known_id == StringId::kNull) key.known_id = w.strings.Text(key);
  arg.key = key.known_id;
  arg.value = w.strings.Json(value);
  w.batch.args.Add(arg);
  w.arg_owner.push_back(static_cast<uint8_t>(table));
}

void EventMapper::KeepArg(Worker& w, Table table, size_t row, std::string_view key, const JsonValue& value) {
  JsonValue text;
  text.data = key.data();
  text.size = static_cast<uint32_t>(key.size());
  text.kind = JsonKind::kString;
  KeepArg(w, table, row, text, value);
}

void EventMapper::KeepExtra(const TraceEvent& e, Worker& w, Table table, size_t row, bool scope_taken) {
  for (const Arg& extra : e.extra) KeepArg(w, table, row, extra.key, extra.value);
  if (e.scope.given() && !scope_taken) KeepArg(w, table, row, "s", e.scope);
  if (e.bp.given() && table != Table::kFlow) KeepArg(w, table, row, "bp", e.bp);
  if (e.dur.given() && e.ph.text() != "X") KeepArg(w, table, row, "dur", e.dur);
  if (e.args_value.given()) KeepArg(w, table, row, "args", e.args_value);
}

void EventMapper::MapComplete(const TraceEvent& e, const Place& place, Worker& w) const {
  const size_t row = w.batch.range.size();
  RangeRow r;
  r.thread_id = place.lane;
  r.start_ns = place.start_ns;
  r.dur_ns = place.dur_ns;
  r.name = NameOf(e, w);
  r.category = CategoryOf(e, w);
  r.kind = w.strings.Text("span");
  if (r.name != StringId::kNull && IsStepLabel(w.strings.At(r.name))) w.step_rows.push_back(row);
  w.batch.range.Add(r);
  for (const Arg& arg : e.args) KeepArg(w, Table::kRange, row, arg.key, arg.value);
  if (e.id.given()) KeepArg(w, Table::kRange, row, "id", e.id);
}

void EventMapper::MapInstant(const TraceEvent& e, const Place& place, Worker& w) const {
  const size_t row = w.batch.range.size();
  RangeRow r;
  r.thread_id = place.lane;
  r.start_ns = place.start_ns;
  r.name = NameOf(e, w);
  r.category = CategoryOf(e, w);
  r.kind = w.strings.Text("instant");
  if (e.scope.given()) r.scope = w.strings.Text(e.scope);
  w.batch.range.Add(r);
  for (const Arg& arg : e.args) KeepArg(w, Table::kRange, row, arg.key, arg.value);
  if (e.id.given()) KeepArg(w, Table::kRange, row, "id", e.id);
  KeepExtra(e, w, Table::kRange, row, true);
}

void EventMapper::MapSpan(const TraceEvent& e, Worker& w, ThreadId lane, int64_t start_ns) const {
  Place place{lane, start_ns, NullOf<int64_t>::value};
  bool bad_duration = false;
  if (!e.dur.given()) {
    w.counters.Add(kMissingDuration, e.offset);
  } else if (!ToNs(e.dur, place.dur_ns) || place.dur_ns < 0 || place.dur_ns > kYearNs) {
    w.counters.Add(kBadDuration, e.offset, e.text);
    place.dur_ns = NullOf<int64_t>::value;
    bad_duration = true;
  }
  size_t before[EventBatch::kTables];
  if (bad_duration || !e.extra.empty() || e.args_value.given() || e.scope.given() || e.bp.given()) {
    const auto tables = w.batch.Tables();
    for (size_t i = 0; i < tables.size(); ++i) before[i] = tables[i]->size();
    MapComplete(e, place, w);
    // The table the event went to is the one that grew; args rows refer to it.
    for (size_t i = 0; i < tables.size(); ++i) {
      if (tables[i]->size() == before[i] || i == static_cast<size_t>(Table::kArgs) ||
          i == static_cast<size_t>(Table::kCollective))
        continue;
      if (bad_duration) KeepArg(w, static_cast<Table>(i), before[i], "dur", e.dur);
      KeepExtra(e, w, static_cast<Table>(i), before[i], false);
      break;
    }
    return;
  }
  MapComplete(e, place, w);
}

void EventMapper::MapCounter(const TraceEvent& e, Worker& w, ThreadId lane, int64_t at_ns) const {
  CounterSampleRow r;
  r.thread_id = lane;
  r.start_ns = at_ns;
  r.name = NameOf(e, w);
  for (const Arg& arg : e.args) {
    const size_t row = w.batch.counter_sample.size();
    r.series = w.strings.Text(arg.key);
    r.value = NullOf<double>::value;
    const bool number = ToDouble(arg.value, r.value);
    w.batch.counter_sample.Add(r);
    if (!number) KeepArg(w, Table::kCounterSample, row, arg.key, arg.value);
  }
  if (e.args.empty()) {
    w.batch.counter_sample.Add(r);
  }
  const size_t last = w.batch.counter_sample.size() - 1;
  if (e.id.given()) KeepArg(w, Table::kCounterSample, last, "id", e.id);
  if (e.cat.given()) KeepArg(w, Table::kCounterSample, last, "cat", e.cat);
  KeepExtra(e, w, Table::kCounterSample, last, false);
}

void EventMapper::MapFlow(const TraceEvent& e, Worker& w, ThreadId lane, int64_t at_ns) const {
  const size_t row = w.batch.flow.size();
  FlowRow r;
  r.thread_id = lane;
  r.start_ns = at_ns;
  r.phase = w.strings.Text(e.ph);
  r.name = NameOf(e, w);
  r.category = CategoryOf(e, w);
  const bool id_is_int = ToInt64(e.id, r.flow_id);
  if (e.bp.given()) r.binding = w.strings.Text(e.bp);
  w.batch.flow.Add(r);
  if (e.id.given() && !id_is_int) KeepArg(w, Table::kFlow, row, "id", e.id);
  for (const Arg& arg : e.args) KeepArg(w, Table::kFlow, row, arg.key, arg.value);
  KeepExtra(e, w, Table::kFlow, row, false);
}

void EventMapper::MapOrdered(const TraceEvent& e, Worker& w, ThreadId lane, int64_t at_ns,
                             OrderedEvent::Kind kind) const {
  OrderedEvent o{};
  o.kind = kind;
  o.lane = lane;
  o.offset = e.offset;
  o.at_ns = at_ns;
  o.name = NameOf(e, w);
  o.category = CategoryOf(e, w);
  o.async_id = e.id.given() ? w.strings.Json(e.id) : StringId::kNull;
  for (const Arg& arg : e.args) o.args.emplace_back(w.strings.Text(arg.key), w.strings.Json(arg.value));
  for (const Arg& arg : e.extra) {
    // id2 and scope also name an asynchronous operation.
    if (o.async_id == StringId::kNull && arg.key.text() == "id2") o.async_id = w.strings.Json(arg.value);
    o.args.emplace_back(w.strings.Text(arg.key), w.strings.Json(arg.value));
  }
  const auto keep = [&](std::string_view key, const JsonValue& value) {
    if (value.given()) o.args.emplace_back(w.strings.Text(key), w.strings.Json(value));
  };
  const bool begins = kind == OrderedEvent::kBegin || kind == OrderedEvent::kAsyncBegin;
  if (begins || kind == OrderedEvent::kEnd) keep("id", e.id);  // an async end has its begin's
  keep("s", e.scope);
  keep("bp", e.bp);
  keep("dur", e.dur);
  if (kind == OrderedEvent::kEnd || kind == OrderedEvent::kAsyncEnd) {
    // The row stands where the end stands, whatever the chunks; the ordered stage fills it.
    o.row = w.batch.range.size();
    RangeRow r;
    r.thread_id = lane;
    r.start_ns = at_ns;
    r.name = o.name;
    r.category = o.category;
    r.kind = w.strings.Text("unfinished");
    w.batch.range.Add(r);
  }
  w.ordered.push_back(std::move(o));
}

void EventMapper::Map(const TraceEvent& e, Worker& w) const {
  ++w.events;
  if (!e.ph.given() || e.ph.kind != JsonKind::kString || e.ph.size != 1) {
    const bool empty = e.text.find('"') == std::string_view::npos;
    w.counters.Add(empty ? kEmptyEvent : kBadEvent, e.offset, empty ? std::string_view() : e.text);
    return;
  }
  const char phase = e.ph.data[0];
  const ThreadId lane = w.lanes.Find(e.pid, e.tid);
  int64_t at_ns = 0;
  const bool timed = ToNs(e.ts, at_ns) && at_ns > -50 * kYearNs && at_ns < 200 * kYearNs;
  if (phase == 'M') return MapOrdered(e, w, lane, timed ? at_ns : 0, OrderedEvent::kMetadata);
  if (!timed) {
    w.counters.Add(kBadTimestamp, e.offset, e.text);
    return;
  }
  switch (phase) {
    case 'X': return MapSpan(e, w, lane, at_ns);
    case 's':
    case 't':
    case 'f': return MapFlow(e, w, lane, at_ns);
    case 'i':
    case 'I':
    case 'R': return MapInstant(e, {lane, at_ns, NullOf<int64_t>::value}, w);
    case 'C': return MapCounter(e, w, lane, at_ns);
    case 'B': return MapOrdered(e, w, lane, at_ns, OrderedEvent::kBegin);
    case 'E': return MapOrdered(e, w, lane, at_ns, OrderedEvent::kEnd);
    case 'b':
    case 'S': return MapOrdered(e, w, lane, at_ns, OrderedEvent::kAsyncBegin);
    case 'e':
    case 'F': return MapOrdered(e, w, lane, at_ns, OrderedEvent::kAsyncEnd);
    default: {
      w.counters.Add(kUnknownPhase, e.offset, e.text);
      const size_t row = w.batch.range.size();
      EventMapper::MapInstant(e, {lane, at_ns, NullOf<int64_t>::value}, w);
      KeepArg(w, Table::kRange, row, "ph", e.ph);
    }
  }
}

}  // namespace nl::trace_json
