// SPDX-License-Identifier: Apache-2.0
// NVTX: labelled ranges, marks, and the names of domains, categories and threads.
// Real rows (nsys 2026.2):
//   eventType 59, text "aten::mul, seq = 45328, op_id = 990726", globalTid ..., domainId 0
//   eventType 59, textId 1365871 -> "ncclSend", domainId 1
// The first is what torch.autograd.profiler.emit_nvtx writes for a framework op: it becomes
// a row of table op, as the same op does when PyTorch itself records it.

#include "import/adapters/nsys/export_file.h"

#include <charconv>

#include <fmt/format.h>

#include "import/rows/step_rows.h"
#include "model/labels/step_label.h"
#include "model/labels/torch_label.h"

namespace nl::adapters::nsys {

namespace {

// Frozen values of ENUM_NSYS_EVENT_TYPE; those with t come from imported text files.
enum EventType : int64_t {
  kNvtxCategory = 33,
  kNvtxMark = 34,
  kNvtxThread = 39,
  kNvtxPushPop = 59,
  kNvtxStartEnd = 60,
  kNvtxtMark = 65,
  kNvtxtPushPop = 70,
  kNvtxtStartEnd = 71,
  kNvtxDomainCreate = 75,
  kNvtxDomainDestroy = 76,
  kNvtxNameDevice = 97,
  kNvtxNameStream = 99,
};

class NvtxReader {
 public:
  static constexpr const char* kTable = "NVTX_EVENTS";
  static constexpr const char* kColumns[] = {
      "start",       "end",        "eventType",  "globalTid",    "text",        "textId",     "domainId",
      "category",    "color",      "rangeId",    "endGlobalTid", "uint64Value", "int64Value", "doubleValue",
      "uint32Value", "int32Value", "floatValue", "jsonTextId",   "jsonText",    "binaryData"};
  enum Column {
    kStart,
    kEnd,
    kType,
    kTid,
    kText,
    kTextId,
    kDomain,
    kCategory,
    kColor,
    kRangeId,
    kEndTid,
    kFirstPayload,
    kLastPayload = kFirstPayload + 5,
    kJsonTextId,
    kJsonText,
    kBinary,
  };

  explicit NvtxReader(ExportFile& e) : e_(e), strings_(e.writer.strings()), ranges_(e.writer.batch.range) {
    span_ = strings_.Add("span");
    async_ = strings_.Add("async");
    instant_ = strings_.Add("instant");
    unfinished_ = strings_.Add("unfinished");
  }

  // Domains and categories are named by events, which may stand after those that use them.
  Status ReadNames() {
    const SqliteReader::Table* table = e_.reader.Find(kTable);
    if (table == nullptr || !table->Has("eventType")) return {};
    NL_ASSIGN(SqliteRows rows, e_.reader.Read(kTable, kColumns, "WHERE eventType IN (33, 39, 75)"));
    while (rows.Next()) {
      const int64_t process = ProcessOf(rows.Int(kTid));
      const StringId text = TextOf(rows);
      if (IsNull(text)) continue;
      switch (rows.Int(kType)) {
        case kNvtxDomainCreate: domains_[{process, rows.Int(kDomain)}] = text; break;
        case kNvtxCategory: categories_[{process, rows.Int(kDomain), rows.Int(kCategory)}] = text; break;
        case kNvtxThread: e_.lanes.NameThread(rows.Int(kTid), text); break;
        default: break;
      }
    }
    // Damage is told when the rows themselves are read.
    return rows.status().ok() || e_.file.options.allow_truncated ? Status() : rows.status();
  }

  void PutSteps() { steps_.Put(strings_, e_.writer.batch.step); }

