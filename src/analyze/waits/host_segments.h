// SPDX-License-Identifier: Apache-2.0
#pragma once
// HostSegments: one thread's time cut into pieces owned by the innermost span recorded
// there. Piece i lasts from start_ns[i] to start_ns[i + 1]; owner kNone: nothing recorded.
// Thread rule: immutable once built.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyze/facts/timeline.h"

namespace nl {

struct HostSegments {
  std::vector<int64_t> start_ns;
  std::vector<uint32_t> owner;

  // The piece at `at_ns`: the last that starts no later, else the first.
  size_t Find(int64_t at_ns) const;
  // Calls fn(owner, ns) for every piece of [from_ns, to_ns), also those before the first and after the last.
  template <class Fn>
  void Visit(int64_t from_ns, int64_t to_ns, const Fn& fn) const {
    if (to_ns <= from_ns) return;
    if (start_ns.empty()) return fn(kNone, to_ns - from_ns);
    size_t i = Find(from_ns);
    if (start_ns[i] > from_ns) {
      const int64_t until = std::min(start_ns[i], to_ns);
      fn(kNone, until - from_ns);
      from_ns = until;
    }
    for (; from_ns < to_ns; ++i) {
      const bool last = i + 1 >= start_ns.size();
      const int64_t until = last ? to_ns : std::min(start_ns[i + 1], to_ns);
      if (until > from_ns) fn(last ? kNone : owner[i], until - from_ns);
      from_ns = until;
    }
  }
};

HostSegments CutThread(const HostTree& host, uint32_t first, uint32_t last);

}  // namespace nl
