// SPDX-License-Identifier: Apache-2.0
// What the events of an XSpace become. One real kernel (JAX 0.11, H200), its stats by name:
//   line "Stream #14(Memset,Compute)" at 26095992 ns, offset_ps 707545000, duration_ps 43839000,
//   name nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT, correlation_id 1, context_id "$$1",
//   cuda_graph_id 10, cuda_graph_node_id 42949672971, theoretical_occupancy_pct 18.75,
//   kernel_details (details.h), hlo_op command_buffer_1, hlo_module jit_f, program_id 2654

#include <charconv>

#include <fmt/format.h>

#include "import/adapters/xplane/counters.h"
#include "import/adapters/xplane/decoder.h"
#include "model/labels/step_label.h"

namespace nl::adapters::xplane {

namespace {

// Numbers may be written as text; contexts come as "$$1".
bool IntOf(const StatValue& stat, int64_t& out) {
  if (stat.IsNumber()) {
    out = static_cast<int64_t>(stat.number);
    return true;
  }
  if (stat.type != StatValue::kText) return false;
  std::string_view text = stat.text;
  while (text.starts_with('$')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// An id where 0 is none.
bool IdOf(const StatValue& stat, int64_t& out) {
  int64_t id = 0;
  if (!IntOf(stat, id) || id < 0) return false;
  if (id != 0) out = id;
  return true;
}

}  // namespace

template <class Row>
void Decoder::TakePlace(const Event& event, Row& row) {
  row.thread_id = line_->lane;
  row.start_ns = event.start_ns;
  row.dur_ns = event.dur_ns;
  row.name = NameOf(event);
  if constexpr (requires { row.stream; }) {
    if (!IsNull(plane_->number)) row.device = static_cast<int32_t>(plane_->number);
    row.stream = line_->stream;
  }
}

// Stats that all device work has; false: the stat has no place here.
template <class Row>
bool Decoder::TakeWorkStat(const StatValue& stat, Row& row, WorkNote& note) {
  switch (stat.kind) {
    case StatKind::kCorrelation: return IdOf(stat, row.correlation);
    case StatKind::kContext: return IntOf(stat, row.context);
    case StatKind::kGraph: return IdOf(stat, row.graph_id);
    case StatKind::kGraphNode: return IdOf(stat, row.graph_node_id);
    default: break;
  }
  if (plane_->has_op_line) return false;
  switch (stat.kind) {
    case StatKind::kHloOp: return (note.op = TextOf(stat)) != StringId::kNull;
    case StatKind::kHloModule: return (note.module = TextOf(stat)) != StringId::kNull;
    case StatKind::kFrameworkOp: return (note.framework_op = TextOf(stat)) != StringId::kNull;
    case StatKind::kFrameworkName: return (note.framework_name = TextOf(stat)) != StringId::kNull;
    case StatKind::kProgram: return IntOf(stat, note.program);
    case StatKind::kScopeRange: return IntOf(stat, note.scope);
    default: return false;
  }
}

namespace {
constexpr WorkNote kNoNote{Table::kKernel,         0,
                           StringId::kNull,        StringId::kNull,
                           StringId::kNull,        StringId::kNull,
                           NullOf<int64_t>::value, NullOf<int64_t>::value};
}

void Decoder::PutNote(Table table, size_t row, WorkNote note) {
  note.table = table;
  note.row = static_cast<uint32_t>(row);
  work.push_back(note);
}

void Decoder::MapWork(const Event& event) {
  if (const StatValue* copy = FindStat(StatKind::kMemcpyDetails); copy != nullptr)
    return MapCopy(event, *copy);
  if (const StatValue* fill = FindStat(StatKind::kMemsetDetails); fill != nullptr)
    return MapFill(event, *fill);
  MapKernel(event);
}

void Decoder::MapKernel(const Event& event) {
  KernelRow row;
  WorkNote note = kNoNote;
  const size_t at = batch.kernel.size();
  TakePlace(event, row);
  for (const StatValue& stat : stats_) {
    if (stat.kind == StatKind::kOccupancy && stat.type == StatValue::kDouble) {
      row.estimated_occupancy_pct = stat.real;
    } else if (stat.kind == StatKind::kKernelDetails) {
      const KernelDetails& d = DetailsOf(stat);
      row.registers_per_thread = d.registers;
      row.shared_bytes = d.shared_bytes;
      row.grid_x = d.grid[0];
      row.grid_y = d.grid[1];
      row.grid_z = d.grid[2];
      row.block_x = d.block[0];
      row.block_y = d.block[1];
      row.block_z = d.block[2];
      if (IsNull(row.estimated_occupancy_pct)) row.estimated_occupancy_pct = d.occupancy_pct;
    } else if (!TakeWorkStat(stat, row, note)) {
      KeepStat(Table::kKernel, at, stat);
    }
  }
  batch.kernel.Add(row);
  KeepOdd(Table::kKernel, at, event);
  PutNote(Table::kKernel, at, note);
}

void Decoder::MapCopy(const Event& event, const StatValue& details) {
  MemcpyRow row;
  WorkNote note = kNoNote;
  const size_t at = batch.memcpy.size();
  TakePlace(event, row);
  std::string_view text, name;
  plane_->TextOf(details, text);
  if (event.name != IdTable<EventName>::kNone) name = plane_->events.At(event.name).text;
  const CopyDetails d = ParseCopyDetails(text, name);
  row.bytes = d.bytes;
  if (!d.kind.empty()) row.kind = strings.Text(d.kind);
  if (!d.src_memory.empty()) row.src_memory = strings.Text(d.src_memory);
  if (!d.dst_memory.empty()) row.dst_memory = strings.Text(d.dst_memory);
  for (const StatValue& stat : stats_) {
    if (&stat == &details ? d.kind.empty() : !TakeWorkStat(stat, row, note))
      KeepStat(Table::kMemcpy, at, stat);
  }
  batch.memcpy.Add(row);
  KeepOdd(Table::kMemcpy, at, event);
  PutNote(Table::kMemcpy, at, note);
}

void Decoder::MapFill(const Event& event, const StatValue& details) {
  MemsetRow row;
  WorkNote note = kNoNote;
  const size_t at = batch.memset.size();
  TakePlace(event, row);
  std::string_view text;
  plane_->TextOf(details, text);
  row.bytes = ParseMemsetBytes(text);
  for (const StatValue& stat : stats_) {
    if (&stat == &details ? IsNull(row.bytes) : !TakeWorkStat(stat, row, note))
      KeepStat(Table::kMemset, at, stat);
  }
  batch.memset.Add(row);
  KeepOdd(Table::kMemset, at, event);
  PutNote(Table::kMemset, at, note);
}

void Decoder::MapHost(const Event& event) {
  const NameKind kind =
      event.name == IdTable<EventName>::kNone ? NameKind::kPlain : plane_->events.At(event.name).kind;
  switch (kind) {
    case NameKind::kPython: return MapPython(event);
    case NameKind::kCudaRuntime:
    case NameKind::kCudaDriver:
    case NameKind::kHip: return MapApiCall(event, kind);
    case NameKind::kAllocation:
    case NameKind::kRelease: return MapMemory(event, kind == NameKind::kRelease);
    case NameKind::kPlain: break;
  }
  if (FindStat(StatKind::kCorrelation) != nullptr) return MapApiCall(event, kind);
  if (FindStat(StatKind::kHloOp) != nullptr) return MapOp(event);  // XLA's CPU backend
  MapRange(event, WordId(plane_->name == "/host:NVTX-CUPTI" ? kNvtx : kHost), false);
}

void Decoder::MapApiCall(const Event& event, NameKind kind) {
  ApiCallRow row;
  const size_t at = batch.api_call.size();
  TakePlace(event, row);
  row.domain = WordId(kind == NameKind::kCudaDriver    ? kDriver
                      : kind == NameKind::kCudaRuntime ? kRuntime
                      : kind == NameKind::kHip         ? kHip
                                                       : kOtherApi);
  for (const StatValue& stat : stats_) {
    if (stat.kind != StatKind::kCorrelation || !IdOf(stat, row.correlation))
      KeepStat(Table::kApiCall, at, stat);
  }
  batch.api_call.Add(row);
  KeepOdd(Table::kApiCall, at, event);
}

void Decoder::MapMemory(const Event& event, bool release) {
  MemoryEventRow row;
  const size_t at = batch.memory_event.size();
  row.thread_id = line_->lane;
  row.start_ns = event.start_ns;
  row.name = NameOf(event);
  for (const StatValue& stat : stats_) {
    bool taken = false;
    if (stat.kind == StatKind::kAddress) {
      taken = IntOf(stat, row.address);
    } else if (stat.kind == StatKind::kAllocationBytes) {
      int64_t bytes = 0;
      taken = IntOf(stat, bytes) && bytes >= 0;
      if (taken) row.bytes = release ? -bytes : bytes;
    } else if (stat.kind == StatKind::kBytesAllocated) {
      taken = IntOf(stat, row.total_allocated_bytes);
    } else if (stat.kind == StatKind::kBytesReserved) {
      taken = IntOf(stat, row.total_reserved_bytes);
    }
    if (!taken) KeepStat(Table::kMemoryEvent, at, stat);
  }
  batch.memory_event.Add(row);
  KeepOdd(Table::kMemoryEvent, at, event);
}

void Decoder::MapOp(const Event& event) {
  OpRow row;
  const size_t at = batch.op.size();
  TakePlace(event, row);
  const StatValue* hlo = FindStat(StatKind::kHloOp);
  const StringId hlo_name = hlo != nullptr ? TextOf(*hlo) : StringId::kNull;
  if (!IsNull(hlo_name)) row.name = hlo_name;
  for (const StatValue& stat : stats_) {
    if (&stat != hlo || IsNull(hlo_name)) KeepStat(Table::kOp, at, stat);
  }
  batch.op.Add(row);
  KeepOdd(Table::kOp, at, event);
}

void Decoder::MapPython(const Event& event) {
  PythonCallRow row;
  const size_t at = batch.python_call.size();
  TakePlace(event, row);
  batch.python_call.Add(row);
  for (const StatValue& stat : stats_) KeepStat(Table::kPythonCall, at, stat);
  KeepOdd(Table::kPythonCall, at, event);
}

StringId Decoder::WordId(Word word) {
  static constexpr std::string_view kText[kWords] = {"span",        "instant",  "host",        "nvtx",
                                                     "xla_module",  "xla_step", "cuda_driver", "cuda_runtime",
                                                     "hip_runtime", "runtime"};
  if (words_[word] == StringId::kNull) words_[word] = strings.Text(kText[word]);
  return words_[word];
}

bool Decoder::IsStep(const Event& event) {
  if (event.name == IdTable<EventName>::kNone) return false;
  Answer& answer = plane_names_->step_label[event.name];
  if (answer == Answer::kUnknown)
    answer = IsStepLabel(plane_->events.At(event.name).text) ? Answer::kYes : Answer::kNo;
  return answer == Answer::kYes;
}

void Decoder::MapRange(const Event& event, StringId category, bool step) {
  RangeRow row;
  const size_t at = batch.range.size();
  TakePlace(event, row);
  // proto3 does not write a duration of 0: a mark, not a span.
  const bool instant = !event.has_duration && line_->kind == LineKind::kThread;
  if (instant) row.dur_ns = NullOf<int64_t>::value;
  row.category = category;
  row.kind = WordId(instant ? kInstant : kSpan);
  batch.range.Add(row);
  const StatValue *producer = nullptr, *producer_type = nullptr, *consumer = nullptr,
                  *consumer_type = nullptr;
  int64_t number = NullOf<int64_t>::value;
  for (const StatValue& stat : stats_) {
    if (stat.kind == StatKind::kStepNumber && IsNull(number) && IntOf(stat, number)) continue;
    const StatValue** end = stat.kind == StatKind::kProducer       ? &producer
                            : stat.kind == StatKind::kProducerType ? &producer_type
                            : stat.kind == StatKind::kConsumer     ? &consumer
                            : stat.kind == StatKind::kConsumerType ? &consumer_type
                                                                   : nullptr;
    if (end != nullptr && *end == nullptr && stat.IsNumber())
      *end = &stat;
    else
      KeepStat(Table::kRange, at, stat);
  }
  const auto flow = [&](const StatValue* id, const StatValue* type, std::string_view phase) {
    if (id != nullptr && type != nullptr) return PutFlow(event, *id, *type, phase);
    if (id != nullptr) KeepStat(Table::kRange, at, *id);
    if (type != nullptr) KeepStat(Table::kRange, at, *type);
  };
  flow(producer, producer_type, "s");
  flow(consumer, consumer_type, "f");
  if (step && IsNull(number)) {
    const std::string_view name = IsNull(row.name) ? std::string_view() : strings.At(row.name);
    int64_t named = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), named);
    if (error == std::errc() && end == name.data() + name.size() && !name.empty()) number = named;
  }
  if (step || !IsNull(number) || IsStep(event)) steps.push_back({at, number});
  KeepOdd(Table::kRange, at, event);
}

// A flow is given by its type and number together; the type becomes the category.
void Decoder::PutFlow(const Event& event, const StatValue& id, const StatValue& type,
                      std::string_view phase) {
  FlowRow row;
  row.thread_id = line_->lane;
  row.start_ns = event.start_ns;
  row.phase = strings.Text(phase);
  row.name = NameOf(event);
  row.category = strings.Text(fmt::format("context {}", static_cast<int64_t>(type.number)));
  row.flow_id = static_cast<int64_t>(id.number);
  batch.flow.Add(row);
}

void Decoder::MapCounter(const Event& event) {
  CounterSampleRow row;
  const size_t at = batch.counter_sample.size();
  row.thread_id = line_->lane;
  row.start_ns = event.start_ns;
  row.name = NameOf(event);
  batch.counter_sample.Add(row);
  for (const StatValue& stat : stats_) {
    double& value = batch.counter_sample.value[at];
    if (stat.kind == StatKind::kCounterValue && stat.type == StatValue::kDouble)
      value = stat.real;
    else if (stat.kind == StatKind::kCounterValue && stat.type == StatValue::kInt)
      value = static_cast<double>(static_cast<int64_t>(stat.number));
    else if (stat.kind == StatKind::kCounterValue && stat.type == StatValue::kUint)
      value = static_cast<double>(stat.number);
    else
      KeepStat(Table::kCounterSample, at, stat);
  }
  KeepOdd(Table::kCounterSample, at, event);
}

}  // namespace nl::adapters::xplane
