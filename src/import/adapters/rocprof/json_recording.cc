// SPDX-License-Identifier: Apache-2.0
// One real record (rocprofv3 of ROCm 7):
//   {"size":184,"kind":11,"operation":2,"thread_id":908,
//    "correlation_id":{"internal":1,"external":0},
//    "start_timestamp":63857982592000,"end_timestamp":63857982594840,
//    "dispatch_info":{"size":72,"agent_id":{"handle":37946},"queue_id":{"handle":16},
//      "kernel_id":8,"dispatch_id":1,"private_segment_size":0,"group_segment_size":0,
//      "workgroup_size":{"x":512,"y":1,"z":1},"grid_size":{"x":512,"y":1,"z":1}},
//    "stream_id":{"handle":0}}
// kind and operation are places in strings.buffer_records; kernel_id is one in
// kernel_symbols. The tables come first as the tool writes them, but need not: records met
// before them are read once they are known. Counters are read after the kernels they are of.

#include "import/adapters/rocprof/json_recording.h"

#include <algorithm>
#include <functional>

#include "import/adapters/rocprof/field_tree.h"
#include "import/adapters/rocprof/record_walk.h"
#include "import/adapters/rocprof/recording.h"
#include "import/read/json_cursor.h"

namespace nl::adapters::rocprof {

namespace {

using trace_json::JsonKind;
using trace_json::JsonValue;
using trace_json::Scan;

#define NL_ROCPROF_COMMON                                                                         \
  "size", "kind", "operation", "thread_id", "correlation_id.internal", "correlation_id.external", \
      "start_timestamp", "end_timestamp"
enum Common { kSize, kKind, kOperation, kThread, kCorrelation, kExternal, kStart, kEnd, kFirstOwn };

class JsonRecording : private RecordWalk {
 public:
  JsonRecording(ImportFile& file, JsonCursor cursor) : RecordWalk(std::move(cursor), file), out_(file) {}

  Status Run() {
    Status status = ReadFile();
    if (!status.ok()) {
      if (!cursor_.truncated() || !out_.file.options.allow_truncated || !any_record()) return status;
      out_.file.counters.Add(kTruncated, cursor_.offset());
      // What was put off is read as far as it goes; it may be what the cut is in.
      if (Status late = EndProcess(); !late.ok() && !cursor_.truncated()) return late;
    }
    if (const int64_t n = cursor_.repaired_values(); n > 0) out_.file.counters.Add(kBadUtf8, -1, {}, n);
    out_.file.about.tool = "rocprofv3";
    return out_.Finish();
  }

 private:
  Status ReadFile() {
    NL_TRY(cursor_.Enter('{'));
    std::string key;
    for (;;) {
      NL_ASSIGN(const bool more, cursor_.NextKey(key));
      if (!more) break;
      if (key != "rocprofiler-sdk-tool") {
        NL_TRY(SkipSection(key));
      } else if (cursor_.Peek() == '{') {
        NL_TRY(ReadProcess());
      } else {
        NL_TRY(ForElements([&] { return ReadProcess(); }));
      }
    }
    return cursor_.Peek() == 0 ? Status() : Status(cursor_.Broken("the end of the file"));
  }

  // One element of rocprofiler-sdk-tool: what one process recorded.
  Status ReadProcess() {
    symbols_.clear();
    kinds_.clear();
    markers_.clear();
    counters_.clear();
    has_agents_ = has_symbols_ = false;
    pid_ = kNone;
    NL_TRY(ForKeys([&](const std::string& key) { return ReadPart(key); }));
    return EndProcess();
  }

  Status EndProcess() {
    const int64_t place = cursor_.offset();
    for (const auto& [list, is_buffer] :
         {std::pair{&late_buffers_, true}, std::pair{&late_callbacks_, false}}) {
      for (const int64_t late : std::exchange(*list, {})) {
        cursor_.Seek(late);
        NL_TRY(is_buffer ? ReadBuffers() : ReadCallbacks());
      }
    }
    cursor_.Seek(place);
    return {};
  }

