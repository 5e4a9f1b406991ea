// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/peaks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/ascii.h"
#include "base/file_ops.h"

namespace nl {

namespace embedded {
extern const std::string_view kPeaksTable;
}

namespace {

constexpr int64_t kMaxPeaksFileBytes = 1 << 20;

struct PeakField {
  const char* name;
  std::optional<double> Peaks::*member;
};
constexpr std::array<PeakField, 7> kFields = {{{"bf16_tflops", &Peaks::bf16_tflops},
                                               {"fp16_tflops", &Peaks::fp16_tflops},
                                               {"tf32_tflops", &Peaks::tf32_tflops},
                                               {"fp8_tflops", &Peaks::fp8_tflops},
                                               {"fp32_tflops", &Peaks::fp32_tflops},
                                               {"fp64_tflops", &Peaks::fp64_tflops},
                                               {"dram_gbps", &Peaks::dram_gbps}}};

Error Wrong(const std::string& origin, const YAML::Mark& mark, std::string_view what) {
  return InvalidInput(fmt::format("{}:{}: {}", origin, mark.line + 1, what));
}

// False when `key` names no peak.
bool SetPeak(Peaks& to, std::string_view key, double value) {
  if (key == "peak_dram_gbps") key = "dram_gbps";
  if (key == "sm_count") {
    to.sm_count = static_cast<int64_t>(value);
    return true;
  }
  for (const PeakField& field : kFields) {
    if (key == field.name) {
      to.*field.member = value;
      return true;
    }
  }
  return false;
}

Result<double> PositiveNumber(const YAML::Node& node, std::string_view key, const std::string& origin) {
  char* end = nullptr;
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || value <= 0)
    return Wrong(origin, node.Mark(), fmt::format("'{}' must be a number above 0", key));
  return value;
}

Result<Peaks> ReadDevice(const YAML::Node& node, const std::string& origin) {
  if (!node.IsMap()) return Wrong(origin, node.Mark(), "a device must be a mapping");
  Peaks out;
  for (const auto& item : node) {
    const std::string key = item.first.IsScalar() ? item.first.Scalar() : "";
    const YAML::Node& value = item.second;
    if (key == "device" || key == "source") {
      if (!value.IsScalar()) return Wrong(origin, value.Mark(), fmt::format("'{}' must be text", key));
      (key == "device" ? out.device : out.source) = value.Scalar();
    } else if (key == "names") {
      if (!value.IsSequence()) return Wrong(origin, value.Mark(), "'names' must be a list");
      for (const auto& name : value) {
        if (!name.IsScalar()) return Wrong(origin, name.Mark(), "a name must be text");
        out.names.push_back(NormalDeviceName(name.Scalar()));
      }
    } else {
      NL_ASSIGN(const double number, PositiveNumber(value, key, origin));
      if (!SetPeak(out, key, number))
        return Wrong(origin, item.first.Mark(), fmt::format("'{}' is not a peak", key));
    }
  }
  if (out.device.empty()) return Wrong(origin, node.Mark(), "a device needs 'device', its name");
  if (out.source.empty())
    return Wrong(origin, node.Mark(), "a device needs 'source': where its numbers come from");
  out.names.push_back(NormalDeviceName(out.device));
  return out;
}

Result<std::vector<Peaks>> ReadTable(const YAML::Node& root, const std::string& origin) {
  const YAML::Node devices = root.IsMap() ? root["devices"] : YAML::Node();
  if (!devices.IsDefined() || !devices.IsSequence())
    return Wrong(origin, root.Mark(), "expected 'devices:' with a list");
  std::vector<Peaks> out;
  for (const auto& device : devices) {
    NL_ASSIGN(Peaks peaks, ReadDevice(device, origin));
    out.push_back(std::move(peaks));
  }
  return out;
}

const Peaks* FindIn(const std::vector<Peaks>& table, const std::string& normal_name) {
  for (const Peaks& p : table) {
    if (std::find(p.names.begin(), p.names.end(), normal_name) != p.names.end()) return &p;
  }
  return nullptr;
}

// What --peaks says, over what is known. peak_tflops stands for every dtype that has no number of its own in
// --peaks: who states the peak knows which dtype the run computes in.
Status Override(std::optional<Peaks>& peaks, std::string_view device_name, const AnalysisOptions& options) {
  if (options.peaks.empty()) return {};
  const bool known = peaks.has_value();
  Peaks out = known ? *std::move(peaks) : Peaks{};
  if (!known) out.device = device_name;
  const auto all = options.peaks.find("peak_tflops");
  if (all != options.peaks.end()) {
    for (const PeakField& field : kFields) {
      if (field.member != &Peaks::dram_gbps) out.*field.member = all->second;
    }
  }
  for (const auto& [key, value] : options.peaks) {
    if (key != "peak_tflops" && !SetPeak(out, key, value)) {
      return InvalidInput(fmt::format("--peaks: '{}' is not a peak", key))
          .Hint(
              "known are peak_tflops, peak_dram_gbps, sm_count and bf16_tflops, fp16_tflops, tf32_tflops, "
              "fp8_tflops, fp32_tflops, fp64_tflops");
    }
  }
  out.source = known ? "--peaks; else " + out.source : "--peaks";
  out.kind = PeakKind::kGiven;
  peaks = std::move(out);
  return {};
}

Result<std::optional<Peaks>> FromTables(std::string_view device_name, const AnalysisOptions& options) {
  const std::string name = NormalDeviceName(device_name);
  if (!options.peaks_file.empty()) {
    NL_ASSIGN(const std::string text, ReadWholeFile(options.peaks_file, kMaxPeaksFileBytes));
    NL_ASSIGN(const std::vector<Peaks> user, ParsePeaksTable(text, options.peaks_file));
    if (const Peaks* found = FindIn(user, name)) {
      Peaks out = *found;
      out.kind = PeakKind::kFile;
      return std::optional<Peaks>(std::move(out));
    }
  }
  const Peaks* found = FindIn(AllPeaks(), name);
  return found == nullptr ? std::nullopt : std::optional<Peaks>(*found);
}

std::optional<double> Number(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? std::optional<double>(it->get<double>()) : std::nullopt;
}

const Json* DocumentDevice(const RunData& data, int32_t device) {
  const Json& d = data.document;
  if (!d.contains("hardware") || !d["hardware"].contains("devices")) return nullptr;
  for (const Json& entry : d["hardware"]["devices"]) {
    if (entry.value("index", Json()) == Json(device)) return &entry;
  }
  return nullptr;
}

// The numbers a run document carries replace the table's, each by itself.
void TakeDocument(std::optional<Peaks>& peaks, const Json& entry, const std::string& device_name) {
  const auto it = entry.find("peaks");
  if (it == entry.end() || !it->is_object()) return;
  Peaks out = peaks.value_or(Peaks{});
  bool any = false;
  for (const PeakField& field : kFields) {
    auto value = Number(*it, field.member == &Peaks::dram_gbps ? "peak_dram_gbps" : field.name);
    if (!value && field.member != &Peaks::dram_gbps) value = Number(*it, "peak_tflops");
    if (value && *value > 0) {
      out.*field.member = value;
      any = true;
    }
  }
  if (!any) return;
  if (out.device.empty()) out.device = device_name;
  const std::string source = "run document: " + it->value("source", std::string("no source given"));
  out.source = out.source.empty() ? source : source + "; else " + out.source;
  out.kind = PeakKind::kRun;
  peaks = std::move(out);
}

// The numbers that were measured replace the others, each by itself, where the user chose so.
Status TakeMeasured(std::optional<Peaks>& peaks, std::string_view device_name,
                    const AnalysisOptions& options) {
  if (options.peak_choice != PeakChoice::kMeasured) return {};
  std::optional<Peaks> measured = MeasuredPeaksFor(device_name, options);
  if (!measured) {
    return NotFound(device_name.empty()
                        ? std::string("--peaks measured: the run does not name its device")
                        : fmt::format("--peaks measured: the store has no measurement of '{}'", device_name))
        .Hint("`neurolens peaks measure` on that machine makes one; `neurolens peaks` lists them");
  }
  Peaks out = peaks.value_or(Peaks{});
  for (const PeakField& field : kFields) {
    if ((*measured).*field.member) out.*field.member = (*measured).*field.member;
  }
  if (measured->sm_count) out.sm_count = measured->sm_count;
  if (out.device.empty()) out.device = measured->device;
  out.source = out.source.empty() ? measured->source : measured->source + "; else " + out.source;
  out.kind = PeakKind::kMeasured;
  peaks = std::move(out);
  return {};
}

struct DtypeName {
  const char *spelling, *normal;
};
constexpr DtypeName kDtypes[] = {
    {"bf16", "bf16"},    {"bfloat16", "bf16"},     {"fp16", "fp16"},           {"half", "fp16"},
    {"float16", "fp16"}, {"fp32", "fp32"},         {"float", "fp32"},          {"float32", "fp32"},
    {"tf32", "tf32"},    {"fp64", "fp64"},         {"double", "fp64"},         {"float64", "fp64"},
    {"fp8", "fp8"},      {"float8_e4m3fn", "fp8"}, {"float8_e5m2", "fp8"},     {"float8_e4m3fnuz", "fp8"},
    {"e4m3", "fp8"},     {"e5m2", "fp8"},          {"float8_e5m2fnuz", "fp8"}, {"fp4", "fp4"},
    {"int8", "int8"},    {"signed char", "int8"},  {"char", "int8"},           {"unsigned char", "uint8"},
    {"uint8", "uint8"},  {"int4", "int4"},         {"int32", "int32"},         {"int", "int32"},
    {"int64", "int64"},  {"long", "int64"},        {"long int", "int64"},      {"bool", "bool"},
    {"int16", "int16"},  {"short", "int16"}};

}  // namespace

