// SPDX-License-Identifier: Apache-2.0
// Kernels, copies, fills and whole graphs: what ran on the devices.
// One real kernel (nsys 2026.2, schema 3.25):
//   start 60111513113, end 60111701657, deviceId 1, contextId 2, streamId 15,
//   correlationId 2619582, globalPid 281477409406976 (pid 145), demangledName 1366270,
//   gridX 93600, blockX 128, registersPerThread 18, staticSharedMemory 0, graphNodeId null
// Times are nanoseconds of the session; names are numbers of StringIds.

#include "import/adapters/nsys/export_file.h"

#include <fmt/format.h>

namespace nl::adapters::nsys {

namespace {

// Correlation 0 is CUPTI's "caused by no call".
int64_t CorrelationOf(int64_t value) { return value == 0 ? NullOf<int64_t>::value : IdOf(value); }

// Graph and node. The node id has its graph in the upper half; older exports say no more.
template <class Row>
void TakeGraph(int64_t graph, int64_t node, Row& r) {
  if (IsNull(node) || node == 0) {
    if (!IsNull(graph) && graph != 0) r.graph_id = graph;
    return;
  }
  r.graph_node_id = node;
  r.graph_id = IsNull(graph) || graph == 0 ? node >> 32 : graph;
}

// Columns that all device work begins with, in this order.
#define NL_NSYS_WORK_COLUMNS "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"
enum WorkColumn { kStart, kEnd, kDevice, kContext, kStream, kCorrelation, kPid, kFirstOwn };
constexpr int kNeeded = 2;

template <class Row, class Columns>
bool TakePlace(ExportFile& e, const SqliteRows& rows, Table table, Columns& columns, RowId row, Row& r) {
  ExportFile::Time time;
  if (!e.TimeOf(rows, kStart, kEnd, table, row, time)) return false;
  r.start_ns = time.start_ns;
  r.dur_ns = time.dur_ns;
  r.context = rows.Int(kContext);
  r.stream = IdOf(rows.Int(kStream));
  r.correlation = CorrelationOf(rows.Int(kCorrelation));
  const int64_t process = rows.Int(kPid);
  const StreamLane place = e.lanes.Stream(process, rows.Int32(kDevice), r.context, r.stream);
  r.thread_id = place.lane;
  r.device = place.device;
  const LaunchIndex::Launch launch = e.launches.Find(process, r.correlation);
  columns.api_call_id.push_back(launch.api_call);
  columns.op_id.push_back(launch.op);
  return true;
}

constexpr const char* kKernelColumns[] = {NL_NSYS_WORK_COLUMNS,
                                          "demangledName",
                                          "shortName",
                                          "mangledName",
                                          "registersPerThread",
                                          "staticSharedMemory",
                                          "dynamicSharedMemory",
                                          "gridX",
                                          "gridY",
                                          "gridZ",
                                          "blockX",
                                          "blockY",
                                          "blockZ",
                                          "graphNodeId",
                                          "graphId",
                                          "launchType",
                                          "localMemoryPerThread",
                                          "greenContextId",
                                          "clusterX",
                                          "clusterY",
                                          "clusterZ"};
enum KernelColumn {
  kDemangled = kFirstOwn,
  kShort,
  kMangled,
  kRegisters,
  kStaticShared,
  kDynamicShared,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kNode,
  kGraph,
  kLaunchType,
  kLocalMemory,
  kGreenContext,
  kClusterX,
  kClusterY,
  kClusterZ,
};

// Values worth keeping that have no column: only where they are not what every launch has.
void KeepKernelArgs(ExportFile& e, const SqliteRows& rows, RowId row) {
  const auto keep = [&](int column, const char* key, int64_t usual) {
    const int64_t value = rows.Int(column);
    if (!IsNull(value) && value != 0 && value != usual) e.writer.KeepArg(Table::kKernel, row, key, value);
  };
  keep(kLaunchType, "launchType", 1);
  keep(kLocalMemory, "localMemoryPerThread", 0);
  keep(kGreenContext, "greenContextId", 0);
  keep(kClusterX, "clusterX", 0);
  keep(kClusterY, "clusterY", 0);
  keep(kClusterZ, "clusterZ", 0);
}

Status ReadKernels(ExportFile& e) {
  KernelColumns& kernels = e.writer.batch.kernel;
  return e.ForEach("CUPTI_ACTIVITY_KIND_KERNEL", kKernelColumns, kNeeded,
                   [&](const SqliteRows& rows) -> Status {
                     const RowId row = e.writer.NextRow(Table::kKernel, kernels);
                     KernelRow r;
                     if (!TakePlace(e, rows, Table::kKernel, kernels, row, r)) return {};
                     int64_t name = rows.Int(kDemangled);
                     if (IsNull(name)) name = rows.Int(kShort);
                     if (IsNull(name)) name = rows.Int(kMangled);
                     r.name = e.NameOf(name, Table::kKernel, row, "demangledName");
                     r.registers_per_thread = rows.Int32(kRegisters);
                     const int64_t fixed = rows.Int(kStaticShared), asked = rows.Int(kDynamicShared);
                     if (!IsNull(fixed) && !IsNull(asked) && fixed >= 0 && asked >= 0 && fixed < INT32_MAX &&
                         asked < INT32_MAX)
                       r.shared_bytes = fixed + asked;
                     r.grid_x = rows.Int32(kGridX);
                     r.grid_y = rows.Int32(kGridY);
                     r.grid_z = rows.Int32(kGridZ);
                     r.block_x = rows.Int32(kBlockX);
                     r.block_y = rows.Int32(kBlockY);
                     r.block_z = rows.Int32(kBlockZ);
                     TakeGraph(rows.Int(kGraph), rows.Int(kNode), r);
                     KeepKernelArgs(e, rows, row);
                     kernels.Add(r);
                     return {};
                   });
}

constexpr const char* kMemcpyColumns[] = {
    NL_NSYS_WORK_COLUMNS, "bytes",          "copyKind",       "srcKind",      "dstKind",
    "graphNodeId",        "graphId",        "srcDeviceId",    "srcContextId", "dstDeviceId",
    "dstContextId",       "migrationCause", "virtualAddress", "copyCount",    "greenContextId"};
enum MemcpyColumn {
  kCopyBytes = kFirstOwn,
  kCopyKind,
  kSource,
  kTarget,
  kCopyNode,
  kCopyGraph,
  kFirstCopyArg,
};

// "CUDA_MEMCPY_KIND_UVM_HTOD" is HtoD between the two sides of unified memory.
struct CopyKind {
  StringId kind = StringId::kNull, name = StringId::kNull;
  bool unified = false;
};

class CopyNames {
 public:
  explicit CopyNames(ExportFile& e)
      : e_(e),
        kinds_(e.Enum("ENUM_CUDA_MEMCPY_OPER", {{1, "CUDA_MEMCPY_KIND_HTOD"},
                                                {2, "CUDA_MEMCPY_KIND_DTOH"},
                                                {3, "CUDA_MEMCPY_KIND_HTOA"},
                                                {4, "CUDA_MEMCPY_KIND_ATOH"},
                                                {5, "CUDA_MEMCPY_KIND_ATOA"},
                                                {6, "CUDA_MEMCPY_KIND_ATOD"},
                                                {7, "CUDA_MEMCPY_KIND_DTOA"},
                                                {8, "CUDA_MEMCPY_KIND_DTOD"},
                                                {9, "CUDA_MEMCPY_KIND_HTOH"},
                                                {10, "CUDA_MEMCPY_KIND_PTOP"},
                                                {11, "CUDA_MEMCPY_KIND_UVM_HTOD"},
                                                {12, "CUDA_MEMCPY_KIND_UVM_DTOH"},
                                                {13, "CUDA_MEMCPY_KIND_UVM_DTOD"}})),
        memories_(e.Enum("ENUM_CUDA_MEM_KIND", {{0, "PAGEABLE"},
                                                {1, "PINNED"},
                                                {2, "DEVICE"},
                                                {3, "ARRAY"},
                                                {4, "MANAGED"},
                                                {5, "DEVICE_STATIC"},
                                                {6, "MANAGED_STATIC"},
                                                {7, "UNKNOWN"}})) {}

