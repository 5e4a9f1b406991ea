// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens flame`.

#include <optional>
#include <string>
#include <vector>

#include "base/record.h"

namespace nl::ops::flame {

enum class FlameTime : uint8_t { kHost, kDevice };
inline std::span<const std::string_view> NamesOf(FlameTime) {
  static constexpr std::string_view kNames[] = {"host", "device"};
  return kNames;
}

struct FlameRow {
  int64_t depth = 0;
  std::string name;
  bool device_frame = false;
  int64_t calls = 0;
  std::optional<double> host_total_ms, host_self_ms;
  std::optional<int64_t> weight, self_weight;
  double gpu_total_ms = 0, gpu_self_ms = 0, share = 0;
};
inline void Describe(Record<FlameRow>& r) {
  r.Name("FlameRow", "One frame of the call tree");
  r.Field("depth", &FlameRow::depth, "Depth in the tree, 0 for outermost calls");
  r.Field("name", &FlameRow::name, "Name of the frame");
  r.Field("device_frame", &FlameRow::device_frame, "The frame is device work");
  r.Field("calls", &FlameRow::calls, "Calls, or stacks where calls were not recorded");
  r.Field("host_total_ms", &FlameRow::host_total_ms, Unit::kMs, "Host time including callees");
  r.Field("host_self_ms", &FlameRow::host_self_ms, Unit::kMs, "Host time without callees");
  r.Field("weight", &FlameRow::weight, "Weight including callees, where the profile has no times");
  r.Field("self_weight", &FlameRow::self_weight, "Weight without callees, where the profile has no times");
  r.Field("gpu_total_ms", &FlameRow::gpu_total_ms, Unit::kMs, "Device time including callees");
  r.Field("gpu_self_ms", &FlameRow::gpu_self_ms, Unit::kMs, "Device time without callees");
  r.Field("share", &FlameRow::share, Unit::kShare, "Part of the whole tree, by the time used as weight");
}

struct FlameReply {
  std::string run_id;
  FlameTime time = FlameTime::kDevice;
  std::optional<double> host_ms;
  std::optional<std::string> unit;
  std::optional<int64_t> weight;
  double gpu_ms = 0;
  int64_t frames = 0, folded = 0;
  std::optional<std::string> out;
  std::vector<FlameRow> tree;
};
inline void Describe(Record<FlameReply>& r) {
  r.Name("FlameReply", "Reply of `neurolens flame`");
  r.Field("run_id", &FlameReply::run_id, "The run");
  r.Field("time", &FlameReply::time, "Time used as weight");
  r.Field("host_ms", &FlameReply::host_ms, Unit::kMs, "Host time of all calls; null without times");
  r.Field("unit", &FlameReply::unit, "Unit of the weights where the profile has no times, such as samples");
  r.Field("weight", &FlameReply::weight, "Weight of all stacks where the profile has no times");
  r.Field("gpu_ms", &FlameReply::gpu_ms, Unit::kMs, "Device time of all calls");
  r.Field("frames", &FlameReply::frames, "Frames of the tree");
  r.Field("folded", &FlameReply::folded, "Light paths that were merged into \"(other)\" frames");
  r.Field("out", &FlameReply::out, "File that was written");
  r.Field("tree", &FlameReply::tree, "The heaviest frames, parents before children");
}

}  // namespace nl::ops::flame
