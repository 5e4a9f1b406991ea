// SPDX-License-Identifier: Apache-2.0
#include "report/compare/pair_timeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/terminal.h"

namespace nl {

namespace {

using Item = CompareTrack::Item;
constexpr int kMaxItemColumns = 200;

struct MergedBox {
  double start_ms, end_ms, longest_ms;
  uint32_t item;  // its longest
  int32_t change;
  int64_t count;
};

struct MergedSide {
  std::vector<MergedBox> shapes;
  std::vector<uint32_t> shape_of;  // by item
  std::optional<double> merged_below_ms;
};

void Merge(std::vector<MergedBox>& shapes, double pixel_ms, bool over_changes) {
  size_t kept = 0;
  for (const MergedBox& shape : shapes) {
    if (kept > 0) {
      MergedBox& last = shapes[kept - 1];
      const bool fits = std::max(last.end_ms, shape.end_ms) - last.start_ms <= pixel_ms;
      if (fits && (over_changes || last.change == shape.change)) {
        if (shape.longest_ms > last.longest_ms) {
          last.longest_ms = shape.longest_ms;
          last.item = shape.item;
          last.change = shape.change;
        }
        last.end_ms = std::max(last.end_ms, shape.end_ms);
        last.count += shape.count;
        continue;
      }
    }
    shapes[kept++] = shape;
  }
  shapes.resize(kept);
}

MergedSide MergeSide(const std::vector<Item>& items, const PairTimelineLimits& limits) {
  MergedSide side;
  std::vector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t x, uint32_t y) { return items[x].start_ms < items[y].start_ms; });
  double end_ms = 0;
  for (const uint32_t i : order) {
    const Item& item = items[i];
    side.shapes.push_back({item.start_ms, item.start_ms + item.dur_ms, item.dur_ms, i, item.change, 1});
    end_ms = std::max(end_ms, item.start_ms + item.dur_ms);
  }
  for (double pixel_ms = end_ms / limits.full_zoom_px;
       side.shapes.size() > limits.max_items && pixel_ms < end_ms; pixel_ms *= 2) {
    Merge(side.shapes, pixel_ms, false);
    side.merged_below_ms = pixel_ms;
  }
  // Changed and unchanged items alternate: only merging across changes makes them few enough.
  if (side.shapes.size() > limits.max_items)
    Merge(side.shapes, end_ms / static_cast<double>(limits.max_items), true);
  // A shape represents `count` consecutive items of `order`.
  side.shape_of.assign(items.size(), UINT32_MAX);
  size_t next = 0;
  for (uint32_t i = 0; i < side.shapes.size(); ++i) {
    for (int64_t k = 0; k < side.shapes[i].count; ++next, ++k) side.shape_of[order[next]] = i;
  }
  return side;
}

PairTimelineSide ColumnsOf(const std::vector<Item>& items, const MergedSide& side, const MergedSide& other) {
  PairTimelineSide out;
  out.items_total = static_cast<int64_t>(items.size());
  out.merged_below_ms = side.merged_below_ms;
  const auto rounded = [](double ms) { return std::round(ms * 1e6) / 1e6; };  // to the nanosecond
  for (const MergedBox& shape : side.shapes) {
    const Item& item = items[shape.item];
    const auto place = static_cast<size_t>(item.partner);  // -1 becomes larger than any position
    const uint32_t match = place < other.shape_of.size() ? other.shape_of[place] : UINT32_MAX;
    out.start_ms.push_back(rounded(shape.start_ms));
    out.dur_ms.push_back(rounded(shape.end_ms - shape.start_ms));
    out.name.push_back(item.name);
    out.change.push_back(shape.change < 0 ? std::nullopt : std::optional<int64_t>(shape.change + 1));
    out.partner.push_back(match == UINT32_MAX ? std::nullopt : std::optional<int64_t>(match));
    out.count.push_back(shape.count);
  }
  return out;
}

}  // namespace

void Describe(Record<PairTimelineSide>& r) {
  r.Name("CompareTrack", "Items of one run of a comparison; all lists have the same length");
  r.Field("items_total", &PairTimelineSide::items_total, "Items before merging");
  r.Field("merged_below_ms", &PairTimelineSide::merged_below_ms, Unit::kMs,
          "Neighbours within this time are one item; null: nothing was merged");
  r.Field("start_ms", &PairTimelineSide::start_ms, Unit::kMs, "Start, from the start of the run");
  r.Field("dur_ms", &PairTimelineSide::dur_ms, Unit::kMs, "Duration");
  r.Field("name", &PairTimelineSide::name, "Position in the list of names");
  r.Field("change", &PairTimelineSide::change, "Rank of its contribution; null: unchanged");
  r.Field("partner", &PairTimelineSide::partner, "Position of its partner in the other run; null: none");
  r.Field("count", &PairTimelineSide::count, "Items that this one represents");
}

void Describe(Record<PairTimeline>& r) {
  r.Name("CompareTimeline", "Both runs of a comparison in time, each item with its partner");
  r.Field("names", &PairTimeline::names, "Names of kernels and operators");
  r.Field("cut", &PairTimeline::cut, "The runs continue after the last item");
  r.Field("a", &PairTimeline::a, "Run A");
  r.Field("b", &PairTimeline::b, "Run B");
}

PairTimeline MakePairTimeline(const CompareTrack& track, const PairTimelineLimits& limits) {
  PairTimeline out;
  for (const std::string& name : track.names) out.names.push_back(PrintableName(name, kMaxItemColumns));
  out.cut = track.cut;
  const MergedSide a = MergeSide(track.a, limits), b = MergeSide(track.b, limits);
  out.a = ColumnsOf(track.a, a, b);
  out.b = ColumnsOf(track.b, b, a);
  return out;
}

}  // namespace nl