  // "Device Static" of CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC; null when not known.
  StringId Memory(int64_t kind) {
    const auto it = memories_.find(kind);
    if (it == memories_.end()) return StringId::kNull;
    std::string_view text = it->second;
    if (const size_t at = text.rfind("MEMORY_KIND_"); at != std::string_view::npos)
      text.remove_prefix(at + 12);
    std::string out;
    for (const char c : text) {
      const bool first = out.empty() || out.back() == ' ';
      out += c == '_' ? ' ' : static_cast<char>(first ? std::toupper(c) : std::tolower(c));
    }
    return e_.writer.strings().Add(out);
  }

  // Spelled as other profilers do: "Memcpy HtoD (Pageable -> Device)".
  CopyKind Copy(int64_t kind, StringId source, StringId target) {
    const auto key = std::make_tuple(kind, source, target);
    const auto [it, added] = copies_.try_emplace(key);
    if (!added) return it->second;
    CopyKind& out = it->second;
    StringPool& strings = e_.writer.strings();
    const auto found = kinds_.find(kind);
    std::string_view text = found == kinds_.end() ? std::string_view() : found->second;
    if (const size_t at = text.rfind("KIND_"); at != std::string_view::npos) text.remove_prefix(at + 5);
    out.unified = text.starts_with("UVM_");
    if (out.unified) text.remove_prefix(4);
    const bool known = text.size() == 4 && text.substr(1, 2) == "TO";
    const std::string direction = known ? fmt::format("{}to{}", text[0], text[3]) : "";
    if (known) out.kind = strings.Add(direction);
    std::string name = out.unified ? "Unified memory" : "Memcpy";
    if (known) name += " " + direction;
    if (source != StringId::kNull && target != StringId::kNull)
      name += fmt::format(" ({} -> {})", strings.Text(source), strings.Text(target));
    out.name = strings.Add(name);
    return out;
  }

