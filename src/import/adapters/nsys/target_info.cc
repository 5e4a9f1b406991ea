// SPDX-License-Identifier: Apache-2.0
// What the export says of the machine, the processes and itself.

#include "import/adapters/nsys/export_file.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace nl::adapters::nsys {

namespace {

// ---- devices ----
constexpr const char* kGpuColumns[] = {
    "id",           "name",           "totalMemory",        "smCount",       "computeMajor",
    "computeMinor", "threadsPerWarp", "maxWarpsPerSm",      "maxShmemPerSm", "maxRegistersPerSm",
    "busLocation",  "uuid",           "chipName",           "cuDevice",      "memoryBandwidth",
    "clockRate",    "l2CacheSize",    "maxThreadsPerBlock", "isDiscrete",    "maxBlocksPerSm"};
enum GpuColumn {
  kGpuId,
  kGpuName,
  kGpuMemory,
  kGpuSms,
  kGpuMajor,
  kGpuMinor,
  kGpuWarp,
  kGpuWarpsPerSm,
  kGpuSharedPerSm,
  kGpuRegistersPerSm,
};

Json ValueOf(const SqliteRows& rows, int column) {
  if (rows.IsNull(column)) return {};
  const int64_t number = rows.Int(column);
  return IsNull(number) ? Json(std::string(rows.Text(column))) : Json(number);
}

void ReadGpu(ExportFile& e, const SqliteRows& rows) {
  SourceFacts::Device device;
  const int32_t id = rows.Int32(kGpuId);
  if (IsNull(id)) return;
  device.index = id;
  if (!rows.Text(kGpuName).empty()) device.name = std::string(rows.Text(kGpuName));
  const auto positive = [&](int column) {
    const int64_t value = rows.Int(column);
    return !IsNull(value) && value > 0 ? std::optional(value) : std::nullopt;
  };
  device.memory_bytes = positive(kGpuMemory);
  device.sm_count = positive(kGpuSms);
  const auto major = positive(kGpuMajor);
  const int64_t minor = rows.Int(kGpuMinor);
  if (major && !IsNull(minor)) device.compute_capability = fmt::format("{}.{}", *major, minor);
  e.file.about.devices.push_back(device);

  DeviceRow row;
  row.device = id;
  if (device.name) row.name = e.strings.Add(*device.name);
  if (device.memory_bytes) row.memory_bytes = *device.memory_bytes;
  const auto put32 = [&](int column, int32_t& to) {
    const auto value = positive(column);
    if (value && *value <= INT32_MAX) to = static_cast<int32_t>(*value);
  };
  put32(kGpuSms, row.sm_count);
  put32(kGpuMajor, row.compute_major);
  if (major) row.compute_minor = rows.Int32(kGpuMinor);
  put32(kGpuWarp, row.warp_threads);
  const auto warps = positive(kGpuWarpsPerSm), threads = positive(kGpuWarp);
  if (warps && threads && *warps < 4096 && *threads < 4096)
    row.max_threads_per_sm = static_cast<int32_t>(*warps * *threads);
  if (const auto value = positive(kGpuSharedPerSm)) row.shared_bytes_per_sm = *value;
  if (const auto value = positive(kGpuRegistersPerSm)) row.registers_per_sm = *value;
  Json properties = Json::object();
  for (size_t i = 0; i < std::size(kGpuColumns); ++i) {
    if (Json value = ValueOf(rows, static_cast<int>(i)); !value.is_null()) properties[kGpuColumns[i]] = value;
  }
  row.properties = e.strings.Add(DumpJson(properties));
  e.writer.batch.device.Add(row);
}

// ---- processes, threads, contexts ----
Status ReadPlaces(ExportFile& e) {
  static constexpr const char* kProcess[] = {"globalPid", "name", "pid"};
  NL_TRY(e.ForFew("PROCESSES", kProcess, [&](const SqliteRows& rows) {
    if (!rows.IsNull(0) && !rows.IsNull(1)) e.lanes.NameProcess(rows.Int(0), e.strings.Add(rows.Text(1)));
  }));
  static constexpr const char* kThread[] = {"globalTid", "nameId"};
  NL_TRY(e.ForFew("ThreadNames", kThread, [&](const SqliteRows& rows) {
    const StringId name = rows.IsNull(1) ? StringId::kNull : e.strings.Find(rows.Int(1));
    if (!rows.IsNull(0) && !IsNull(name) && !e.strings.Text(rows.Int(1)).empty())
      e.lanes.NameThread(rows.Int(0), name);
  }));
  static constexpr const char* kRank[] = {"globalTid", "rank"};
  NL_TRY(e.ForFew("MPI_RANKS", kRank, [&](const SqliteRows& rows) {
    if (!IsNull(rows.Int32(1))) e.lanes.SetRank(ProcessOf(rows.Int(0)), rows.Int32(1));
  }));
  static constexpr const char* kDevice[] = {"pid", "cudaId", "gpuId"};
  NL_TRY(e.ForFew("TARGET_INFO_CUDA_DEVICE", kDevice, [&](const SqliteRows& rows) {
    if (!IsNull(rows.Int32(1)) && !IsNull(rows.Int32(2)))
      e.lanes.MapDevice(rows.Int(0), rows.Int32(1), rows.Int32(2));
  }));
  static constexpr const char* kContext[] = {"processId", "contextId", "deviceId"};
  return e.ForFew("TARGET_INFO_CUDA_CONTEXT_INFO", kContext, [&](const SqliteRows& rows) {
    e.lanes.NoteContext(rows.Int(0), rows.Int(1), rows.Int32(2));
  });
}

// ---- the header ----
// "A=1" of an environment becomes a member, so that what looks like a secret is not stored.
void PutVariable(Json& to, std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return;
  if (to.size() >= kMaxJsonMembers) return;
  to[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
}

// "A=1;B=2;rest": a piece without '=' belongs to the value before it.
Json SplitEnvironment(std::string_view text) {
  Json out = Json::object();
  std::string variable;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view piece = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (piece.find('=') == std::string_view::npos) {
      variable += ";" + std::string(piece);
      continue;
    }
    PutVariable(out, variable);
    variable = piece;
  }
  PutVariable(out, variable);
  return out;
}

// Repeated names become lists.
void PutProperty(Json& to, const std::string& name, std::string_view value) {
  if (name.ends_with("ENVIRONMENT_VARIABLE")) {
    if (!to.contains(name)) to[name] = Json::object();
    return PutVariable(to[name], value);
  }
  if (name == "DeviceEnvironment") {
    to[name] = SplitEnvironment(value);
    return;
  }
  const auto it = to.find(name);
  if (it == to.end()) {
    if (to.size() < kMaxJsonMembers) to[name] = std::string(value);
  } else if (it->is_array()) {
    it->push_back(std::string(value));
  } else {
    *it = Json::array({*it, std::string(value)});
  }
}

Status ReadProperties(ExportFile& e, const char* table, Json& to) {
  static constexpr const char* kColumns[] = {"name", "value"};
  return e.ForFew(table, kColumns, [&](const SqliteRows& rows) {
    if (!rows.IsNull(0)) PutProperty(to, std::string(rows.Text(0)), rows.Text(1));
  });
}

std::string TextOf(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::optional<std::string> Given(const Json& object, const char* key) {
  const std::string text = TextOf(object, key);
  return text.empty() || text == "unknown" ? std::nullopt : std::optional(text);
}

// Devices that worked but that no table describes are listed by their number.
void DescribeMachine(ExportFile& e, const Json& system) {
  SourceFacts& about = e.file.about;
  about.host.cpu_model = Given(system, "CpuDescription");
  about.host.os = Given(system, "OsDescription");
  about.host.kernel = Given(system, "SoftwareReleaseVersion");
  int64_t cores = 0;
  const std::string text = TextOf(system, "CpuCores");
  if (std::from_chars(text.data(), text.data() + text.size(), cores).ec == std::errc() && cores > 0)
    about.host.cores = cores;
  for (const auto& [device, spans] : e.file.facts.device_spans()) {
    const int32_t index = device;  // clang 14 captures no structured binding
    const bool known = std::any_of(about.devices.begin(), about.devices.end(),
                                   [index](const auto& d) { return d.index == index; });
    if (!known && !IsNull(index) && index >= 0) about.devices.push_back({index});
  }
  for (SourceFacts::Device& device : about.devices) device.driver_version = Given(system, "NvDriverVersion");
  std::sort(about.devices.begin(), about.devices.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
}

}  // namespace

Status ReadTargetInfo(ExportFile& e) {
  NL_TRY(e.strings.Load(e.reader));
  NL_TRY(e.ForFew("TARGET_INFO_GPU", kGpuColumns, [&](const SqliteRows& rows) { ReadGpu(e, rows); }));
  return ReadPlaces(e);
}

Status PutHeader(ExportFile& e) {
  SourceFacts& about = e.file.about;
  Json exported = Json::object(), captured = Json::object(), system = Json::object();
  NL_TRY(ReadProperties(e, "META_DATA_EXPORT", exported));
  NL_TRY(ReadProperties(e, "META_DATA_CAPTURE", captured));
  NL_TRY(ReadProperties(e, "TARGET_INFO_SYSTEM_ENV", system));
  static constexpr const char* kTime[] = {"utcEpochNs", "systemClockNs"};
  NL_TRY(e.ForFew("TARGET_INFO_SESSION_START_TIME", kTime, [&](const SqliteRows& rows) {
    // Events count from the start of the session, or from the clock it was started at.
    const int64_t utc_ns = rows.Int(0), clock_ns = rows.Int(1);
    int64_t zero_ns = 0;
    if (!IsNull(utc_ns) && !__builtin_sub_overflow(utc_ns, IsNull(clock_ns) ? 0 : clock_ns, &zero_ns))
      about.base_time_ns = zero_ns;
  }));
  about.tool = "Nsight Systems";
  about.from_program_start = true;
  about.tool_version = TextOf(exported, "EXPORT_PRODUCT_VERSION");
  about.backend = e.saw_torch_op ? "torch" : "cuda";
  about.vendor = e.file.facts.gpu_rows() > 0 || !about.devices.empty() ? "nvidia" : "cpu";
  DescribeMachine(e, system);
  if (!exported.empty()) about.header["export"] = std::move(exported);
  if (!captured.empty()) about.header["capture"] = std::move(captured);
  if (!system.empty()) about.header["system"] = std::move(system);
  if (!e.api_names.empty()) about.header["api_names_as_written"] = std::move(e.api_names);
  if (about.base_time_ns) about.header["time_zero_unix_ns"] = *about.base_time_ns;
  return {};
}

}  // namespace nl::adapters::nsys
