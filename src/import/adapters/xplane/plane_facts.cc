// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/xplane/plane_facts.h"

#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"
#include "import/adapters/xplane/counters.h"

namespace nl::adapters::xplane {

namespace {

constexpr size_t kMaxHeaderStats = 1000;  // of one plane

class FactsReader {
 public:
  FactsReader(const SpaceMap& map, ImportFile& file) : map_(map), file_(file) {}

  void Read() {
    SourceFacts& about = file_.about;
    about.tool = "XLA profiler";
    for (const Plane& plane : map_.planes) {
      ReadStats(plane);
      ReadNames(plane);
    }
    for (const std::string_view host : map_.hostnames) about.header["hostnames"].push_back(ValidUtf8(host));
    for (const auto* messages : {&map_.errors, &map_.warnings}) {
      for (const std::string_view text : *messages)
        file_.counters.Add(kProfilerWarning, text.data() - map_.file, text);
    }
    file_.facts.Observe(batch_, file_.sink);
    file_.sink.Append(batch_);
  }

 private:
  std::string NameOf(const Plane& plane, const StatValue& stat) const {
    return stat.name == IdTable<StatName>::kNone ? fmt::format("{}", stat.id)
                                                 : ValidUtf8(plane.stats.At(stat.name).text);
  }

  // Null for what has no place in JSON.
  Json ValueOf(const Plane& plane, const StatValue& stat) {
    std::string_view text;
    if (plane.TextOf(stat, text)) return ValidUtf8(text);
    switch (stat.type) {
      case StatValue::kDouble: return stat.real;
      case StatValue::kInt: return static_cast<int64_t>(stat.number);
      case StatValue::kUint:
      case StatValue::kRef: return stat.number;
      case StatValue::kBytes: file_.counters.Add(kBytesNotStored, stat.text.data() - map_.file); break;
      default: break;
    }
    return nullptr;
  }

  bool ReadStat(const Plane& plane, std::string_view bytes, StatValue& stat) {
    int64_t unknown = 0;
    if (!plane.ReadStat(bytes, stat, unknown)) {
      file_.counters.Add(kBadMetadata, bytes.data() - map_.file);
      return false;
    }
    if (unknown > 0) file_.counters.Add(kUnknownField, bytes.data() - map_.file, {}, unknown);
    return true;
  }

  void ReadStats(const Plane& plane) {
    Json facts = Json::object();
    for (const std::string_view bytes : plane.own_stats) {
      StatValue stat;
      if (!ReadStat(plane, bytes, stat)) continue;
      const Json value = ValueOf(plane, stat);
      if (value.is_null()) continue;
      const std::string name = NameOf(plane, stat);
      if (facts.size() < kMaxHeaderStats) facts[name] = value;
      TakeSoftware(name, value);
    }
    if (plane.kind == PlaneKind::kGpu || plane.kind == PlaneKind::kOtherDevice) PutDevice(plane, facts);
    if (!facts.empty())
      file_.about.header[plane.name.empty() ? "plane" : ValidUtf8(plane.name)] = std::move(facts);
  }

  static std::optional<int64_t> Int(const Json& facts, const char* key, int64_t limit) {
    const auto it = facts.find(key);
    if (it == facts.end() || !it->is_number_integer()) return std::nullopt;
    if (it->is_number_unsigned() && it->get<uint64_t>() > static_cast<uint64_t>(limit)) return std::nullopt;
    const auto value = it->get<int64_t>();
    return value < 0 || value > limit ? std::nullopt : std::optional(value);
  }

  void PutDevice(const Plane& plane, const Json& facts) {
    if (IsNull(plane.number)) return;
    DeviceRow row;
    SourceFacts::Device device;
    device.index = row.device = static_cast<int32_t>(plane.number);
    StringPool& strings = file_.sink.strings();
    const auto text = [&](const char* key) -> std::string {
      const auto it = facts.find(key);
      return it != facts.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    std::string name = text("gpu_device_name");
    if (name.empty()) name = text("device_type_string");
    if (!name.empty()) {
      row.name = strings.Add(name);
      device.name = name;
    }
    if ((device.memory_bytes = Int(facts, "memory_size", INT64_MAX - 1)))
      row.memory_bytes = *device.memory_bytes;
    if ((device.sm_count = Int(facts, "core_count", INT32_MAX)))
      row.sm_count = static_cast<int32_t>(*device.sm_count);
    const auto major = Int(facts, "compute_cap_major", 10'000),
               minor = Int(facts, "compute_cap_minor", 10'000);
    if (major && minor) {
      row.compute_major = static_cast<int32_t>(*major);
      row.compute_minor = static_cast<int32_t>(*minor);
      device.compute_capability = fmt::format("{}.{}", *major, *minor);
    }
    row.properties = strings.Add(DumpJson(facts));
    batch_.device.Add(row);
    file_.about.devices.push_back(device);
    const std::string vendor = text("device_vendor");
    if (vendor == "Nvidia") file_.about.vendor = "nvidia";
    if (vendor == "AMD") file_.about.vendor = "amd";
  }

  void TakeSoftware(const std::string& name, const Json& value) {
    SourceFacts& about = file_.about;
    if (name == "jax_version" && value.is_string()) {
      about.backend = "jax";
      about.framework_version = value.get<std::string>();
    } else if (name == "cuda_version" && value.is_string()) {
      // "13000" is 13.0.
      const auto& text = value.get_ref<const std::string&>();
      int32_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      const bool whole = error == std::errc() && end == text.data() + text.size() && number >= 1000;
      about.cuda_version = whole ? fmt::format("{}.{}", number / 1000, number % 1000 / 10) : text;
    } else if (name == "profile_start_time" && value.is_number_integer()) {
      about.base_time_ns = value.get<int64_t>();
    }
  }

  // What belongs to a name and not to one event: kept with the name in table string.
  void ReadNames(const Plane& plane) {
    StringPool& strings = file_.sink.strings();
    for (const EventName& name : plane.events.items()) {
      if (file_.about.backend == "other") {
        if (name.text.starts_with("PjitFunction(")) file_.about.backend = "jax";
        if (name.text == "TfOpRun" || name.text == "FunctionRun" || name.text == "SessionRun")
          file_.about.backend = "tensorflow";
      }
      if (name.stats.empty() && name.full.empty()) continue;
      const StringId owner = strings.Add(ValidUtf8(name.text));
      const auto keep = [&](std::string_view key, const Json& value) {
        ArgsRow arg;
        arg.owner = strings.Add("string");
        arg.owner_id = static_cast<RowId>(static_cast<uint32_t>(owner));
        arg.key = strings.Add(key);
        arg.value = strings.Add(DumpJson(value));
        batch_.args.Add(arg);
      };
      if (!name.full.empty()) keep("full_name", ValidUtf8(name.full));
      for (const std::string_view bytes : name.stats) {
        StatValue stat;
        if (!ReadStat(plane, bytes, stat)) continue;
        if (stat.name == IdTable<StatName>::kNone)
          file_.counters.Add(kMissingMetadata, bytes.data() - map_.file);
        const Json value = ValueOf(plane, stat);
        if (!value.is_null()) keep(NameOf(plane, stat), value);
      }
    }
  }

  const SpaceMap& map_;
  ImportFile& file_;
  EventBatch batch_;
};

}  // namespace

void ReadPlaneFacts(const SpaceMap& map, ImportFile& file) { FactsReader(map, file).Read(); }

}  // namespace nl::adapters::xplane
