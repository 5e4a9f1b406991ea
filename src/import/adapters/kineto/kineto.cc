// SPDX-License-Identifier: Apache-2.0
// The kineto adapter: PyTorch profiler traces (CUDA and ROCm), as JSON.

#include <fmt/format.h>

#include "import/adapter.h"
#include "import/adapters/kineto/kineto_mapper.h"
#include "import/trace_json/trace_reader.h"

namespace nl::adapters::kineto {

namespace {

std::optional<int64_t> IntOf(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? std::optional(it->get<int64_t>()) : std::nullopt;
}

std::optional<std::string> TextOf(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() && !it->get_ref<const std::string&>().empty()
             ? std::optional(it->get<std::string>())
             : std::nullopt;
}

// CUDA writes versions as 13000: major * 1000 + minor * 10.
std::optional<std::string> CudaVersion(const Json& header, const char* key) {
  const std::optional<int64_t> v = IntOf(header, key);
  if (!v || *v < 1000) return std::nullopt;
  return fmt::format("{}.{}", *v / 1000, *v % 1000 / 10);
}

void ReadDevices(const Json& header, EventBatch& batch, StringPool& strings, SourceFacts& about) {
  const auto it = header.find("deviceProperties");
  if (it == header.end() || !it->is_array()) return;
  for (const Json& d : *it) {
    if (!d.is_object()) continue;
    SourceFacts::Device device;
    device.index = static_cast<int32_t>(IntOf(d, "id").value_or(static_cast<int64_t>(about.devices.size())));
    device.name = TextOf(d, "name");
    device.memory_bytes = IntOf(d, "totalGlobalMem");
    device.sm_count = IntOf(d, "numSms");
    const auto major = IntOf(d, "computeMajor"), minor = IntOf(d, "computeMinor");
    if (major && minor) device.compute_capability = fmt::format("{}.{}", *major, *minor);
    about.devices.push_back(device);

    DeviceRow row;
    row.device = device.index;
    if (device.name) row.name = strings.Add(*device.name);
    if (device.memory_bytes) row.memory_bytes = *device.memory_bytes;
    const auto put32 = [&d](const char* key, int32_t& to) {
      if (const auto v = IntOf(d, key)) to = static_cast<int32_t>(*v);
    };
    put32("numSms", row.sm_count);
    put32("computeMajor", row.compute_major);
    put32("computeMinor", row.compute_minor);
    put32("warpSize", row.warp_threads);
    put32("maxThreadsPerMultiprocessor", row.max_threads_per_sm);
    if (const auto v = IntOf(d, "sharedMemPerMultiprocessor")) row.shared_bytes_per_sm = *v;
    if (const auto v = IntOf(d, "regsPerMultiprocessor")) row.registers_per_sm = *v;
    row.properties = strings.Add(DumpJson(d));
    batch.device.Add(row);
  }
}

void ReadDistributed(const Json& header, SourceFacts& about) {
  const auto it = header.find("distributedInfo");
  if (it == header.end() || !it->is_object()) return;
  about.rank = IntOf(*it, "rank");
  about.world_size = IntOf(*it, "world_size");
}

bool AnyDeviceNamed(const SourceFacts& about, std::string_view part) {
  for (const SourceFacts::Device& d : about.devices) {
    if (d.name && d.name->find(part) != std::string::npos) return true;
  }
  return false;
}

bool MentionsAmd(const SourceFacts& about) {
  return about.header.contains("roctracer_version") || about.header.contains("hip_runtime_version") ||
         about.header.contains("rocprofiler_version") || AnyDeviceNamed(about, "AMD") ||
         AnyDeviceNamed(about, "MI3");
}

// Old traces name neither devices nor versions; only CUDA wrote them then.
bool MentionsCuda(const SourceFacts& about) {
  if (about.devices.empty() || about.cuda_version || about.cupti_version) return true;
  for (const SourceFacts::Device& d : about.devices) {
    if (d.compute_capability) return true;
  }
  return false;
}

std::string VendorOf(const SourceFacts& about, bool device_work) {
  if (MentionsAmd(about)) return "amd";
  if (AnyDeviceNamed(about, "Intel")) return "intel";
  if (!device_work && about.devices.empty()) return "cpu";
  return MentionsCuda(about) ? "nvidia" : "other";
}

// The integer that follows `"key":` in text that may be cut anywhere.
std::optional<int64_t> NumberBehind(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const size_t digit = text.find_first_of("0123456789", at + key.size());
  if (digit == std::string_view::npos || digit > at + key.size() + 8) return std::nullopt;
  const size_t end = text.find_first_not_of("0123456789", digit);
  int64_t value = 0;
  if (end == std::string_view::npos || !trace_json::ParseInt64(text.substr(digit, end - digit), value))
    return std::nullopt;
  return value;
}

class KinetoAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"kineto",
            1,
            "PyTorch profiler traces (CUDA, ROCm and CPU)",
            "torch.profiler, Kineto, Dynolog",
            {".pt.trace.json", ".json", ".json.gz"}};
  }

  int Score(std::string_view head, std::string_view file_name) const override {
    const trace_json::TraceHead trace = trace_json::LookAtHead(head);
    if (!trace.is_json) return 0;
    if (!trace.is_trace && head.find("\"traceEvents\"") == std::string_view::npos &&
        head.find("\"schemaVersion\"") == std::string_view::npos)
      return 0;
    int score = 0;
    for (const std::string_view word :
         {"\"deviceProperties\"", "\"baseTimeNanoseconds\"", "\"distributedInfo\"", "\"schemaVersion\"",
          "\"cupti_version\"", "\"roctracer_version\"", "\"Record function id\"", "\"External id\"",
          "\"cpu_op\"", "\"cuda_runtime\"", "\"python_function\"", "\"user_annotation\""}) {
      if (head.find(word) != std::string_view::npos) score += 30;
    }
    if (score > 0 && file_name.find(".pt.trace.json") != std::string_view::npos) score += 5;
    return std::min(score, 95);
  }

  // The rank stands in the header, before the events.
  RankHint PeekRank(std::string_view head) const override {
    const size_t info = head.find("\"distributedInfo\"");
    if (info == std::string_view::npos) return {};
    RankHint hint;
    hint.rank = NumberBehind(head.substr(info), "\"rank\"");
    hint.world_size = NumberBehind(head.substr(info), "\"world_size\"");
    return hint;
  }

  Status Import(ImportFile& file) const override {
    const KinetoMapper mapper;
    file.facts.FindOpsByCalls();
    NL_ASSIGN(const trace_json::TraceText text, trace_json::ReadTrace(file, mapper));
    SourceFacts& about = file.about;
    about.header = trace_json::HeaderJson(text, file.counters);
    about.backend = "torch";
    about.tool = "torch.profiler";
    about.base_time_ns = IntOf(about.header, "baseTimeNanoseconds");
    about.cuda_version = CudaVersion(about.header, "cuda_runtime_version");
    if (const auto v = IntOf(about.header, "cupti_version")) about.cupti_version = std::to_string(*v);
    if (const auto v = TextOf(about.header, "pytorch_version")) about.framework_version = v;
    EventBatch batch;
    ReadDevices(about.header, batch, file.sink.strings(), about);
    ReadDistributed(about.header, about);
    about.vendor = VendorOf(about, file.facts.gpu_rows() > 0);
    file.facts.Observe(batch, file.sink);
    file.sink.Append(batch);
    return {};
  }
};

}  // namespace

const Adapter& Describe() {
  static const KinetoAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::kineto
