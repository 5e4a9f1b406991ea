// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/compare_timeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/terminal.h"

namespace nl {

namespace {

using Item = CompareTrack::Item;
constexpr int kMaxItemColumns = 200;

struct Shape {
  double start_ms, end_ms, longest_ms;
  uint32_t item;  // its longest
  int32_t change;
  int64_t count;
};

struct Side {
  std::vector<Shape> shapes;
  std::vector<uint32_t> shape_of;  // by item
  std::optional<double> merged_below_ms;
};

void Merge(std::vector<Shape>& shapes, double pixel_ms, bool over_changes) {
  size_t kept = 0;
  for (const Shape& shape : shapes) {
    if (kept > 0) {
      Shape& last = shapes[kept - 1];
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

Side MakeSide(const std::vector<Item>& items, const CompareTimelineLimits& limits) {
  Side side;
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
  // Changed and unchanged items by turns: nothing but drawing them as one is left.
  if (side.shapes.size() > limits.max_items)
    Merge(side.shapes, end_ms / static_cast<double>(limits.max_items), true);
  // A shape stands for `count` items that follow each other in `order`.
  side.shape_of.assign(items.size(), UINT32_MAX);
  size_t next = 0;
  for (uint32_t i = 0; i < side.shapes.size(); ++i) {
    for (int64_t k = 0; k < side.shapes[i].count; ++next, ++k) side.shape_of[order[next]] = i;
  }
  return side;
}

Json SideJson(const std::vector<Item>& items, const Side& side, const Side& other) {
  Json start = Json::array(), dur = Json::array(), name = Json::array(), change = Json::array(),
       partner = Json::array(), count = Json::array();
  const auto rounded = [](double ms) { return std::round(ms * 1e6) / 1e6; };  // to the nanosecond
  for (const Shape& shape : side.shapes) {
    const Item& item = items[shape.item];
    const auto place = static_cast<size_t>(item.partner);  // -1 is beyond any
    const uint32_t match = place < other.shape_of.size() ? other.shape_of[place] : UINT32_MAX;
    start.push_back(rounded(shape.start_ms));
    dur.push_back(rounded(shape.end_ms - shape.start_ms));
    name.push_back(item.name);
    change.push_back(shape.change < 0 ? Json() : Json(shape.change + 1));
    partner.push_back(match == UINT32_MAX ? Json() : Json(match));
    count.push_back(shape.count);
  }
  return {{"items_total", items.size()},
          {"merged_below_ms", side.merged_below_ms ? Json(*side.merged_below_ms) : Json()},
          {"start_ms", std::move(start)},
          {"dur_ms", std::move(dur)},
          {"name", std::move(name)},
          {"change", std::move(change)},
          {"partner", std::move(partner)},
          {"count", std::move(count)}};
}

}  // namespace

Json CompareTimelineJson(const CompareTrack& track, const CompareTimelineLimits& limits) {
  Json names = Json::array();
  for (const std::string& name : track.names) names.push_back(PrintableName(name, kMaxItemColumns));
  const Side a = MakeSide(track.a, limits), b = MakeSide(track.b, limits);
  return {{"names", std::move(names)},
          {"cut", track.cut},
          {"a", SideJson(track.a, a, b)},
          {"b", SideJson(track.b, b, a)}};
}

}  // namespace nl
