// SPDX-License-Identifier: Apache-2.0
// The proton adapter: Triton Proton's hatchet files, a tree of scopes with totals per
// kernel. One real leaf (Triton 3.6, H200):
//   {"children": [], "frame": {"name": "_ZN2at6native13reduce_kernel...", "type": "function"},
//    "metrics": {"count": 5, "device_id": "0", "device_type": "CUDA", "time (ns)": 52351}}
// A run holds events, so the executions of a leaf are drawn end to end, each as long as
// their mean (sums stay exact), inside the scopes they ran in: counted as totals_only.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "import/adapters/proton/counters.h"
#include "import/adapters/proton/hatchet_tree.h"
#include "import/rows/row_writer.h"

namespace nl::adapters::proton {

namespace {

constexpr int64_t kMaxDrawn = 1'000'000;  // executions; beyond, several are one row

class TreeWriter {
 public:
  TreeWriter(ImportFile& file, const HatchetTree& tree)
      : file_(file), writer_(file), tree_(tree), group_((tree.executions() + kMaxDrawn - 1) / kMaxDrawn) {
    first_lane_ = file.sink.rows(Table::kThread);
    first_process_ = file.sink.rows(Table::kProcess);
    AddLane(AddProcess("Proton"), "scopes");
  }

  Status Write() {
    const std::vector<TreeNode>& nodes = tree_.nodes();
    std::vector<Open> open;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      while (!open.empty() && open.back().last <= i) open.pop_back();
      const TreeNode& node = nodes[i];
      if (node.root) continue;
      RowId op = open.empty() ? RowId::kNull : open.back().op;
      if (node.has_children) {
        if (node.launches)
          op = WriteOp(node);
        else
          WriteRange(node, "span");
        open.push_back({node.last, op});
      }
      if (node.IsWork())
        NL_TRY(WriteWork(node, op));
      else if (!node.has_children)
        WriteUntimed(node);
      NL_TRY(writer_.Flow());
    }
    return writer_.Finish();
  }

 private:
  struct Open {  // scope around the present node
    uint32_t last;
    RowId op;
  };

  ThreadId ScopeLane() const { return static_cast<ThreadId>(first_lane_); }

  ProcessId AddProcess(std::string_view name) {
    ProcessRow row;
    row.name = writer_.strings().Add(name);
    writer_.batch.process.Add(row);
    return static_cast<ProcessId>(first_process_ + processes_++);
  }
  ThreadId AddLane(ProcessId process, std::string_view name) {
    ThreadRow row;
    row.process_id = process;
    row.name = writer_.strings().Add(name);
    writer_.batch.thread.Add(row);
    return static_cast<ThreadId>(first_lane_ + lanes_++);
  }
  ThreadId DeviceLane(const TreeNode& node) {
    const auto [it, added] = device_lanes_.try_emplace({node.device_type, node.device});
    if (added) {
      const std::string_view type = node.device_type.empty() ? "device" : node.device_type;
      const ProcessId process =
          AddProcess(IsNull(node.device) ? fmt::format("{}", type) : fmt::format("{} {}", type, node.device));
      it->second = AddLane(process, "kernels");
    }
    return it->second;
  }

  // Every metric as written, owned by the row that stands for the node.
  void KeepMetrics(Table table, RowId row, const TreeNode& node, bool timed) {
    for (const auto& [key, value] : node.metrics->items()) {
      const bool has_column = (key == kDeviceKey && !IsNull(node.device)) ||
                              (key == kTimeKey && !IsNull(node.time_ns) && (timed || node.time_ns == 0)) ||
                              (key == kCountKey && !IsNull(node.count) && group_ <= 1 &&
                               (timed ? node.count > 0 : node.count == 0));
      if (!has_column) writer_.KeepArg(table, row, key, DumpJson(value));
    }
  }

