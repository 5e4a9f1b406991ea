// SPDX-License-Identifier: Apache-2.0
// Readings of counters: clocks and power become rows over time; samples of the hardware become
// rows over time and, by the kernel they were taken in, counters of kernels. One real reading
// (CUPTI 13.0, H200, in a softmax):
//   [..., +99,999 ns] sm__cycles_active 96.9 %, dram__bytes_read 83,079,477, lts__t_sectors 7,792,856, ...

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <unordered_map>

#include "import/adapters/nlcap/capture_file.h"
#include "import/adapters/nlcap/counter_totals.h"

namespace nl::adapters::nlcap {

namespace {

using capture::CounterClock;
using capture::CounterSetEntry;
using capture::CounterSource;
using capture::CounterValuesEntry;

// Rows over time are means of this long, unless readings are longer.
constexpr int64_t kRowNs = 1'000'000;
// A reading that one kernel fills less than this says too little of it.
constexpr double kLeastBusy = 0.9;
// An execution with samples for this share of its time has counters of its own.
constexpr double kOwnShare = 0.5;

// Role, its name over time, and what it is multiplied by: counts become rates of nanoseconds.
struct Series {
  CounterRole role;
  const char* name;
  double factor = 1;
};
constexpr Series kSeries[] = {{CounterRole::kSmActive, "sm_active_pct"},
                              {CounterRole::kTensorActive, "tensor_active_pct"},
                              {CounterRole::kWarpsActive, "warps_active_pct"},
                              {CounterRole::kDramThroughput, "dram_throughput_pct"},
                              {CounterRole::kDramRead, "dram_read_gb_s"},
                              {CounterRole::kDramWrite, "dram_write_gb_s"},
                              {CounterRole::kPcieRead, "pcie_read_gb_s"},
                              {CounterRole::kPcieWrite, "pcie_write_gb_s"},
                              {CounterRole::kSmCycles, "sm_clock_sampled_mhz", 1000}};

struct CounterSet {
  CounterSetEntry entry{};
  std::vector<StringId> names;
  std::vector<RoleOf> roles;
};

// Rows of table counter_sample of one device: readings averaged over kRowNs, a null where
// sampling stopped for a while.
class OverTime {
 public:
  OverTime(CaptureFile& c, const Stream& stream, uint32_t device, int64_t first_ns, int64_t last_ns)
      : c_(c), stream_(stream), device_(device), first_ns_(first_ns), last_ns_(last_ns) {
    for (const Series& series : kSeries) names_.push_back(c.writer.strings().Add(series.name));
  }

  void Add(const CounterValuesEntry& entry, const RoleValues& values) {
    if (length_ns_ > 0 && entry.start_ns > end_ns_ + (entry.end_ns - entry.start_ns)) {
      Put();
      PutNull();
    }
    if (length_ns_ == 0) start_ns_ = entry.start_ns;
    end_ns_ = entry.end_ns;
    length_ns_ += entry.end_ns - entry.start_ns;
    for (size_t i = 0; i < kRoles; ++i) {
      const auto ns = static_cast<double>(entry.end_ns - entry.start_ns);
      sums_[i] += IsCount(i) ? values.values[i] : values.values[i] * ns;
    }
    if (length_ns_ >= kRowNs) Put();
  }
  void Finish() {
    if (length_ns_ > 0) Put();
    if (end_ns_ > 0) PutNull();
  }

 private:
  void Put() {
    for (size_t i = 0; i < std::size(kSeries); ++i) {
      const double sum = sums_[static_cast<size_t>(kSeries[i].role)];
      shown_[i] = !std::isnan(sum);
      if (shown_[i]) Row(start_ns_, i, sum / static_cast<double>(length_ns_) * kSeries[i].factor);
    }
    sums_.fill(0);
    length_ns_ = 0;
  }
  void PutNull() {
    for (size_t i = 0; i < std::size(kSeries); ++i) {
      if (shown_[i]) Row(end_ns_, i, NullOf<double>::value);
    }
    shown_.fill(false);
  }
  void Row(int64_t gpu_ns, size_t series, double value) {
    const auto host_ns = stream_.clock.ToHost(gpu_ns);
    if (!host_ns) return;
    CounterSampleRow r;
    r.start_ns = *host_ns + stream_.shift_ns;
    // Outside of the program's own events it would count as time of the run.
    if (r.start_ns < first_ns_ || r.start_ns > last_ns_) return;
    r.thread_id = c_.lanes.Device(stream_.file.pid, device_, "GPU counters");
    r.name = names_[series];
    r.value = value;
    c_.writer.batch.counter_sample.Add(r);
  }

