// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/kineto/kineto_mapper.h"

#include "import/names/copy_name.h"
#include "import/trace_json/trace_reader.h"

namespace nl::adapters::kineto {

using trace_json::Arg;
using trace_json::JsonKind;
using trace_json::JsonValue;
using trace_json::KeyTable;
using trace_json::ToDouble;
using trace_json::ToInt64;
using trace_json::TraceEvent;
using trace_json::Worker;

namespace {

enum Key : uint8_t {
  kExternalId,
  kCorrelation,
  kStream,
  kDevice,
  kContext,
  kQueued,
  kRegisters,
  kSharedMemory,
  kGrid,
  kBlock,
  kBlocksPerSm,
  kWarpsPerSm,
  kOccupancy,
  kPriority,
  kGraphId,
  kGraphNodeId,
  kBytes,
  kBandwidth,
  kCbid,
  kCid,
  kRecordFunctionId,
  kEvIdx,
  kSequenceNumber,
  kFwdThread,
  kInputDims,
  kInputTypes,
  kInputStrides,
  kConcreteInputs,
  kPythonId,
  kPythonParentId,
  kPythonModuleId,
  kAddr,
  kDeviceId,
  kDeviceType,
  kMemoryBytes,
  kTotalAllocated,
  kTotalReserved,
  kCollectiveName,
  kDtype,
  kInElements,
  kOutElements,
  kGroupSize,
  kGroupName,
  kGroupDescription,
  kGroupRanks,
  kInSplit,
  kOutSplit,
  kRankStart,
  kRankStride,
  kSeq,
  kWaitStream,
  kWaitEvent,
  kWaitCorrelation,
  kOldExternalId,
  kMtiaBytes,
  kDirection,
};

const std::vector<std::string_view> kKeyNames = {
    "External id",
    "correlation",
    "stream",
    "device",
    "context",
    "queued",
    "registers per thread",
    "shared memory",
    "grid",
    "block",
    "blocks per SM",
    "warps per SM",
    "est. achieved occupancy %",
    "priority",
    "graph id",
    "graph node id",
    "bytes",
    "memory bandwidth (GB/s)",
    "cbid",
    "cid",
    "Record function id",
    "Ev Idx",
    "Sequence number",
    "Fwd thread id",
    "Input Dims",
    "Input type",
    "Input Strides",
    "Concrete Inputs",
    "Python id",
    "Python parent id",
    "Python module id",
    "Addr",
    "Device Id",
    "Device Type",
    "Bytes",
    "Total Allocated",
    "Total Reserved",
    "Collective name",
    "dtype",
    "In msg nelems",
    "Out msg nelems",
    "Group size",
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
    "In split size",
    "Out split size",
    "Global rank start",
    "Global rank stride",
    "Seq",
    "wait_on_stream",
    "wait_on_cuda_event_id",
    "wait_on_cuda_event_record_corr_id",
    "external id",  // first generation, in launches and device work
    "size",
    "direction",
};

static_assert(kDirection < 64, "TakeArgs keeps one bit per key");

enum class Category : uint8_t {
  kKernel,
  kCopy,
  kFill,
  kSync,
  kApiCall,
  kOp,
  kPython,
  kAnnotation,
  kMtia,
  kUnknown
};

struct CategoryName {
  std::string_view name;
  Category meaning;
};

// Three generations of category names, ROCm's, and those of other accelerators.
constexpr CategoryName kCategories[] = {
    {"cpu_op", Category::kOp},
    {"Operator", Category::kOp},
    {"kernel", Category::kKernel},
    {"Kernel", Category::kKernel},
    {"concurrent_kernel", Category::kKernel},
    {"hpu_op", Category::kKernel},
    {"gpu_memcpy", Category::kCopy},
    {"Memcpy", Category::kCopy},
    {"gpu_memset", Category::kFill},
    {"Memset", Category::kFill},
    {"cuda_sync", Category::kSync},
    {"xpu_sync", Category::kSync},
    {"cuda_runtime", Category::kApiCall},
    {"cuda_driver", Category::kApiCall},
    {"Runtime", Category::kApiCall},
    {"hip_runtime", Category::kApiCall},
    {"hip_driver", Category::kApiCall},
    {"xpu_runtime", Category::kApiCall},
    {"xpu_driver", Category::kApiCall},
    {"mtia_runtime", Category::kApiCall},
    {"privateuse1_runtime", Category::kApiCall},
    {"privateuse1_driver", Category::kApiCall},
    {"python_function", Category::kPython},
    {"mtia_ccp_events", Category::kMtia},
    {"user_annotation", Category::kAnnotation},
    {"gpu_user_annotation", Category::kAnnotation},
    // Labels and accounts beside the work, which may carry a stream of it.
    {"overhead", Category::kAnnotation},
    {"cuda_event", Category::kAnnotation},
    {"cuda_profiler_range", Category::kAnnotation},
    {"collective_comm", Category::kAnnotation},
    {"mtia_insight", Category::kAnnotation},
    {"mtia_workloadd", Category::kAnnotation},
    {"glow_runtime", Category::kAnnotation},
    {"Trace", Category::kAnnotation},
};

Category Classify(std::string_view cat) {
  static const KeyTable table = [] {
    std::vector<std::string_view> names;
    for (const CategoryName& c : kCategories) names.push_back(c.name);
    return KeyTable(names);
  }();
  const uint8_t id = table.Find(cat.data(), cat.size());
  return id == KeyTable::kUnknown ? Category::kUnknown : kCategories[id].meaning;
}

// The first generation calls the label of a step an operator.
bool IsStep(const TraceEvent& e) { return e.name.given() && e.name.text().starts_with("ProfilerStep#"); }

const JsonValue* FindArg(const TraceEvent& e, Key key) {
  for (const Arg& arg : e.args) {
    if (arg.key_id == key) return &arg.value;
  }
  return nullptr;
}

// A category nobody has described: an event that names its device and its stream is work of that device.
bool IsOnStream(const TraceEvent& e) {
  int64_t number = 0;
  const JsonValue* device = FindArg(e, kDevice);
  const JsonValue* stream = FindArg(e, kStream);
  return device != nullptr && stream != nullptr && ToInt64(*device, number) && ToInt64(*stream, number);
}

bool TakeInt32(const JsonValue& v, int32_t& to) {
  int64_t wide = 0;
  if (!ToInt64(v, wide) || wide < INT32_MIN + 1 || wide > INT32_MAX) return false;
  to = static_cast<int32_t>(wide);
  return true;
}

// "[2, 66, 1]" into three integers.
bool TakeTriple(const JsonValue& v, int32_t& x, int32_t& y, int32_t& z) {
  if (v.kind != JsonKind::kNested || v.size < 2 || v.data[0] != '[') return false;
  int64_t n[3];
  const char* p = v.data + 1;
  const char* end = v.data + v.size - 1;
  for (int i = 0; i < 3; ++i) {
    while (p < end && *p == ' ') ++p;
    const char* first = p;
    n[i] = 0;
    while (p < end && *p >= '0' && *p <= '9' && p - first < 10) n[i] = n[i] * 10 + (*p++ - '0');
    if (p == first || n[i] > INT32_MAX) return false;
    while (p < end && *p == ' ') ++p;
    if (i < 2 && (p >= end || *p++ != ',')) return false;
  }
  if (p != end) return false;
  x = static_cast<int32_t>(n[0]);
  y = static_cast<int32_t>(n[1]);
  z = static_cast<int32_t>(n[2]);
  return true;
}

bool IsCollectiveKey(uint8_t key) { return key >= kCollectiveName && key <= kSeq; }

// One argument of a collective; false: it does not fit the column.
bool TakeCollective(const Arg& arg, Worker& w, CollectiveRow& r) {
  const JsonValue& v = arg.value;
  switch (arg.key_id) {
    case kInElements: return ToInt64(v, r.in_elements);
    case kOutElements: return ToInt64(v, r.out_elements);
    case kGroupSize: return ToInt64(v, r.group_size);
    case kRankStart: return ToInt64(v, r.rank_start);
    case kRankStride: return ToInt64(v, r.rank_stride);
    case kSeq: return ToInt64(v, r.sequence);
    case kGroupRanks: r.group_ranks = w.strings.Text(v); return true;
    case kInSplit: r.in_split = w.strings.Text(v); return true;
    case kOutSplit: r.out_split = w.strings.Text(v); return true;
    default: break;
  }
  if (v.kind != JsonKind::kString) return false;
  const StringId text = w.strings.Text(v);
  switch (arg.key_id) {
    case kCollectiveName: r.name = text; return true;
    case kDtype: r.dtype = text; return true;
    case kGroupName: r.group_name = text; return true;
    case kGroupDescription: r.group_description = text; return true;
    default: return false;
  }
}

void PutCollective(const TraceEvent& e, Worker& w, Table table, size_t row) {
  CollectiveRow r;
  r.owner = w.strings.Text(kAllTables[static_cast<size_t>(table)]->name);
  r.owner_id = static_cast<RowId>(row);
  uint64_t seen = 0;
  for (const Arg& arg : e.args) {
    if (!IsCollectiveKey(arg.key_id) || (seen >> arg.key_id & 1) != 0) continue;
    seen |= uint64_t{1} << arg.key_id;
    TakeCollective(arg, w, r);
  }
  w.batch.collective.Add(r);
  w.collective_owner.push_back(static_cast<uint8_t>(table));
}

// Would the collective row hold this argument exactly?
bool FitsCollective(const Arg& arg, Worker& w) {
  CollectiveRow scratch;
  return TakeCollective(arg, w, scratch);
}

// Device and stream of old traces stand only in pid and tid.
template <class Row>
void PlaceOnDevice(const TraceEvent& e, Row& r) {
  if (IsNull(r.device)) TakeInt32(e.pid, r.device);
  if (IsNull(r.stream)) ToInt64(e.tid, r.stream);
}

// Arguments that every kind of device work shares; false: not one of them.
template <class Row>
bool TakeDeviceArg(const Arg& arg, Row& r) {
  switch (arg.key_id) {
    case kExternalId:
    case kOldExternalId: return IsNull(r.external_id) && ToInt64(arg.value, r.external_id);
    case kCorrelation: return ToInt64(arg.value, r.correlation);
    case kStream: return ToInt64(arg.value, r.stream);
    case kDevice: return TakeInt32(arg.value, r.device);
    case kContext: return ToInt64(arg.value, r.context);
    default: return false;
  }
}

template <class Row>
Row SpanRow(ThreadId lane, int64_t start_ns, int64_t dur_ns, StringId name) {
  Row r;
  r.thread_id = lane;
  r.start_ns = start_ns;
  r.dur_ns = dur_ns;
  r.name = name;
  return r;
}

}  // namespace

const KeyTable& KinetoMapper::arg_keys() const {
  static const KeyTable table(kKeyNames);
  return table;
}

int32_t KinetoMapper::Rank(const trace_json::TraceText& text) const {
  CounterSet ignored;  // the adapter reads the header again and counts
  const Json header = trace_json::HeaderJson(text, ignored);
  const auto info = header.find("distributedInfo");
  if (info == header.end() || !info->is_object()) return NullOf<int32_t>::value;
  const auto rank = info->find("rank");
  return rank != info->end() && rank->is_number_integer() ? rank->get<int32_t>() : NullOf<int32_t>::value;
}

template <class Take>
void KinetoMapper::TakeArgs(const TraceEvent& e, Worker& w, Table table, size_t row, Take take) {
  bool collective = false;
  uint64_t seen = 0;  // by key: a column holds the first value, args the later ones
  for (const Arg& arg : e.args) {
    const uint64_t bit = arg.key_id == KeyTable::kUnknown ? 0 : uint64_t{1} << arg.key_id;
    const bool again = (seen & bit) != 0;
    seen |= bit;
    if (again) {
      KeepArg(w, table, row, arg.key, arg.value);
      continue;
    }
    if (take(arg)) continue;
    if (IsCollectiveKey(arg.key_id)) {
      collective = true;
      if (FitsCollective(arg, w)) continue;
    }
    KeepArg(w, table, row, arg.key, arg.value);
  }
  if (collective) PutCollective(e, w, table, row);
  if (e.id.given()) KeepArg(w, table, row, "id", e.id);
}

void KinetoMapper::MapKernel(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.kernel.size();
  auto r = SpanRow<KernelRow>(p.lane, p.start_ns, p.dur_ns, NameOf(e, w));
  const auto take = [&r](const Arg& arg) {
    const JsonValue& v = arg.value;
    switch (arg.key_id) {
      case kQueued: return ToInt64(v, r.queued_ns);
      case kRegisters: return TakeInt32(v, r.registers_per_thread);
      case kSharedMemory: return ToInt64(v, r.shared_bytes);
      case kGrid: return TakeTriple(v, r.grid_x, r.grid_y, r.grid_z);
      case kBlock: return TakeTriple(v, r.block_x, r.block_y, r.block_z);
      case kBlocksPerSm: return ToDouble(v, r.blocks_per_sm);
      case kWarpsPerSm: return ToDouble(v, r.warps_per_sm);
      case kOccupancy: return ToDouble(v, r.estimated_occupancy_pct);
      case kPriority: return TakeInt32(v, r.priority);
      case kGraphId: return ToInt64(v, r.graph_id);
      case kGraphNodeId: return ToInt64(v, r.graph_node_id);
      default: return TakeDeviceArg(arg, r);
    }
  };
  TakeArgs(e, w, Table::kKernel, row, take);
  PlaceOnDevice(e, r);
  w.batch.kernel.Add(r);
}

namespace {

void SplitCopyName(std::string_view name, Worker& w, MemcpyRow& r) {
  const CopyName copy = ParseCopyName(name);
  if (!copy.kind.empty()) r.kind = w.strings.Text(copy.kind);
  if (copy.dst.data() == nullptr) return;
  r.src_memory = w.strings.Text(copy.src);
  r.dst_memory = w.strings.Text(copy.dst);
}

// MTIA: "HOST_TO_DEVICE".
void SplitDirection(const JsonValue& v, Worker& w, MemcpyRow& r) {
  const std::string_view text = v.kind == JsonKind::kString ? v.text() : std::string_view();
  if (text == "HOST_TO_DEVICE") r.kind = w.strings.Text("HtoD");
  if (text == "DEVICE_TO_HOST") r.kind = w.strings.Text("DtoH");
  if (text == "DEVICE_TO_DEVICE") r.kind = w.strings.Text("DtoD");
}

template <class Row>
bool TakeMemoryArg(const Arg& arg, Row& r) {
  switch (arg.key_id) {
    case kBytes:
    case kMtiaBytes: return IsNull(r.bytes) && ToInt64(arg.value, r.bytes);
    case kBandwidth: return ToDouble(arg.value, r.bandwidth_gbps);
    case kGraphId: return ToInt64(arg.value, r.graph_id);
    case kGraphNodeId: return ToInt64(arg.value, r.graph_node_id);
    default: return TakeDeviceArg(arg, r);
  }
}

}  // namespace

void KinetoMapper::MapCopy(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.memcpy.size();
  auto r = SpanRow<MemcpyRow>(p.lane, p.start_ns, p.dur_ns, NameOf(e, w));
  if (r.name != StringId::kNull) SplitCopyName(w.strings.At(r.name), w, r);
  if (const JsonValue* v = FindArg(e, kDirection)) SplitDirection(*v, w, r);
  TakeArgs(e, w, Table::kMemcpy, row, [&r](const Arg& arg) { return TakeMemoryArg(arg, r); });
  PlaceOnDevice(e, r);
  w.batch.memcpy.Add(r);
}

void KinetoMapper::MapFill(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.memset.size();
  auto r = SpanRow<MemsetRow>(p.lane, p.start_ns, p.dur_ns, NameOf(e, w));
  TakeArgs(e, w, Table::kMemset, row, [&r](const Arg& arg) { return TakeMemoryArg(arg, r); });
  PlaceOnDevice(e, r);
  w.batch.memset.Add(r);
}

void KinetoMapper::MapSync(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.sync.size();
  auto r = SpanRow<SyncRow>(p.lane, p.start_ns, p.dur_ns, NameOf(e, w));
  const auto take = [&r](const Arg& arg) {
    switch (arg.key_id) {
      case kWaitStream: return ToInt64(arg.value, r.wait_on_stream);
      case kWaitEvent: return ToInt64(arg.value, r.wait_on_event);
      case kWaitCorrelation: return ToInt64(arg.value, r.wait_on_correlation);
      default: return TakeDeviceArg(arg, r);
    }
  };
  TakeArgs(e, w, Table::kSync, row, take);
  PlaceOnDevice(e, r);
  w.batch.sync.Add(r);
}

void KinetoMapper::MapApiCall(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.api_call.size();
  auto r = SpanRow<ApiCallRow>(p.lane, p.start_ns, p.dur_ns, NameOf(e, w));
  r.domain = CategoryOf(e, w);
  const auto take = [&r](const Arg& arg) {
    switch (arg.key_id) {
      case kCbid: return ToInt64(arg.value, r.callback_id);
      case kCid: return IsNull(r.callback_id) && ToInt64(arg.value, r.callback_id);
      case kExternalId:
      case kOldExternalId: return IsNull(r.external_id) && ToInt64(arg.value, r.external_id);
      case kCorrelation: return ToInt64(arg.value, r.correlation);
      default: return false;
    }
  };
  TakeArgs(e, w, Table::kApiCall, row, take);
  w.batch.api_call.Add(r);
}

void KinetoMapper::MapOp(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.op.size();
  auto r = SpanRow<OpRow>(p.lane, p.start_ns, p.dur_ns, NameOf(e, w));
  const auto text = [&w](const Arg& arg, StringId& to) {
    if (arg.value.kind != JsonKind::kNested) return false;
    to = w.strings.Text(arg.value);
    return true;
  };
  const auto take = [&](const Arg& arg) {
    switch (arg.key_id) {
      case kExternalId: return ToInt64(arg.value, r.external_id);
      case kRecordFunctionId: return ToInt64(arg.value, r.record_function_id);
      case kEvIdx: return ToInt64(arg.value, r.event_index);
      case kSequenceNumber: return ToInt64(arg.value, r.sequence_number);
      case kFwdThread: return ToInt64(arg.value, r.forward_thread);
      case kInputDims: return text(arg, r.input_dims);
      case kInputTypes: return text(arg, r.input_types);
      case kInputStrides: return text(arg, r.input_strides);
      case kConcreteInputs: return text(arg, r.concrete_inputs);
      default: return false;
    }
  };
  TakeArgs(e, w, Table::kOp, row, take);
  w.batch.op.Add(r);
}

void KinetoMapper::MapPython(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.python_call.size();
  auto r = SpanRow<PythonCallRow>(p.lane, p.start_ns, p.dur_ns, NameOf(e, w));
  const auto take = [&r](const Arg& arg) {
    switch (arg.key_id) {
      case kPythonId: return ToInt64(arg.value, r.python_id);
      case kPythonParentId: return ToInt64(arg.value, r.python_parent_id);
      case kPythonModuleId: return ToInt64(arg.value, r.python_module_id);
      case kEvIdx: return ToInt64(arg.value, r.event_index);
      default: return false;
    }
  };
  TakeArgs(e, w, Table::kPythonCall, row, take);
  w.batch.python_call.Add(r);
}

void KinetoMapper::MapAnnotation(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.range.size();
  // The base class makes the row and knows steps; it is given the event without args.
  TraceEvent plain = e;
  plain.args.clear();
  plain.id = {};
  EventMapper::MapComplete(plain, p, w);
  // The device's copy of a step label is not a second step.
  if (e.cat.text() == "gpu_user_annotation" && !w.step_rows.empty() && w.step_rows.back() == row)
    w.step_rows.pop_back();
  RangeColumns& range = w.batch.range;
  const auto take = [&](const Arg& arg) {
    switch (arg.key_id) {
      case kExternalId: return ToInt64(arg.value, range.external_id[row]);
      case kRecordFunctionId: return ToInt64(arg.value, range.record_function_id[row]);
      case kEvIdx: return ToInt64(arg.value, range.event_index[row]);
      default: return false;
    }
  };
  TakeArgs(e, w, Table::kRange, row, take);
}

void KinetoMapper::MapComplete(const TraceEvent& e, const Place& p, Worker& w) const {
  if (e.mapper_note == 0) {
    e.mapper_note = static_cast<uint8_t>(Classify(e.cat.given() ? e.cat.text() : std::string_view())) + 1;
  }
  switch (static_cast<Category>(e.mapper_note - 1)) {
    case Category::kOp: return IsStep(e) ? MapAnnotation(e, p, w) : MapOp(e, p, w);
    case Category::kKernel: return MapKernel(e, p, w);
    case Category::kApiCall: return MapApiCall(e, p, w);
    case Category::kPython: return MapPython(e, p, w);
    case Category::kCopy: return MapCopy(e, p, w);
    case Category::kFill: return MapFill(e, p, w);
    case Category::kSync: return MapSync(e, p, w);
    case Category::kAnnotation: return MapAnnotation(e, p, w);
    case Category::kMtia: return MapMtia(e, p, w);
    case Category::kUnknown: return IsOnStream(e) ? MapKernel(e, p, w) : MapAnnotation(e, p, w);
  }
}

// What the command processor of an MTIA device did: copies and waits by name, else work.
void KinetoMapper::MapMtia(const TraceEvent& e, const Place& p, Worker& w) const {
  const std::string_view name = e.name.given() ? e.name.text() : std::string_view();
  if (name.starts_with("dma_")) return MapCopy(e, p, w);
  if (name == "event_wait" || name == "event_record") return MapSync(e, p, w);
  MapKernel(e, p, w);
}

void KinetoMapper::MapInstant(const TraceEvent& e, const Place& p, Worker& w) const {
  if (e.name.text() != "[memory]") return EventMapper::MapInstant(e, p, w);
  const size_t row = w.batch.memory_event.size();
  MemoryEventRow r;
  r.thread_id = p.lane;
  r.start_ns = p.start_ns;
  r.name = NameOf(e, w);
  if (e.scope.given()) r.scope = w.strings.Text(e.scope);
  const auto take = [&r](const Arg& arg) {
    const JsonValue& v = arg.value;
    switch (arg.key_id) {
      case kAddr: return ToInt64(v, r.address);
      case kMemoryBytes: return ToInt64(v, r.bytes);
      case kTotalAllocated: return ToInt64(v, r.total_allocated_bytes);
      case kTotalReserved: return ToInt64(v, r.total_reserved_bytes);
      case kDeviceType: return TakeInt32(v, r.device_type);
      case kDeviceId: return TakeInt32(v, r.device);
      case kEvIdx: return ToInt64(v, r.event_index);
      default: return false;
    }
  };
  TakeArgs(e, w, Table::kMemoryEvent, row, take);
  w.batch.memory_event.Add(r);
  if (e.cat.given() && e.cat.text() != "cpu_instant_event")
    KeepArg(w, Table::kMemoryEvent, row, "cat", e.cat);
  KeepExtra(e, w, Table::kMemoryEvent, row, true);
}

}  // namespace nl::adapters::kineto