std::string_view NormalDtype(std::string_view text) {
  for (const std::string_view prefix : {"c10::", "torch.", "at::"}) {
    if (text.substr(0, prefix.size()) == prefix) text.remove_prefix(prefix.size());
  }
  const std::string lower = ToLower(text.substr(0, 32));
  for (const DtypeName& d : kDtypes) {
    if (lower == d.spelling) return d.normal;
  }
  return {};
}

std::optional<double> DtypeBytes(std::string_view dtype) {
  const std::string_view d = NormalDtype(dtype);
  if (d == "fp64" || d == "int64") return 8;
  if (d == "fp32" || d == "tf32" || d == "int32") return 4;
  if (d == "bf16" || d == "fp16" || d == "int16") return 2;
  if (d == "fp8" || d == "int8" || d == "uint8" || d == "bool") return 1;
  if (d == "fp4" || d == "int4") return 0.5;
  return std::nullopt;
}

std::optional<double> Peaks::TflopsFor(std::string_view dtype) const {
  const std::string_view d = NormalDtype(dtype);
  if (d.empty()) return std::nullopt;
  const std::string wanted = std::string(d) + "_tflops";
  for (const PeakField& field : kFields) {
    if (wanted == field.name) return this->*field.member;
  }
  return std::nullopt;
}

