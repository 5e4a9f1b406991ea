// SPDX-License-Identifier: Apache-2.0
#include "analyze/device_work.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace nl {

namespace {

class DeviceWorkBuilder {
 public:
  DeviceWorkBuilder(const RunData& data, TimelineFacts& out) : data_(data), out_(out) {}

  void Build() {
    FindRanks();
    items_.reserve(data_.kernel.start_ns.size() + data_.memcpy.start_ns.size() +
                   data_.memset.start_ns.size());
    Collect(data_.kernel, WorkKind::kKernel);
    Collect(data_.memcpy, WorkKind::kMemcpy);
    Collect(data_.memset, WorkKind::kMemset);
    const auto before = [](const Item& a, const Item& b) {
      return std::tie(a.start_ns, a.end_ns, a.kind, a.row) < std::tie(b.start_ns, b.end_ns, b.kind, b.row);
    };
    if (!std::is_sorted(items_.begin(), items_.end(), before))
      std::sort(items_.begin(), items_.end(), before);
    Reserve();
    for (const Item& item : items_) {
      switch (item.kind) {
        case WorkKind::kKernel: Add(item, data_.kernel); break;
        case WorkKind::kMemcpy: Add(item, data_.memcpy); break;
        case WorkKind::kMemset: Add(item, data_.memset); break;
      }
    }
    SortDevices();
  }

 private:
  struct Item {
    int64_t start_ns, end_ns;
    uint32_t row;
    WorkKind kind;
  };

  void FindRanks() {
    rank_of_thread_.assign(data_.thread.process_id.size(), NullOf<int32_t>::value);
    for (size_t i = 0; i < rank_of_thread_.size(); ++i) {
      const auto process = static_cast<size_t>(data_.thread.process_id[i]);
      if (!IsNull(data_.thread.process_id[i]) && process < data_.process.rank.size())
        rank_of_thread_[i] = data_.process.rank[process];
    }
  }

  template <class Columns>
  void Collect(const Columns& t, WorkKind kind) {
    for (size_t i = 0; i < t.start_ns.size(); ++i) {
      if (IsNull(t.start_ns[i]) || IsNull(t.dur_ns[i])) {
        ++out_.untimed;
        continue;
      }
      items_.push_back(
          {t.start_ns[i], t.start_ns[i] + std::max<int64_t>(t.dur_ns[i], 0), static_cast<uint32_t>(i), kind});
    }
  }

  void Reserve() {
    DeviceWork& w = out_.work;
    const size_t n = items_.size();
    w.start_ns.reserve(n);
    w.end_ns.reserve(n);
    w.kind.reserve(n);
    w.work.reserve(n);
    w.row.reserve(n);
    w.device.reserve(n);
    w.stream.reserve(n);
    w.name.reserve(n);
    w.launch.assign(n, kNone);
    w.op.assign(n, kNone);
  }

  template <class Columns>
  void Add(const Item& item, const Columns& t) {
    DeviceWork& w = out_.work;
    const size_t i = item.row;
    const ThreadId lane = t.thread_id.declared() ? t.thread_id[i] : ThreadId::kNull;
    const int32_t rank = IsNull(lane) || static_cast<size_t>(lane) >= rank_of_thread_.size()
                             ? NullOf<int32_t>::value
                             : rank_of_thread_[static_cast<size_t>(lane)];
    const uint32_t device = DeviceOf({rank, t.device[i]});
    w.start_ns.push_back(item.start_ns);
    w.end_ns.push_back(item.end_ns);
    w.kind.push_back(item.kind);
    w.work.push_back(item.kind == WorkKind::kKernel ? ClassOf(t.name[i]) : WorkClass::kMemory);
    w.row.push_back(item.row);
    w.device.push_back(device);
    w.stream.push_back(StreamOf(device, t.context.declared() ? t.context[i] : NullOf<int64_t>::value,
                                t.stream.declared() ? t.stream[i] : NullOf<int64_t>::value));
    w.name.push_back(t.name[i]);
  }