  Status ReadPart(const std::string& key) {
    if (key == "metadata") return ReadMetadata();
    if (key == "agents") {
      has_agents_ = true;
      return ForElements([&]() -> Status {
        NL_ASSIGN(const Json agent, cursor_.Parsed());
        out_.agents.Add(agent);
        return {};
      });
    }
    if (key == "counters") return ReadCounterNames();
    if (key == "strings") return ReadStrings();
    if (key == "kernel_symbols") return ReadSymbols();
    if (key == "callback_records") {  // after the kernels
      if (cursor_.Peek() != 0) late_callbacks_.push_back(cursor_.offset());
      return cursor_.Skip();
    }
    if (key == "buffer_records") {
      if (has_agents_ && has_symbols_ && !kinds_.empty()) return ReadBuffers();
      if (cursor_.Peek() != 0) late_buffers_.push_back(cursor_.offset());
      return cursor_.Skip();
    }
    return SkipSection(key);
  }

  Status ReadMetadata() {
    NL_ASSIGN(Json metadata, cursor_.Parsed());
    if (!metadata.is_object()) return {};
    if (const auto it = metadata.find("pid"); it != metadata.end() && it->is_number_integer())
      pid_ = it->get<int64_t>();
    if (const auto it = metadata.find("command");
        it != metadata.end() && it->is_array() && !it->empty() && it->front().is_string()) {
      const std::string program = it->front().get<std::string>();
      out_.NameProcess(pid_, program.substr(program.rfind('/') + 1));
    }
    if (const auto node = metadata.find("node"); node != metadata.end() && node->is_object()) {
      const auto text = [&](const char* key, std::optional<std::string>& to) {
        const auto it = node->find(key);
        if (it != node->end() && it->is_string()) to = it->get<std::string>();
      };
      text("system_name", out_.file.about.host.os);
      text("release", out_.file.about.host.kernel);
    }
    if (!out_.header.contains("metadata")) {
      out_.header["metadata"] = std::move(metadata);
    } else {
      Json& more = out_.header["further_metadata"];
      if (!more.is_array()) more = Json::array();
      more.push_back(std::move(metadata));
    }
    return {};
  }

  Status ReadCounterNames() {
    FieldTree tree{"id.handle", "name"};
    return ForRecords(tree, [&](int64_t, std::string_view) -> Status {
      if (!IsNull(tree.Int(0))) counters_[tree.Int(0)] = TextOf(tree.At(1));
      return {};
    });
  }

  Status ReadStrings() {
    return ForKeys([&](const std::string& key) -> Status {
      if (key == "buffer_records") return ReadKinds();
      if (key == "marker_api") {
        FieldTree tree{"key", "value"};
        return ForRecords(tree, [&](int64_t, std::string_view) -> Status {
          if (!IsNull(tree.Int(0))) markers_[tree.Int(0)] = TextOf(tree.At(1));
          return {};
        });
      }
      return cursor_.Skip();
    });
  }

  Status ReadKinds() {
    kinds_.clear();
    return ForElements([&]() -> Status {
      NL_ASSIGN(const Json json, cursor_.Parsed());
      RecordKinds::Names names;
      if (json.is_object()) {
        if (const auto it = json.find("kind"); it != json.end() && it->is_string()) names.kind = *it;
        if (const auto it = json.find("operations"); it != json.end() && it->is_array()) {
          for (const Json& operation : *it)
            names.operations.push_back(operation.is_string() ? operation.get<std::string>() : "");
        }
      }
      kinds_.Add(std::move(names));
      return {};
    });
  }

  Status ReadSymbols() {
    enum { kId, kDemangled, kMangled, kSgpr, kVgpr, kAccum, kScratch, kLds };
    FieldTree tree{"kernel_id",       "demangled_kernel_name", "kernel_name",          "sgpr_count",
                   "arch_vgpr_count", "accum_vgpr_count",      "private_segment_size", "group_segment_size"};
    has_symbols_ = true;
    return ForRecords(tree, [&](int64_t, std::string_view) -> Status {
      const int64_t id = tree.Int(kId);
      if (IsNull(id)) return {};
      Symbol symbol;
      const JsonValue& name = tree.Raw(kDemangled).empty() ? tree.At(kMangled) : tree.At(kDemangled);
      if (name.kind == JsonKind::kString) symbol.name = name.text();
      symbol.escaped = name.escaped;
      symbol.sgpr = tree.Int(kSgpr);
      symbol.vgpr = tree.Int(kVgpr);
      symbol.accum_vgpr = tree.Int(kAccum);
      symbol.scratch_bytes = tree.Int(kScratch);
      symbol.lds_bytes = tree.Int(kLds);
      symbols_.insert_or_assign(id, std::move(symbol));
      return {};
    });
  }