  CaptureFile& c_;
  const Stream& stream_;
  const uint32_t device_;
  const int64_t first_ns_, last_ns_;
  std::vector<StringId> names_;
  int64_t start_ns_ = 0, end_ns_ = 0, length_ns_ = 0;
  std::array<double, kRoles> sums_{};
  std::array<bool, std::size(kSeries)> shown_{};
};

// The kernels of one device and what the readings say of them.
class DeviceCounters {
 public:
  explicit DeviceCounters(std::vector<Execution>& executions)
      : executions_(Sorted(executions)), attributor_(executions_) {}

  void Add(const CounterValuesEntry& entry, const RoleValues& values) {
    const Attribution got = attributor_.Next({entry.start_ns, entry.end_ns});
    if (got.fit == Fit::kMixed) ++shared_;
    if (got.fit == Fit::kIdle || got.fit == Fit::kMixed) return;
    const uint32_t kernel = executions_[got.execution].kernel;
    const int64_t ns = entry.end_ns - entry.start_ns;
    if (got.fit == Fit::kWhole) {
      whole_[kernel].Add(values, ns, entry.samples, 1);
      own_[executions_[got.execution].row].Add(values, ns, entry.samples, 1);
    } else if (got.busy >= kLeastBusy) {
      partly_[kernel].Add(values, ns, entry.samples, got.busy);
    }
  }

  // Rows in the order of the kernels.
  Status Put(CaptureFile& c) {
    std::sort(executions_.begin(), executions_.end(),
              [](const Execution& a, const Execution& b) { return a.row < b.row; });
    std::unordered_map<uint32_t, bool> unsampled;
    for (const Execution& e : executions_) {
      if (e.kernel == 0 || e.end_ns <= e.start_ns) continue;
      bool is_own = false;
      const CounterTotals* totals = TotalsOf(e, is_own);
      if (totals == nullptr) {
        unsampled[e.kernel] = true;
        continue;
      }
      PutRow(c, e, *totals, is_own);
      NL_TRY(c.writer.Flow());
    }
    if (shared_ > 0) c.file.counters.Add(kSharedReading, -1, {}, shared_);
    if (!unsampled.empty()) c.file.counters.Add(kNotSampled, -1, {}, static_cast<int64_t>(unsampled.size()));
    return {};
  }

 private:
  static std::vector<Execution>& Sorted(std::vector<Execution>& executions) {
    std::stable_sort(executions.begin(), executions.end(),
                     [](const Execution& a, const Execution& b) { return a.start_ns < b.start_ns; });
    return executions;
  }

  const CounterTotals* TotalsOf(const Execution& e, bool& is_own) const {
    const auto own = own_.find(e.row);
    is_own =
        own != own_.end() && own->second.busy_ns() >= kOwnShare * static_cast<double>(e.end_ns - e.start_ns);
    if (is_own) return &own->second;
    if (const auto all = whole_.find(e.kernel); all != whole_.end()) return &all->second;
    const auto parts = partly_.find(e.kernel);
    return parts == partly_.end() ? nullptr : &parts->second;
  }

  static void PutRow(CaptureFile& c, const Execution& e, const CounterTotals& totals, bool is_own) {
    StringPool& strings = c.writer.strings();
    KernelCounterRow row;
    row.kernel_id = static_cast<RowId>(e.row);
    row.source = strings.Add("pm_sampling");
    row.joined_by = strings.Add(is_own ? "recorded" : "same_kernel");
    totals.Fill(e.end_ns - e.start_ns, row);
    c.writer.batch.kernel_counter.Add(row);
    KernelMetricRow samples;
    samples.kernel_id = row.kernel_id;
    samples.section = strings.Add("PM sampling");
    samples.name = strings.Add("samples");
    samples.value = static_cast<double>(totals.samples());
    c.writer.batch.kernel_metric.Add(samples);
  }

  std::vector<Execution>& executions_;
  Attributor attributor_;
  int64_t shared_ = 0;
  std::unordered_map<uint32_t, CounterTotals> whole_, partly_;  // by kernel
  std::unordered_map<int64_t, CounterTotals> own_;              // by row
};

class CounterReader {
 public:
  explicit CounterReader(CaptureFile& c) : c_(c) {}

