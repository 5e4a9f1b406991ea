// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reply of `neurolens trend` and its form for a terminal. Null: unknown.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"

namespace nl {

struct TrendWorkload {
  std::string model, device;
  int64_t device_count = 0;
  std::string precision, backend;
};
struct TrendRun {
  std::string run_id, short_id, created_at, source_name;
  std::optional<double> value;
  std::optional<std::string> reason;
  std::optional<double> level, change;
};
enum class TrendDirection : uint8_t { kRegressed, kImproved };
std::span<const std::string_view> NamesOf(TrendDirection);
struct TrendChange {
  int64_t index = 0;
  std::string run_id, short_id, created_at;
  double before_median = 0, after_median = 0;
  std::optional<double> change;
  double p_value = 1;
  TrendDirection direction = TrendDirection::kRegressed;
};
struct TrendUnreadable {
  std::string reason;
  std::vector<std::string> runs;
};
struct TrendBaseline {
  std::string name;
  int64_t runs = 0;
  std::optional<double> value;
  std::optional<std::string> reason;
};
struct TrendReply {
  std::string metric, unit;
  bool larger_is_better = false;
  std::optional<TrendWorkload> workload;
  std::vector<TrendRun> runs;
  std::vector<TrendChange> change_points;
  std::vector<TrendUnreadable> unreadable;
  std::vector<TrendBaseline> baselines;
  int64_t left_out = 0;
};
void Describe(Record<TrendWorkload>& r);
void Describe(Record<TrendRun>& r);
void Describe(Record<TrendChange>& r);
void Describe(Record<TrendUnreadable>& r);
void Describe(Record<TrendBaseline>& r);
void Describe(Record<TrendReply>& r);

std::string TrendText(const TrendReply& reply, int width, bool color);

}  // namespace nl