  // A scope with kernels directly below it is what launched them.
  RowId WriteOp(const TreeNode& node) {
    OpRow row;
    row.thread_id = ScopeLane();
    row.start_ns = now_ns_;
    row.dur_ns = node.total_ns;
    row.name = writer_.strings().Add(node.name);
    const RowId id = writer_.NextRow(Table::kOp, writer_.batch.op);
    writer_.batch.op.Add(row);
    if (!node.IsWork()) KeepMetrics(Table::kOp, id, node, false);
    return id;
  }

  void WriteRange(const TreeNode& node, std::string_view kind) {
    RangeRow row;
    row.thread_id = ScopeLane();
    row.start_ns = now_ns_;
    if (kind == "span") row.dur_ns = node.total_ns;
    row.name = writer_.strings().Add(node.name);
    row.category = writer_.strings().Add("scope");
    row.kind = writer_.strings().Add(kind);
    const RowId id = writer_.NextRow(Table::kRange, writer_.batch.range);
    writer_.batch.range.Add(row);
    KeepMetrics(Table::kRange, id, node, false);
  }

  void WriteUntimed(const TreeNode& node) {
    file_.counters.Add(kNodeWithoutTime, -1, node.name);
    WriteRange(node, "instant");
  }

  Status WriteWork(const TreeNode& node, RowId op) {
    const int64_t count = IsNull(node.count) ? 1 : std::max<int64_t>(1, node.count);
    const int64_t rows = group_ <= 1 ? count : std::max<int64_t>(1, count / group_);
    if (rows < count) file_.counters.Add(kExecutionsMerged, -1, node.name, count - rows);
    file_.counters.Add(kTotalsOnly, -1, {}, rows);
    KernelColumns& kernels = writer_.batch.kernel;
    KernelRow row;
    row.thread_id = DeviceLane(node);
    row.device = node.device;
    row.name = writer_.strings().Add(node.name);
    KeepMetrics(Table::kKernel, writer_.NextRow(Table::kKernel, kernels), node, true);
    const int64_t each_ns = node.time_ns / rows, longer = node.time_ns % rows;
    for (int64_t i = 0; i < rows; ++i) {
      row.start_ns = now_ns_;
      row.dur_ns = each_ns + (i < longer);
      now_ns_ += row.dur_ns;
      kernels.Add(row);
      kernels.op_id.push_back(op);
      kernels.api_call_id.push_back(RowId::kNull);
      NL_TRY(writer_.Flow());
    }
    return {};
  }

