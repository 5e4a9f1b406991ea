// SPDX-License-Identifier: Apache-2.0
// NVTX calls of the program, paired: a push with its pop on the thread's stack of that
// domain, a start with its end by number. What torch.autograd.profiler.emit_nvtx pushes for
// a framework op becomes a row of table op, as in the nsys adapter.

#include <map>

#include <fmt/format.h>

#include "import/adapters/nlcap/capture_file.h"
#include "import/model_metadata.h"
#include "import/rows/step_rows.h"
#include "model/labels/step_label.h"
#include "model/labels/torch_label.h"

namespace nl::adapters::nlcap {

namespace {

using capture::PayloadType;
using capture::RangeRecord;
using capture::RangeWhat;

struct Open {
  RangeRecord begin;
  int64_t start_ns;
  int64_t end_ns;  // null while open
};

// One thread's ranges of one domain. Those inside a range are held until it ends, so that
// rows come in the order in which the ranges began.
struct Nest {
  std::vector<Open> ranges;
  std::vector<size_t> open;  // indexes into ranges
};

class RangeReader {
 public:
  explicit RangeReader(CaptureFile& c)
      : c_(c), strings_(c.writer.strings()), ranges_(c.writer.batch.range), ops_(c.writer.batch.op) {
    span_ = strings_.Add("span");
    async_ = strings_.Add("async");
    instant_ = strings_.Add("instant");
    unfinished_ = strings_.Add("unfinished");
  }

  void Take(Stream& stream, const RangeRecord& r, int64_t place) {
    const std::optional<int64_t> time_ns = c_.HostTime(stream, r.time_ns, place);
    if (!time_ns) return;
    switch (r.what) {
      case RangeWhat::kPush: {
        Nest& nest = NestOf(stream, r);
        nest.open.push_back(nest.ranges.size());
        nest.ranges.push_back({r, *time_ns, NullOf<int64_t>::value});
        return;
      }
      case RangeWhat::kPop: return Pop(stream, NestOf(stream, r), *time_ns);
      case RangeWhat::kStart: started_[{&stream - c_.streams.data(), r.id}] = {r, *time_ns, 0}; return;
      case RangeWhat::kEnd: return End(stream, r, *time_ns);
      case RangeWhat::kMark:
        TakeModel(stream, r);
        return Emit(stream, {r, *time_ns, NullOf<int64_t>::value}, instant_);
    }
    c_.file.counters.Add(kBadRecord, place);
  }

  void Finish() {
    for (auto& [key, nest] : nests_) {
      for (size_t i = 0; i < nest.open.size(); ++i) c_.file.counters.Add(kBeginWithoutEnd);
      EmitAll(c_.streams[static_cast<size_t>(key[0])], nest);
    }
    for (auto& [key, open] : started_) {
      c_.file.counters.Add(kBeginWithoutEnd);
      open.end_ns = NullOf<int64_t>::value;
      Emit(c_.streams[static_cast<size_t>(key.first)], open, async_);
    }
    steps_.Put(strings_, c_.writer.batch.step);
  }

 private:
  Nest& NestOf(const Stream& stream, const RangeRecord& r) {
    const std::array<int64_t, 3> key{&stream - c_.streams.data(), r.tid, r.domain};
    if (last_ == nullptr || key != last_key_) last_ = &nests_[key];
    last_key_ = key;
    return *last_;
  }

  void Pop(Stream& stream, Nest& nest, int64_t time_ns) {
    if (nest.open.empty()) return c_.file.counters.Add(kEndWithoutBegin);
    nest.ranges[nest.open.back()].end_ns = time_ns;
    nest.open.pop_back();
    if (nest.open.empty()) EmitAll(stream, nest);
  }

  void End(Stream& stream, const RangeRecord& r, int64_t time_ns) {
    const auto it = started_.find({&stream - c_.streams.data(), r.id});
    if (it == started_.end()) return c_.file.counters.Add(kEndWithoutBegin);
    it->second.end_ns = time_ns;
    Emit(stream, it->second, async_);
    started_.erase(it);
  }

  void EmitAll(Stream& stream, Nest& nest) {
    for (const Open& range : nest.ranges) Emit(stream, range, span_);
    nest.ranges.clear();
    nest.open.clear();
  }

  void Emit(Stream& stream, const Open& range, StringId kind) {
    if (kind == span_) {
      const TorchLabel label = LabelOf(stream, range.begin);
      if (label.is_op) return EmitOp(stream, range, label);
      if (label.given) return EmitRange(stream, range, kind, &label);
    }
    EmitRange(stream, range, kind, nullptr);
  }

  // The program describes its model in a mark; the last one counts.
  void TakeModel(Stream& stream, const RangeRecord& mark) {
    if (mark.payload_type != PayloadType::kText || c_.RawText(stream, mark.name) != kModelMetadata) return;
    const StringId text = c_.Text(stream, static_cast<uint32_t>(mark.payload));
    if (IsNull(text)) return;
    if (Result<Json> model = ParseJson(strings_.Text(text)); model.ok() && model->is_object())
      c_.file.about.header[kModelMetadata] = *std::move(model);
  }

  TorchLabel LabelOf(Stream& stream, const RangeRecord& begin) {
    const std::string_view text = c_.RawText(stream, begin.name);
    if ((begin.flags & capture::kRangeIsTorchs) == 0) return ParseTorchLabel(text);
    const bool has_sequence = begin.payload_type == PayloadType::kInt;
    const bool has_id = begin.id != capture::kNoOpId;
    return ParseTorchLabel(text, has_id ? static_cast<int64_t>(begin.id) : NullOf<int64_t>::value,
                           has_sequence ? static_cast<int64_t>(begin.payload) : NullOf<int64_t>::value);
  }

