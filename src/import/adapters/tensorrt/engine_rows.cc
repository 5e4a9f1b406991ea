// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/tensorrt/engine_rows.h"

namespace nl::adapters::tensorrt {

namespace {
constexpr int32_t kDevice = 0;  // the one device an engine runs on; trtexec does not number it
constexpr int64_t kStream = 0;
}  // namespace

EngineRows::EngineRows(ImportFile& file)
    : writer_(file),
      strings_(writer_.strings()),
      process_(writer_.NextRow(Table::kProcess, writer_.batch.process)) {
  ProcessRow row;
  row.name = strings_.Add("trtexec");
  writer_.batch.process.Add(row);
}

ThreadId EngineRows::Lane(const char* name) {
  for (const auto& [known, lane] : lanes_) {
    if (known == name) return lane;
  }
  const auto lane = static_cast<ThreadId>(
      static_cast<int32_t>(static_cast<int64_t>(writer_.NextRow(Table::kThread, writer_.batch.thread))));
  ThreadRow row;
  row.process_id = static_cast<ProcessId>(static_cast<int32_t>(static_cast<int64_t>(process_)));
  row.tid_text = row.name = strings_.Add(name);
  row.sort_index = static_cast<int64_t>(lanes_.size());
  writer_.batch.thread.Add(row);
  lanes_.emplace_back(name, lane);
  return lane;
}

void EngineRows::PutStep(ThreadId lane, std::string_view name, const char* category, int64_t number,
                         int64_t start_ns, int64_t dur_ns) {
  RangeRow range;
  range.thread_id = lane;
  range.start_ns = start_ns;
  range.dur_ns = dur_ns;
  range.name = strings_.Add(name);
  range.category = strings_.Add(category);
  range.kind = strings_.Add("span");
  StepRow step;
  step.range_id = writer_.NextRow(Table::kRange, writer_.batch.range);
  step.number = number;
  step.name = range.name;
  step.start_ns = start_ns;
  step.dur_ns = dur_ns;
  writer_.batch.range.Add(range);
  writer_.batch.step.Add(step);
}

void EngineRows::PutLayer(const ProfiledLayer& layer, const LayerInfo* info, int64_t index,
                          int64_t start_ns) {
  const RowId row = writer_.NextRow(Table::kOp, writer_.batch.op);
  OpRow op;
  op.thread_id = Lane("layers");
  op.start_ns = start_ns;
  op.dur_ns = layer.average_ns;
  op.name = strings_.Add(layer.name);
  op.external_id = index;
  const auto put = [this](const std::string& text, StringId& to) {
    if (!text.empty()) to = strings_.Add(text);
  };
  if (info != nullptr) {
    if (!info->type.empty())
      writer_.KeepArg(Table::kOp, row, RunFacts::kOpTypeKey, DumpJson(Json(info->type)));
    put(info->dims, op.input_dims);
    put(info->types, op.input_types);
    for (const auto& [key, value] : info->fields) writer_.KeepArg(Table::kOp, row, key, value);
  }
  for (const auto& [key, value] : layer.fields) writer_.KeepArg(Table::kOp, row, key, value);
  writer_.batch.op.Add(op);
  if (layer.average_ns == 0) return;  // folded into its neighbours, or too short to see
  KernelRow kernel;
  kernel.thread_id = Lane("device");
  kernel.start_ns = start_ns;
  kernel.dur_ns = layer.average_ns;
  kernel.device = kDevice;
  kernel.stream = kStream;
  kernel.external_id = index;
  kernel.name = strings_.Add(info != nullptr && !info->kernel.empty() ? info->kernel : layer.name);
  writer_.batch.kernel.Add(kernel);
}

Status EngineRows::PutLayers(const Profile& profile, const std::vector<const LayerInfo*>& info) {
  int64_t at_ns = 0;
  for (size_t i = 0; i < profile.layers.size(); ++i) {
    PutLayer(profile.layers[i], info[i], static_cast<int64_t>(i), at_ns);
    at_ns += profile.layers[i].average_ns;
    NL_TRY(writer_.Flow());
  }
  // Named as ONNX Runtime names one execution of a model.
  PutStep(Lane("layers"), "model_run", "average", 0, 0, at_ns);
  return {};
}

void EngineRows::PutCopy(const char* kind, int64_t start_ns, int64_t dur_ns) {
  if (IsNull(dur_ns) || dur_ns == 0) return;  // 0 with --noDataTransfers
  MemcpyRow copy;
  copy.thread_id = Lane("device");
  copy.start_ns = start_ns;
  copy.dur_ns = dur_ns;
  copy.device = kDevice;
  copy.stream = kStream;
  copy.kind = strings_.Add(kind);
  copy.name = strings_.Add(std::string("Memcpy ") + kind);
  writer_.batch.memcpy.Add(copy);
}

Status EngineRows::PutQueries(const std::vector<Query>& queries) {
  for (size_t i = 0; i < queries.size(); ++i) {
    const Query& q = queries[i];
    PutCopy("HtoD", q.h2d_start_ns, q.h2d_ns);
    KernelRow kernel;
    kernel.thread_id = Lane("device");
    kernel.start_ns = q.compute_start_ns;
    kernel.dur_ns = q.compute_ns;
    kernel.device = kDevice;
    kernel.stream = kStream;
    kernel.name = strings_.Add("TensorRT engine");
    writer_.batch.kernel.Add(kernel);
    PutCopy("DtoH", q.d2h_start_ns, q.d2h_ns);
    if (!IsNull(q.enqueue_ns)) {
      ApiCallRow call;
      call.thread_id = Lane("host");
      call.start_ns = q.enqueue_start_ns;
      call.dur_ns = q.enqueue_ns;
      call.name = strings_.Add("enqueue");
      call.domain = strings_.Add("tensorrt");
      writer_.batch.api_call.Add(call);
    }
    PutStep(Lane("queries"), "query", "query", static_cast<int64_t>(i), q.start_ns, q.latency_ns);
    NL_TRY(writer_.Flow());
  }
  return {};
}

Status EngineRows::PutQuerySamples(const std::vector<Query>& queries) {
  const StringId name = strings_.Add("query");
  for (const Query& q : queries) {
    const auto put = [&](const char* series, int64_t ns) {
      if (IsNull(ns)) return;
      CounterSampleRow sample;
      sample.thread_id = Lane("queries");
      sample.start_ns = q.start_ns;
      sample.name = name;
      sample.series = strings_.Add(series);
      sample.value = static_cast<double>(ns) / 1e6;
      writer_.batch.counter_sample.Add(sample);
    };
    put("latency_ms", q.latency_ns);
    put("h2d_ms", q.h2d_ns);
    put("compute_ms", q.compute_ns);
    put("d2h_ms", q.d2h_ns);
    put("enqueue_ms", q.enqueue_ns);
    NL_TRY(writer_.Flow());
  }
  return {};
}

Status EngineRows::Finish() { return writer_.Finish(); }

}  // namespace nl::adapters::tensorrt
