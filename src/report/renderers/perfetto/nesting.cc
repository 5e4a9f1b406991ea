// SPDX-License-Identifier: Apache-2.0
#include "report/renderers/perfetto/nesting.h"

namespace nl::renderers::perfetto {

void Nesting::Expire(int64_t at_ns) {
  while (!ends_.empty() && ends_.begin()->first <= at_ns) {
    const size_t track = ends_.begin()->second;
    ends_.erase(ends_.begin());
    tracks_[track].pop_back();
    if (tracks_[track].empty()) {
      free_.push(track);
    } else {
      ends_.emplace(tracks_[track].back().end_ns, track);
    }
  }
}

size_t Nesting::Place(size_t span, int64_t start_ns, int64_t end_ns) {
  auto& first = tracks_[0];
  while (!first.empty() && first.back().end_ns <= start_ns) first.pop_back();
  if (first.empty() || first.back().end_ns >= end_ns) {
    first.push_back({end_ns, span});
    return 0;
  }
  Expire(start_ns);
  size_t track = 0;
  if (const auto around = ends_.lower_bound({end_ns, 0}); around != ends_.end()) {
    track = around->second;
    ends_.erase(around);
  } else if (!free_.empty()) {
    track = free_.top();
    free_.pop();
  } else {
    track = tracks_.size();
    tracks_.emplace_back();
  }
  tracks_[track].push_back({end_ns, span});
  ends_.emplace(end_ns, track);
  return track;
}

std::optional<size_t> Nesting::Innermost(int64_t at_ns) {
  auto& first = tracks_[0];
  while (!first.empty() && first.back().end_ns < at_ns) first.pop_back();
  if (first.empty()) return std::nullopt;
  return first.back().span;
}

}  // namespace nl::renderers::perfetto
