// SPDX-License-Identifier: Apache-2.0
#pragma once
// Peaks: what a device can do at best, dense, each with the text of its source. From
// data/peaks.yaml (compiled in), a user's file of the same form, the run document, a
// measurement (--peaks measured), and --peaks, the later ones first. A device nobody describes
// has no peaks: never a guess.
// Thread rule: pure functions over constant data.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/pass.h"
#include "base/json.h"
#include "base/record.h"
#include "base/result.h"

namespace nl {

// Where peaks come from; with several, the one that was asked first.
enum class PeakKind : uint8_t { kDatasheet, kFile, kRun, kMeasured, kGiven };
std::span<const std::string_view> NamesOf(PeakKind);
inline std::string_view KindName(PeakKind kind) { return NamesOf(kind)[static_cast<size_t>(kind)]; }

struct Peaks {
  std::string device;  // as the table names it, or the device's own name
  std::string source;
  PeakKind kind = PeakKind::kDatasheet;
  std::optional<double> dram_gbps;  // 1e9 bytes per second
  std::optional<double> fp64_tflops, fp32_tflops, tf32_tflops, bf16_tflops, fp16_tflops, fp8_tflops;
  std::optional<int64_t> sm_count;
  std::vector<std::string> names;  // normalised spellings that mean this device

  // By any spelling of a dtype ("bf16", "c10::BFloat16", "float"); empty when unknown.
  std::optional<double> TflopsFor(std::string_view dtype) const;
};

// fp64, fp32, tf32, bf16, fp16, fp8, int8, ... for the spellings of torch, numpy and traces
// ("c10::Half", "float32", "double"); empty when it is none of them.
std::string_view NormalDtype(std::string_view text);
// Bytes of one element of a dtype; empty when unknown.
std::optional<double> DtypeBytes(std::string_view dtype);

// "NVIDIA H100 80GB HBM3" -> "h100 80gb hbm3".
std::string NormalDeviceName(std::string_view name);

// The table that is compiled in.
const std::vector<Peaks>& AllPeaks();
// The devices of a file in the form of data/peaks.yaml; `origin` names it in errors.
Result<std::vector<Peaks>> ParsePeaksTable(std::string_view yaml, const std::string& origin);

// Empty when neither the table, the user's file nor --peaks say anything of the device. An
// unknown name in --peaks or a bad file is InvalidInput.
Result<std::optional<Peaks>> FindPeaks(std::string_view device_name, const AnalysisOptions& options);
inline constexpr Reads kDeviceNameReads = NL_READS(Device, device, name);
// The same for a device of a run, with what its document says of the device (a measured
// ceiling) before the table.
Result<std::optional<Peaks>> PeaksOfDevice(const RunData& data, int32_t device,
                                           const AnalysisOptions& options);
// What was measured of devices with this name, whatever was chosen; empty: nothing.
std::optional<Peaks> MeasuredPeaksFor(std::string_view device_name, const AnalysisOptions& options);
// The highest of read, write and copy is the memory's bandwidth; fp32 and fp64 are those of the vector units.
Peaks PeaksFrom(const MeasuredPeaks& measured);
// Name of a device of the run; empty when the run does not say.
std::string DeviceNameOf(const RunData& data, int32_t device);

void Describe(Record<Peaks>& r);

}  // namespace nl