  WorkClass ClassOf(StringId name) {
    const auto [it, added] = out_.kernel_names.try_emplace(static_cast<uint32_t>(name));
    if (added) it->second = ParseKernelName(data_.Text(name));
    return it->second.family == KernelFamily::kCommunication ? WorkClass::kCommunication
                                                             : WorkClass::kCompute;
  }
  uint32_t DeviceOf(const DeviceKey& key) {
    const auto [it, added] = devices_.try_emplace(key, static_cast<uint32_t>(out_.devices.size()));
    if (added) out_.devices.push_back(key);
    return it->second;
  }
  uint32_t StreamOf(uint32_t device, int64_t context, int64_t stream) {
    const auto [it, added] =
        streams_.try_emplace({device, context, stream}, static_cast<uint32_t>(out_.streams.size()));
    if (added) out_.streams.push_back({device, context, stream});
    return it->second;
  }

  // Devices were numbered as they came; people expect them by rank and index.
  void SortDevices() {
    std::vector<uint32_t> place(out_.devices.size());
    uint32_t next = 0;
    for (const auto& [key, old] : devices_) {
      place[old] = next;
      out_.devices[next++] = key;
    }
    for (uint32_t& device : out_.work.device) device = place[device];
    for (TimelineFacts::Stream& stream : out_.streams) stream.device = place[stream.device];
  }

  const RunData& data_;
  TimelineFacts& out_;
  std::vector<Item> items_;
  std::vector<int32_t> rank_of_thread_;
  std::map<DeviceKey, uint32_t> devices_;
  std::map<std::tuple<uint32_t, int64_t, int64_t>, uint32_t> streams_;
};

// From the start of the program or the first CPU sample to the end of the last; without times, the sum of
// the weights of the busiest thread.
void FindSampleBounds(const RunData& data, int64_t& low, int64_t& high) {
  const CpuSampleView& samples = data.cpu_sample;
  std::map<ThreadId, int64_t> sum_of_thread;
  int64_t busiest = 0;
  for (size_t i = 0; i < samples.start_ns.size(); ++i) {
    const int64_t weight = IsNull(samples.weight_ns[i]) ? 0 : samples.weight_ns[i];
    if (IsNull(samples.start_ns[i])) {
      int64_t& sum = sum_of_thread[samples.thread_id[i]];
      if (__builtin_add_overflow(sum, weight, &sum)) sum = INT64_MAX;
      busiest = std::max(busiest, sum);
      continue;
    }
    low = std::min(low, samples.start_ns[i]);
    high = std::max(high, samples.start_ns[i] + weight);
  }
  const ThreadLifeView& lives = data.thread_life;
  for (size_t i = 0; i < lives.start_ns.size(); ++i) {
    if (IsNull(lives.start_ns[i]) || IsNull(lives.dur_ns[i])) continue;
    low = std::min(low, lives.start_ns[i]);
    high = std::max(high, lives.start_ns[i] + lives.dur_ns[i]);
  }
  if (high < low && busiest > 0) low = 0, high = busiest;
}

}  // namespace

void BuildDeviceWork(const RunData& data, TimelineFacts& out) { DeviceWorkBuilder(data, out).Build(); }

void FindBounds(const RunData& data, TimelineFacts& out) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  const auto widen = [&](const auto& t) {
    for (size_t i = 0; i < t.start_ns.size(); ++i) {
      if (IsNull(t.start_ns[i]) || IsNull(t.dur_ns[i])) continue;
      low = std::min(low, t.start_ns[i]);
      high = std::max(high, t.start_ns[i] + std::max<int64_t>(t.dur_ns[i], 0));
    }
  };
  widen(data.kernel);
  widen(data.memcpy);
  widen(data.memset);
  widen(data.sync);
  widen(data.api_call);
  widen(data.op);
  widen(data.python_call);
  widen(data.range);
  const bool on_device =
      !data.kernel.start_ns.empty() || !data.memcpy.start_ns.empty() || !data.memset.start_ns.empty();
  if (!on_device && data.cpu_sample.start_ns.declared()) FindSampleBounds(data, low, high);
  if (high < low) low = high = 0;
  out.first_start_ns = low;
  out.last_end_ns = high;
}

}  // namespace nl