  // Null for a range that never ended or, by a damaged record, before it began.
  int64_t DurationOf(const Open& range) {
    if (IsNull(range.end_ns)) return range.end_ns;
    if (range.end_ns >= range.start_ns) return range.end_ns - range.start_ns;
    c_.file.counters.Add(kBadDuration);
    return NullOf<int64_t>::value;
  }

  StringId CategoryOf(Stream& stream, uint32_t domain) {
    if (domain == 0) return strings_.Add("nvtx");
    const StringId name = c_.Text(stream, domain);
    return strings_.Add(IsNull(name) ? std::string("nvtx") : fmt::format("nvtx:{}", strings_.Text(name)));
  }

  void EmitRange(Stream& stream, const Open& range, StringId kind, const TorchLabel* label) {
    const RowId row = c_.writer.NextRow(Table::kRange, ranges_);
    const RangeRecord& begin = range.begin;
    RangeRow r;
    r.thread_id = c_.lanes.Host(stream.file.pid, begin.tid);
    r.start_ns = range.start_ns;
    r.dur_ns = kind == instant_ ? NullOf<int64_t>::value : DurationOf(range);
    r.name = label != nullptr ? strings_.Add(label->name) : c_.Text(stream, begin.name);
    r.category = CategoryOf(stream, begin.domain);
    r.kind = kind != instant_ && IsNull(r.dur_ns) ? unfinished_ : kind;
    if (label != nullptr) {
      r.record_function_id = label->op_id;
      if (!label->sizes.empty()) c_.writer.KeepArg(Table::kRange, row, "sizes", JsonText(label->sizes));
    }
    ranges_.Add(r);
    KeepRest(stream, begin, Table::kRange, row);
    if (!IsNull(r.name) && !IsNull(r.dur_ns) && IsStepLabel(strings_.Text(r.name)))
      steps_.Add(r.thread_id, r.name, r.start_ns, r.dur_ns, row);
  }

  void EmitOp(Stream& stream, const Open& range, const TorchLabel& label) {
    const RowId row = c_.writer.NextRow(Table::kOp, ops_);
    OpRow r;
    r.thread_id = c_.lanes.Host(stream.file.pid, range.begin.tid);
    r.start_ns = range.start_ns;
    r.dur_ns = DurationOf(range);
    r.name = strings_.Add(label.name);
    r.record_function_id = label.op_id;
    r.sequence_number = label.sequence;
    if (!label.sizes.empty()) r.input_dims = strings_.Add(ShapesOf(label));
    if (!label.input_op_ids.empty())
      c_.writer.KeepArg(Table::kOp, row, "input_op_ids", JsonText(label.input_op_ids));
    ops_.Add(r);
    KeepRest(stream, range.begin, Table::kOp, row);
    c_.saw_torch_op = c_.saw_torch_op || label.name.starts_with("aten::");
    if (!IsNull(r.dur_ns)) c_.ops.Add(r.thread_id, r.start_ns, r.start_ns + r.dur_ns, row);
  }

  static std::string JsonText(std::string_view text) { return DumpJson(Json(std::string(text))); }

  // Category, colour and payload.
  void KeepRest(Stream& stream, const RangeRecord& begin, Table table, RowId row) {
    if (const StringId name = c_.Text(stream, begin.category); !IsNull(name))
      c_.writer.KeepArg(table, row, "category", JsonText(strings_.Text(name)));
    else if (begin.category_id != 0)
      c_.writer.KeepArg(table, row, "category", int64_t{begin.category_id});
    if (begin.color != 0) c_.writer.KeepArg(table, row, "color", int64_t{begin.color});
    if ((begin.flags & capture::kRangeIsTorchs) != 0) return;  // the payload is its sequence number
    switch (begin.payload_type) {
      case PayloadType::kUint:
        return c_.writer.KeepArg(table, row, "payload", fmt::format("{}", begin.payload));
      case PayloadType::kInt:
        return c_.writer.KeepArg(table, row, "payload", static_cast<int64_t>(begin.payload));
      case PayloadType::kDouble: {
        double value;
        std::memcpy(&value, &begin.payload, sizeof value);
        return c_.writer.KeepArg(table, row, "payload", DumpJson(Json(value)));
      }
      case PayloadType::kText: {
        const StringId id = c_.Text(stream, static_cast<uint32_t>(begin.payload));
        if (IsNull(id)) return;
        const std::string_view text = strings_.Text(id);
        return c_.writer.KeepArg(table, row, "payload",
                                 ParseJson(text).ok() ? std::string(text) : JsonText(text));
      }
      case PayloadType::kNone: return;
    }
  }

  CaptureFile& c_;
  StringPool& strings_;
  RangeColumns& ranges_;
  OpColumns& ops_;
  StringId span_, async_, instant_, unfinished_;
  std::map<std::array<int64_t, 3>, Nest> nests_;  // stream, tid, domain
  std::array<int64_t, 3> last_key_{};
  Nest* last_ = nullptr;
  std::map<std::pair<int64_t, uint64_t>, Open> started_;  // stream, id
  StepRows steps_;
};

}  // namespace

Status ReadRanges(CaptureFile& c) {
  RangeReader reader(c);
  NL_TRY(c.ForEach<RangeRecord>(
      [&](Stream& stream, const RangeRecord& r, int64_t place) { reader.Take(stream, r, place); }));
  reader.Finish();
  return c.writer.Flow();
}

}  // namespace nl::adapters::nlcap
