// SPDX-License-Identifier: Apache-2.0
#pragma once
// CounterQueue: readings of counters on their way from the thread that takes them to the
// writer thread, with the sets that name them. The memory is fixed; what finds no room is
// refused and counted.
// Thread rule: AddSet and Put by the counter thread, TakeInto by the writer thread.

#include <cstdlib>

#include "capture/format/chunk_writer.h"
#include "capture/lib/system.h"

namespace nl::capture {

struct CounterSet {
  CounterSetEntry entry{};
  const char* names[kMaxCounters] = {};  // of static storage
};

struct CounterReading {
  CounterValuesEntry entry{};
  float values[kMaxCounters] = {};
};

class CounterQueue {
 public:
  static constexpr size_t kMost = 1u << 15;  // 5 MB; 0.6 s of one device at 20 us
  static constexpr size_t kMostSets = 64;

  CounterQueue() = default;
  ~CounterQueue() { std::free(readings_); }
  CounterQueue(const CounterQueue&) = delete;
  CounterQueue& operator=(const CounterQueue&) = delete;

  bool AddSet(const CounterSet& set) {
    const Locked lock(mutex_);
    if (set_count_ == kMostSets) return false;
    sets_[set_count_++] = set;
    return true;
  }

  void Put(const CounterReading& reading) {
    const Locked lock(mutex_);
    if (readings_ == nullptr)
      readings_ = static_cast<CounterReading*>(std::malloc(kMost * sizeof(CounterReading)));
    if (readings_ == nullptr || count_ == kMost) {
      ++refused_;
      return;
    }
    readings_[(first_ + count_++) % kMost] = reading;
  }

  void TakeInto(ChunkWriter& writer) {
    for (CounterSet set; TakeSet(set);) {
      uint32_t names[kMaxCounters];
      for (uint32_t i = 0; i < set.entry.count; ++i) names[i] = writer.String(set.names[i]);
      writer.AddCounterSet(set.entry, names);
    }
    CounterReading some[64];
    for (size_t n; (n = TakeSome(some)) > 0;) {
      for (size_t i = 0; i < n; ++i) writer.AddCounterValues(some[i].entry, some[i].values);
    }
    const Locked lock(mutex_);
    writer.CountLoss(LossWhat::kBufferLimit, ChunkKind::kCounterValues, refused_);
    refused_ = 0;
  }

  size_t memory_bytes() {
    const Locked lock(mutex_);
    return readings_ == nullptr ? 0 : kMost * sizeof(CounterReading);
  }

 private:
  bool TakeSet(CounterSet& to) {
    const Locked lock(mutex_);
    if (sets_taken_ == set_count_) return false;
    to = sets_[sets_taken_++];
    if (sets_taken_ == set_count_) sets_taken_ = set_count_ = 0;
    return true;
  }
  template <size_t kSome>
  size_t TakeSome(CounterReading (&to)[kSome]) {
    const Locked lock(mutex_);
    const size_t n = count_ < kSome ? count_ : kSome;
    for (size_t i = 0; i < n; ++i) to[i] = readings_[(first_ + i) % kMost];
    first_ = (first_ + n) % kMost;
    count_ -= n;
    return n;
  }

  Mutex mutex_;
  CounterSet sets_[kMostSets];
  size_t set_count_ = 0, sets_taken_ = 0;
  CounterReading* readings_ = nullptr;  // a ring
  size_t first_ = 0, count_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace nl::capture
