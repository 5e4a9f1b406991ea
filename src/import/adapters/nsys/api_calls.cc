// SPDX-License-Identifier: Apache-2.0
// CUDA runtime and driver calls, and calls of the libraries above them.
// One real call (nsys 2024.6): start 1376279215, end 1376287154, eventClass 0,
//   globalTid 285298772900428 (pid 227916, tid 227916), correlationId 1019,
//   nameId 48 -> "cudaLaunchKernel_v7000", returnValue 0
// Runtime names carry the version of the entry point they were built against; other
// profilers leave it out, so do we (the spelling of the export is kept in the header).
// Calls of the operating system stand on a lane beside their thread: most happen inside
// CUDA calls, and would hide from every reader of the thread what it was waiting in.

#include "import/adapters/nsys/export_file.h"

namespace nl::adapters::nsys {

namespace {

// What a call's number in StringIds means, looked up once.
struct CallName {
  StringId name = StringId::kNull;
  WaitKind wait = WaitKind::kNone;
  bool is_driver = false;
};

class CallNames {
 public:
  explicit CallNames(ExportFile& e) : e_(e) {}
  const CallName* Find(int64_t id) {
    if (last_ != nullptr && id == last_id_) return last_;
    const auto [it, added] = names_.try_emplace(id);
    if (added) {
      const std::string_view full = e_.strings.Text(id);
      const std::string_view name = WithoutApiVersion(full);
      it->second.name = full.empty() ? StringId::kNull : e_.strings.Add(name);
      it->second.wait = WaitOf(name);
      it->second.is_driver = name.starts_with("cu") && !name.starts_with("cuda");
      if (name != full) e_.api_names[std::string(name)] = std::string(full);
    }
    last_id_ = id;
    last_ = &it->second;
    return last_;
  }

 private:
  ExportFile& e_;
  std::unordered_map<int64_t, CallName> names_;
  int64_t last_id_ = 0;
  const CallName* last_ = nullptr;
};

// Tables of calls have the same columns; what differs:
struct CallTable {
  const char* table;
  const char* domain;  // null: told by the event class, else by the name
  bool causes_work;
  bool beside = false;      // on a lane of its own
  bool keep_result = true;  // a return value that is not 0 says something
};

Status ReadCalls(ExportFile& e, CallNames& names, const CallTable& from) {
  static constexpr const char* kColumns[] = {"start",  "end",         "globalTid", "correlationId",
                                             "nameId", "returnValue", "eventClass"};
  enum Column { kStart, kEnd, kTid, kCorrelation, kName, kReturn, kClass };
  ApiCallColumns& calls = e.writer.batch.api_call;
  StringPool& strings = e.writer.strings();
  const StringId runtime = strings.Add(from.domain == nullptr ? "cuda_runtime" : from.domain);
  const StringId driver = strings.Add(from.domain == nullptr ? "cuda_driver" : from.domain);
  return e.ForEach(from.table, kColumns, 2, [&](const SqliteRows& rows) -> Status {
    const RowId row = e.writer.NextRow(Table::kApiCall, calls);
    ExportFile::Time time;
    if (!e.TimeOf(rows, kStart, kEnd, Table::kApiCall, row, time)) return {};
    const int64_t tid = rows.Int(kTid), name_id = rows.Int(kName);
    const CallName& call = *names.Find(name_id);
    ApiCallRow r;
    r.thread_id = from.beside ? e.lanes.Beside(tid, "OS runtime") : e.lanes.Host(tid);
    r.start_ns = time.start_ns;
    r.dur_ns = time.dur_ns;
    r.name = IsNull(call.name) ? e.NameOf(name_id, Table::kApiCall, row, "nameId") : call.name;
    const int64_t event_class = rows.Int(kClass);
    r.domain = event_class == 1 || (event_class != 0 && call.is_driver) ? driver : runtime;
    r.correlation = rows.Int(kCorrelation) == 0 ? NullOf<int64_t>::value : rows.Int(kCorrelation);
    const int64_t result = rows.Int(kReturn);
    if (from.keep_result && !IsNull(result) && result != 0)
      e.writer.KeepArg(Table::kApiCall, row, "returnValue", result);
    const RowId op =
        e.ops.Enclosing(r.thread_id, r.start_ns, r.start_ns + (IsNull(r.dur_ns) ? int64_t{0} : r.dur_ns));
    calls.op_id.push_back(op);
    calls.Add(r);
    if (from.causes_work && !IsNull(r.correlation))
      e.launches.Add(ProcessOf(tid), r.correlation, {row, op, call.wait});
    return {};
  });
}

}  // namespace

Status ReadApiCalls(ExportFile& e) {
  CallNames names(e);
  NL_TRY(ReadCalls(e, names, {"CUPTI_ACTIVITY_KIND_RUNTIME", nullptr, true}));
  NL_TRY(ReadCalls(e, names, {"CUPTI_ACTIVITY_KIND_DRIVER", nullptr, true}));
  NL_TRY(ReadCalls(e, names, {"CUDNN_EVENTS", "cudnn", false}));
  NL_TRY(ReadCalls(e, names, {"CUBLAS_EVENTS", "cublas", false}));
  return ReadCalls(e, names, {"OSRT_API", "osrt", false, true, false});
}

}  // namespace nl::adapters::nsys
