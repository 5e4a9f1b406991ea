// SPDX-License-Identifier: Apache-2.0
#include "analyze/program/main_thread.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace nl::program {

namespace {

class MainThreadFinder {
 public:
  MainThreadFinder(const RunData& data, const TimelineFacts& timeline) : data_(data), t_(timeline) {}

  MainThread Find() {
    MainThread out;
    out.thread = Launching();
    if (IsNull(out.thread)) out.thread = OfProgram();
    if (IsNull(out.thread)) out.thread = MostSampled();
    if (IsNull(out.thread)) out.thread = MostRecorded();
    if (IsNull(out.thread)) return out;
    out.first = FirstOf(PidOf(out.thread));
    const ThreadLifeView& lives = data_.thread_life;
    for (size_t i = 0; i < lives.thread_id.size(); ++i) {
      if (!IsNull(lives.start_ns[i]) && PidOf(lives.thread_id[i]) == PidOf(out.thread))
        out.start_ns = std::min(out.start_ns, lives.start_ns[i]);
    }
    const CpuSampleView& samples = data_.cpu_sample;
    for (size_t i = 0; i < samples.thread_id.size(); ++i) {
      const ThreadId thread = samples.thread_id[i];
      if (!IsNull(thread) && (thread == out.thread || thread == out.first) && !IsNull(samples.start_ns[i]))
        out.start_ns = std::min(out.start_ns, samples.start_ns[i]);
    }
    return out;
  }

 private:
  // Null where processes are not known: then all threads are of one.
  int64_t PidOf(ThreadId thread) const {
    const auto at = static_cast<size_t>(thread);
    if (IsNull(thread) || at >= data_.thread.process_id.size() || IsNull(data_.thread.process_id[at]))
      return NullOf<int64_t>::value;
    const auto process = static_cast<size_t>(data_.thread.process_id[at]);
    return process < data_.process.pid.size() ? data_.process.pid[process] : NullOf<int64_t>::value;
  }

  // The thread with the number of its process; null where that is not known.
  ThreadId FirstOf(int64_t pid) const {
    for (size_t i = 0; i < data_.thread.tid.size() && !IsNull(pid); ++i) {
      const auto id = static_cast<ThreadId>(i);
      if (data_.thread.tid[i] == pid && PidOf(id) == pid) return id;
    }
    return ThreadId::kNull;
  }

  ThreadId Launching() const {
    std::unordered_map<uint32_t, std::pair<int64_t, uint32_t>> of_thread;  // launches, and the first one
    for (uint32_t i = 0; i < t_.work.size(); ++i) {
      const uint32_t launch = t_.work.launch[i];
      if (launch == kNone) continue;
      auto& [count, first] =
          of_thread.try_emplace(static_cast<uint32_t>(t_.host.thread[launch]), 0, launch).first->second;
      ++count;
      if (t_.host.start_ns[launch] < t_.host.start_ns[first]) first = launch;
    }
    std::map<int64_t, int64_t> of_process;
    for (const auto& [thread, launches] : of_thread)
      of_process[PidOf(static_cast<ThreadId>(thread))] += launches.first;
    const auto most = std::max_element(of_process.begin(), of_process.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    ThreadId out = ThreadId::kNull;
    int64_t first_ns = INT64_MAX;
    for (const auto& [thread, launches] : of_thread) {
      const int64_t start_ns = t_.host.start_ns[launches.second];
      const auto id = static_cast<ThreadId>(thread);
      if (PidOf(id) != most->first || std::tie(start_ns, id) >= std::tie(first_ns, out)) continue;
      first_ns = start_ns;
      out = id;
    }
    return out;
  }

  ThreadId OfProgram() const {
    const ThreadLifeView& lives = data_.thread_life;
    for (size_t i = 0; i < lives.thread_id.size(); ++i) {
      if (!IsNull(lives.start_ns[i])) return lives.thread_id[i];
    }
    return ThreadId::kNull;
  }

  ThreadId MostSampled() const {
    std::map<ThreadId, int64_t> count;
    for (const ThreadId thread : data_.cpu_sample.thread_id) {
      if (!IsNull(thread)) ++count[thread];
    }
    const auto most = std::max_element(count.begin(), count.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == count.end() ? ThreadId::kNull : most->first;
  }

  ThreadId MostRecorded() const {
    const auto most =
        std::max_element(t_.threads.begin(), t_.threads.end(),
                         [](const auto& a, const auto& b) { return a.last - a.first < b.last - b.first; });
    return most == t_.threads.end() ? ThreadId::kNull : most->thread;
  }

  const RunData& data_;
  const TimelineFacts& t_;
};

}  // namespace

MainThread FindMainThread(const RunData& data, const TimelineFacts& timeline) {
  return MainThreadFinder(data, timeline).Find();
}

}  // namespace nl::program