 private:
  ExportFile& e_;
  EnumNames kinds_, memories_;
  std::map<std::tuple<int64_t, StringId, StringId>, CopyKind> copies_;
};

Status ReadCopies(ExportFile& e, CopyNames& names) {
  MemcpyColumns& copies = e.writer.batch.memcpy;
  return e.ForEach(
      "CUPTI_ACTIVITY_KIND_MEMCPY", kMemcpyColumns, kNeeded, [&](const SqliteRows& rows) -> Status {
        const RowId row = e.writer.NextRow(Table::kMemcpy, copies);
        MemcpyRow r;
        if (!TakePlace(e, rows, Table::kMemcpy, copies, row, r)) return {};
        r.src_memory = names.Memory(rows.Int(kSource));
        r.dst_memory = names.Memory(rows.Int(kTarget));
        const CopyKind kind = names.Copy(rows.Int(kCopyKind), r.src_memory, r.dst_memory);
        r.name = kind.name;
        r.kind = kind.kind;
        if (IsNull(kind.kind) && !rows.IsNull(kCopyKind))
          e.writer.KeepArg(Table::kMemcpy, row, "copyKind", rows.Int(kCopyKind));
        r.bytes = rows.Int(kCopyBytes);
        TakeGraph(rows.Int(kCopyGraph), rows.Int(kCopyNode), r);
        for (size_t i = kFirstCopyArg; i < std::size(kMemcpyColumns); ++i) {
          const int64_t value = rows.Int(static_cast<int>(i));
          const std::string_view key = kMemcpyColumns[i];
          const bool usual = (key == "copyCount" && value == 1) || (key == "greenContextId" && value == 0);
          if (!IsNull(value) && !usual) e.writer.KeepArg(Table::kMemcpy, row, key, value);
        }
        copies.Add(r);
        return {};
      });
}

constexpr const char* kMemsetColumns[] = {NL_NSYS_WORK_COLUMNS, "bytes",   "value",         "memKind",
                                          "graphNodeId",        "graphId", "greenContextId"};
enum MemsetColumn { kSetBytes = kFirstOwn, kSetValue, kSetMemory, kSetNode, kSetGraph, kSetGreen };

Status ReadFills(ExportFile& e, CopyNames& names) {
  MemsetColumns& fills = e.writer.batch.memset;
  return e.ForEach(
      "CUPTI_ACTIVITY_KIND_MEMSET", kMemsetColumns, kNeeded, [&](const SqliteRows& rows) -> Status {
        const RowId row = e.writer.NextRow(Table::kMemset, fills);
        MemsetRow r;
        if (!TakePlace(e, rows, Table::kMemset, fills, row, r)) return {};
        const StringId memory = names.Memory(rows.Int(kSetMemory));
        StringPool& strings = e.writer.strings();
        r.name = strings.Add(IsNull(memory) ? "Memset" : fmt::format("Memset ({})", strings.Text(memory)));
        r.bytes = rows.Int(kSetBytes);
        TakeGraph(rows.Int(kSetGraph), rows.Int(kSetNode), r);
        for (const auto& [column, key] :
             {std::pair{kSetValue, "value"}, std::pair{kSetGreen, "greenContextId"}}) {
          const int64_t value = rows.Int(column);
          if (!IsNull(value) && value != 0) e.writer.KeepArg(Table::kMemset, row, key, value);
        }
        fills.Add(r);
        return {};
      });
}

// Without --cuda-graph-trace=node a graph launch is one row, and its kernels are nowhere:
// left out, the device would look idle while it worked.
Status ReadGraphs(ExportFile& e) {
  static constexpr const char* kColumns[] = {NL_NSYS_WORK_COLUMNS, "graphId", "graphExecId",
                                             "greenContextId"};
  enum { kGraphId = kFirstOwn, kExecId, kGraphGreen };
  KernelColumns& kernels = e.writer.batch.kernel;
  return e.ForEach(
      "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", kColumns, kNeeded, [&](const SqliteRows& rows) -> Status {
        const RowId row = e.writer.NextRow(Table::kKernel, kernels);
        KernelRow r;
        if (!TakePlace(e, rows, Table::kKernel, kernels, row, r)) return {};
        r.graph_id = rows.Int(kGraphId);
        r.name = e.writer.strings().Add(IsNull(r.graph_id) ? "CUDA graph"
                                                           : fmt::format("CUDA graph {}", r.graph_id));
        e.file.counters.Add(kWholeGraph);
        for (const auto& [column, key] :
             {std::pair{kExecId, "graphExecId"}, std::pair{kGraphGreen, "greenContextId"}}) {
          const int64_t value = rows.Int(column);
          if (!IsNull(value) && value != 0) e.writer.KeepArg(Table::kKernel, row, key, value);
        }
        kernels.Add(r);
        return {};
      });
}

}  // namespace

Status ReadDeviceWork(ExportFile& e) {
  NL_TRY(ReadKernels(e));
  NL_TRY(ReadGraphs(e));
  CopyNames names(e);
  NL_TRY(ReadCopies(e, names));
  return ReadFills(e, names);
}

}  // namespace nl::adapters::nsys