  Status Row(const SqliteRows& rows) {
    const int64_t type = rows.IsNull(kType) ? rows.IsNull(kEnd) ? kNvtxMark : kNvtxPushPop : rows.Int(kType);
    switch (type) {
      case kNvtxPushPop:
      case kNvtxtPushPop: return Range(rows, span_);
      case kNvtxStartEnd:
      case kNvtxtStartEnd: return Range(rows, async_);
      case kNvtxMark:
      case kNvtxtMark: return Mark(rows);
      case kNvtxCategory:
      case kNvtxThread:
      case kNvtxDomainCreate:
      case kNvtxDomainDestroy: return {};
      default: break;
    }
    if (type >= kNvtxNameDevice && type <= kNvtxNameStream) return {};
    e_.file.counters.Add(kUnknownNvtx, -1, fmt::format("eventType {}", type));
    const RowId row = e_.writer.NextRow(Table::kRange, ranges_);
    NL_TRY(Mark(rows));
    if (e_.writer.NextRow(Table::kRange, ranges_) != row)
      e_.writer.KeepArg(Table::kRange, row, "eventType", type);
    return {};
  }

 private:
  StringId TextOf(const SqliteRows& rows) {
    if (!rows.IsNull(kText)) return e_.strings.Add(rows.Text(kText));
    return rows.IsNull(kTextId) ? StringId::kNull : e_.strings.Find(rows.Int(kTextId));
  }

  // "nvtx", or "nvtx:NCCL" for a domain of its own.
  StringId CategoryOf(int64_t process, int64_t domain) {
    if (IsNull(domain)) domain = 0;
    if (process == last_process_ && domain == last_domain_ && !IsNull(last_category_)) return last_category_;
    const auto named = domains_.find({process, domain});
    last_category_ =
        strings_.Add(domain == 0               ? std::string("nvtx")
                     : named == domains_.end() ? fmt::format("nvtx:{}", domain)
                                               : fmt::format("nvtx:{}", strings_.Text(named->second)));
    last_process_ = process;
    last_domain_ = domain;
    return last_category_;
  }

  Status Range(const SqliteRows& rows, StringId kind) {
    if (kind == span_ && !rows.IsNull(kText)) {
      const TorchLabel label = ParseTorchLabel(rows.Text(kText));
      if (label.is_op) return Op(rows, label);
      if (label.given) return Labelled(rows, kind, e_.strings.Add(label.name), &label);
    }
    return Labelled(rows, kind, NullOf<StringId>::value, nullptr);
  }

  Status Mark(const SqliteRows& rows) { return Labelled(rows, instant_, NullOf<StringId>::value, nullptr); }

  Status Labelled(const SqliteRows& rows, StringId kind, StringId name, const TorchLabel* label) {
    const RowId row = e_.writer.NextRow(Table::kRange, ranges_);
    ExportFile::Time time;
    if (!e_.TimeOf(rows, kStart, kEnd, Table::kRange, row, time)) return {};
    const int64_t tid = rows.Int(kTid);
    RangeRow r;
    r.thread_id = e_.lanes.Host(tid);
    r.start_ns = time.start_ns;
    r.dur_ns = kind == instant_ ? NullOf<int64_t>::value : time.dur_ns;
    r.category = CategoryOf(ProcessOf(tid), rows.Int(kDomain));
    r.kind = kind;
    if (kind == instant_ && !rows.IsNull(kEnd)) e_.writer.KeepArg(Table::kRange, row, "end", rows.Int(kEnd));
    if (kind != instant_ && rows.IsNull(kEnd)) {
      r.kind = unfinished_;
      e_.file.counters.Add(kBeginWithoutEnd);
    }
    r.name = !IsNull(name)         ? name
             : !rows.IsNull(kText) ? e_.strings.Add(rows.Text(kText))
                                   : e_.NameOf(rows.Int(kTextId), Table::kRange, row, "textId");
    if (label != nullptr) {
      r.record_function_id = label->op_id;
      if (!label->sizes.empty()) e_.writer.KeepArg(Table::kRange, row, "sizes", label->sizes);
    }
    ranges_.Add(r);
    KeepRest(rows, Table::kRange, row);
    if (!IsNull(r.name) && !IsNull(r.dur_ns) && IsStepLabel(strings_.Text(r.name)))
      steps_.Add(r.thread_id, r.name, r.start_ns, r.dur_ns, row);
    return {};
  }

