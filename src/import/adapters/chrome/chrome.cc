// SPDX-License-Identifier: Apache-2.0
// The chrome adapter: any Chrome-style trace, an object with traceEvents or a bare
// array. One real record (JAX 0.11):
//   {"ph":"X","pid":701,"tid":12,"ts":2103.155,"dur":8.2,"name":"fusion_1",
//    "args":{"hlo_op":"fusion.1","correlation_id":417}}
// What the events mean is not known, so every span becomes a row of table range.

#include "import/adapter.h"
#include "import/trace_json/trace_reader.h"

namespace nl::adapters::chrome {

namespace {

class ChromeMapper final : public trace_json::EventMapper {
 public:
  const trace_json::KeyTable& arg_keys() const override {
    static const trace_json::KeyTable none({});
    return none;
  }
};

class ChromeAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"chrome",
            1,
            "Chrome trace events, object or bare array",
            "anything that writes them, for example JAX, V8, clang -ftime-trace",
            {".trace.json", ".json", ".json.gz"}};
  }

  int Score(std::string_view head, std::string_view) const override {
    const trace_json::TraceHead trace = trace_json::LookAtHead(head);
    if (!trace.is_json) return 0;
    if (!trace.is_trace) return head.find("\"traceEvents\"") != std::string_view::npos ? 15 : 0;
    const std::string_view events = trace.first_events;
    const bool phases = events.find("\"ph\"") != std::string_view::npos;
    if (phases) return 20;
    // An object that says traceEvents is one even when it holds none; an array must show a phase.
    const size_t first = events.find_first_not_of(" \n\r\t");
    const bool empty = first != std::string_view::npos && events[first] == ']';
    return !trace.bare_array || empty ? 10 : first != std::string_view::npos && events[first] == '{' ? 2 : 1;
  }

  Status Import(ImportFile& file) const override {
    const ChromeMapper mapper;
    NL_ASSIGN(const trace_json::TraceText text, trace_json::ReadTrace(file, mapper));
    file.about.header = trace_json::HeaderJson(text, file.counters);
    file.about.tool = "chrome trace";
    return {};
  }
};

}  // namespace

const Adapter& Describe() {
  static const ChromeAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::chrome
