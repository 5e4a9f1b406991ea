// SPDX-License-Identifier: Apache-2.0
// CUDA calls, and what they made devices do. Calls and their work share a correlation id
// within one process. One real pair (CUPTI 13.0, H200):
//   api     callback 211, correlation 4711, name "cudaLaunchKernel_v7000", 6.1 us
//   kernel  correlation 4711, device 0, context 1, stream 7, grid 132x1x1, block 256x1x1

#include <fmt/format.h>

#include <array>

#include "import/adapters/nlcap/capture_file.h"
#include "model/demangle.h"

namespace nl::adapters::nlcap {

namespace {

using capture::ApiRecord;
using capture::GraphRecord;
using capture::KernelRecord;
using capture::MemcpyRecord;
using capture::MemsetRecord;
using capture::SyncRecord;

constexpr const char* kCopyKinds[] = {nullptr, "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                      "AtoD",  "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr const char* kMemories[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                     "Array",   "Managed",  "Device Static", "Managed Static"};

int64_t IdOf(uint32_t value) { return value == 0xffffffff ? NullOf<int64_t>::value : int64_t{value}; }
// Correlation 0 is CUPTI's "caused by no call".
int64_t CorrelationOf(uint32_t value) { return value == 0 ? NullOf<int64_t>::value : int64_t{value}; }
int32_t DeviceOf(uint32_t device) {
  return device > INT32_MAX ? NullOf<int32_t>::value : static_cast<int32_t>(device);
}
int64_t StreamKey(const CaptureFile& c, const Stream& stream) { return &stream - c.streams.data(); }

class DeviceReader {
 public:
  explicit DeviceReader(CaptureFile& c)
      : c_(c), strings_(c.writer.strings()), keeps_executions_(c.has(capture::ChunkKind::kCounterSet)) {}

  void Kernel(Stream& stream, const KernelRecord& k, int64_t place) {
    KernelColumns& kernels = c_.writer.batch.kernel;
    const RowId row = c_.writer.NextRow(Table::kKernel, kernels);
    KernelRow r;
    if (!TakePlace(stream, k, place, Table::kKernel, kernels, row, r)) return;
    r.name = KernelName(stream, k.name);
    if (k.queued_ns > 0) {
      if (const auto queued_ns = stream.clock.ToHost(k.queued_ns)) r.queued_ns = *queued_ns + stream.shift_ns;
    }
    r.registers_per_thread = k.registers_per_thread;
    r.shared_bytes = int64_t{k.static_shared_bytes} + k.dynamic_shared_bytes;
    r.grid_x = k.grid[0];
    r.grid_y = k.grid[1];
    r.grid_z = k.grid[2];
    r.block_x = k.block[0];
    r.block_y = k.block[1];
    r.block_z = k.block[2];
    kernels.Add(r);
    if (keeps_executions_) KeepExecution(stream, k, row, KernelNumber(r));
    const auto keep = [&](const char* key, int64_t value) {
      if (value != 0) c_.writer.KeepArg(Table::kKernel, row, key, value);
    };
    keep("launchType", k.launch_type);
    keep("localMemoryPerThread", k.local_bytes_per_thread);
    keep("clusterX", k.cluster[0]);
    keep("clusterY", k.cluster[1]);
    keep("clusterZ", k.cluster[2]);
  }

  void Copy(Stream& stream, const MemcpyRecord& m, int64_t place) {
    MemcpyColumns& copies = c_.writer.batch.memcpy;
    const RowId row = c_.writer.NextRow(Table::kMemcpy, copies);
    MemcpyRow r;
    if (!TakePlace(stream, m, place, Table::kMemcpy, copies, row, r)) return;
    const char* kind = m.kind < std::size(kCopyKinds) ? kCopyKinds[m.kind] : nullptr;
    r.src_memory = MemoryName(m.src_memory);
    r.dst_memory = MemoryName(m.dst_memory);
    std::string name = kind == nullptr ? "Memcpy" : fmt::format("Memcpy {}", kind);
    if (!IsNull(r.src_memory) && !IsNull(r.dst_memory))
      name += fmt::format(" ({} -> {})", strings_.Text(r.src_memory), strings_.Text(r.dst_memory));
    r.name = strings_.Add(name);
    if (kind != nullptr)
      r.kind = strings_.Add(kind);
    else
      c_.writer.KeepArg(Table::kMemcpy, row, "copyKind", int64_t{m.kind});
    r.bytes = BytesOf(m.bytes);
    copies.Add(r);
    for (const auto& [key, device] :
         {std::pair{"srcDeviceId", m.peer_src_device}, std::pair{"dstDeviceId", m.peer_dst_device}}) {
      if (device != capture::kNoDevice) c_.writer.KeepArg(Table::kMemcpy, row, key, int64_t{device});
    }
  }

  void Fill(Stream& stream, const MemsetRecord& m, int64_t place) {
    MemsetColumns& fills = c_.writer.batch.memset;
    const RowId row = c_.writer.NextRow(Table::kMemset, fills);
    MemsetRow r;
    if (!TakePlace(stream, m, place, Table::kMemset, fills, row, r)) return;
    const StringId memory = MemoryName(m.memory);
    r.name = strings_.Add(IsNull(memory) ? std::string("Memset")
                                         : fmt::format("Memset ({})", strings_.Text(memory)));
    r.bytes = BytesOf(m.bytes);
    fills.Add(r);
    if (m.value != 0) c_.writer.KeepArg(Table::kMemset, row, "value", int64_t{m.value});
  }

  // A graph whose nodes were not recorded: one row, or the device would look idle.
  void Graph(Stream& stream, const GraphRecord& g, int64_t place) {
    KernelColumns& kernels = c_.writer.batch.kernel;
    const RowId row = c_.writer.NextRow(Table::kKernel, kernels);
    KernelRow r;
    if (!TakeTimes(stream, g, place, Table::kKernel, kernels, row, r)) return;
    r.graph_id = g.graph_id;
    r.name = strings_.Add(fmt::format("CUDA graph {}", g.graph_id));
    kernels.Add(r);
    if (keeps_executions_) KeepExecution(stream, g, row, 0);
  }

  void Wait(Stream& stream, const SyncRecord& s, int64_t place) {
    SyncColumns& syncs = c_.writer.batch.sync;
    const RowId row = c_.writer.NextRow(Table::kSync, syncs);
    const auto span = c_.GpuSpan(stream, s.start_ns, s.end_ns, place);
    if (!span) return;
    SyncRow r;
    r.start_ns = span->start_ns;
    r.dur_ns = span->dur_ns;
    r.context = IdOf(s.context);
    r.stream = IdOf(s.stream);
    r.correlation = CorrelationOf(s.correlation);
    // CUPTI does not say the device; the context's is known from its record.
    const auto device = contexts_.find({StreamKey(c_, stream), s.context});
    const uint32_t number = device == contexts_.end() ? capture::kNoDevice : device->second;
    r.device = DeviceOf(number);
    r.thread_id = c_.lanes.Stream(stream.file.pid, number, s.context, s.stream);
    const LaunchIndex::Launch launch = c_.launches.Find(StreamKey(c_, stream), r.correlation);
    const auto kind = s.type >= 1 && s.type <= 4 ? static_cast<WaitKind>(s.type) : launch.wait;
    if (const char* name = NameOf(kind))
      r.name = strings_.Add(name);
    else
      c_.writer.KeepArg(Table::kSync, row, "syncType", int64_t{s.type});
    r.wait_on_event = IdOf(s.event);
    syncs.api_call_id.push_back(launch.api_call);
    syncs.op_id.push_back(launch.op);
    syncs.Add(r);
  }

  void Context(const Stream& stream, uint32_t context, uint32_t device) {
    contexts_[{StreamKey(c_, stream), context}] = device;
  }

 private:
  template <class Record, class Columns, class Row>
  bool TakeTimes(Stream& stream, const Record& record, int64_t place, Table table, Columns& columns,
                 RowId row, Row& r) {
    const auto span = c_.GpuSpan(stream, record.start_ns, record.end_ns, place);
    if (!span) return false;
    r.start_ns = span->start_ns;
    r.dur_ns = span->dur_ns;
    r.device = DeviceOf(record.device);
    r.context = IdOf(record.context);
    r.stream = IdOf(record.stream);
    r.correlation = CorrelationOf(record.correlation);
    r.thread_id = c_.lanes.Stream(stream.file.pid, record.device, record.context, record.stream);
    contexts_.try_emplace({StreamKey(c_, stream), record.context}, record.device);
    const LaunchIndex::Launch launch = c_.launches.Find(StreamKey(c_, stream), r.correlation);
    columns.api_call_id.push_back(launch.api_call);
    columns.op_id.push_back(launch.op);
    CheckCause(stream, launch, r.start_ns, table, row);
    return true;
  }

  template <class Record, class Columns, class Row>
  bool TakePlace(Stream& stream, const Record& record, int64_t place, Table table, Columns& columns,
                 RowId row, Row& r) {
    if (!TakeTimes(stream, record, place, table, columns, row, r)) return false;
    if (record.graph_id != 0) r.graph_id = record.graph_id;
    if (record.graph_node_id != 0 && record.graph_node_id <= static_cast<uint64_t>(INT64_MAX)) {
      r.graph_node_id = static_cast<int64_t>(record.graph_node_id);
      if (record.graph_id == 0) r.graph_id = static_cast<int64_t>(record.graph_node_id >> 32);
    }
    return true;
  }

  // Nothing starts before it was asked for; where the clocks say so, they are off.
  void CheckCause(const Stream& stream, const LaunchIndex::Launch& launch, int64_t start_ns, Table table,
                  RowId row) {
    if (IsNull(launch.api_call)) return;
    const auto at = static_cast<size_t>(static_cast<int64_t>(launch.api_call) - c_.first_call_row);
    if (at >= c_.call_start_ns.size()) return;
    const int64_t early_ns = c_.call_start_ns[at] - start_ns;
    if (early_ns <= stream.clock.error_bound_ns()) return;
    c_.file.counters.Add(kCausality);
    ++c_.causality_violations;
    c_.writer.KeepArg(table, row, "suspect", "\"starts before the call that launched it\"");
  }

  // What readings of counters are given to; number 0 is work that is not a single kernel.
  template <class Record>
  void KeepExecution(const Stream& stream, const Record& record, RowId row, uint32_t kernel) {
    c_.executions[{StreamKey(c_, stream), record.device}].push_back(
        {record.start_ns, record.end_ns, kernel, static_cast<int64_t>(row)});
  }
  uint32_t KernelNumber(const KernelRow& r) {
    const std::array<int64_t, 7> key{
        static_cast<int64_t>(r.name), r.grid_x, r.grid_y, r.grid_z, r.block_x, r.block_y, r.block_z};
    return kernel_numbers_.try_emplace(key, static_cast<uint32_t>(kernel_numbers_.size() + 1)).first->second;
  }

  static int64_t BytesOf(uint64_t bytes) {
    return bytes > static_cast<uint64_t>(INT64_MAX) ? NullOf<int64_t>::value : static_cast<int64_t>(bytes);
  }

  StringId MemoryName(uint32_t kind) {
    return kind == 0 || kind >= std::size(kMemories) ? StringId::kNull : strings_.Add(kMemories[kind]);
  }

  // Readable once per name.
  StringId KernelName(Stream& stream, uint32_t number) {
    const auto [it, added] = kernel_names_.try_emplace({StreamKey(c_, stream), number}, StringId::kNull);
    if (added || IsNull(it->second)) {
      it->second = c_.Text(stream, number);
      if (!IsNull(it->second)) {
        if (const auto readable = DemangleItanium(strings_.Text(it->second)))
          it->second = strings_.Add(*readable);
      }
    }
    return it->second;
  }

  CaptureFile& c_;
  StringPool& strings_;
  std::map<std::pair<int64_t, uint32_t>, uint32_t> contexts_;      // stream, context -> device
  std::map<std::pair<int64_t, uint32_t>, StringId> kernel_names_;  // stream, text
  const bool keeps_executions_;
  std::map<std::array<int64_t, 7>, uint32_t> kernel_numbers_;  // name, grid, block
};

// What a call's text means, looked up once.
struct CallName {
  StringId name = StringId::kNull;
  WaitKind wait = WaitKind::kNone;
};

}  // namespace

Status ReadApiCalls(CaptureFile& c) {
  ApiCallColumns& calls = c.writer.batch.api_call;
  StringPool& strings = c.writer.strings();
  const StringId runtime = strings.Add("cuda_runtime"), driver = strings.Add("cuda_driver");
  std::map<std::pair<int64_t, uint32_t>, CallName> names;  // stream, text
  std::map<std::pair<int64_t, uint32_t>, int64_t> external;
  NL_TRY(c.ForEach<capture::ExternalRecord>([&](Stream& stream, const capture::ExternalRecord& e, int64_t) {
    if (e.external_id <= static_cast<uint64_t>(INT64_MAX))
      external[{StreamKey(c, stream), e.correlation}] = static_cast<int64_t>(e.external_id);
  }));
  c.first_call_row = static_cast<int64_t>(c.writer.NextRow(Table::kApiCall, calls));
  return c.ForEach<ApiRecord>([&](Stream& stream, const ApiRecord& a, int64_t place) {
    const RowId row = c.writer.NextRow(Table::kApiCall, calls);
    const auto span = c.GpuSpan(stream, a.start_ns, a.end_ns, place);
    if (!span) return;
    const int64_t key = StreamKey(c, stream);
    const auto [it, added] = names.try_emplace({key, a.name});
    if (added) {
      const StringId full = c.Text(stream, a.name);
      if (!IsNull(full)) {
        it->second.wait = WaitOf(strings.Text(full));
        it->second.name = strings.Add(std::string(WithoutApiVersion(strings.Text(full))));
      }
    }
    ApiCallRow r;
    r.thread_id = c.lanes.Host(stream.file.pid, a.tid != 0 ? a.tid : a.cupti_tid);
    r.start_ns = span->start_ns;
    r.dur_ns = span->dur_ns;
    r.name = it->second.name;
    r.domain = a.domain == 1 ? driver : runtime;
    r.callback_id = a.callback_id;
    r.correlation = CorrelationOf(a.correlation);
    if (const auto id = external.find({key, a.correlation}); id != external.end()) r.external_id = id->second;
    if (a.return_value != 0) c.writer.KeepArg(Table::kApiCall, row, "returnValue", int64_t{a.return_value});
    const RowId op = c.ops.Enclosing(r.thread_id, r.start_ns, r.start_ns + (IsNull(r.dur_ns) ? 0 : r.dur_ns));
    calls.op_id.push_back(op);
    calls.Add(r);
    c.call_start_ns.push_back(r.start_ns);
    if (!IsNull(r.correlation)) c.launches.Add(key, r.correlation, {row, op, it->second.wait});
  });
}

Status ReadDeviceWork(CaptureFile& c) {
  DeviceReader reader(c);
  NL_TRY(c.ForEach<KernelRecord>(
      [&](Stream& s, const KernelRecord& r, int64_t at) { reader.Kernel(s, r, at); }));
  NL_TRY(
      c.ForEach<GraphRecord>([&](Stream& s, const GraphRecord& r, int64_t at) { reader.Graph(s, r, at); }));
  NL_TRY(
      c.ForEach<MemcpyRecord>([&](Stream& s, const MemcpyRecord& r, int64_t at) { reader.Copy(s, r, at); }));
  NL_TRY(
      c.ForEach<MemsetRecord>([&](Stream& s, const MemsetRecord& r, int64_t at) { reader.Fill(s, r, at); }));
  NL_TRY(c.ForEach<capture::ContextRecord>(
      [&](Stream& s, const capture::ContextRecord& r, int64_t) { reader.Context(s, r.context, r.device); }));
  return c.ForEach<SyncRecord>([&](Stream& s, const SyncRecord& r, int64_t at) { reader.Wait(s, r, at); });
}

}  // namespace nl::adapters::nlcap
