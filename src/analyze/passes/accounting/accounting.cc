// SPDX-License-Identifier: Apache-2.0
// Devices by analyze/accounting.h; steps as windows of their sweeps; one walk over the host tree.

#include <algorithm>
#include <unordered_map>

#include "analyze/accounting.h"
#include "analyze/facts/accounting.h"
#include "analyze/pass.h"

namespace nl {

namespace passes::accounting {

namespace {

// Of a part of the run: the steps that lie in it whole.
void AccountSteps(const RunData& data, const std::optional<Interval>& part, AccountingFacts& out) {
  for (size_t i = 0; i < data.step.start_ns.size(); ++i) {
    const int64_t start_ns = data.step.start_ns[i], dur_ns = data.step.dur_ns[i];
    if (IsNull(start_ns) || IsNull(dur_ns)) continue;
    if (part && (start_ns < part->start_ns || start_ns + dur_ns > part->end_ns)) continue;
    AccountingFacts::Step step{data.step.name[i], data.step.number[i], start_ns, start_ns + dur_ns, {}};
    for (const DeviceSweep& sweep : out.sweeps)
      step.devices.push_back(sweep.Window(step.start_ns, step.end_ns));
    out.steps.push_back(std::move(step));
  }
}

void AccountHost(const RunData& data, const TimelineFacts& t, AccountingFacts& out) {
  const HostTree& h = t.host;
  ApiKinds kinds(data.strings);
  std::vector<int64_t> self(h.size());
  for (size_t i = 0; i < h.size(); ++i) {
    self[i] += h.end_ns[i] - h.start_ns[i];
    if (h.parent[i] != kNone) self[h.parent[i]] -= h.end_ns[i] - h.start_ns[i];
  }
  std::unordered_map<int32_t, int64_t> launches;
  for (const uint32_t launch : t.work.launch) {
    if (launch != kNone) ++launches[static_cast<int32_t>(h.thread[launch])];
  }
  for (const TimelineFacts::HostThread& thread : t.threads) {
    HostTime time;
    time.thread = thread.thread;
    int64_t recorded_to = INT64_MIN, op_to = INT64_MIN;
    for (uint32_t i = thread.first; i < thread.last; ++i) {
      const int64_t own = std::max<int64_t>(self[i], 0);
      time.recorded_ns += std::max<int64_t>(0, h.end_ns[i] - std::max(h.start_ns[i], recorded_to));
      recorded_to = std::max(recorded_to, h.end_ns[i]);
      switch (h.kind[i]) {
        case HostKind::kRange: time.range_self_ns += own; break;
        case HostKind::kPython: time.python_self_ns += own; break;
        case HostKind::kOp:
          time.op_self_ns += own;
          time.op_total_ns += std::max<int64_t>(0, h.end_ns[i] - std::max(h.start_ns[i], op_to));
          op_to = std::max(op_to, h.end_ns[i]);
          break;
        case HostKind::kApi: {
          const auto kind = static_cast<size_t>(kinds.Of(h.name[i]));
          time.api_ns[kind] += own;
          ++time.api_calls[kind];
          break;
        }
      }
    }
    if (const auto it = launches.find(static_cast<int32_t>(thread.thread)); it != launches.end())
      time.launches = it->second;
    out.threads.push_back(time);
  }
  std::stable_sort(out.threads.begin(), out.threads.end(),
                   [](const HostTime& a, const HostTime& b) { return a.launches > b.launches; });
}

constexpr Reads kReads = NL_READS(Step, name, number, start_ns, dur_ns) | NL_READS(Device, device, name) |
                         NL_READS(Thread, tid, name);

class AccountingPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {AccountingFacts::kName,
            "Where the time of each device and host thread went",
            {TimelineFacts::kName},
            kReads,
            &RecordOf<AccountingSection>};
  }
  Status Run(const RunData& data, const AnalysisOptions& options, FactBoard& facts) const override {
    const auto& t = facts.Get<TimelineFacts>();
    AccountingFacts out;
    out.wall_ns = t.wall_ns();
    NL_ASSIGN(static_cast<DeviceAccounts&>(out), AccountDevices(t, data.Pauses()));
    AccountSteps(data, options.part, out);
    AccountHost(data, t, out);
    facts.Put(std::move(out));
    return {};
  }
  Described Section(const RunData& data, const FactBoard& facts) const override {
    return Described::Of(SectionOf(facts.Get<AccountingFacts>(), facts.Get<TimelineFacts>(), data));
  }
};

}  // namespace

const Pass& Describe() {
  static const AccountingPass pass;
  return pass;
}

}  // namespace passes::accounting

}  // namespace nl