  Status Op(const SqliteRows& rows, const TorchLabel& label) {
    OpColumns& ops = e_.writer.batch.op;
    const RowId row = e_.writer.NextRow(Table::kOp, ops);
    ExportFile::Time time;
    if (!e_.TimeOf(rows, kStart, kEnd, Table::kOp, row, time)) return {};
    if (IsNull(time.dur_ns) && rows.IsNull(kEnd)) e_.file.counters.Add(kBeginWithoutEnd);
    OpRow r;
    r.thread_id = e_.lanes.Host(rows.Int(kTid));
    r.start_ns = time.start_ns;
    r.dur_ns = time.dur_ns;
    r.name = e_.strings.Add(label.name);
    r.record_function_id = label.op_id;
    r.sequence_number = label.sequence;
    if (!label.sizes.empty()) r.input_dims = e_.strings.Add(ShapesOf(label));
    if (!label.input_op_ids.empty())
      e_.writer.KeepArg(Table::kOp, row, "input_op_ids", DumpJson(Json(std::string(label.input_op_ids))));
    ops.Add(r);
    KeepRest(rows, Table::kOp, row);
    e_.saw_torch_op = e_.saw_torch_op || label.name.starts_with("aten::");
    if (!IsNull(r.dur_ns)) e_.ops.Add(r.thread_id, r.start_ns, r.start_ns + r.dur_ns, row);
    return {};
  }

  // Category, colour, payload and what else an event may carry.
  void KeepRest(const SqliteRows& rows, Table table, RowId row) {
    const auto keep_text = [&](const char* key, std::string_view text) {
      e_.writer.KeepArg(table, row, key, DumpJson(Json(std::string(text))));
    };
    if (!rows.IsNull(kCategory)) {
      const auto named =
          categories_.find({ProcessOf(rows.Int(kTid)), rows.Int(kDomain), rows.Int(kCategory)});
      if (named != categories_.end())
        keep_text("category", strings_.Text(named->second));
      else
        e_.writer.KeepArg(table, row, "category", rows.Int(kCategory));
    }
    for (const int column : {kColor, kRangeId}) {
      if (!rows.IsNull(column)) e_.writer.KeepArg(table, row, kColumns[column], rows.Int(column));
    }
    if (!rows.IsNull(kEndTid) && rows.Int(kEndTid) != rows.Int(kTid))
      e_.writer.KeepArg(table, row, "endGlobalTid", rows.Int(kEndTid));
    for (int column = kFirstPayload; column <= kLastPayload; ++column) {
      if (!rows.IsNull(column)) e_.writer.KeepArg(table, row, "payload", rows.Text(column));
    }
    for (const int column : {kJsonTextId, kJsonText}) {
      if (rows.IsNull(column)) continue;
      const std::string_view json =
          column == kJsonText ? rows.Text(column) : e_.strings.Text(rows.Int(column));
      if (ParseJson(json).ok())
        e_.writer.KeepArg(table, row, "payload", json);
      else
        keep_text("payload", json);
    }
    if (!rows.IsNull(kBinary)) keep_text("binaryData", rows.Text(kBinary));
  }

  ExportFile& e_;
  StringPool& strings_;
  RangeColumns& ranges_;
  StringId span_, async_, instant_, unfinished_;
  std::map<std::pair<int64_t, int64_t>, StringId> domains_;               // process, domain
  std::map<std::tuple<int64_t, int64_t, int64_t>, StringId> categories_;  // process, domain, category
  int64_t last_process_ = 0, last_domain_ = 0;
  StepRows steps_;
  StringId last_category_ = StringId::kNull;
};

}  // namespace

Status ReadNvtx(ExportFile& e) {
  NvtxReader reader(e);
  NL_TRY(reader.ReadNames());
  const Status read = e.ForEach(NvtxReader::kTable, NvtxReader::kColumns, 1,
                                [&](const SqliteRows& rows) { return reader.Row(rows); });
  reader.PutSteps();
  return read;
}

}  // namespace nl::adapters::nsys
