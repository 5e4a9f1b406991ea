// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/xplane/ordered.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "import/adapters/xplane/counters.h"
#include "model/labels/step_label.h"

namespace nl::adapters::xplane {

Ordered::Ordered(ImportFile& file, const SpaceMap& map)
    : file_(file),
      map_(map),
      first_lane_(file.sink.rows(Table::kThread)),
      first_process_(file.sink.rows(Table::kProcess)) {}

void Ordered::Renumber(Decoder& decoder, const DecoderMap& maps) {
  std::vector<ColumnSpan> spans;
  for (ColumnSet* table : decoder.batch.Tables()) {
    if (table->size() == 0) continue;
    spans.clear();
    table->Spans(spans);
    for (const ColumnSpan& span : spans) {
      if (!span.remap_string) continue;
      auto* ids = static_cast<StringId*>(span.values);
      for (size_t i = 0; i < span.rows; ++i) {
        if (ids[i] != StringId::kNull) ids[i] = maps.strings[static_cast<uint32_t>(ids[i])];
      }
    }
  }
  std::vector<RowId>& owners = decoder.batch.args.owner_id;
  for (size_t i = 0; i < owners.size(); ++i) {
    owners[i] = static_cast<RowId>(static_cast<int64_t>(owners[i]) +
                                   file_.sink.rows(static_cast<Table>(decoder.arg_owner[i])));
  }
  const auto global = [&](StringId& id) {
    if (id != StringId::kNull) id = maps.strings[static_cast<uint32_t>(id)];
  };
  for (WorkNote& note : decoder.work) {
    global(note.op);
    global(note.module);
    global(note.framework_op);
    global(note.framework_name);
  }
}

void Ordered::Take(Decoder& decoder, uint32_t line) {
  DecoderMap& maps = maps_[&decoder];
  if (maps.generation != decoder.strings.generation()) {
    maps.strings.clear();
    maps.generation = decoder.strings.generation();
  }
  for (auto id = static_cast<uint32_t>(maps.strings.size()); id < decoder.strings.size(); ++id)
    maps.strings.push_back(file_.sink.strings().Add(decoder.strings.At(static_cast<StringId>(id))));
  Renumber(decoder, maps);
  for (const auto& [text, offset] : decoder.bad_utf8) {
    if (bad_utf8_.insert(static_cast<uint32_t>(maps.strings[static_cast<uint32_t>(text)])).second)
      decoder.counters.Add(kBadUtf8, offset);
  }
  TakeLaunches(decoder.batch.api_call);
  TakeWork(decoder, line);
  TakeSteps(decoder);
  file_.facts.Observe(decoder.batch, file_.sink);
  file_.sink.Append(decoder.batch);
  file_.counters.Merge(std::move(decoder.counters));
  decoder.ClearRows();
}

ThreadId Ordered::OpLane(uint32_t line) {
  const auto [it, added] = op_lanes_.try_emplace(line);
  if (added) {
    it->second =
        static_cast<ThreadId>(first_lane_ + static_cast<int64_t>(map_.lines.size() + op_lane_lines_.size()));
    op_lane_lines_.push_back(line);
  }
  return it->second;
}

void Ordered::TakeLaunches(const ApiCallColumns& calls) {
  for (size_t i = 0; i < calls.size(); ++i) {
    if (IsNull(calls.correlation[i]) || IsNull(calls.dur_ns[i])) continue;
    launches_.correlation.Add(calls.correlation[i]);
    launches_.thread.Add(static_cast<int64_t>(calls.thread_id[i]));
    launches_.start_ns.Add(calls.start_ns[i]);
    launches_.dur_ns.Add(calls.dur_ns[i]);
  }
}

void Ordered::Enter(Group& group, uint32_t line, const WorkNote& note, int64_t part, int64_t start_ns,
                    int64_t end_ns, int64_t launch) {
  ThreadId thread = ThreadId::kNull;
  int64_t launch_start_ns = INT64_MAX, launch_end_ns = INT64_MIN;
  if (!IsNull(launch)) {
    const auto at = static_cast<size_t>(launch);
    thread = static_cast<ThreadId>(launches_.thread.At(at));
    launch_start_ns = launches_.start_ns.At(at);
    launch_end_ns = launch_start_ns + launches_.dur_ns.At(at);
  }
  if (!group.open) {
    group = {true, line, note, part, start_ns, end_ns, thread, launch_start_ns, launch_end_ns};
    return;
  }
  group.start_ns = std::min(group.start_ns, start_ns);
  group.end_ns = std::max(group.end_ns, end_ns);
  if (group.thread != thread) group.thread = ThreadId::kNull;
  group.launch_start_ns = std::min(group.launch_start_ns, launch_start_ns);
  group.launch_end_ns = std::max(group.launch_end_ns, launch_end_ns);
}

void Ordered::TakeWork(Decoder& decoder, uint32_t line) {
  EventBatch& batch = decoder.batch;
  if (!decoder.work.empty() && launches_.index == nullptr)
    launches_.index = std::make_unique<IdIndex>(launches_.correlation, 0);
  for (const WorkNote& note : decoder.work) {
    const auto take = [&](auto& table) {
      const int64_t start_ns = table.start_ns[note.row];
      const int64_t end_ns = start_ns + (IsNull(table.dur_ns[note.row]) ? 0 : table.dur_ns[note.row]);
      const bool scoped = !IsNull(note.scope) && note.scope != 0;
      const int64_t part = scoped ? note.scope : table.correlation[note.row];
      const bool same =
          !IsNull(note.op) && !IsNull(part) && op_.Holds(line, note, part) && op_.note.op == note.op;
      if (!same) CloseOp(batch);
      if (!scoped || IsNull(note.module) || !module_.Holds(line, note, note.scope)) CloseModule(batch);
      if (IsNull(note.op)) return;
      if (!op_.open) ++ops_;
      const int64_t launch = launches_.index->Find(table.correlation[note.row], launches_.hint);
      Enter(op_, line, note, part, start_ns, end_ns, launch);
      if (scoped && !IsNull(note.module)) Enter(module_, line, note, note.scope, start_ns, end_ns, launch);
      table.external_id[note.row] = ops_;
    };
    if (note.table == Table::kKernel)
      take(batch.kernel);
    else if (note.table == Table::kMemcpy)
      take(batch.memcpy);
    else
      take(batch.memset);
  }
}

template <class Row>
void Ordered::TakeSpan(const Group& group, Row& row) {
  const bool launched = !IsNull(group.thread);
  row.thread_id = launched ? group.thread : OpLane(group.line);
  row.start_ns = launched ? group.launch_start_ns : group.start_ns;
  row.dur_ns = launched ? group.launch_end_ns - group.launch_start_ns : group.end_ns - group.start_ns;
}

StringId Ordered::Word(StringId& id, std::string_view text) {
  if (id == StringId::kNull) id = file_.sink.strings().Add(text);
  return id;
}

StringId Ordered::NumberText(int64_t number) {
  const fmt::format_int text(number);
  return file_.sink.strings().Add({text.data(), text.size()});
}

void Ordered::KeepArg(EventBatch& batch, StringId table, RowId row, StringId key, StringId json) {
  ArgsRow arg;
  arg.owner = table;
  arg.owner_id = row;
  arg.key = key;
  arg.value = json;
  batch.args.Add(arg);
}

void Ordered::KeepText(EventBatch& batch, RowId row, StringId key, StringId text) {
  const auto [it, added] = quoted_.try_emplace(static_cast<uint32_t>(text));
  if (added) {
    StringPool& strings = file_.sink.strings();
    it->second = strings.Add(DumpJson(std::string(strings.Text(text))));
  }
  KeepArg(batch, words_.op, row, key, it->second);
}

void Ordered::CloseOp(EventBatch& batch) {
  if (!op_.open) return;
  op_.open = false;
  OpRow row;
  TakeSpan(op_, row);
  row.name = op_.note.op;
  row.external_id = ops_;
  const auto id = static_cast<RowId>(file_.sink.rows(Table::kOp) + static_cast<int64_t>(batch.op.size()));
  batch.op.Add(row);
  const WorkNote& note = op_.note;
  Word(words_.op, "op");
  if (!IsNull(note.module)) KeepText(batch, id, Word(words_.module, "hlo_module"), note.module);
  if (!IsNull(note.framework_name)) KeepText(batch, id, Word(words_.name, "name"), note.framework_name);
  if (!IsNull(note.framework_op)) KeepText(batch, id, Word(words_.tf_op, "tf_op"), note.framework_op);
  if (IsNull(note.program)) return;
  const auto [it, added] = programs_.try_emplace(note.program);
  if (added) it->second = NumberText(note.program);
  KeepArg(batch, words_.op, id, Word(words_.program, "program_id"), it->second);
}

void Ordered::CloseModule(EventBatch& batch) {
  if (!module_.open) return;
  module_.open = false;
  RangeRow row;
  TakeSpan(module_, row);
  row.name = module_.note.module;
  row.category = Word(words_.xla_module, "xla_module");
  row.kind = Word(words_.span, "span");
  const auto id =
      static_cast<RowId>(file_.sink.rows(Table::kRange) + static_cast<int64_t>(batch.range.size()));
  batch.range.Add(row);
  const StringId scope = NumberText(module_.note.scope);
  KeepArg(batch, Word(words_.range, "range"), id, Word(words_.scope, "scope_range_id"), scope);
}

void Ordered::TakeSteps(Decoder& decoder) {
  const RangeColumns& range = decoder.batch.range;
  for (const StepNote& note : decoder.steps) {
    StepRow step;
    step.range_id = static_cast<RowId>(file_.sink.rows(Table::kRange) + static_cast<int64_t>(note.range));
    step.name = range.name[note.range];
    const std::string_view name =
        IsNull(step.name) ? std::string_view() : file_.sink.strings().Text(step.name);
    step.number = IsNull(note.number) ? StepNumber(name, steps_) : note.number;
    step.start_ns = range.start_ns[note.range];
    step.dur_ns = range.dur_ns[note.range];
    decoder.batch.step.Add(step);
    ++steps_;
  }
}

void Ordered::Finish() {
  EventBatch batch;
  CloseOp(batch);
  CloseModule(batch);
  StringPool& strings = file_.sink.strings();
  std::vector<int64_t> process_of(map_.planes.size(), -1);
  const auto put_lane = [&](const Line& line, bool ops) {
    int64_t& process = process_of[line.plane];
    if (process < 0) {
      process = first_process_ + static_cast<int64_t>(batch.process.size());
      const Plane& plane = map_.planes[line.plane];
      ProcessRow row;
      row.name = strings.Add(ValidUtf8(plane.name));
      for (const std::string_view bytes : plane.own_stats) {
        StatValue stat;
        int64_t unknown = 0;
        if (plane.ReadStat(bytes, stat, unknown) && stat.IsNumber() &&
            stat.name != IdTable<StatName>::kNone && plane.stats.At(stat.name).text == "process_id")
          row.pid = static_cast<int64_t>(stat.number);
      }
      batch.process.Add(row);
    }
    ThreadRow row;
    row.process_id = static_cast<ProcessId>(process);
    const std::string name = ValidUtf8(line.display_name.empty() ? line.name : line.display_name);
    if (!ops) row.tid = line.display_id != 0 ? line.display_id : line.id;
    row.name = strings.Add(ops ? name + " XLA ops" : name);
    batch.thread.Add(row);
  };
  for (const Line& line : map_.lines) put_lane(line, false);
  for (const uint32_t line : op_lane_lines_) put_lane(map_.lines[line], true);
  file_.facts.Observe(batch, file_.sink);
  file_.sink.Append(batch);
}

}  // namespace nl::adapters::xplane
