// SPDX-License-Identifier: Apache-2.0
// One real row (kernel_trace.csv of rocprofv3, ROCm 7):
//   "Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",
//   "Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size",
//   "VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X",...,"Grid_Size_X",...
//   "KERNEL_DISPATCH","Agent 4",1,1,834304,1,10,"void addition_kernel<float>(...)",1,
//   1550151853029637,1550151853042437,0,0,8,0,16,64,1,1,1024,1024,1
// Grids are work-items, not blocks. rocprof v1 has one table with columns of its own and the
// counters as further columns.

#include "import/adapters/rocprof/csv_recording.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/utf8.h"
#include "import/adapters/rocprof/csv_table.h"
#include "import/adapters/rocprof/recording.h"
#include "import/read/file_name.h"

namespace nl::adapters::rocprof {

namespace {

bool Has(const std::vector<std::string_view>& columns, std::string_view name) {
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

// "HIP_RUNTIME_API_EXT" -> "hip_api", the part a file with calls of this domain is.
std::string ApiPart(std::string_view domain) {
  const std::string word = ToLower(domain.substr(0, domain.find('_')));
  return word.empty() ? "api" : word + "_api";
}

std::string_view WithoutClone(std::string_view name) {
  for (const std::string_view end : {" [clone .kd]", ".kd"}) {
    if (name.ends_with(end)) name.remove_suffix(end.size());
  }
  return name;
}

class CsvRecording {
 public:
  explicit CsvRecording(ImportFile& file) : out_(file) {}

  Status Read(ImportFile& file, const std::string& part) {
    CsvTable table(file);
    NL_TRY(table.Open());
    table_ = &table;
    process_ = table.Find({"Process_Id", "pid", "PID"});
    thread_ = table.Find({"Thread_Id", "tid", "TID"});
    correlation_ = table.Find({"Correlation_Id", "Correlation_ID"});
    start_ = table.Find({"Start_Timestamp", "BeginNs"});
    end_ = table.Find({"End_Timestamp", "EndNs", "Stop_Timestamp"});
    agent_ = table.Find({"Agent_Id", "gpu-id", "GPU_ID"});
    if (part == "agent_info") return ReadAgents();
    if (part == "kernel_trace") return ReadKernels();
    if (part == "counter_collection") return ReadCounters();
    if (part == "memory_copy") return ReadCopies();
    if (part == "memory_allocation") return ReadAllocations();
    if (part == "scratch_memory") return ReadScratch();
    if (part == "dispatches") return ReadDispatches();
    return ReadCalls();
  }

  Status Finish() { return out_.Finish(); }
  Recording& out() { return out_; }

 private:
  template <class Fn>
  Status ForRows(Fn&& fn) {
    for (;;) {
      NL_ASSIGN(const bool more, table_->Next());
      if (!more) return {};
      NL_TRY(fn());
    }
  }

  int64_t Pid() {
    const int64_t pid = table_->Int(process_);
    if (IsNull(pid)) return pid_;
    pid_ = pid;
    return pid;
  }
  Times TimesOf() const { return {table_->Int(start_), table_->Int(end_)}; }
  std::string_view Line() const { return table_->line().substr(0, 4096); }

  // Columns with no place in a run, by name; `first` of the names that have one.
  void NoteColumns(std::string_view part, std::initializer_list<std::string_view> known) {
    for (const std::string& column : table_->columns()) {
      if (std::find(known.begin(), known.end(), column) == known.end())
        out_.LeaveOut(kFieldNotImported, std::string(part) + "." + column);
    }
  }

  Status ReadAgents() {
    return ForRows([&]() -> Status {
      Json agent = Json::object();
      for (size_t i = 0; i < table_->columns().size(); ++i) {
        const std::string key = ToLower(table_->columns()[i]);
        const int64_t number = table_->Int(static_cast<int>(i));
        agent[key] =
            IsNull(number) ? Json(ValidUtf8(PlainText(table_->Text(static_cast<int>(i))))) : Json(number);
      }
      out_.agents.Add(agent);
      return {};
    });
  }

  struct DispatchColumns {
    int queue, stream, dispatch, kernel_id, name, lds, scratch, vgpr, accum, sgpr, wave;
    std::array<int, 3> workgroup, grid;
  };

  DispatchColumns FindDispatch() const {
    const CsvTable& t = *table_;
    DispatchColumns c{};
    c.queue = t.Find({"Queue_Id", "queue-id", "Queue_ID"});
    c.stream = t.Find({"Stream_Id"});
    c.dispatch = t.Find({"Dispatch_Id", "Dispatch_ID", "Index"});
    c.kernel_id = t.Find({"Kernel_Id"});
    c.name = t.Find({"Kernel_Name", "KernelName"});
    c.lds = t.Find({"LDS_Block_Size", "Group_Segment_Size", "lds", "LDS_Per_Workgroup"});
    c.scratch = t.Find({"Scratch_Size", "Private_Segment_Size", "scr", "Scratch_Per_Workitem"});
    c.vgpr = t.Find({"VGPR_Count", "arch_vgpr", "Arch_VGPR", "vgpr"});
    c.accum = t.Find({"Accum_VGPR_Count", "accum_vgpr", "Accum_VGPR"});
    c.sgpr = t.Find({"SGPR_Count", "sgpr", "SGPR"});
    c.wave = t.Find({"wave_size", "Wave_Size"});
    c.workgroup = {t.Find({"Workgroup_Size_X", "Workgroup_Size", "wgr"}), t.Find({"Workgroup_Size_Y"}),
                   t.Find({"Workgroup_Size_Z"})};
    c.grid = {t.Find({"Grid_Size_X", "Grid_Size", "grd"}), t.Find({"Grid_Size_Y"}), t.Find({"Grid_Size_Z"})};
    return c;
  }

  Dispatch DispatchOf(const DispatchColumns& c) {
    const CsvTable& t = *table_;
    Dispatch d;
    d.times = TimesOf();
    d.agent = out_.agents.ByText(t.Text(agent_));
    d.pid = Pid();
    d.tid = t.Int(thread_);
    d.stream = t.Int(c.stream);
    d.correlation = t.Int(correlation_);
    d.dispatch_id = t.Int(c.dispatch);
    d.name = NameOf(WithoutClone(t.Text(c.name)));
    d.lds_bytes = t.Int(c.lds);
    for (size_t i = 0; i < 3; ++i) {
      d.workgroup[i] = t.Int(c.workgroup[i]);
      d.grid[i] = t.Int(c.grid[i]);
    }
    d.resources = {t.Int(c.kernel_id), t.Int(c.queue), t.Int(c.scratch), t.Int(c.vgpr),
                   t.Int(c.accum),     t.Int(c.sgpr),  t.Int(c.wave)};
    return d;
  }

  StringId NameOf(std::string_view field) {
    return field.find('"') == std::string_view::npos ? out_.Text(field) : out_.Text(PlainText(field));
  }

  Status ReadKernels() {
    const DispatchColumns c = FindDispatch();
    NoteColumns("kernel_trace", {"Kind",
                                 "Agent_Id",
                                 "Queue_Id",
                                 "Stream_Id",
                                 "Thread_Id",
                                 "Process_Id",
                                 "Dispatch_Id",
                                 "Kernel_Id",
                                 "Kernel_Name",
                                 "Correlation_Id",
                                 "Start_Timestamp",
                                 "End_Timestamp",
                                 "LDS_Block_Size",
                                 "Group_Segment_Size",
                                 "Private_Segment_Size",
                                 "Scratch_Size",
                                 "VGPR_Count",
                                 "Accum_VGPR_Count",
                                 "SGPR_Count",
                                 "Workgroup_Size_X",
                                 "Workgroup_Size_Y",
                                 "Workgroup_Size_Z",
                                 "Grid_Size_X",
                                 "Grid_Size_Y",
                                 "Grid_Size_Z"});
    return ForRows([&]() -> Status {
      NL_ASSIGN(const RowId row, out_.AddKernel(DispatchOf(c), table_->offset(), Line()));
      (void)row;
      return {};
    });
  }

  // One row for each counter of each dispatch.
  Status ReadCounters() {
    const DispatchColumns c = FindDispatch();
    const int name = table_->Find({"Counter_Name"}), value = table_->Find({"Counter_Value"});
    return ForRows([&]() -> Status {
      const Dispatch d = DispatchOf(c);
      RowId row = out_.KernelOf(d.dispatch_id);
      if (IsNull(row)) {
        NL_ASSIGN(row, out_.AddKernel(d, table_->offset(), Line()));
      }
      if (!IsNull(row)) out_.AddMetric(row, NameOf(table_->Text(name)), table_->Number(value));
      return out_.writer.Flow();
    });
  }

  Status ReadCopies() {
    const int direction = table_->Find({"Direction"}), stream = table_->Find({"Stream_Id"}),
              from = table_->Find({"Source_Agent_Id"}), to = table_->Find({"Destination_Agent_Id"}),
              bytes = table_->Find({"Bytes", "Size"});
    return ForRows([&] {
      Copy copy;
      copy.times = TimesOf();
      copy.from = out_.agents.ByText(table_->Text(from));
      copy.to = out_.agents.ByText(table_->Text(to));
      copy.pid = Pid();
      copy.tid = table_->Int(thread_);
      copy.stream = table_->Int(stream);
      copy.correlation = table_->Int(correlation_);
      copy.bytes = table_->Int(bytes);
      copy.direction = table_->Text(direction);
      // Without a description of the agents, the direction tells which of them is the device.
      const bool down = copy.direction.ends_with("_TO_HOST"),
                 up = copy.direction.find("HOST_TO_") != std::string_view::npos;
      if (!copy.from.known) copy.from.is_gpu = !up;
      if (!copy.to.known) copy.to.is_gpu = !down;
      return out_.AddCopy(copy, table_->offset(), Line());
    });
  }

  Status ReadAllocations() {
    const int operation = table_->Find({"Operation"}), bytes = table_->Find({"Allocation_Size"}),
              address = table_->Find({"Address"});
    return ForRows([&] {
      Allocation a;
      a.times = TimesOf();
      if (!table_->Text(agent_).empty()) a.agent = out_.agents.ByText(table_->Text(agent_));
      a.pid = Pid();
      a.tid = table_->Int(thread_);
      a.address = AddressOf(table_->Text(address));
      a.bytes = table_->Int(bytes);
      a.operation = table_->Text(operation);
      return out_.AddAllocation(a, table_->offset(), Line());
    });
  }

  static int64_t AddressOf(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return code == std::errc() && end == text.data() + text.size() ? value : kNone;
  }

  Status ReadScratch() {
    const int operation = table_->Find({"Operation"});
    return ForRows([&] {
      Call span;
      span.times = TimesOf();
      span.pid = Pid();
      span.name = NameOf(table_->Text(operation));
      return out_.AddDeviceSpan(span, out_.agents.ByText(table_->Text(agent_)), "scratch_memory",
                                table_->offset(), Line());
    });
  }

  Status ReadCalls() {
    const int domain = table_->Find({"Domain"}), function = table_->Find({"Function"});
    return ForRows([&] {
      Call call;
      call.times = TimesOf();
      call.pid = Pid();
      call.tid = table_->Int(thread_);
      call.correlation = table_->Int(correlation_);
      call.domain = table_->Text(domain);
      call.name = NameOf(table_->Text(function));
      const bool marker = call.domain.starts_with("MARKER");
      return marker ? out_.AddMarker(call, table_->offset(), Line())
                    : out_.AddCall(call, table_->offset(), Line());
    });
  }

  // rocprof v1 and v2: what is not a column of theirs is a counter.
  Status ReadDispatches() {
    static constexpr std::string_view kOwn[] = {"Index",
                                                "KernelName",
                                                "gpu-id",
                                                "queue-id",
                                                "queue-index",
                                                "pid",
                                                "tid",
                                                "grd",
                                                "wgr",
                                                "lds",
                                                "scr",
                                                "vgpr",
                                                "arch_vgpr",
                                                "accum_vgpr",
                                                "sgpr",
                                                "wave_size",
                                                "BeginNs",
                                                "EndNs",
                                                "DispatchNs",
                                                "Dispatch_ID",
                                                "GPU_ID",
                                                "Queue_ID",
                                                "PID",
                                                "TID",
                                                "Grid_Size",
                                                "Workgroup_Size",
                                                "LDS_Per_Workgroup",
                                                "Scratch_Per_Workitem",
                                                "Arch_VGPR",
                                                "Accum_VGPR",
                                                "SGPR",
                                                "Wave_Size",
                                                "Kernel_Name",
                                                "Start_Timestamp",
                                                "End_Timestamp",
                                                "Correlation_ID"};
    static constexpr std::string_view kLeft[] = {"sig", "obj", "fbar", "CompleteNs", "DurationNs"};
    const DispatchColumns c = FindDispatch();
    const int queued = table_->Find({"DispatchNs"});
    std::vector<std::pair<int, StringId>> counters;
    for (size_t i = 0; i < table_->columns().size(); ++i) {
      const std::string& column = table_->columns()[i];
      if (std::find(std::begin(kOwn), std::end(kOwn), column) != std::end(kOwn)) continue;
      if (std::find(std::begin(kLeft), std::end(kLeft), column) != std::end(kLeft))
        out_.LeaveOut(kFieldNotImported, column);
      else
        counters.emplace_back(static_cast<int>(i), out_.Text(column));
    }
    return ForRows([&]() -> Status {
      Dispatch d = DispatchOf(c);
      d.agent.known = true;  // a number of a GPU as it is
      d.queued_ns = table_->Int(queued);
      NL_ASSIGN(const RowId row, out_.AddKernel(d, table_->offset(), Line()));
      if (IsNull(row)) return {};
      for (const auto& [column, name] : counters) out_.AddMetric(row, name, table_->Number(column));
      return {};
    });
  }

  Recording out_;
  CsvTable* table_ = nullptr;
  int process_ = -1, thread_ = -1, correlation_ = -1, start_ = -1, end_ = -1, agent_ = -1;
  int64_t pid_ = kNone;
};

// Agents before what refers to them, threads before devices, counters after their kernels.
int OrderOf(const std::string& part) {
  static constexpr std::string_view kOrder[] = {"agent_info", "hip_api", "hsa_api",     "marker_api",
                                                "rccl_api",   "api",     "kernel_trace"};
  for (size_t i = 0; i < std::size(kOrder); ++i) {
    if (part == kOrder[i]) return static_cast<int>(i);
  }
  return part == "counter_collection" ? 1000 : part == "totals" ? 2000 : 100;
}

Status Drain(ImportFile& file) {
  std::string piece(1 << 16, '\0');
  for (;;) {
    NL_ASSIGN(const size_t n, file.source.Read(piece.data(), piece.size()));
    if (n < piece.size()) return {};
  }
}

}  // namespace

std::string CsvPart(std::string_view head) {
  std::vector<std::string_view> columns;
  const std::string_view line = FirstLine(head);
  if (line.find(',') == std::string_view::npos || !SplitCsv(line, columns)) return "";
  const auto has = [&columns](std::string_view name) { return Has(columns, name); };
  if (has("KernelName") && has("gpu-id")) return "dispatches";
  if (has("Dispatch_ID") && has("GPU_ID") && has("Kernel_Name")) return "dispatches";
  if (has("Name") && has("Calls") && has("TotalDurationNs")) return "totals";
  if (has("Node_Id") && has("Agent_Type")) return "agent_info";
  if (has("Counter_Name") && has("Counter_Value") && has("Kernel_Name")) return "counter_collection";
  if (!has("Start_Timestamp") || !has("End_Timestamp")) return "";
  if (has("Kernel_Name") && has("Kind")) return "kernel_trace";
  if (has("Direction")) return "memory_copy";
  if (has("Allocation_Size") && has("Address")) return "memory_allocation";
  if (has("Alloc_Flags")) return "scratch_memory";
  if (!has("Domain") || !has("Function")) return "";
  const size_t next = head.find('\n');
  std::vector<std::string_view> row;
  if (next != std::string_view::npos) SplitCsv(FirstLine(head.substr(next + 1)), row);
  const auto domain = std::find(columns.begin(), columns.end(), "Domain") - columns.begin();
  return static_cast<size_t>(domain) < row.size() ? ApiPart(row[static_cast<size_t>(domain)]) : "api";
}

std::string CsvSet(std::string_view name) {
  name = UnpackedName(name);
  if (!name.ends_with(".csv")) return "";
  name.remove_suffix(4);
  for (const std::string_view end : {"kernel_trace",
                                     "hip_api_trace",
                                     "hip_trace",
                                     "hip_runtime_trace",
                                     "hip_compiler_trace",
                                     "hsa_api_trace",
                                     "hsa_trace",
                                     "marker_api_trace",
                                     "marker_trace",
                                     "rccl_api_trace",
                                     "rccl_trace",
                                     "memory_copy_trace",
                                     "memory_allocation_trace",
                                     "scratch_memory_trace",
                                     "counter_collection",
                                     "agent_info",
                                     "kernel_stats",
                                     "hip_api_stats",
                                     "hip_stats",
                                     "hsa_api_stats",
                                     "hsa_stats",
                                     "memory_copy_stats",
                                     "domain_stats"}) {
    if (!name.ends_with(end)) continue;
    name.remove_suffix(end.size());
    if (name.empty()) return ".";
    if (name.back() == '_') return std::string(name.substr(0, name.size() - 1));
    return "";
  }
  return "";
}

Status ImportCsv(const std::vector<std::pair<ImportFile*, std::string>>& given) {
  auto files = given;
  std::stable_sort(files.begin(), files.end(),
                   [](const auto& a, const auto& b) { return OrderOf(a.second) < OrderOf(b.second); });
  CsvRecording recording(*given[0].first);
  for (auto& [file, part] : files) {
    if (part == "totals") {
      recording.out().LeaveOut(kSectionNotImported, file->source.name());
      NL_TRY(Drain(*file));
      continue;
    }
    NL_TRY(recording.Read(*file, part));
  }
  given[0].first->about.tool = files[0].second == "dispatches" ? "rocprof" : "rocprofv3";
  return recording.Finish();
}

}  // namespace nl::adapters::rocprof
