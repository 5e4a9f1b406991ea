// SPDX-License-Identifier: Apache-2.0
// One real agent (rocprofv3 of ROCm 7, shortened):
//   {"id":{"handle":37946},"type":2,"cu_count":256,"simd_per_cu":4,"max_waves_per_simd":8,
//    "lds_size_in_kb":160,"wave_front_size":64,"gfx_target_version":90500,"name":"gfx950",
//    "vendor_name":"AMD","product_name":"AMD Instinct MI350X","node_id":2,"logical_node_id":2,
//    "logical_node_type_id":0,"mem_banks":[{"heap_type":1,"size_in_bytes":309220868096}]}
// type 1 is a CPU, 2 a GPU; logical_node_type_id is the GPU's number.

#include "import/adapters/rocprof/agents.h"

#include <charconv>

#include <fmt/format.h>

namespace nl::adapters::rocprof {

namespace {

std::optional<int64_t> IntOf(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end()) return std::nullopt;
  if (it->is_number_unsigned() && it->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return it->is_number_integer() ? std::optional(it->get<int64_t>()) : std::nullopt;
}

std::optional<std::string> TextOf(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() && !it->get_ref<const std::string&>().empty()
             ? std::optional(it->get<std::string>())
             : std::nullopt;
}

std::optional<int32_t> SmallOf(const Json& json, const char* key) {
  const std::optional<int64_t> v = IntOf(json, key);
  return v && *v >= 0 && *v <= INT32_MAX ? std::optional(static_cast<int32_t>(*v)) : std::nullopt;
}

bool IsGpu(const Json& agent) {
  if (const auto type = IntOf(agent, "type")) return *type == 2;
  if (const auto type = TextOf(agent, "agent_type")) return *type == "GPU";
  return IntOf(agent, "simd_count").value_or(0) > 0;
}

// Memory on the device: heap types 1 and 2 are its own (visible to the host or not).
std::optional<int64_t> MemoryOf(const Json& agent) {
  const auto banks = agent.find("mem_banks");
  if (banks == agent.end() || !banks->is_array()) return std::nullopt;
  int64_t bytes = 0;
  for (const Json& bank : *banks) {
    const auto size = bank.is_object() ? IntOf(bank, "size_in_bytes") : std::nullopt;
    const auto heap = bank.is_object() ? IntOf(bank, "heap_type") : std::nullopt;
    if (size && *size > 0 && *size < (int64_t{1} << 50) && (heap == 1 || heap == 2)) bytes += *size;
  }
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

}  // namespace

void Agents::Add(const Json& json) {
  if (!json.is_object()) return;
  Agent agent;
  if (const auto id = json.find("id"); id != json.end() && id->is_object())
    agent.handle = IntOf(*id, "handle");
  // Every process of a recording describes the same machine.
  if (agent.handle && ByHandle(*agent.handle).known) return;
  agent.is_gpu = IsGpu(json);
  int32_t& count = agent.is_gpu ? gpus_ : cpus_;
  agent.index = SmallOf(json, "logical_node_type_id").value_or(count);
  ++count;
  agent.node = IntOf(json, "node_id");
  agent.logical = IntOf(json, "logical_node_id");
  agent.json = json;
  list_.push_back(std::move(agent));
}

AgentPlace Agents::ByHandle(int64_t handle) const {
  for (const Agent& agent : list_) {
    if (agent.handle == handle) return PlaceOf(agent);
  }
  return {};
}

AgentPlace Agents::ByText(std::string_view text) const {
  const size_t digit = text.find_first_of("0123456789");
  if (digit == std::string_view::npos) return {};
  int32_t number = 0;
  const auto [end, code] = std::from_chars(text.data() + digit, text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return {};
  if (text.starts_with("GPU")) return {true, true, number};
  if (text.starts_with("CPU")) return {true, false, number};
  for (const auto id : {&Agent::logical, &Agent::node}) {
    for (const Agent& agent : list_) {
      if (agent.*id == number) return PlaceOf(agent);
    }
  }
  return {false, true, number};
}

void Agents::PutGpu(const Agent& agent, EventBatch& batch, StringPool& strings, SourceFacts& about) const {
  const Json& json = agent.json;
  SourceFacts::Device device;
  device.index = agent.index;
  device.name = TextOf(json, "product_name");
  if (!device.name) device.name = TextOf(json, "name");
  device.memory_bytes = MemoryOf(json);
  device.sm_count = IntOf(json, "cu_count");
  DeviceRow row;
  row.device = agent.index;
  // 90500: major 9, minor 5, stepping 0
  if (const auto gfx = SmallOf(json, "gfx_target_version"); gfx && *gfx > 0) {
    row.compute_major = *gfx / 10000;
    row.compute_minor = *gfx / 100 % 100;
    device.compute_capability = fmt::format("{}.{}", row.compute_major, row.compute_minor);
  }
  about.devices.push_back(device);
  if (device.name) row.name = strings.Add(*device.name);
  if (device.memory_bytes) row.memory_bytes = *device.memory_bytes;
  if (const auto v = SmallOf(json, "cu_count")) row.sm_count = *v;
  const auto wave = SmallOf(json, "wave_front_size");
  if (wave) row.warp_threads = *wave;
  const auto per_simd = IntOf(json, "max_waves_per_simd"), simds = IntOf(json, "simd_per_cu");
  if (wave && per_simd && simds && *per_simd < 1024 && *simds < 1024 && *wave < 1024)
    row.max_threads_per_sm = static_cast<int32_t>(*wave * *per_simd * *simds);
  if (const auto kb = SmallOf(json, "lds_size_in_kb")) row.shared_bytes_per_sm = int64_t{*kb} * 1024;
  row.properties = strings.Add(DumpJson(json));
  batch.device.Add(row);
}

void Agents::Put(EventBatch& batch, StringPool& strings, SourceFacts& about) const {
  int64_t cores = 0;
  for (const Agent& agent : list_) {
    if (agent.is_gpu) {
      PutGpu(agent, batch, strings, about);
      continue;
    }
    const auto name = TextOf(agent.json, "product_name");
    if (name) about.host.cpu_model = name;
    cores += SmallOf(agent.json, "cpu_cores_count").value_or(0);
    Json& told = about.header["cpu_agents"];
    if (!told.is_array()) told = Json::array();
    told.push_back(agent.json);
  }
  if (cores > 0) about.host.cores = cores;
}

}  // namespace nl::adapters::rocprof