  StringId TextOf(const JsonValue& value) {
    if (value.kind != JsonKind::kString) return StringId::kNull;
    return Name(value.text(), value.escaped);
  }
  StringId Name(std::string_view text, bool escaped) {
    if (!escaped) return out_.Text(text);
    bool bad_utf8 = false;
    return out_.Text(trace_json::Unescape(text, bad_utf8));
  }

  AgentPlace AgentAt(int64_t handle) {
    if (handle == last_agent_) return last_place_;
    last_agent_ = handle;
    last_place_ = out_.agents.ByHandle(handle);
    return last_place_;
  }

  void NoteOthers(const FieldTree& tree, const char* section) {
    for (const FieldTree::Other& other : tree.others())
      out_.LeaveOut(kFieldNotImported, std::string(section) + "." + std::string(other.key));
  }

  // ---- records ----
  Status ReadBuffers() {
    return ForKeys([&](const std::string& key) -> Status {
      if (cursor_.Peek() != '[') return SkipSection(key);
      if (key == "kernel_dispatch") return ReadKernels();
      if (key == "memory_copy") return ReadCopies();
      if (key == "memory_allocation") return ReadAllocations();
      if (key == "scratch_memory") return ReadScratch();
      if (key == "marker_api") return ReadCalls(key.c_str(), true);
      if (key.ends_with("_api")) return ReadCalls(key.c_str(), false);
      return SkipSection(key);
    });
  }

  static Times TimesOf(const FieldTree& tree) { return {tree.Int(kStart), tree.Int(kEnd)}; }

  void TakeSymbol(int64_t kernel_id, Dispatch& d) {
    const auto it = symbols_.find(kernel_id);
    if (it == symbols_.end()) return;
    Symbol& symbol = it->second;
    if (IsNull(symbol.id)) {
      std::string_view name = symbol.name;
      for (const std::string_view end : {" [clone .kd]", ".kd"}) {
        if (name.ends_with(end)) name.remove_suffix(end.size());
      }
      symbol.id = Name(name, symbol.escaped);
    }
    d.name = symbol.id;
    d.resources.vgpr = symbol.vgpr;
    d.resources.accum_vgpr = symbol.accum_vgpr;
    d.resources.sgpr = symbol.sgpr;
    if (IsNull(d.resources.scratch_bytes)) d.resources.scratch_bytes = symbol.scratch_bytes;
    if (IsNull(d.lds_bytes)) d.lds_bytes = symbol.lds_bytes;
  }

  // Slots of dispatch_info, from `first` on: agent, queue, kernel, dispatch, scratch, lds, workgroup, grid.
  void TakeDispatch(const FieldTree& tree, size_t first, Dispatch& d) {
    d.agent = AgentAt(tree.Int(first));
    d.pid = pid_;
    d.resources.queue = tree.Int(first + 1);
    d.resources.kernel_id = tree.Int(first + 2);
    d.dispatch_id = tree.Int(first + 3);
    d.resources.scratch_bytes = tree.Int(first + 4);
    d.lds_bytes = tree.Int(first + 5);
    for (size_t i = 0; i < 3; ++i) {
      d.workgroup[i] = tree.Int(first + 6 + i);
      d.grid[i] = tree.Int(first + 9 + i);
    }
    TakeSymbol(d.resources.kernel_id, d);
  }

#define NL_ROCPROF_DISPATCH(prefix)                                                                     \
  prefix "agent_id.handle", prefix "queue_id.handle", prefix "kernel_id", prefix "dispatch_id",         \
      prefix "private_segment_size", prefix "group_segment_size", prefix "workgroup_size.x",            \
      prefix "workgroup_size.y", prefix "workgroup_size.z", prefix "grid_size.x", prefix "grid_size.y", \
      prefix "grid_size.z", prefix "size"
  static constexpr size_t kDispatchSlots = 13;

