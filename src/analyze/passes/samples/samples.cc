// SPDX-License-Identifier: Apache-2.0
// Two walks over the samples: one sums by stack and by thread, one divides the wall time of a run without
// device work into bins.

#include "analyze/facts/samples.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyze/facts/timeline.h"
#include "analyze/pass.h"
#include "analyze/passes/samples/sampled_stacks.h"
#include "base/units.h"

namespace nl {

namespace passes::samples {

namespace {

constexpr int64_t kLeastBinNs = 100'000'000;
constexpr int64_t kMostBins = 2000;

// Samples of one unit: times where there are any, else counts. Bytes are not time.
class Weights {
 public:
  explicit Weights(const RunData& data) : samples_(data.cpu_sample) {
    for (size_t i = 0; i < samples_.weight_ns.size() && !timed_; ++i) timed_ = !IsNull(samples_.weight_ns[i]);
    bytes_.assign(data.cpu_sample.unit.size(), 0);
    std::unordered_map<uint32_t, bool> is_bytes;
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (IsNull(samples_.unit[i])) continue;
      const auto [it, added] = is_bytes.try_emplace(static_cast<uint32_t>(samples_.unit[i]), false);
      if (added) it->second = data.Text(samples_.unit[i]) != "samples";
      bytes_[i] = it->second ? 1 : 0;
    }
  }
  bool timed() const { return timed_; }
  // 0: not to be counted.
  int64_t Of(size_t i) const {
    if (timed_) return IsNull(samples_.weight_ns[i]) ? 0 : std::max<int64_t>(0, samples_.weight_ns[i]);
    if (bytes_[i] != 0) return 0;
    return IsNull(samples_.weight[i]) ? 1 : std::max<int64_t>(0, samples_.weight[i]);
  }

 private:
  const CpuSampleView& samples_;
  std::vector<uint8_t> bytes_;
  bool timed_ = false;
};

void AddTo(int64_t& sum, int64_t weight) {
  if (__builtin_add_overflow(sum, weight, &sum)) sum = INT64_MAX;
}

struct FunctionSum {
  int64_t self = 0, total = 0, samples = 0;
  std::map<int64_t, std::pair<int64_t, int64_t>> lines;  // self and total of each
};
struct ThreadSum {
  int64_t running = 0, waiting = 0, samples = 0, first_ns = INT64_MAX;
};
struct WaitSum {
  int64_t weight = 0, samples = 0;
  std::set<ThreadId> threads;
};
using WaitKey = std::pair<std::string, std::string>;  // what, where

class Summary {
 public:
  Summary(const RunData& data, const TimelineFacts& timeline)
      : data_(data), timeline_(timeline), weights_(data), stacks_(*data.strings) {}

  SamplesFacts Make() {
    const CpuSampleView& samples = data_.cpu_sample;
    for (size_t i = 0; i < samples.stack.size(); ++i) Take(i);
    SamplesFacts out;
    out.samples = taken_;
    if (taken_ == 0) return out;
    out.running_ms = Time(running_);
    out.waiting_ms = Time(waiting_);
    PutFunctions(out);
    PutThreads(out);
    out.waits = WaitRows(waits_, SamplesFacts::kMaxWaits);
    if (weights_.timed() && timeline_.devices.empty() && timeline_.wall_ns() > 0) out.time = WallTime();
    return out;
  }

 private:
  std::optional<double> Time(int64_t weight) const {
    return weights_.timed() ? std::optional(Ms(weight)) : std::nullopt;
  }

  void Take(size_t i) {
    const CpuSampleView& samples = data_.cpu_sample;
    const int64_t weight = weights_.Of(i);
    if (weight <= 0) return;
    ++taken_;
    const SampledStack& stack = stacks_.Of(samples.stack[i]);
    ThreadSum& thread = threads_[samples.thread_id[i]];
    ++thread.samples;
    if (!IsNull(samples.start_ns[i])) thread.first_ns = std::min(thread.first_ns, samples.start_ns[i]);
    if (stack.waits) {
      AddTo(thread.waiting, weight);
      AddTo(waiting_, weight);
      WaitSum& wait = waits_[{stack.what, stack.where}];
      AddTo(wait.weight, weight);
      ++wait.samples;
      wait.threads.insert(samples.thread_id[i]);
      return;
    }
    AddTo(thread.running, weight);
    AddTo(running_, weight);
    functions_.resize(std::max(functions_.size(), stacks_.functions().size()));
    for (const auto& [function, line] : stack.functions) {
      FunctionSum& sum = functions_[function];
      AddTo(sum.total, weight);
      ++sum.samples;
      const bool self = function == stack.leaf || function == stack.python_leaf;
      if (self) AddTo(sum.self, weight);
      if (line < 0) continue;
      auto& [line_self, line_total] = sum.lines[line];
      if (self) AddTo(line_self, weight);
      AddTo(line_total, weight);
    }
  }

