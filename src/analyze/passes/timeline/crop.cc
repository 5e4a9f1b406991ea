// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/timeline/crop.h"

#include <algorithm>
#include <tuple>

namespace nl::passes::timeline {

namespace {

template <class T>
void Gather(const std::vector<uint32_t>& order, std::vector<T>& values) {
  std::vector<T> out;
  out.reserve(order.size());
  for (const uint32_t i : order) out.push_back(values[i]);
  values = std::move(out);
}

void Cut(const Interval& part, std::vector<int64_t>& start_ns, std::vector<int64_t>& end_ns) {
  for (size_t i = 0; i < start_ns.size(); ++i) {
    const Interval cut = CutAtEdges(part, start_ns[i], end_ns[i]);
    start_ns[i] = cut.start_ns;
    end_ns[i] = cut.end_ns;
  }
}

uint32_t MovedTo(const std::vector<uint32_t>& number, uint32_t node) {
  return node != kNone && number[node] < number[node + 1] ? number[node] : kNone;
}

// Leaves out nodes; gives the new number of each old one, and one past the last.
std::vector<uint32_t> CropHost(const Interval& part, HostTree& h) {
  std::vector<uint32_t> kept, number(h.size() + 1, 0);
  for (uint32_t i = 0; i < h.size(); ++i) {
    number[i] = static_cast<uint32_t>(kept.size());
    if (ReachesInto(part, h.start_ns[i], h.end_ns[i])) kept.push_back(i);
  }
  number[h.size()] = static_cast<uint32_t>(kept.size());
  // A subtree's nodes follow each other, so what is kept of it does too.
  for (uint32_t& last : h.last) last = number[last];
  for (uint32_t& parent : h.parent) parent = MovedTo(number, parent);
  Gather(kept, h.start_ns);
  Gather(kept, h.end_ns);
  Gather(kept, h.kind);
  Gather(kept, h.row);
  Gather(kept, h.parent);
  Gather(kept, h.last);
  Gather(kept, h.thread);
  Gather(kept, h.name);
  Cut(part, h.start_ns, h.end_ns);
  return number;
}

void CropWork(const Interval& part, DeviceWork& w) {
  std::vector<uint32_t> kept;
  for (uint32_t i = 0; i < w.size(); ++i) {
    if (ReachesInto(part, w.start_ns[i], w.end_ns[i])) kept.push_back(i);
  }
  Cut(part, w.start_ns, w.end_ns);
  std::stable_sort(kept.begin(), kept.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(w.start_ns[a], w.end_ns[a]) < std::tie(w.start_ns[b], w.end_ns[b]);
  });
  Gather(kept, w.start_ns);
  Gather(kept, w.end_ns);
  Gather(kept, w.kind);
  Gather(kept, w.work);
  Gather(kept, w.row);
  Gather(kept, w.device);
  Gather(kept, w.stream);
  Gather(kept, w.name);
  Gather(kept, w.launch);
  Gather(kept, w.op);
}

}  // namespace

void CropTimeline(const RunData& data, const Interval& part, TimelineFacts& t) {
  const std::vector<uint32_t> number = CropHost(part, t.host);
  const auto moved = [&number](uint32_t& node) { node = MovedTo(number, node); };
  for (std::vector<uint32_t>* nodes :
       {&t.node_of_api, &t.node_of_op, &t.node_of_range, &t.node_of_python, &t.work.launch, &t.work.op})
    std::for_each(nodes->begin(), nodes->end(), moved);
  CropWork(part, t.work);
  for (TimelineFacts::HostThread& thread : t.threads) {
    thread.first = number[thread.first];
    thread.last = number[thread.last];
  }
  std::erase_if(t.threads,
                [](const TimelineFacts::HostThread& thread) { return thread.first == thread.last; });
  std::erase_if(t.device_ranges, [&](uint32_t row) {
    const int64_t start_ns = data.range.start_ns[row], dur_ns = data.range.dur_ns[row];
    return !ReachesInto(part, start_ns, start_ns + dur_ns);
  });
  t.first_start_ns = part.start_ns;
  t.last_end_ns = part.end_ns;
}

}  // namespace nl::passes::timeline
