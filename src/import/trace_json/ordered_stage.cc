// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/ordered_stage.h"

#include <algorithm>
#include <charconv>

#include "import/trace_json/counters.h"
#include "model/labels/step_label.h"

namespace nl::trace_json {

namespace {

template <class T>
T Mapped(const std::vector<T>& map, T local) {
  return IsNull(local) ? local : map[static_cast<size_t>(local)];
}

// A pid or tid is a number, or any text.
void SplitId(const std::string& json, StringPool& strings, int64_t& number, StringId& text) {
  if (json.empty() || ParseInt64(json, number)) return;
  bool bad_utf8 = false;
  const std::string_view view = json;
  text = json.front() == '"' && json.size() >= 2
             ? strings.Add(Unescape(view.substr(1, view.size() - 2), bad_utf8))
             : strings.Add(Minify(view, bad_utf8));
}

}  // namespace

ThreadId OrderedStage::LaneOf(const std::string& pid, const std::string& tid) {
  const std::string key = pid + '\n' + tid;
  if (const auto it = lane_of_.find(key); it != lane_of_.end()) return it->second;
  const auto [known, fresh] = process_of_.try_emplace(pid, processes_.size());
  if (fresh) processes_.push_back({pid});
  const size_t process = known->second;
  const auto id = static_cast<ThreadId>(first_lane_ + static_cast<int64_t>(lanes_.size()));
  lanes_.push_back({process, tid});
  lane_of_.emplace(key, id);
  return id;
}

void OrderedStage::UpdateMaps(Worker& worker, WorkerMaps& maps) {
  if (maps.generation != worker.strings.generation()) {  // the worker started its numbers again
    maps.strings.clear();
    maps.generation = worker.strings.generation();
  }
  for (auto id = static_cast<uint32_t>(maps.strings.size()); id < worker.strings.size(); ++id) {
    maps.strings.push_back(sink_.strings().Add(worker.strings.At(static_cast<StringId>(id))));
  }
  const auto& lanes = worker.lanes.lanes();
  for (size_t i = maps.lanes.size(); i < lanes.size(); ++i)
    maps.lanes.push_back(LaneOf(lanes[i].pid, lanes[i].tid));
  worker.lanes_taken = lanes.size();
  worker.strings_taken = worker.strings.size();
}

void OrderedStage::Renumber(Worker& worker, const WorkerMaps& maps) {
  std::vector<ColumnSpan> spans;
  for (ColumnSet* table : worker.batch.Tables()) {
    if (table->size() == 0) continue;
    spans.clear();
    table->Spans(spans);
    for (const ColumnSpan& span : spans) {
      if (span.remap_string) {
        auto* ids = static_cast<StringId*>(span.values);
        for (size_t i = 0; i < span.rows; ++i) ids[i] = Mapped(maps.strings, ids[i]);
      } else if (span.remap_thread) {
        auto* ids = static_cast<ThreadId*>(span.values);
        for (size_t i = 0; i < span.rows; ++i) ids[i] = Mapped(maps.lanes, ids[i]);
      }
    }
  }
}

void OrderedStage::FixOwners(Worker& worker) {
  const auto fix = [this](std::vector<RowId>& rows, const std::vector<uint8_t>& owners) {
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = static_cast<RowId>(static_cast<int64_t>(rows[i]) + sink_.rows(static_cast<Table>(owners[i])));
    }
  };
  fix(worker.batch.args.owner_id, worker.arg_owner);
  fix(worker.batch.collective.owner_id, worker.collective_owner);
}

void OrderedStage::PutArgs(EventBatch& batch, RowId row,
                           const std::vector<std::pair<StringId, StringId>>& args) {
  for (const auto& [key, value] : args) {
    ArgsRow arg;
    arg.owner = sink_.strings().Add("range");
    arg.owner_id = row;
    arg.key = key;
    arg.value = value;
    batch.args.Add(arg);
  }
}

void OrderedStage::ApplyMetadata(const OrderedEvent& e) {
  StringPool& strings = sink_.strings();
  Lane& lane = lanes_[static_cast<size_t>(static_cast<int64_t>(e.lane) - first_lane_)];
  Process& process = processes_[lane.process];
  const std::string_view name = strings.Text(e.name);
  for (const auto& [key, json_id] : e.args) {
    const StringId value = json_id;  // clang 14 captures no structured binding
    const std::string_view json = strings.Text(value);
    bool bad_utf8 = false;
    const auto text = [&] {
      return json.size() >= 2 && json.front() == '"'
                 ? strings.Add(Unescape(json.substr(1, json.size() - 2), bad_utf8))
                 : value;
    };
    const std::string_view about = strings.Text(key);
    if (name == "process_name" && about == "name") {
      process.name = text();
    } else if (name == "process_labels" && about == "labels") {
      process.labels = text();
    } else if (name == "thread_name" && about == "name") {
      lane.name = text();
    } else if (name == "process_sort_index" && about == "sort_index" &&
               ParseInt64(json, process.sort_index)) {
    } else if (name == "thread_sort_index" && about == "sort_index" && ParseInt64(json, lane.sort_index)) {
    } else {  // metadata we have no column for: kept, owned by the lane it speaks of
      ArgsRow arg;
      arg.owner = strings.Add("thread");
      arg.owner_id = static_cast<RowId>(static_cast<int64_t>(e.lane));
      arg.key = strings.Add(std::string(name) + "." + std::string(about));
      arg.value = value;
      extra_.args.Add(arg);
    }
  }
}

