// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `neurolens peaks measure` found that a device reaches, as its documents have it (docs/peaks.md), and
// as replies give it. The operations read the documents of the store; passes find them in AnalysisOptions.
// Thread rule: pure functions over values.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/record.h"
#include "base/result.h"

namespace nl {

struct MeasuredFigure {
  std::string name, unit;
  std::optional<double> value, low, high;
  int64_t repeats = 0;
  std::optional<std::string> how, reason;
};
struct MeasuredClocks {
  std::optional<double> sm_mhz, memory_mhz, power_w, temperature_c;
};
struct MeasuredPeaks {
  std::string kind, id, name, driver_version;
  std::optional<int64_t> index, sm_count, memory_bytes, l2_bytes;
  std::optional<std::string> library;
  std::optional<double> max_sm_mhz;
  MeasuredClocks idle, loaded;
  double seconds = 0;
  std::vector<MeasuredFigure> figures;
  int64_t unix_ns = 0;      // of its document
  std::string measured_at;  // the same as text

  const MeasuredFigure* Find(std::string_view figure) const;
  // Of a figure; empty when it was not measured.
  std::optional<double> Value(std::string_view figure) const;
};
struct PeakDocument {
  std::string format;
  int64_t unix_ns = 0;
  double seconds = 0;
  std::optional<std::string> gpu_reason;
  std::vector<MeasuredPeaks> devices;
};
void Describe(Record<MeasuredFigure>& r);
void Describe(Record<MeasuredClocks>& r);
void Describe(Record<MeasuredPeaks>& r);

// `origin` names the document in errors. Another version of the format is Unsupported.
Result<PeakDocument> ReadPeakDocument(std::string_view text, const std::string& origin);
// The document of one device.
std::string WritePeakDocument(const MeasuredPeaks& device);

// The latest measurement of a GPU with this name, in any spelling; null: none.
const MeasuredPeaks* FindMeasured(const std::vector<MeasuredPeaks>& all, std::string_view device_name);

}  // namespace nl