std::string NormalDeviceName(std::string_view name) {
  std::string out, word;
  const auto flush = [&] {
    const bool vendor = word == "nvidia" || word == "amd" || word == "instinct" || word == "geforce" ||
                        word == "tesla" || word == "intel";
    if (!word.empty() && !vendor) out += out.empty() ? word : " " + word;
    word.clear();
  };
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += ToLower(c);
    } else {
      flush();
    }
  }
  flush();
  return out;
}

const std::vector<Peaks>& AllPeaks() {
  // Our own file: a test reads it, so a mistake in it does not get out.
  static const std::vector<Peaks> table = [] {
    Result<std::vector<Peaks>> parsed = ParsePeaksTable(embedded::kPeaksTable, "data/peaks.yaml");
    return parsed.ok() ? *std::move(parsed) : std::vector<Peaks>();
  }();
  return table;
}

Result<std::vector<Peaks>> ParsePeaksTable(std::string_view yaml, const std::string& origin) {
  try {
    return ReadTable(YAML::Load(std::string(yaml)), origin);
  } catch (const YAML::Exception& e) {
    return Wrong(origin, e.mark, "not valid YAML: " + e.msg);
  }
}

Result<std::optional<Peaks>> FindPeaks(std::string_view device_name, const AnalysisOptions& options) {
  NL_ASSIGN(std::optional<Peaks> peaks, FromTables(device_name, options));
  NL_TRY(TakeMeasured(peaks, device_name, options));
  NL_TRY(Override(peaks, device_name, options));
  return peaks;
}

