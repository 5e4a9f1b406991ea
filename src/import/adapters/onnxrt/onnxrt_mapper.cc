// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/onnxrt/onnxrt_mapper.h"

#include "import/adapters/onnxrt/counters.h"
#include "import/adapters/onnxrt/type_shapes.h"
#include "import/names/copy_name.h"
#include "import/rows/run_facts.h"

namespace nl::adapters::onnxrt {

using trace_json::Arg;
using trace_json::JsonKind;
using trace_json::JsonValue;
using trace_json::KeyTable;
using trace_json::ParseInt64;
using trace_json::TraceEvent;
using trace_json::Worker;

namespace {

enum Key : uint8_t {
  kOpName,
  kProvider,
  kInputTypeShape,
  kStream,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
};
const std::vector<std::string_view> kKeyNames = {"op_name", "provider", "input_type_shape", "stream",
                                                 "grid_x",  "grid_y",   "grid_z",           "block_x",
                                                 "block_y", "block_z"};

constexpr std::string_view kNodeSuffix = "_kernel_time";

enum class Category : uint8_t { kNode, kKernel, kApiCall, kOther };

Category Classify(std::string_view cat) {
  if (cat == "Node") return Category::kNode;
  if (cat == "Kernel") return Category::kKernel;
  return cat == "Api" ? Category::kApiCall : Category::kOther;
}

// Numbers are written as text ("7"); streams of ROCm are addresses ("0x55d0c8").
bool TakeNumber(const JsonValue& v, int64_t& to) {
  if (v.kind != JsonKind::kString) return trace_json::ToInt64(v, to);
  const std::string_view text = v.text();
  if (!text.starts_with("0x")) return ParseInt64(text, to);
  if (text.size() < 3 || text.size() > 17) return false;
  uint64_t value = 0;
  for (const char c : text.substr(2)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return false;
    value = value << 4 | static_cast<uint64_t>(digit);
  }
  to = static_cast<int64_t>(value & INT64_MAX);
  return true;
}

// Extents of a grid; a copy has -1.
bool TakeExtent(const JsonValue& v, int32_t& to) {
  int64_t wide = 0;
  if (!TakeNumber(v, wide) || wide < 0 || wide > INT32_MAX) return false;
  to = static_cast<int32_t>(wide);
  return true;
}

// Counted with the rows, so that text which is read twice counts once.
void CountProvider(std::string_view provider, CounterSet& counters) {
  const auto is = [&](std::string_view word) { return provider.find(word) != std::string_view::npos; };
  if (is("CUDA") || is("Tensorrt") || is("TensorRT")) counters.Add(kNodeOnNvidia);
  if (is("ROCM") || is("MIGraphX")) counters.Add(kNodeOnAmd);
}

// Gives every argument to `take` once; `keep` gets what it refuses and what stands twice.
template <class Take, class Keep>
void TakeArgs(const TraceEvent& e, Take take, Keep keep) {
  uint32_t seen = 0;
  for (const Arg& arg : e.args) {
    const uint32_t bit = arg.key_id == KeyTable::kUnknown ? 0 : uint32_t{1} << arg.key_id;
    const bool again = (seen & bit) != 0;
    seen |= bit;
    if (bit == 0 || again || !take(arg)) keep(arg);
  }
}

template <class Row, class Place>
Row SpanRow(const Place& p, StringId name) {
  Row r;
  r.thread_id = p.lane;
  r.start_ns = p.start_ns;
  r.dur_ns = p.dur_ns;
  r.name = name;
  return r;
}

}  // namespace

const KeyTable& OnnxrtMapper::arg_keys() const {
  static const KeyTable table(kKeyNames);
  return table;
}

void OnnxrtMapper::MapNode(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.op.size();
  auto r = SpanRow<OpRow>(p, NameOf(e, w));
  StringId type = StringId::kNull;
  const auto take = [&](const Arg& arg) {
    const JsonValue& v = arg.value;
    switch (arg.key_id) {
      case kOpName:
        if (v.kind != JsonKind::kString || v.size == 0) return false;
        type = w.strings.Text(v);
        KeepArg(w, Table::kOp, row, RunFacts::kOpTypeKey, v);
        return true;
      case kProvider: CountProvider(v.text(), w.counters); return false;  // has no column
      case kInputTypeShape: {
        TypeShapes parts;
        if (v.kind != JsonKind::kNested || !SplitTypeShapes(v.text(), parts)) {
          w.counters.Add(kBadTypeShape, e.offset, e.text);
          return false;
        }
        r.input_dims = w.strings.Text(parts.dims);
        r.input_types = w.strings.Text(parts.types);
        return true;
      }
      default: return false;
    }
  };
  TakeArgs(e, take, [&](const Arg& arg) { KeepArg(w, Table::kOp, row, arg.key, arg.value); });
  if (e.id.given()) KeepArg(w, Table::kOp, row, "id", e.id);
  // Nodes of old models have no name of their own: "_kernel_time".
  const std::string name(w.strings.At(r.name).substr(0, w.strings.At(r.name).size() - kNodeSuffix.size()));
  if (!name.empty()) {
    r.name = w.strings.Text(name);
  } else if (!IsNull(type)) {
    r.name = type;
  }
  w.batch.op.Add(r);
}

void OnnxrtMapper::MapKernel(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.kernel.size();
  auto r = SpanRow<KernelRow>(p, NameOf(e, w));
  const auto take = [&r](const Arg& arg) {
    switch (arg.key_id) {
      case kStream: return TakeNumber(arg.value, r.stream);
      case kGridX: return TakeExtent(arg.value, r.grid_x);
      case kGridY: return TakeExtent(arg.value, r.grid_y);
      case kGridZ: return TakeExtent(arg.value, r.grid_z);
      case kBlockX: return TakeExtent(arg.value, r.block_x);
      case kBlockY: return TakeExtent(arg.value, r.block_y);
      case kBlockZ: return TakeExtent(arg.value, r.block_z);
      default: return false;
    }
  };
  TakeArgs(e, take, [&](const Arg& arg) { KeepArg(w, Table::kKernel, row, arg.key, arg.value); });
  if (e.id.given()) KeepArg(w, Table::kKernel, row, "id", e.id);
  w.batch.kernel.Add(r);
}

void OnnxrtMapper::MapCopy(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.memcpy.size();
  auto r = SpanRow<MemcpyRow>(p, NameOf(e, w));
  if (const CopyName copy = ParseCopyName(w.strings.At(r.name)); !copy.kind.empty())
    r.kind = w.strings.Text(copy.kind);
  const auto take = [&r](const Arg& arg) { return arg.key_id == kStream && TakeNumber(arg.value, r.stream); };
  TakeArgs(e, take, [&](const Arg& arg) { KeepArg(w, Table::kMemcpy, row, arg.key, arg.value); });
  if (e.id.given()) KeepArg(w, Table::kMemcpy, row, "id", e.id);
  w.batch.memcpy.Add(r);
}

void OnnxrtMapper::MapApiCall(const TraceEvent& e, const Place& p, Worker& w) const {
  const size_t row = w.batch.api_call.size();
  auto r = SpanRow<ApiCallRow>(p, NameOf(e, w));
  r.domain = CategoryOf(e, w);
  for (const Arg& arg : e.args) KeepArg(w, Table::kApiCall, row, arg.key, arg.value);
  if (e.id.given()) KeepArg(w, Table::kApiCall, row, "id", e.id);
  w.batch.api_call.Add(r);
}

void OnnxrtMapper::MapComplete(const TraceEvent& e, const Place& p, Worker& w) const {
  const std::string_view name = e.name.given() ? e.name.text() : std::string_view();
  switch (Classify(e.cat.given() ? e.cat.text() : std::string_view())) {
    case Category::kNode:
      if (name.ends_with(kNodeSuffix)) return MapNode(e, p, w);
      break;  // a fence: the node's wait for other streams
    case Category::kKernel:
      if (name == "not_available_due_to_cupti_error") {
        w.counters.Add(kDeviceProfileFailed, e.offset);
        break;
      }
      return name.starts_with("Memcpy") ? MapCopy(e, p, w) : MapKernel(e, p, w);
    case Category::kApiCall: return MapApiCall(e, p, w);
    case Category::kOther: break;
  }
  // One execution of the model is one step.
  if (name == "model_run") w.step_rows.push_back(w.batch.range.size());
  EventMapper::MapComplete(e, p, w);
}

}  // namespace nl::adapters::onnxrt