void OrderedStage::CloseRange(EventBatch& batch, const OrderedEvent& e, std::vector<Begun>& open,
                              const char* kind) {
  const auto row = static_cast<RowId>(sink_.rows(Table::kRange) + static_cast<int64_t>(e.row));
  if (open.empty()) {
    counters_.Add(kEndWithoutBegin, e.offset);
    PutArgs(batch, row, e.args);
    if (e.async_id != StringId::kNull) PutArgs(batch, row, {{sink_.strings().Add("id"), e.async_id}});
    return;
  }
  Begun begun = std::move(open.back());
  open.pop_back();
  RangeColumns& range = batch.range;
  range.thread_id[e.row] = begun.lane;
  range.start_ns[e.row] = begun.start_ns;
  range.dur_ns[e.row] = e.at_ns - begun.start_ns;
  if (begun.name != StringId::kNull) range.name[e.row] = begun.name;
  if (begun.category != StringId::kNull) range.category[e.row] = begun.category;
  range.kind[e.row] = sink_.strings().Add(kind);
  if (e.at_ns < begun.start_ns) {
    counters_.Add(kBadDuration, e.offset);
    range.dur_ns[e.row] = NullOf<int64_t>::value;
  }
  PutArgs(batch, row, begun.args);
  PutArgs(batch, row, e.args);
}

void OrderedStage::Resolve(Worker& worker, const WorkerMaps& maps) {
  for (OrderedEvent& e : worker.ordered) {
    e.lane = Mapped(maps.lanes, e.lane);
    e.name = Mapped(maps.strings, e.name);
    e.category = Mapped(maps.strings, e.category);
    e.async_id = Mapped(maps.strings, e.async_id);
    for (auto& [key, value] : e.args) {
      key = Mapped(maps.strings, key);
      value = Mapped(maps.strings, value);
    }
    const auto begun = [&] {
      return Begun{e.name, e.category, e.lane, e.at_ns, e.offset, std::move(e.args)};
    };
    switch (e.kind) {
      case OrderedEvent::kMetadata: ApplyMetadata(e); break;
      case OrderedEvent::kBegin: open_[static_cast<int32_t>(e.lane)].push_back(begun()); break;
      case OrderedEvent::kEnd:
        CloseRange(worker.batch, e, open_[static_cast<int32_t>(e.lane)], "span");
        break;
      case OrderedEvent::kAsyncBegin: open_async_[{e.category, e.async_id}].push_back(begun()); break;
      case OrderedEvent::kAsyncEnd:
        CloseRange(worker.batch, e, open_async_[{e.category, e.async_id}], "async");
        break;
    }
  }
}

void OrderedStage::AddSteps(const Worker& worker) {
  const RangeColumns& range = worker.batch.range;
  for (const size_t row : worker.step_rows) {
    StepRow step;
    step.range_id = static_cast<RowId>(sink_.rows(Table::kRange) + static_cast<int64_t>(row));
    step.name = range.name[row];
    step.number = StepNumber(sink_.strings().Text(range.name[row]), steps_);
    step.start_ns = range.start_ns[row];
    step.dur_ns = range.dur_ns[row];
    extra_.step.Add(step);
    ++steps_;
  }
}

void OrderedStage::Take(Worker& worker) {
  WorkerMaps& maps = maps_[&worker];
  UpdateMaps(worker, maps);
  Renumber(worker, maps);
  FixOwners(worker);
  if (!worker.ordered.empty()) Resolve(worker, maps);
  AddSteps(worker);
  facts_.Observe(worker.batch, sink_);
  sink_.Append(worker.batch);
  counters_.Merge(std::move(worker.counters));
  for (const auto& [text, offset] : worker.bad_utf8) {
    if (bad_utf8_.insert(static_cast<uint32_t>(Mapped(maps.strings, text))).second)
      counters_.Add(kBadUtf8, offset);
  }
  events_ += worker.events;
  worker.ClearRows();
}

void OrderedStage::PutUnfinished(const Begun& begun) {
  counters_.Add(kBeginWithoutEnd, begun.offset);
  const auto row = static_cast<RowId>(sink_.rows(Table::kRange) + static_cast<int64_t>(extra_.range.size()));
  RangeRow r;
  r.thread_id = begun.lane;
  r.start_ns = begun.start_ns;
  r.name = begun.name;
  r.category = begun.category;
  r.kind = sink_.strings().Add("unfinished");
  extra_.range.Add(r);
  PutArgs(extra_, row, begun.args);
}

void OrderedStage::FinishFile(int32_t rank) {
  std::vector<const Begun*> unfinished;  // in file order, not in the order of any table here
  for (const auto& [lane, list] : open_) {
    for (const Begun& begun : list) unfinished.push_back(&begun);
  }
  for (const auto& [key, list] : open_async_) {
    for (const Begun& begun : list) unfinished.push_back(&begun);
  }
  std::sort(unfinished.begin(), unfinished.end(),
            [](const Begun* a, const Begun* b) { return a->offset < b->offset; });
  for (const Begun* begun : unfinished) PutUnfinished(*begun);
  for (const Process& p : processes_) {
    ProcessRow row;
    SplitId(p.pid, sink_.strings(), row.pid, row.pid_text);
    row.name = p.name;
    row.labels = p.labels;
    row.sort_index = p.sort_index;
    row.rank = rank;
    extra_.process.Add(row);
  }
  for (const Lane& lane : lanes_) {
    ThreadRow row;
    row.process_id = static_cast<ProcessId>(first_process_ + static_cast<int64_t>(lane.process));
    SplitId(lane.tid, sink_.strings(), row.tid, row.tid_text);
    row.name = lane.name;
    row.sort_index = lane.sort_index;
    extra_.thread.Add(row);
  }
  facts_.Observe(extra_, sink_);
  sink_.Append(extra_);
  extra_.Clear();
}

}  // namespace nl::trace_json