  Status ReadKernels() {
    FieldTree tree{NL_ROCPROF_COMMON, NL_ROCPROF_DISPATCH("dispatch_info."), "stream_id.handle"};
    return ForRecords(tree, [&](int64_t place, std::string_view text) -> Status {
      Dispatch d;
      d.times = TimesOf(tree);
      TakeDispatch(tree, kFirstOwn, d);
      d.tid = tree.Int(kThread);
      d.correlation = tree.Int(kCorrelation);
      d.stream = tree.Int(kFirstOwn + kDispatchSlots);
      NoteOthers(tree, "kernel_dispatch");
      NL_ASSIGN(const RowId row, out_.AddKernel(d, place, text));
      if (const int64_t external = tree.Int(kExternal); !IsNull(row) && !IsNull(external) && external != 0)
        out_.writer.KeepArg(Table::kKernel, row, "external_correlation", external);
      return {};
    });
  }

  Status ReadCopies() {
    enum { kTo = kFirstOwn, kFrom, kBytes, kStream };
    FieldTree tree{NL_ROCPROF_COMMON, "dst_agent_id.handle", "src_agent_id.handle", "bytes",
                   "stream_id.handle"};
    return ForRecords(tree, [&](int64_t place, std::string_view text) {
      Copy c;
      c.times = TimesOf(tree);
      c.from = AgentAt(tree.Int(kFrom));
      c.to = AgentAt(tree.Int(kTo));
      c.pid = pid_;
      c.tid = tree.Int(kThread);
      c.stream = tree.Int(kStream);
      c.correlation = tree.Int(kCorrelation);
      c.bytes = tree.Int(kBytes);
      c.direction = kinds_.Operation(tree.Int(kKind), tree.Int(kOperation));
      NoteOthers(tree, "memory_copy");
      return out_.AddCopy(c, place, text);
    });
  }

  Status ReadCalls(const char* section, bool markers) {
    FieldTree tree{NL_ROCPROF_COMMON};
    return ForRecords(tree, [&](int64_t place, std::string_view text) {
      Call c;
      c.times = TimesOf(tree);
      c.pid = pid_;
      c.tid = tree.Int(kThread);
      c.correlation = tree.Int(kCorrelation);
      const int64_t kind = tree.Int(kKind);
      c.domain = kinds_.Kind(kind);
      if (c.domain.empty()) c.domain = section;
      if (markers) {
        if (const auto it = markers_.find(c.correlation); it != markers_.end()) c.name = it->second;
      }
      if (IsNull(c.name)) c.name = out_.Text(kinds_.Operation(kind, tree.Int(kOperation)));
      NoteOthers(tree, section);
      return markers ? out_.AddMarker(c, place, text) : out_.AddCall(c, place, text);
    });
  }

  Status ReadAllocations() {
    enum { kAgent = kFirstOwn, kAddress, kAddressHandle, kBytes };
    FieldTree tree{NL_ROCPROF_COMMON, "agent_id.handle", "address", "address.handle", "allocation_size"};
    return ForRecords(tree, [&](int64_t place, std::string_view text) {
      Allocation a;
      a.times = TimesOf(tree);
      a.agent = AgentAt(tree.Int(kAgent));
      a.pid = pid_;
      a.tid = tree.Int(kThread);
      a.address = IsNull(tree.Int(kAddress)) ? tree.Int(kAddressHandle) : tree.Int(kAddress);
      a.bytes = tree.Int(kBytes);
      a.operation = kinds_.Operation(tree.Int(kKind), tree.Int(kOperation));
      NoteOthers(tree, "memory_allocation");
      return out_.AddAllocation(a, place, text);
    });
  }

  Status ReadScratch() {
    FieldTree tree{NL_ROCPROF_COMMON, "agent_id.handle"};
    return ForRecords(tree, [&](int64_t place, std::string_view text) {
      Call c;
      c.times = TimesOf(tree);
      c.pid = pid_;
      c.name = out_.Text(kinds_.Operation(tree.Int(kKind), tree.Int(kOperation)));
      NoteOthers(tree, "scratch_memory");
      return out_.AddDeviceSpan(c, AgentAt(tree.Int(kFirstOwn)), "scratch_memory", place, text);
    });
  }

  Status ReadCallbacks() {
    return ForKeys([&](const std::string& key) -> Status {
      if (key == "counter_collection" && cursor_.Peek() == '[') return ReadCounters();
      return SkipSection(key);
    });
  }

