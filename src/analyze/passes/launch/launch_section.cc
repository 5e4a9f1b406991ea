// SPDX-License-Identifier: Apache-2.0
// The launch facts as reports and `neurolens launch` give them.
#include <algorithm>

#include "analyze/facts/launch.h"
#include "analyze/run_data.h"
#include "base/units.h"

namespace nl {

void Describe(Record<LaunchQueue>& r) {
  using T = LaunchQueue;
  r.Name("LaunchQueue", "Queue of one stream: launches whose work has not started yet");
  r.Field("device", &T::device, "Device number");
  r.Field("stream", &T::stream, "Stream number");
  r.Field("queue_max", &T::queue_max, "Longest queue");
  r.Field("queue_mean", &T::queue_mean, "Mean length over time");
  r.Field("at_ms", &T::at_ms, Unit::kMs,
          "Times at which the queue had the lengths below, from the start of the run");
  r.Field("length", &T::length, "Length at each of these times");
}

void Describe(Record<LaunchCall>& r) {
  r.Name("LaunchCall", "One API function that launched work");
  r.Field("name", &LaunchCall::name, "Name of the function");
  r.Field("calls", &LaunchCall::calls, "Number of calls");
  r.Field("ms", &LaunchCall::ms, Unit::kMs, "Time inside the calls");
}

void Describe(Record<LaunchSection>& r) {
  using T = LaunchSection;
  r.Name("LaunchSection", "Cost of launching, and how far the host ran ahead of the device");
  r.Field("launches", &T::launches, "API calls that started device work");
  r.Field("graph_launches", &T::graph_launches, "Launches of a CUDA graph among them");
  r.Field("work_items", &T::work_items, "Kernels, copies and memsets");
  r.Field("without_launch", &T::without_launch, "Work items whose launch was not recorded");
  r.Field("api_ms", &T::api_ms, Unit::kMs, "Time inside the launch calls");
  r.Field("api_p50_us", &T::api_p50_us, Unit::kUs, "Median duration of a launch call");
  r.Field("api_p95_us", &T::api_p95_us, Unit::kUs, "95th percentile of the duration of a launch call");
  r.Field("queue_delay_p50_us", &T::queue_delay_p50_us, Unit::kUs,
          "Median time from the start of the call to the start of its work");
  r.Field("queue_delay_p95_us", &T::queue_delay_p95_us, Unit::kUs, "95th percentile of that time");
  r.Field("negative_delays", &T::negative_delays,
          "Launches whose work starts before the call; left out of the delays");
  r.Field("transition_ms", &T::transition_ms, Unit::kMs,
          "Sum of the delays; small when the device waits for the host, large when work queues up");
  r.Field("launch_bound", &T::launch_bound, "Launches whose work is shorter than the call");
  r.Field("launch_bound_share", &T::launch_bound_share, Unit::kShare,
          "Part of all launches that are launch-bound");
  r.Field("launch_bound_work_ms", &T::launch_bound_work_ms, Unit::kMs,
          "Device time of the launch-bound work");
  r.Field("streams", &T::streams, "Queue of each stream");
  r.Field("queue_max", &T::queue_max, "Longest queue of all streams");
  r.Field("calls", &T::calls, "API functions that launched work, most time first");
}

LaunchSection SectionOf(const LaunchFacts& f, const TimelineFacts& t, const RunData& data) {
  const auto us = [&](double ns) { return f.launches > 0 ? std::optional<double>(ns / 1e3) : std::nullopt; };
  LaunchSection out;
  out.launches = f.launches;
  out.graph_launches = f.graph_launches;
  out.work_items = f.work_items;
  out.without_launch = f.without_launch;
  out.api_ms = Ms(f.api_ns);
  out.api_p50_us = us(f.api_p50_ns);
  out.api_p95_us = us(f.api_p95_ns);
  out.queue_delay_p50_us = us(f.delay_p50_ns);
  out.queue_delay_p95_us = us(f.delay_p95_ns);
  out.negative_delays = f.negative_delays;
  out.transition_ms = Ms(f.transition_ns);
  out.launch_bound = f.launch_bound;
  if (f.launches > 0)
    out.launch_bound_share = static_cast<double>(f.launch_bound) / static_cast<double>(f.launches);
  out.launch_bound_work_ms = Ms(f.launch_bound_ns);
  for (const LaunchFacts::Queue& q : f.queues) {
    const TimelineFacts::Stream& stream = t.streams[q.stream];
    LaunchQueue row;
    row.device = Known(t.devices[stream.device].device);
    row.stream = Known(stream.stream);
    row.queue_max = q.max_length;
    row.queue_mean = q.mean_length;
    for (const int64_t at_ns : q.at_ns) row.at_ms.push_back(Ms(at_ns - t.first_start_ns));
    row.length = q.length;
    out.queue_max = std::max(out.queue_max, q.max_length);
    out.streams.push_back(std::move(row));
  }
  for (const LaunchFacts::Name& n : f.names)
    out.calls.push_back({std::string(data.Text(n.name)), n.calls, Ms(n.api_ns)});
  return out;
}

}  // namespace nl
