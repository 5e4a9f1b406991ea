// SPDX-License-Identifier: Apache-2.0
#include "analyze/waits/host_segments.h"

#include <algorithm>

namespace nl {

size_t HostSegments::Find(int64_t at_ns) const {
  const auto it = std::upper_bound(start_ns.begin(), start_ns.end(), at_ns);
  return it == start_ns.begin() ? 0 : static_cast<size_t>(it - start_ns.begin()) - 1;
}

HostSegments CutThread(const HostTree& host, uint32_t first, uint32_t last) {
  HostSegments out;
  const auto put = [&](int64_t at_ns, uint32_t owner) {
    if (!out.start_ns.empty() && out.start_ns.back() >= at_ns) {
      out.owner.back() = owner;  // the piece before had no length
      return;
    }
    if (!out.owner.empty() && out.owner.back() == owner) return;
    out.start_ns.push_back(at_ns);
    out.owner.push_back(owner);
  };
  std::vector<uint32_t> open;
  const auto close_until = [&](int64_t at_ns) {
    while (!open.empty() && host.end_ns[open.back()] <= at_ns) {
      const int64_t end_ns = host.end_ns[open.back()];
      open.pop_back();
      put(end_ns, open.empty() ? kNone : open.back());
    }
  };
  for (uint32_t i = first; i < last; ++i) {
    close_until(host.start_ns[i]);
    if (host.end_ns[i] == host.start_ns[i]) continue;
    put(host.start_ns[i], i);
    open.push_back(i);
  }
  close_until(INT64_MAX);
  return out;
}

}  // namespace nl
