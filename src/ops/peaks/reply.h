// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens peaks`: datasheet and measured peaks of devices, side by side.
// Thread rule: plain data.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/cost_model/peaks.h"

namespace nl::ops::peaks {

enum class PeaksAction : uint8_t { kShow, kMeasure, kForget };
std::span<const std::string_view> NamesOf(PeaksAction);

// One measured figure beside the datasheet's.
struct ComparedFigure {
  std::string id, device, driver_version, figure, unit;
  std::optional<double> datasheet, measured, ratio, spread;
  std::optional<std::string> how, reason;
};
struct PeaksReply {
  PeaksAction action = PeaksAction::kShow;
  std::optional<std::string> asked;
  std::vector<Peaks> devices;
  std::vector<MeasuredPeaks> measured;
  std::vector<ComparedFigure> compared;
  std::optional<std::string> gpu_reason;
};
void Describe(Record<ComparedFigure>& r);
void Describe(Record<PeaksReply>& r);

// The figures of a device beside those of `datasheet`, where it is known.
std::vector<ComparedFigure> Compare(const MeasuredPeaks& measured, const std::optional<Peaks>& datasheet);

}  // namespace nl::ops::peaks