  Status Read() {
    // What was read so far counts for where the run begins and ends.
    NL_TRY(c_.writer.Flush());
    first_ns_ = c_.file.facts.first_start_ns();
    last_ns_ = c_.file.facts.last_end_ns();
    NL_TRY(c_.ForEachChunk(capture::ChunkKind::kCounterSet, [&](Stream& stream, const capture::Chunk& chunk) {
      return capture::ForEachCounterEntry<CounterSetEntry, uint32_t>(
          chunk, [&](const CounterSetEntry& e, const uint32_t* names) { TakeSet(stream, e, names); });
    }));
    NL_TRY(
        c_.ForEachChunk(capture::ChunkKind::kCounterValues, [&](Stream& stream, const capture::Chunk& chunk) {
          const auto place = static_cast<int64_t>(chunk.offset);
          return capture::ForEachCounterEntry<CounterValuesEntry, float>(
              chunk, [&](const CounterValuesEntry& e, const float* values) {
                TakeValues(stream, e, values, place);
              });
        }));
    for (auto& [key, series] : over_time_) series.Finish();
    for (auto& [key, device] : devices_) NL_TRY(device.Put(c_));
    return {};
  }

 private:
  int64_t KeyOf(const Stream& stream) const { return &stream - c_.streams.data(); }

  void TakeSet(Stream& stream, const CounterSetEntry& entry, const uint32_t* names) {
    CounterSet set{entry, {}, {}};
    for (uint32_t i = 0; i < entry.count; ++i) {
      set.names.push_back(c_.Text(stream, names[i]));
      set.roles.push_back(FindRole(c_.RawText(stream, names[i])));
    }
    sets_[{KeyOf(stream), entry.id}] = std::move(set);
  }

  void TakeValues(Stream& stream, const CounterValuesEntry& entry, const float* values, int64_t place) {
    const auto found = sets_.find({KeyOf(stream), entry.set});
    if (found == sets_.end() || found->second.entry.count != entry.count || entry.end_ns < entry.start_ns)
      return c_.file.counters.Add(kBadRecord, place);
    const CounterSet& set = found->second;
    if (set.entry.source != CounterSource::kPmSampling) return PutInstant(stream, set, entry, values, place);
    if (entry.end_ns == entry.start_ns || entry.end_ns - entry.start_ns > kMostNs / 4 || entry.samples == 0)
      return c_.file.counters.Add(kBadRecord, place);
    RoleValues by_role;
    for (uint32_t i = 0; i < entry.count; ++i) {
      const RoleOf& is = set.roles[i];
      if (is.role == CounterRole::kNone) continue;
      const auto role = static_cast<size_t>(is.role);
      // Samples in a row in which nothing happened are one reading with their mean.
      by_role.values[role] = values[i] * is.factor * (IsCount(role) ? entry.samples : 1);
    }
    const std::pair key{KeyOf(stream), set.entry.device};
    over_time_.try_emplace(key, c_, stream, set.entry.device, first_ns_, last_ns_)
        .first->second.Add(entry, by_role);
    devices_.try_emplace(key, c_.executions[key]).first->second.Add(entry, by_role);
  }

  void PutInstant(Stream& stream, const CounterSet& set, const CounterValuesEntry& entry, const float* values,
                  int64_t place) {
    const auto time_ns = set.entry.clock == CounterClock::kGpu ? c_.GpuTime(stream, entry.start_ns, place)
                                                               : c_.HostTime(stream, entry.start_ns, place);
    if (!time_ns || *time_ns < first_ns_ || *time_ns > last_ns_) return;
    for (uint32_t i = 0; i < entry.count; ++i) {
      if (std::isnan(values[i])) continue;
      CounterSampleRow r;
      r.thread_id = c_.lanes.Device(stream.file.pid, set.entry.device, "GPU counters");
      r.start_ns = *time_ns;
      r.name = set.names[i];
      r.value = values[i];
      c_.writer.batch.counter_sample.Add(r);
    }
  }

  CaptureFile& c_;
  int64_t first_ns_ = 0, last_ns_ = 0;
  std::map<std::pair<int64_t, uint32_t>, CounterSet> sets_;     // stream, id
  std::map<std::pair<int64_t, uint32_t>, OverTime> over_time_;  // stream, device
  std::map<std::pair<int64_t, uint32_t>, DeviceCounters> devices_;
};

}  // namespace

Status ReadCounters(CaptureFile& c) {
  // Of recordings before there were sets.
  CounterSampleColumns& samples = c.writer.batch.counter_sample;
  NL_TRY(c.ForEach<capture::CounterSampleRecord>(
      [&](Stream& stream, const capture::CounterSampleRecord& s, int64_t place) {
        const auto time_ns = s.clock == CounterClock::kGpu ? c.GpuTime(stream, s.start_ns, place)
                                                           : c.HostTime(stream, s.start_ns, place);
        if (!time_ns) return;
        CounterSampleRow r;
        r.thread_id = c.lanes.Device(stream.file.pid, s.device, "GPU counters");
        r.start_ns = *time_ns;
        r.name = c.Text(stream, s.name);
        r.value = s.value;
        samples.Add(r);
      }));
  return CounterReader(c).Read();
}

}  // namespace nl::adapters::nlcap
