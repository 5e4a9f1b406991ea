// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/counter_session.h"

#include <pthread.h>
#include <signal.h>
#include <new>

namespace nl::capture {

namespace {

constexpr int kReadMs = 10, kWaitMs = 1000;
constexpr int64_t kClocksNs = 100'000'000, kCheckNs = 1'000'000'000;
// Of one core; above it the counters are sampled less often.
constexpr double kMostCpuShare = 0.5;

}  // namespace

void CounterSession::Start(const CuptiLibrary& cupti, bool counters, bool clocks, uint32_t interval_us) {
  want_counters_ = counters;
  want_clocks_ = clocks;
  interval_us_ = interval_us;
  if (counters) {
    char problem[256];
    library_.GetResultString = cupti.call.GetResultString;
    if (!LoadPmSampling(cupti, library_.call, problem, sizeof problem)) {
      notes_.Say(MessageLevel::kWarning, problem);
      want_counters_ = false;
    }
  }
  if (!want_counters_ && !want_clocks_) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool made = pthread_create(&thread, nullptr, Main, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (made) pthread_detach(thread);
  started_.store(made, std::memory_order_release);
}

void CounterSession::Wake() {
  wake_.fetch_add(1, std::memory_order_release);
  WakeAll(wake_);
}

void CounterSession::SetOn(bool on) {
  if (on_.exchange(on, std::memory_order_acq_rel) != on) Wake();
}

void CounterSession::DeviceUsed(uint32_t device) {
  if (device >= kMostDevices) return;
  const uint64_t bit = uint64_t{1} << device;
  if ((used_.fetch_or(bit, std::memory_order_acq_rel) & bit) == 0) Wake();
}

void CounterSession::End(int64_t give_up_ns) {
  if (!started_.load(std::memory_order_acquire)) return;
  end_.store(true, std::memory_order_release);
  Wake();
  while (ended_.load(std::memory_order_acquire) == 0 && MonotonicNs() < give_up_ns) WaitWhile(ended_, 0, 100);
}

void* CounterSession::Main(void* self) {
  pthread_setname_np(pthread_self(), "neurolens count");
  static_cast<CounterSession*>(self)->Loop();
  return nullptr;
}

void CounterSession::Loop() {
  while (!end_.load(std::memory_order_acquire)) {
    const uint32_t seen = wake_.load(std::memory_order_acquire);
    Turn();
    cpu_ns_.store(ThreadCpuNs(), std::memory_order_relaxed);
    bool running = false;
    for (uint32_t i = 0; i < device_count_; ++i) running = running || devices_[i]->running();
    const bool reads_clocks = want_clocks_ && opened_ != 0 && on_.load(std::memory_order_acquire);
    WaitWhile(wake_, seen,
              running        ? kReadMs
              : reads_clocks ? static_cast<int>(kClocksNs / 1'000'000)
                             : kWaitMs);
  }
  for (uint32_t i = 0; i < device_count_; ++i) {
    devices_[i]->Close();
    missed_.fetch_add(devices_[i]->TakeMissed(), std::memory_order_relaxed);
  }
  cpu_ns_.store(ThreadCpuNs(), std::memory_order_relaxed);
  ended_.store(1, std::memory_order_release);
  WakeAll(ended_);
}

void CounterSession::OpenDevices() {
  const uint64_t fresh = used_.load(std::memory_order_acquire) & ~opened_;
  for (uint32_t device = 0; device < kMostDevices; ++device) {
    if ((fresh >> device & 1) == 0) continue;
    opened_ |= uint64_t{1} << device;
    if (want_clocks_) clocks_.Add(device, next_set_++, static_cast<uint32_t>(kClocksNs / 1'000'000));
    if (!want_counters_) continue;
    auto* made = new (std::nothrow) PmDevice(library_, notes_, queue_);
    if (made == nullptr) continue;
    if (made->Open(device, next_set_++, interval_us_))
      devices_[device_count_++] = made;
    else
      delete made;
  }
}

void CounterSession::Turn() {
  const bool on = on_.load(std::memory_order_acquire);
  if (on) OpenDevices();
  const int64_t now_ns = MonotonicNs();
  if (on && want_clocks_ && opened_ != 0 && now_ns - clocks_read_ns_ >= kClocksNs) {
    clocks_.Read();
    clocks_read_ns_ = now_ns;
  }
  for (uint32_t i = 0; i < device_count_; ++i) {
    PmDevice& device = *devices_[i];
    if (on && !device.running())
      device.Start();
    else if (on)
      device.Read();
    else
      device.Stop();
    missed_.fetch_add(device.TakeMissed(), std::memory_order_relaxed);
  }
  if (on) SlowDown();
}

void CounterSession::SlowDown() {
  const int64_t now_ns = MonotonicNs(), cpu_ns = ThreadCpuNs();
  if (now_ns - checked_ns_ < kCheckNs) return;
  const double share =
      static_cast<double>(cpu_ns - checked_cpu_ns_) / static_cast<double>(now_ns - checked_ns_);
  // The first stretch holds the start of CUPTI's libraries.
  const bool first = checked_ns_ == 0;
  checked_ns_ = now_ns;
  checked_cpu_ns_ = cpu_ns;
  if (first || share < kMostCpuShare) return;
  for (uint32_t i = 0; i < device_count_; ++i) {
    if (devices_[i]->running()) devices_[i]->Slow("reading them took over half a core");
  }
}

}  // namespace nl::capture
