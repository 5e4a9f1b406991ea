// SPDX-License-Identifier: Apache-2.0
#include "capture/peaks/measure.h"

#include <chrono>
#include <cmath>
#include <cstdio>

#include "capture/peaks/gpu_bench.h"

namespace nl::capture {

namespace {

// The least JSON writer that serves: objects of numbers, texts and lists; no third-party library here.
class JsonText {
 public:
  void Open(char bracket) {
    Separate();
    out_ += bracket;
    first_ = true;
  }
  void Close(char bracket) {
    out_ += bracket;
    first_ = false;
  }
  void Key(const char* key) {
    Text(key);
    out_ += ':';
    first_ = true;
  }
  void Text(const std::string& text) {
    Separate();
    out_ += '"';
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      char escaped[8];
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (byte < 0x20) {
        std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
        out_ += escaped;
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }
  void TextOrNull(const std::string& text) { text.empty() ? Raw("null") : Text(text); }
  void Number(const std::optional<double>& value) {
    char text[32];
    if (!value || !std::isfinite(*value)) return Raw("null");
    std::snprintf(text, sizeof text, "%.6g", *value);
    Raw(text);
  }
  template <class Whole>
  void Integer(const std::optional<Whole>& value) {
    Raw(value ? std::to_string(*value) : "null");
  }
  std::string Take() { return std::move(out_); }

 private:
  void Separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  void Raw(const std::string& text) {
    Separate();
    out_ += text;
  }

  std::string out_;
  bool first_ = true;
};

void AddFigure(JsonText& json, const Figure& figure) {
  json.Open('{');
  json.Key("name");
  json.Text(figure.name);
  json.Key("unit");
  json.Text(figure.unit);
  json.Key("value");
  json.Number(figure.value);
  json.Key("low");
  json.Number(figure.low);
  json.Key("high");
  json.Number(figure.high);
  json.Key("repeats");
  json.Integer(std::optional(figure.repeats));
  json.Key("how");
  json.TextOrNull(figure.how);
  json.Key("reason");
  json.TextOrNull(figure.reason);
  json.Close('}');
}

void AddClocks(JsonText& json, const char* key, const DeviceClocks& clocks) {
  json.Key(key);
  json.Open('{');
  json.Key("sm_mhz");
  json.Number(clocks.sm_mhz);
  json.Key("memory_mhz");
  json.Number(clocks.memory_mhz);
  json.Key("power_w");
  json.Number(clocks.power_w);
  json.Key("temperature_c");
  json.Number(clocks.temperature_c);
  json.Close('}');
}

void AddDevice(JsonText& json, const MeasuredDevice& device) {
  json.Open('{');
  json.Key("kind");
  json.Text(device.kind);
  json.Key("id");
  json.Text(device.id);
  json.Key("name");
  json.Text(device.name);
  json.Key("driver_version");
  json.Text(device.driver_version);
  json.Key("index");
  json.Integer(device.index);
  json.Key("sm_count");
  json.Integer(device.sm_count);
  json.Key("memory_bytes");
  json.Integer(device.memory_bytes);
  json.Key("l2_bytes");
  json.Integer(device.l2_bytes);
  json.Key("library");
  json.TextOrNull(device.library);
  json.Key("max_sm_mhz");
  json.Number(device.max_sm_mhz);
  AddClocks(json, "idle", device.idle);
  AddClocks(json, "loaded", device.loaded);
  json.Key("seconds");
  json.Number(device.seconds);
  json.Key("figures");
  json.Open('[');
  for (const Figure& figure : device.figures) AddFigure(json, figure);
  json.Close(']');
  json.Close('}');
}

int64_t HostClockNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

PeakMeasurement MeasurePeaks(PeakOptions options) {
  if (!options.now_ns) options.now_ns = HostClockNs;
  PeakMeasurement out;
  out.unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count();
  const int64_t begun_ns = options.now_ns();
  const int64_t deadline_ns = begun_ns + static_cast<int64_t>(options.budget_s * 1e9);
  if (options.cpu) MeasureCpu(options, deadline_ns, out);
  if (options.gpu) {
    MeasureGpus(options, deadline_ns, out);
  } else {
    out.gpu_reason = "not asked for";
  }
  out.seconds = static_cast<double>(options.now_ns() - begun_ns) / 1e9;
  return out;
}

std::string PeaksJson(const PeakMeasurement& measurement) {
  JsonText json;
  json.Open('{');
  json.Key("format");
  json.Text("neurolens-peaks/1");
  json.Key("unix_ns");
  json.Integer(std::optional(measurement.unix_ns));
  json.Key("seconds");
  json.Number(measurement.seconds);
  json.Key("gpu_reason");
  json.TextOrNull(measurement.gpu_reason);
  json.Key("devices");
  json.Open('[');
  for (const MeasuredDevice& device : measurement.devices) AddDevice(json, device);
  json.Close(']');
  json.Close('}');
  return json.Take() + "\n";
}

}  // namespace nl::capture
