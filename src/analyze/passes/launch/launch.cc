// SPDX-License-Identifier: Apache-2.0
// Pairs every device work item with its launch; sweeps launches and starts per stream.

#include <algorithm>
#include <unordered_map>

#include "analyze/facts/launch.h"
#include "analyze/pass.h"
#include "analyze/totals.h"
#include "model/api_kind.h"

namespace nl {

namespace passes::launch {

namespace {

struct Change {
  int64_t at_ns;
  int32_t step;
};

// +1 when a launch call begins, -1 when its work starts.
LaunchFacts::Queue SweepQueue(uint32_t stream, std::vector<Change>& changes) {
  LaunchFacts::Queue queue;
  queue.stream = stream;
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.at_ns, a.step) < std::tie(b.at_ns, b.step);
  });
  int64_t length = 0;
  double area = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    length = std::max<int64_t>(0, length + changes[i].step);
    queue.max_length = std::max(queue.max_length, length);
    if (i + 1 < changes.size())
      area += static_cast<double>(length) * static_cast<double>(changes[i + 1].at_ns - changes[i].at_ns);
  }
  const int64_t span_ns = changes.empty() ? 0 : changes.back().at_ns - changes.front().at_ns;
  queue.mean_length = span_ns > 0 ? area / static_cast<double>(span_ns) : 0;
  // Of each stretch of changes its longest queue is kept.
  const size_t stride = std::max<size_t>(1, changes.size() / LaunchFacts::Queue::kMaxPoints);
  length = 0;
  for (size_t i = 0; i < changes.size();) {
    int64_t most = 0, at_ns = changes[i].at_ns;
    for (size_t end = std::min(changes.size(), i + stride); i < end; ++i) {
      length = std::max<int64_t>(0, length + changes[i].step);
      if (length > most) {
        most = length;
        at_ns = changes[i].at_ns;
      }
    }
    queue.at_ns.push_back(at_ns);
    queue.length.push_back(static_cast<int32_t>(most));
  }
  return queue;
}

class Collector {
 public:
  Collector(const RunData& data, const TimelineFacts& t, LaunchFacts& out)
      : t_(t), out_(out), kinds_(data.strings) {}

  void Run() {
    changes_.resize(t_.streams.size());
    work_of_.assign(t_.host.size(), 0);
    first_start_.assign(t_.host.size(), INT64_MAX);
    for (uint32_t i = 0; i < t_.work.size(); ++i) TakeWork(i);
    for (uint32_t node = 0; node < t_.host.size(); ++node) {
      if (first_start_[node] != INT64_MAX) TakeLaunch(node);
    }
    out_.api_p50_ns = Percentile(api_ns_, 50);
    out_.api_p95_ns = Percentile(api_ns_, 95);
    out_.delay_p50_ns = Percentile(delay_ns_, 50);
    out_.delay_p95_ns = Percentile(delay_ns_, 95);
    for (uint32_t s = 0; s < changes_.size(); ++s) {
      if (!changes_[s].empty()) out_.queues.push_back(SweepQueue(s, changes_[s]));
    }
    for (const auto& [name, entry] : names_) out_.names.push_back(entry);
    std::sort(out_.names.begin(), out_.names.end(),
              [](const LaunchFacts::Name& a, const LaunchFacts::Name& b) {
                return std::tie(b.api_ns, a.name) < std::tie(a.api_ns, b.name);
              });
  }

 private:
  void TakeWork(uint32_t i) {
    ++out_.work_items;
    const uint32_t launch = t_.work.launch[i];
    if (launch == kNone) {
      ++out_.without_launch;
      return;
    }
    work_of_[launch] += t_.work.end_ns[i] - t_.work.start_ns[i];
    if (first_start_[launch] == INT64_MAX) {  // work comes by start: the first is the earliest
      first_start_[launch] = t_.work.start_ns[i];
      changes_[t_.work.stream[i]].push_back({t_.host.start_ns[launch], 1});
      changes_[t_.work.stream[i]].push_back({t_.work.start_ns[i], -1});
    }
  }

  void TakeLaunch(uint32_t node) {
    const HostTree& h = t_.host;
    const int64_t api_ns = h.end_ns[node] - h.start_ns[node];
    const int64_t delay_ns = first_start_[node] - h.start_ns[node];
    ++out_.launches;
    const auto [it, added] = names_.try_emplace(static_cast<uint32_t>(h.name[node]));
    if (added) it->second.name = h.name[node];
    ++it->second.calls;
    it->second.api_ns += api_ns;
    if (kinds_.Of(h.name[node]) == ApiKind::kGraphLaunch) ++out_.graph_launches;
    out_.api_ns += api_ns;
    api_ns_.push_back(api_ns);
    if (delay_ns < 0) {
      ++out_.negative_delays;
    } else {
      delay_ns_.push_back(delay_ns);
      out_.transition_ns += delay_ns;
    }
    if (work_of_[node] < api_ns) {
      ++out_.launch_bound;
      out_.launch_bound_ns += work_of_[node];
    }
  }

  const TimelineFacts& t_;
  LaunchFacts& out_;
  std::vector<std::vector<Change>> changes_;    // per stream
  std::vector<int64_t> work_of_, first_start_;  // per host node
  std::vector<int64_t> api_ns_, delay_ns_;
  std::unordered_map<uint32_t, LaunchFacts::Name> names_;
  ApiKinds kinds_;
};

class LaunchPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {LaunchFacts::kName,
            "Cost of launching, and how far the host ran ahead",
            {TimelineFacts::kName},
            {},
            &RecordOf<LaunchSection>};
  }
  Status Run(const RunData& data, const AnalysisOptions&, FactBoard& facts) const override {
    LaunchFacts out;
    Collector(data, facts.Get<TimelineFacts>(), out).Run();
    facts.Put(std::move(out));
    return {};
  }
  Described Section(const RunData& data, const FactBoard& facts) const override {
    return Described::Of(SectionOf(facts.Get<LaunchFacts>(), facts.Get<TimelineFacts>(), data));
  }
};

}  // namespace

const Pass& Describe() {
  static const LaunchPass pass;
  return pass;
}

}  // namespace passes::launch

}  // namespace nl