  ImportFile& file_;
  RowWriter writer_;
  const HatchetTree& tree_;
  int64_t group_;  // executions a row stands for
  int64_t now_ns_ = 0;
  int64_t first_process_ = 0, first_lane_ = 0, processes_ = 0, lanes_ = 0;
  std::map<std::pair<std::string_view, int32_t>, ThreadId> device_lanes_;
};

// Real: {"CUDA": {"0": {"arch": "90", "bus_width": 6016, "clock_rate": 1980000,
//                       "memory_clock_rate": 3201000, "num_sms": 132}}}
void ReadDevices(const Json& element, ImportFile& file) {
  EventBatch batch;
  StringPool& strings = file.sink.strings();
  for (const auto& [type, devices] : element.items()) {
    if (!devices.is_object()) continue;
    if (type == "CUDA") file.about.vendor = "nvidia";
    if (type == "HIP") file.about.vendor = "amd";
    for (const auto& [number, facts] : devices.items()) {
      if (!facts.is_object()) continue;
      DeviceRow row;
      SourceFacts::Device device;
      if (number.empty() || number.size() > 6 || number.find_first_not_of("0123456789") != std::string::npos)
        continue;
      device.index = row.device = std::stoi(number);
      const auto sms = facts.find("num_sms");
      if (sms != facts.end() && sms->is_number_unsigned() && sms->get<uint64_t>() < 1'000'000) {
        device.sm_count = sms->get<int64_t>();
        row.sm_count = static_cast<int32_t>(*device.sm_count);
      }
      // "90" is 9.0, "120" is 12.0; AMD writes "gfx942".
      const auto arch = facts.find("arch");
      if (type == "CUDA" && arch != facts.end() && arch->is_string()) {
        const auto& text = arch->get_ref<const std::string&>();
        if (text.size() >= 2 && text.size() <= 4 &&
            text.find_first_not_of("0123456789") == std::string::npos) {
          row.compute_major = std::stoi(text) / 10;
          row.compute_minor = std::stoi(text) % 10;
          device.compute_capability = fmt::format("{}.{}", row.compute_major, row.compute_minor);
        }
      }
      row.properties = strings.Add(DumpJson(facts));
      batch.device.Add(row);
      file.about.devices.push_back(device);
    }
  }
  file.about.header["devices"] = element;
  file.facts.Observe(batch, file.sink);
  file.sink.Append(batch);
}

constexpr size_t kMaxTreeBytes = 512 << 20;  // read whole; a tree of totals has kilobytes to megabytes

Result<std::string> ReadAll(ImportFile& file) {
  std::string text;
  constexpr size_t kPiece = 1 << 20;
  for (;;) {
    if (file.options.Cancelled()) return Cancelled();
    const size_t before = text.size();
    text.resize(before + kPiece);
    NL_ASSIGN(const size_t n, file.source.Read(text.data() + before, kPiece));
    text.resize(before + n);
    if (file.options.progress) file.options.progress(file.source.bytes_read(), file.source.bytes_total());
    if (n < kPiece) return text;
    if (text.size() > kMaxTreeBytes) return Limit("a Proton tree of over 512 MB").At(file.path);
  }
}

// The keys a tree begins with, in the order Proton or a rewriting tool put them.
bool BeginsLikeTree(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  std::string start;  // without white space
  for (const char c : head.substr(0, 4096)) {
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') start += c;
    if (start.size() >= 16) break;
  }
  for (const std::string_view key : {"[{\"children\":", "[{\"frame\":{", "[{\"metrics\":{"}) {
    if (start.starts_with(key)) return true;
  }
  return false;
}

class ProtonAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"proton", 1, "Triton Proton totals (hatchet JSON)", "triton.profiler", {".hatchet"}};
  }

  int Score(std::string_view head, std::string_view file_name) const override {
    if (!BeginsLikeTree(head)) return 0;
    if (head.find("\"frame\"") != std::string_view::npos &&
        head.find("\"metrics\"") != std::string_view::npos)
      return 90;
    return file_name.ends_with(".hatchet") ? 45 : 40;
  }

  Status Import(ImportFile& file) const override {
    NL_ASSIGN(const std::string text, ReadAll(file));
    Result<Json> json = ParseJson(text);
    if (!json.ok()) {
      const int64_t offset = json.error().byte_offset;
      const bool cut = offset >= static_cast<int64_t>(text.size());
      if (offset < 0) return std::move(json.error()).At(file.path);
      return InvalidInput(cut ? "the tree is truncated" : "the tree is not valid JSON here")
          .At(file.path, std::min(offset, static_cast<int64_t>(text.size())))
          .Hint("the file is cut or was edited: record again");
    }
    if (!json->is_array()) return InvalidInput("not a Proton tree: no JSON array").At(file.path, 0);
    file.about.order_only = true;
    file.about.tool = "Triton Proton";
    file.about.backend = "triton";
    HatchetTree tree(file.counters);
    for (const Json& element : *json) {
      const bool devices = element.is_object() && !element.contains("frame") &&
                           !element.contains("metrics") && !element.contains("children");
      if (devices)
        ReadDevices(element, file);
      else
        tree.Add(element);
    }
    return TreeWriter(file, tree).Write();
  }
};

}  // namespace

const Adapter& Describe() {
  static const ProtonAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::proton
