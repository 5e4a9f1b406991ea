// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/measured_peaks.h"

#include <fmt/format.h>

#include "analyze/cost_model/peaks.h"
#include "base/time_text.h"
#include "model/json_fields.h"

namespace nl {

namespace {
constexpr char kPeakFormat[] = "neurolens-peaks/1";
}  // namespace

template <class Io>
void Describe(Io& io, FieldsOf<Io, MeasuredFigure> x) {
  io.Required("name", x.name);
  io.Required("unit", x.unit);
  io.Required("value", x.value);
  io.Required("low", x.low);
  io.Required("high", x.high);
  io.Required("repeats", x.repeats);
  io.Required("how", x.how);
  io.Required("reason", x.reason);
}
template <class Io>
void Describe(Io& io, FieldsOf<Io, MeasuredClocks> x) {
  io.Required("sm_mhz", x.sm_mhz);
  io.Required("memory_mhz", x.memory_mhz);
  io.Required("power_w", x.power_w);
  io.Required("temperature_c", x.temperature_c);
}
template <class Io>
void Describe(Io& io, FieldsOf<Io, MeasuredPeaks> x) {
  io.Required("kind", x.kind);
  io.Required("id", x.id);
  io.Required("name", x.name);
  io.Required("driver_version", x.driver_version);
  io.Required("index", x.index);
  io.Required("sm_count", x.sm_count);
  io.Required("memory_bytes", x.memory_bytes);
  io.Required("l2_bytes", x.l2_bytes);
  io.Required("library", x.library);
  io.Required("max_sm_mhz", x.max_sm_mhz);
  io.Required("idle", x.idle);
  io.Required("loaded", x.loaded);
  io.Required("seconds", x.seconds);
  io.Required("figures", x.figures);
}
template <class Io>
void Describe(Io& io, FieldsOf<Io, PeakDocument> x) {
  io.Required("format", x.format);
  io.Required("unix_ns", x.unix_ns);
  io.Required("seconds", x.seconds);
  io.Required("gpu_reason", x.gpu_reason);
  io.Required("devices", x.devices);
}

const MeasuredFigure* MeasuredPeaks::Find(std::string_view figure) const {
  for (const MeasuredFigure& f : figures) {
    if (f.name == figure) return &f;
  }
  return nullptr;
}

std::optional<double> MeasuredPeaks::Value(std::string_view figure) const {
  const MeasuredFigure* found = Find(figure);
  return found != nullptr && found->value && *found->value > 0 ? found->value : std::nullopt;
}

Result<PeakDocument> ReadPeakDocument(std::string_view text, const std::string& origin) {
  NL_ASSIGN(const Json json, ParseJson(text));
  if (!json.is_object() || !json.contains("format") || !json["format"].is_string())
    return InvalidInput(fmt::format("{} is not a measurement of peaks", origin))
        .Hint("`neurolens-peaks` and `neurolens peaks measure` write them");
  if (json["format"] != kPeakFormat)
    return Unsupported(fmt::format("{} has the format '{}'; this version of neurolens reads '{}'", origin,
                                   json["format"].get<std::string>(), kPeakFormat));
  PeakDocument out;
  if (Status read = ReadFields(json, out); !read.ok())
    return InvalidInput(fmt::format("{}: {}", origin, read.error().message));
  for (MeasuredPeaks& device : out.devices) {
    device.unix_ns = out.unix_ns;
    device.measured_at = Rfc3339Utc(out.unix_ns);
  }
  return out;
}

std::string WritePeakDocument(const MeasuredPeaks& device) {
  PeakDocument document;
  document.format = kPeakFormat;
  document.unix_ns = device.unix_ns;
  document.seconds = device.seconds;
  document.devices.push_back(device);
  return DumpJson(WriteFields(document), 1) + "\n";
}

const MeasuredPeaks* FindMeasured(const std::vector<MeasuredPeaks>& all, std::string_view device_name) {
  const std::string name = NormalDeviceName(device_name);
  const MeasuredPeaks* found = nullptr;
  for (const MeasuredPeaks& m : all) {
    if (m.kind != "gpu" || name.empty() || NormalDeviceName(m.name) != name) continue;
    if (found == nullptr || m.unix_ns > found->unix_ns) found = &m;
  }
  return found;
}

void Describe(Record<MeasuredFigure>& r) {
  using T = MeasuredFigure;
  r.Name("MeasuredFigure", "One rate or latency that a device reached");
  r.Field("name", &T::name, "What was measured (docs/peaks.md)");
  r.Field("unit", &T::unit, "GB/s (1e9 bytes per second), TFLOP/s, TOP/s or us");
  r.Field("value", &T::value, "Median of the repeats of the best configuration");
  r.Field("low", &T::low, "First quartile of the repeats");
  r.Field("high", &T::high, "Third quartile of the repeats");
  r.Field("repeats", &T::repeats, "Repeats of the best configuration");
  r.Field("how", &T::how, "The best configuration");
  r.Field("reason", &T::reason, "Why the value is null");
}

void Describe(Record<MeasuredClocks>& r) {
  using T = MeasuredClocks;
  r.Name("MeasuredClocks", "Clocks, power and temperature of a device, by NVML");
  r.Field("sm_mhz", &T::sm_mhz, Unit::kMhz, "SM clock");
  r.Field("memory_mhz", &T::memory_mhz, Unit::kMhz, "Memory clock");
  r.Field("power_w", &T::power_w, Unit::kWatt, "Power");
  r.Field("temperature_c", &T::temperature_c, "Temperature in degrees Celsius");
}

void Describe(Record<MeasuredPeaks>& r) {
  using T = MeasuredPeaks;
  r.Name("MeasuredPeaks", "What one device reached when it was measured");
  r.Field("kind", &T::kind, "gpu or cpu");
  r.Field("id", &T::id, "UUID of the GPU; of a CPU, a hash of its model, its machine and its cores");
  r.Field("name", &T::name, "Name as the driver spells it");
  r.Field("driver_version", &T::driver_version, "Driver of the GPU; of a CPU, the release of the kernel");
  r.Field("measured_at", &T::measured_at, "When it was measured (RFC 3339, UTC)");
  r.Field("index", &T::index, "Device number; null for a CPU");
  r.Field("sm_count", &T::sm_count, "Multiprocessors");
  r.Field("memory_bytes", &T::memory_bytes, Unit::kBytes, "Memory of the device");
  r.Field("l2_bytes", &T::l2_bytes, Unit::kBytes, "L2 cache");
  r.Field("library", &T::library, "Library that multiplied the matrices");
  r.Field("max_sm_mhz", &T::max_sm_mhz, Unit::kMhz, "Highest SM clock that the driver allows");
  r.Field("idle", &T::idle, "Before the measurement");
  r.Field("loaded", &T::loaded, "During bf16 matrix products");
  r.Field("seconds", &T::seconds, Unit::kSeconds, "Time that the measurement took");
  r.Field("figures", &T::figures, "What was measured");
}

}  // namespace nl
