// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nesting: spreads the spans of one lane over tracks so that on each track they nest.
// Real lanes overlap (asynchronous work, kernels of one stream under CUDA graphs,
// rounded times); a track that must nest cannot show that, more tracks can.
// Track 0 takes all that nests; time is n log n for any input.
// Thread rule: plain value, one thread at a time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

namespace nl::renderers::perfetto {

class Nesting {
 public:
  // The track of the span [start, end]. Spans come by start, of equal start the longer first.
  size_t Place(size_t span, int64_t start_ns, int64_t end_ns);
  // The innermost span of track 0 that is open at `at_ns`; not before the last span's start.
  std::optional<size_t> Innermost(int64_t at_ns);
  size_t tracks() const { return tracks_.size(); }

 private:
  struct Open {
    int64_t end_ns;
    size_t span;
  };
  // Closes what ends at or before `at_ns` on the tracks beyond the first.
  void Expire(int64_t at_ns);

  std::vector<std::vector<Open>> tracks_ = {{}};  // open spans, innermost last
  std::set<std::pair<int64_t, size_t>> ends_;     // innermost end of each busy track but track 0
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> free_;  // idle tracks but track 0
};

}  // namespace nl::renderers::perfetto