  void PutFunctions(SamplesFacts& out) const {
    std::vector<uint32_t> order;
    for (uint32_t f = 0; f < functions_.size(); ++f) {
      if (functions_[f].total > 0) order.push_back(f);
    }
    const auto key = [&](uint32_t f) { return std::tie(functions_[f].self, functions_[f].total); };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) > key(b); });
    out.functions_total = static_cast<int64_t>(order.size());
    order.resize(std::min(order.size(), SamplesFacts::kMaxFunctions));
    const auto all = static_cast<double>(std::max<int64_t>(1, running_));
    for (const uint32_t f : order) {
      const FunctionSum& sum = functions_[f];
      SampledFunction row;
      row.name = stacks_.functions()[f].name;
      row.file = KnownText(stacks_.functions()[f].place);
      row.language = stacks_.functions()[f].language;
      std::pair<int64_t, int64_t> most{-1, -1};
      for (const auto& [line, weight] : sum.lines) {
        if (weight <= most) continue;
        most = weight;
        row.line = line;
      }
      row.samples = sum.samples;
      row.self_ms = Time(sum.self);
      row.total_ms = Time(sum.total);
      row.self_share = static_cast<double>(sum.self) / all;
      row.total_share = static_cast<double>(sum.total) / all;
      out.functions.push_back(std::move(row));
    }
  }

  void PutThreads(SamplesFacts& out) {
    main_ = MainThread();
    std::vector<ThreadId> order;
    for (const auto& [thread, sum] : threads_) order.push_back(thread);
    std::stable_sort(order.begin(), order.end(), [&](ThreadId a, ThreadId b) {
      const ThreadSum &x = threads_.at(a), &y = threads_.at(b);
      return std::tie(x.running, x.waiting) > std::tie(y.running, y.waiting);
    });
    out.threads_total = static_cast<int64_t>(order.size());
    std::map<ThreadId, size_t> life_of;
    int64_t held_ns = 0, wait_ns = 0, most_ns = -1;
    const ThreadLifeView& lives = data_.thread_life;
    for (size_t i = 0; i < lives.thread_id.size(); ++i) {
      life_of[lives.thread_id[i]] = i;
      if (IsNull(lives.gil_held_ns[i])) continue;
      AddTo(held_ns, lives.gil_held_ns[i]);
      AddTo(wait_ns, IsNull(lives.gil_wait_ns[i]) ? 0 : lives.gil_wait_ns[i]);
      out.gil_held_ms = Ms(held_ns);
      out.gil_wait_ms = Ms(wait_ns);
      if (lives.gil_held_ns[i] > most_ns && !IsNull(lives.gil_holder[i])) {
        most_ns = lives.gil_held_ns[i];
        out.gil_holder = std::string(data_.Text(lives.gil_holder[i]));
      }
    }
    order.resize(std::min(order.size(), SamplesFacts::kMaxThreads));
    for (const ThreadId thread : order) {
      SampledThread row = Described(thread);
      row.samples = threads_.at(thread).samples;
      row.running_ms = Time(threads_.at(thread).running);
      row.waiting_ms = Time(threads_.at(thread).waiting);
      if (const auto life = life_of.find(thread);
          life != life_of.end() && !IsNull(lives.gil_held_ns[life->second])) {
        row.gil_held_ms = Ms(lives.gil_held_ns[life->second]);
        if (!IsNull(lives.gil_wait_ns[life->second])) row.gil_wait_ms = Ms(lives.gil_wait_ns[life->second]);
        if (!IsNull(lives.gil_holder[life->second]))
          row.gil_holder = std::string(data_.Text(lives.gil_holder[life->second]));
      }
      out.threads.push_back(std::move(row));
    }
  }

  SampledThread Described(ThreadId thread) const {
    SampledThread row;
    row.main = thread == main_;
    const auto at = static_cast<size_t>(thread);
    if (IsNull(thread) || at >= data_.thread.tid.size()) return row;
    if (!IsNull(data_.thread.name[at])) row.name = std::string(data_.Text(data_.thread.name[at]));
    row.tid = Known(data_.thread.tid[at]);
    const auto process = static_cast<size_t>(data_.thread.process_id[at]);
    if (!IsNull(data_.thread.process_id[at]) && process < data_.process.name.size() &&
        !IsNull(data_.process.name[process]))
      row.process = std::string(data_.Text(data_.process.name[process]));
    return row;
  }

  // The first main thread of a process that was sampled; else the thread with the most samples.
  ThreadId MainThread() const {
    ThreadId best = ThreadId::kNull, busiest = ThreadId::kNull;
    int64_t first_ns = INT64_MAX, most = -1;
    for (const auto& [thread, sum] : threads_) {
      if (sum.samples > most) {
        most = sum.samples;
        busiest = thread;
      }
      const auto at = static_cast<size_t>(thread);
      if (IsNull(thread) || at >= data_.thread.tid.size() || IsNull(data_.thread.process_id[at])) continue;
      const auto process = static_cast<size_t>(data_.thread.process_id[at]);
      const bool is_main = process < data_.process.pid.size() && !IsNull(data_.thread.tid[at]) &&
                           data_.process.pid[process] == data_.thread.tid[at];
      if (!is_main || sum.first_ns >= first_ns) continue;
      first_ns = sum.first_ns;
      best = thread;
    }
    return IsNull(best) ? busiest : best;
  }

  static std::vector<SampledWait> WaitRows(const std::map<WaitKey, WaitSum>& sums, size_t rows) {
    std::vector<SampledWait> out;
    for (const auto& [key, sum] : sums) {
      out.push_back({key.first, KnownText(key.second), static_cast<int64_t>(sum.threads.size()), sum.samples,
                     Ms(sum.weight)});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const SampledWait& a, const SampledWait& b) { return a.ms > b.ms; });
    out.resize(std::min(out.size(), rows));
    return out;
  }

  // Calls fn(bin, ns) for the bins of [from_ns, to_ns).
  template <class Fn>
  void EachBin(int64_t from_ns, int64_t to_ns, const Fn& fn) const {
    from_ns = std::clamp<int64_t>(from_ns - timeline_.first_start_ns, 0, timeline_.wall_ns());
    to_ns = std::clamp<int64_t>(to_ns - timeline_.first_start_ns, 0, timeline_.wall_ns());
    while (from_ns < to_ns) {
      const int64_t bin = from_ns / bin_ns_, end_ns = std::min(to_ns, (bin + 1) * bin_ns_);
      fn(static_cast<size_t>(bin), end_ns - from_ns);
      from_ns = end_ns;
    }
  }

  // Sums of samples without times stand for the whole run.
  SampledTime WallTime() {
    const int64_t wall_ns = timeline_.wall_ns();
    bin_ns_ = std::max(kLeastBinNs, wall_ns / kMostBins + 1);
    const auto bins = static_cast<size_t>((wall_ns + bin_ns_ - 1) / bin_ns_);
    std::vector<std::array<double, 3>> running(bins, std::array<double, 3>{});
    std::vector<double> main_running(bins, 0.0);
    std::vector<double> free(bins, 1.0);  // share of the main thread's waits in which no other thread runs
    std::vector<std::pair<size_t, int64_t>> main_waits;
    const CpuSampleView& samples = data_.cpu_sample;
    for (size_t i = 0; i < samples.stack.size(); ++i) {
      const int64_t weight = weights_.Of(i);
      if (weight <= 0) continue;
      const SampledStack& stack = stacks_.Of(samples.stack[i]);
      const int64_t start_ns = IsNull(samples.start_ns[i]) ? timeline_.first_start_ns : samples.start_ns[i];
      if (stack.waits && samples.thread_id[i] == main_) main_waits.emplace_back(i, start_ns);
      if (stack.waits) continue;
      const auto kind = static_cast<size_t>(stack.runs_in);
      const bool main = samples.thread_id[i] == main_;
      EachBin(start_ns, start_ns + weight, [&](size_t bin, int64_t ns) {
        running[bin][kind] += static_cast<double>(ns);
        if (main) main_running[bin] += static_cast<double>(ns);
      });
    }
    SampledTime out;
    double waited_ns = 0;
    for (size_t bin = 0; bin < bins; ++bin) {
      const auto length =
          static_cast<double>(std::min(bin_ns_, wall_ns - static_cast<int64_t>(bin) * bin_ns_));
      const double sum = running[bin][0] + running[bin][1] + running[bin][2];
      const double scale = sum > length ? length / sum : 1;
      out.python_ms += running[bin][0] * scale / 1e6;
      out.native_ms += running[bin][1] * scale / 1e6;
      out.system_ms += running[bin][2] * scale / 1e6;
      const double others = sum - main_running[bin], left = length - main_running[bin];
      free[bin] = others <= 0 ? 1 : left <= 0 ? 0 : std::max(0.0, 1 - others / left);
      waited_ns += length - sum * scale;
    }
    DivideWaits(main_waits, free, waited_ns, out);
    return out;
  }

  // The time in which nothing runs, by what the main thread waits for then.
  void DivideWaits(const std::vector<std::pair<size_t, int64_t>>& main_waits, const std::vector<double>& free,
                   double waited_ns, SampledTime& out) {
    std::map<WaitKey, WaitSum> sums;
    int64_t sum_ns = 0;
    for (const auto& [i, start_ns] : main_waits) {
      double ns = 0;
      EachBin(start_ns, start_ns + weights_.Of(i),
              [&](size_t bin, int64_t part_ns) { ns += static_cast<double>(part_ns) * free[bin]; });
      const SampledStack& stack = stacks_.Of(data_.cpu_sample.stack[i]);
      WaitSum& wait = sums[{stack.what, stack.where}];
      AddTo(wait.weight, static_cast<int64_t>(ns));
      ++wait.samples;
      wait.threads.insert(main_);
      AddTo(sum_ns, static_cast<int64_t>(ns));
    }
    const double scale =
        static_cast<double>(sum_ns) > waited_ns ? waited_ns / static_cast<double>(sum_ns) : 1;
    out.waits = WaitRows(sums, SamplesFacts::kMaxWaits);
    double told_ms = 0;
    for (SampledWait& wait : out.waits) {
      wait.ms *= scale;
      told_ms += wait.ms;
    }
    out.unsampled_ms = std::max(0.0, waited_ns / 1e6 - told_ms);
  }

  const RunData& data_;
  const TimelineFacts& timeline_;
  const Weights weights_;
  SampledStacks stacks_;
  std::vector<FunctionSum> functions_;
  std::map<ThreadId, ThreadSum> threads_;
  std::map<WaitKey, WaitSum> waits_;
  ThreadId main_ = ThreadId::kNull;
  int64_t taken_ = 0, running_ = 0, waiting_ = 0, bin_ns_ = kLeastBinNs;
};

class SamplesPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {SamplesFacts::kName,
            "Which functions the CPU samples are in, and what threads wait for",
            {TimelineFacts::kName},
            NL_READS(CpuSample, thread_id, start_ns, stack, weight_ns, weight, unit) |
                NL_READS(Thread, process_id, tid, name) | NL_READS(Process, pid, name) |
                NL_READS(ThreadLife, thread_id, gil_held_ns, gil_wait_ns, gil_holder),
            &RecordOf<SamplesFacts>};
  }
  Status Run(const RunData& data, const AnalysisOptions&, FactBoard& facts) const override {
    facts.Put(Summary(data, facts.Get<TimelineFacts>()).Make());
    return {};
  }
  nl::Described Section(const RunData&, const FactBoard& facts) const override {
    const auto& out = facts.Get<SamplesFacts>();
    return out.samples == 0 ? nl::Described() : nl::Described::Of(out);
  }
};

}  // namespace

const Pass& Describe() {
  static const SamplesPass pass;
  return pass;
}

}  // namespace passes::samples

}  // namespace nl