std::string DeviceNameOf(const RunData& data, int32_t device) {
  std::vector<std::string> names;
  for (size_t i = 0; i < data.device.device.size(); ++i) {
    const std::string name(data.Text(data.device.name[i]));
    if (data.device.device[i] == device && !name.empty()) return name;
    names.push_back(name);
  }
  const Json* entry = DocumentDevice(data, device);
  if (entry != nullptr && entry->contains("name") && (*entry)["name"].is_string())
    return (*entry)["name"].get<std::string>();
  // ROCm traces list the devices a process sees, from 0, but number kernels by the machine's devices.
  const bool alike =
      std::all_of(names.begin(), names.end(), [&](const std::string& n) { return n == names.front(); });
  return names.empty() || !alike ? std::string() : names.front();
}

Result<std::optional<Peaks>> PeaksOfDevice(const RunData& data, int32_t device,
                                           const AnalysisOptions& options) {
  const std::string name = DeviceNameOf(data, device);
  NL_ASSIGN(std::optional<Peaks> peaks, FromTables(name, options));
  if (const Json* entry = DocumentDevice(data, device)) TakeDocument(peaks, *entry, name);
  NL_TRY(TakeMeasured(peaks, name, options));
  NL_TRY(Override(peaks, name, options));
  return peaks;
}

Peaks PeaksFrom(const MeasuredPeaks& measured) {
  Peaks out;
  out.device = measured.name;
  out.kind = PeakKind::kMeasured;
  out.source = fmt::format("measured on {} with driver {}, {}", measured.id, measured.driver_version,
                           measured.measured_at.substr(0, 10));
  out.bf16_tflops = measured.Value("tensor_bf16");
  out.fp16_tflops = measured.Value("tensor_fp16");
  out.tf32_tflops = measured.Value("tensor_tf32");
  out.fp8_tflops = measured.Value("tensor_fp8");
  out.fp32_tflops = measured.Value("fma_fp32");
  out.fp64_tflops = measured.Value("fma_fp64");
  for (const char* name : {"dram_read", "dram_write", "dram_copy"}) {
    const auto gbps = measured.Value(name);
    if (gbps && *gbps > out.dram_gbps.value_or(0)) out.dram_gbps = gbps;
  }
  out.sm_count = measured.sm_count;
  return out;
}

std::optional<Peaks> MeasuredPeaksFor(std::string_view device_name, const AnalysisOptions& options) {
  const MeasuredPeaks* found = FindMeasured(options.measured, device_name);
  return found == nullptr ? std::nullopt : std::optional<Peaks>(PeaksFrom(*found));
}

std::span<const std::string_view> NamesOf(PeakKind) {
  static constexpr std::array<std::string_view, 5> kNames = {"datasheet", "file", "run", "measured", "given"};
  return kNames;
}

void Describe(Record<Peaks>& r) {
  r.Name("DevicePeaks", "Dense peaks of one device and their source");
  r.Field("device", &Peaks::device, "Name of the device");
  r.Field("bf16_tflops", &Peaks::bf16_tflops, Unit::kTflops, "Matrix peak for bf16");
  r.Field("fp16_tflops", &Peaks::fp16_tflops, Unit::kTflops, "Matrix peak for fp16");
  r.Field("tf32_tflops", &Peaks::tf32_tflops, Unit::kTflops, "Matrix peak for tf32");
  r.Field("fp8_tflops", &Peaks::fp8_tflops, Unit::kTflops, "Matrix peak for fp8");
  r.Field("fp32_tflops", &Peaks::fp32_tflops, Unit::kTflops, "Vector peak for fp32");
  r.Field("fp64_tflops", &Peaks::fp64_tflops, Unit::kTflops, "Peak for fp64");
  r.Field("dram_gbps", &Peaks::dram_gbps, Unit::kGbPerS, "Memory bandwidth");
  r.Field("sm_count", &Peaks::sm_count, "Multiprocessors (compute units on AMD)");
  r.Field("kind", &Peaks::kind,
          "Where the numbers come from: a datasheet, --peaks-file, the run document, a measurement, --peaks");
  r.Field("source", &Peaks::source, "The same in words");
}

}  // namespace nl