  // Counters of a dispatch; without a kernel of that number, they bring their own.
  Status ReadCounters() {
    enum {
      kDispatch = 0,
      kTimeStart = kDispatchSlots,
      kTimeEnd,
      kCorr,
      kTid,
      kVgpr,
      kAccum,
      kSgpr,
      kLds,
      kValues
    };
    FieldTree tree{NL_ROCPROF_DISPATCH("dispatch_data.dispatch_info."),
                   "dispatch_data.start_timestamp",
                   "dispatch_data.end_timestamp",
                   "dispatch_data.correlation_id.internal",
                   "thread_id",
                   "arch_vgpr_count",
                   "accum_vgpr_count",
                   "sgpr_count",
                   "lds_block_size_v",
                   "records",
                   "dispatch_data.size",
                   "dispatch_data.correlation_id.external"};
    return ForRecords(tree, [&](int64_t place, std::string_view text) -> Status {
      RowId row = out_.KernelOf(tree.Int(kDispatch + 3));
      if (IsNull(row)) {
        Dispatch d;
        d.times = {tree.Int(kTimeStart), tree.Int(kTimeEnd)};
        TakeDispatch(tree, kDispatch, d);
        d.tid = tree.Int(kTid);
        d.correlation = tree.Int(kCorr);
        if (IsNull(d.resources.vgpr)) d.resources.vgpr = tree.Int(kVgpr);
        if (IsNull(d.resources.sgpr)) d.resources.sgpr = tree.Int(kSgpr);
        if (IsNull(d.lds_bytes)) d.lds_bytes = tree.Int(kLds);
        NL_ASSIGN(row, out_.AddKernel(d, place, text));
      }
      NoteOthers(tree, "counter_collection");
      if (IsNull(row)) return {};
      return PutCounters(row, tree.At(kValues).text(), place);
    });
  }

  // Values of one counter (one for each part of the device) add up.
  Status PutCounters(RowId row, std::string_view json, int64_t place) {
    const Result<Json> records = ParseJson(json);
    if (!records.ok() || !records->is_array()) {
      out_.file.counters.Add(kBadRecord, place, json.substr(0, kShownBytes));
      return {};
    }
    std::vector<std::pair<int64_t, double>> sums;
    for (const Json& record : *records) {
      const auto id = record.is_object() ? record.find("counter_id") : record.end();
      const auto value = record.is_object() ? record.find("value") : record.end();
      if (!record.is_object() || id == record.end() || value == record.end() || !value->is_number() ||
          !id->is_object() || !id->contains("handle") || !(*id)["handle"].is_number_integer()) {
        out_.file.counters.Add(kBadRecord, place, DumpJson(record).substr(0, kShownBytes));
        continue;
      }
      const auto handle = (*id)["handle"].get<int64_t>();
      auto it = std::find_if(sums.begin(), sums.end(), [&](const auto& sum) { return sum.first == handle; });
      if (it == sums.end()) it = sums.insert(sums.end(), {handle, 0.0});
      it->second += value->get<double>();
    }
    for (const auto& [handle, sum] : sums) {
      const auto name = counters_.find(handle);
      const bool known = name != counters_.end() && !IsNull(name->second);
      if (!known) out_.file.counters.Add(kMissingName, place);
      out_.AddMetric(row, known ? name->second : out_.Text("counter " + std::to_string(handle)), sum);
    }
    return out_.writer.Flow();
  }

  // Left out, and said so when there is something in it.
  Status SkipSection(const std::string& key) {
    NL_ASSIGN(const bool empty, SkipValue());
    if (!empty) out_.LeaveOut(kSectionNotImported, key);
    return {};
  }

  Recording out_;
  int64_t pid_ = kNone;
  bool has_agents_ = false, has_symbols_ = false;
  std::unordered_map<int64_t, Symbol> symbols_;
  RecordKinds kinds_;
  std::unordered_map<int64_t, StringId> markers_, counters_;
  std::vector<int64_t> late_buffers_, late_callbacks_;
  int64_t last_agent_ = kNone;
  AgentPlace last_place_;
};

}  // namespace

bool LooksLikeJson(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const size_t brace = head.find_first_not_of(" \n\r\t");
  if (brace == std::string_view::npos || head[brace] != '{') return false;
  const size_t quote = head.find_first_not_of(" \n\r\t", brace + 1);
  return quote != std::string_view::npos && head.substr(quote).starts_with("\"rocprofiler-sdk-tool\"");
}

Status ImportJson(ImportFile& file, const std::string& path) {
  NL_ASSIGN(JsonCursor cursor, JsonCursor::Open(path, file));
  return JsonRecording(file, std::move(cursor)).Run();
}

}  // namespace nl::adapters::rocprof
