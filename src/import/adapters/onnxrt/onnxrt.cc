// SPDX-License-Identifier: Apache-2.0
// The onnxrt adapter: profiles that ONNX Runtime writes (enable_profiling), any provider.

#include "import/adapter.h"
#include "import/adapters/onnxrt/counters.h"
#include "import/adapters/onnxrt/onnxrt_mapper.h"
#include "import/trace_json/trace_reader.h"

namespace nl::adapters::onnxrt {

namespace {

class OnnxrtAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"onnxrt",
            1,
            "ONNX Runtime profiles: the latency of every node, any provider",
            "onnxruntime with enable_profiling, onnxruntime_perf_test -p",
            {".json", ".json.gz"}};
  }

  // A bare array of events of the categories Session and Node with the names only it writes.
  int Score(std::string_view head, std::string_view) const override {
    const trace_json::TraceHead trace = trace_json::LookAtHead(head);
    if (!trace.is_trace || !trace.bare_array) return 0;
    const std::string_view events = trace.first_events;
    const auto has = [&](std::string_view word) { return events.find(word) != std::string_view::npos; };
    if (!has("\"Session\"") && !has("\"Node\"")) return 0;
    int score = 0;
    for (const std::string_view word :
         {"_kernel_time\"", "\"session_initialization\"", "\"model_loading_", "\"model_run\"",
          "\"SequentialExecutor::Execute\"", "\"ParallelExecutor::Execute\"", "\"thread_scheduling_stats\"",
          "ExecutionProvider\""}) {
      if (has(word)) score += 30;
    }
    return std::min(score, 95);
  }

  Status Import(ImportFile& file) const override {
    const OnnxrtMapper mapper;
    file.facts.TakeOpTypes(file.sink.strings());
    NL_ASSIGN(const trace_json::TraceText text, trace_json::ReadTrace(file, mapper));
    SourceFacts& about = file.about;
    about.header = trace_json::HeaderJson(text, file.counters);
    about.backend = "onnxrt";
    about.tool = "onnxruntime";
    const bool nvidia = file.counters.Count(kNodeOnNvidia.name) > 0,
               amd = file.counters.Count(kNodeOnAmd.name) > 0;
    const bool recorded = file.facts.gpu_rows() > 0;
    about.vendor = nvidia ? "nvidia" : amd ? "amd" : recorded ? "" : "cpu";
    if ((nvidia || amd) && !recorded) file.counters.Add(kDeviceWorkMissing);
    return {};
  }
};

}  // namespace

const Adapter& Describe() {
  static const OnnxrtAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::onnxrt
