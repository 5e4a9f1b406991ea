// SPDX-License-Identifier: Apache-2.0
#include "ops/peaks/reply.h"

#include <array>

namespace nl::ops::peaks {

namespace {

// What a datasheet says of a figure.
struct DatasheetField {
  std::string_view figure;
  std::optional<double> Peaks::*member;
};
constexpr std::array<DatasheetField, 9> kDatasheetFields = {{{"dram_read", &Peaks::dram_gbps},
                                                             {"dram_write", &Peaks::dram_gbps},
                                                             {"dram_copy", &Peaks::dram_gbps},
                                                             {"tensor_bf16", &Peaks::bf16_tflops},
                                                             {"tensor_fp16", &Peaks::fp16_tflops},
                                                             {"tensor_tf32", &Peaks::tf32_tflops},
                                                             {"tensor_fp8", &Peaks::fp8_tflops},
                                                             {"fma_fp32", &Peaks::fp32_tflops},
                                                             {"fma_fp64", &Peaks::fp64_tflops}}};

std::optional<double> DatasheetValue(const std::optional<Peaks>& datasheet, std::string_view figure) {
  if (!datasheet) return std::nullopt;
  for (const DatasheetField& field : kDatasheetFields) {
    if (field.figure == figure) return (*datasheet).*field.member;
  }
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> NamesOf(PeaksAction) {
  static constexpr std::string_view kNames[] = {"show", "measure", "forget"};
  return kNames;
}

void Describe(Record<ComparedFigure>& r) {
  using T = ComparedFigure;
  r.Name("ComparedFigure", "A measured figure beside the datasheet's");
  r.Field("id", &T::id, "Device that was measured");
  r.Field("device", &T::device, "Its name");
  r.Field("driver_version", &T::driver_version, "Its driver");
  r.Field("figure", &T::figure, "What was measured (docs/peaks.md)");
  r.Field("unit", &T::unit, "GB/s, TFLOP/s, TOP/s or us");
  r.Field("datasheet", &T::datasheet, "Peak by the datasheet, in the same unit; null: it does not give one");
  r.Field("measured", &T::measured, "What the device reached; null: see reason");
  r.Field("ratio", &T::ratio, Unit::kRatio, "measured / datasheet");
  r.Field("spread", &T::spread, Unit::kShare, "Distance of the quartiles of the repeats / median");
  r.Field("how", &T::how, "Configuration that reached it");
  r.Field("reason", &T::reason, "Why measured is null");
}

void Describe(Record<PeaksReply>& r) {
  using T = PeaksReply;
  r.Name("PeaksReply", "Reply of `neurolens peaks`");
  r.Field("action", &T::action, "What was done");
  r.Field("asked", &T::asked, "Device name that was asked for; null: all devices");
  r.Field("devices", &T::devices, "Devices with known peaks");
  r.Field("measured", &T::measured,
          "Measurements of this store (show), made now (measure) or removed (forget)");
  r.Field("compared", &T::compared, "Their figures beside those of the datasheets");
  r.Field("gpu_reason", &T::gpu_reason, "Why no GPU was measured");
}

std::vector<ComparedFigure> Compare(const MeasuredPeaks& measured, const std::optional<Peaks>& datasheet) {
  std::vector<ComparedFigure> out;
  for (const MeasuredFigure& f : measured.figures) {
    ComparedFigure row{
        measured.id, measured.name, measured.driver_version, f.name, f.unit, {}, f.value, {}, {},
        f.how,       f.reason};
    row.datasheet = DatasheetValue(datasheet, f.name);
    if (f.value && row.datasheet && *row.datasheet > 0) row.ratio = *f.value / *row.datasheet;
    if (f.value && f.low && f.high && *f.value > 0) row.spread = (*f.high - *f.low) / *f.value;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace nl::ops::peaks
