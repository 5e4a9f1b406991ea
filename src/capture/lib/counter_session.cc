// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/counter_session.h"

#include <pthread.h>
#include <signal.h>
#include <new>

namespace nl::capture {

namespace {

constexpr int64_t kClocksNs = 100'000'000, kWaitNs = 1'000'000'000;
// With nothing to do until it is woken: a recorded program that rests is left alone.
constexpr int64_t kIdleNs = 3'600'000'000'000;
// Of one core, for all that a burst takes.
constexpr double kMostCpuShare = 0.1;

}  // namespace

void CounterSession::Start(const CuptiLibrary& cupti, bool counters, bool clocks, uint32_t interval_us,
                           double most_cpu_share, void (*guard_exit)()) {
  want_counters_ = counters;
  want_clocks_ = clocks;
  interval_us_ = interval_us;
  most_cpu_share_ = most_cpu_share > 0 && most_cpu_share < kMostCpuShare ? most_cpu_share : kMostCpuShare;
  if (counters) {
    char problem[256];
    library_.GetResultString = cupti.call.GetResultString;
    library_.guard_exit = guard_exit;
    cupti_ = &cupti;
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
  if (on_.exchange(on, std::memory_order_acq_rel) == on) return;
  if (!on) offs_.fetch_add(1, std::memory_order_acq_rel);
  Wake();
}

bool CounterSession::HasLetGo() const {
  return !started_.load(std::memory_order_acquire) ||
         let_go_.load(std::memory_order_acquire) == offs_.load(std::memory_order_acquire);
}

void CounterSession::DevicesUsed(uint64_t bits) {
  if ((bits & ~used_.load(std::memory_order_relaxed)) == 0) return;
  used_.fetch_or(bits, std::memory_order_acq_rel);
  Wake();
}

void CounterSession::End(int64_t give_up_ns) {
  if (!started_.load(std::memory_order_acquire)) return;
  end_.store(true, std::memory_order_release);
  Wake();
  while (ended_.load(std::memory_order_acquire) == 0 && MonotonicNs() < give_up_ns) WaitWhile(ended_, 0, 100);
}

void* CounterSession::Main(void* self) {
  pthread_setname_np(pthread_self(), kCounterThreadName);
  static_cast<CounterSession*>(self)->Loop();
  return nullptr;
}

void CounterSession::Loop() {
  while (!end_.load(std::memory_order_acquire)) {
    const uint32_t seen = wake_.load(std::memory_order_acquire);
    const int64_t next_ns = Turn(MonotonicNs());
    cpu_ns_.store(ThreadCpuNs(), std::memory_order_relaxed);
    const int64_t wait_ms = (next_ns - MonotonicNs() + kNsPerMs - 1) / kNsPerMs;
    if (wait_ms > 0) WaitWhile(wake_, seen, static_cast<int>(wait_ms));
  }
  if (sampled_ != nullptr) FinishBurst();
  for (uint32_t i = 0; i < device_count_; ++i) devices_[i]->Close();
  cpu_ns_.store(ThreadCpuNs(), std::memory_order_relaxed);
  ended_.store(1, std::memory_order_release);
  WakeAll(ended_);
}

void CounterSession::OpenDevices() {
  const uint64_t fresh = used_.load(std::memory_order_acquire) & ~opened_;
  if (fresh != 0 && opened_ == 0 && want_counters_) {
    LoadPerfLibraries(*cupti_);
    library_.guard_exit();
    if (end_.load(std::memory_order_acquire)) return;
  }
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

void CounterSession::WakeDevices() {
  off_since_ns_ = 0;
  for (uint32_t i = 0; i < device_count_; ++i) devices_[i]->Wake();
}

int64_t CounterSession::LetGo(int64_t now_ns, uint32_t offs) {
  if (let_go_.load(std::memory_order_relaxed) == offs) return now_ns + kIdleNs;
  if (off_since_ns_ == 0) off_since_ns_ = now_ns;
  if (now_ns < off_since_ns_ + kRestNs) return off_since_ns_ + kRestNs;
  for (uint32_t i = 0; i < device_count_; ++i) devices_[i]->Rest();
  if (device_count_ > 0 && library_.call.ProfilerDeInitialize != nullptr) {
    auto end = cupti::pm::Make<cupti::pm::ProfilerInitialize>();
    library_.call.ProfilerDeInitialize(&end);
  }
  let_go_.store(offs, std::memory_order_release);
  return now_ns + kIdleNs;
}

int64_t CounterSession::Turn(int64_t now_ns) {
  // Read first: an answer to an earlier switch is none to a later one.
  const uint32_t offs = offs_.load(std::memory_order_acquire);
  const bool on = on_.load(std::memory_order_acquire);
  if (on) {
    WakeDevices();
    OpenDevices();
  }
  int64_t next_ns = now_ns + kIdleNs;
  const auto by = [&](int64_t time_ns) { next_ns = time_ns < next_ns ? time_ns : next_ns; };
  if (on && want_clocks_ && opened_ != 0) {
    if (now_ns - clocks_read_ns_ >= kClocksNs) {
      clocks_.Read();
      clocks_read_ns_ = now_ns;
    }
    by(clocks_read_ns_ + kClocksNs);
  }
  if (sampled_ != nullptr && (!on || now_ns >= sampled_->burst_end_ns())) FinishBurst();
  if (!on) by(LetGo(now_ns, offs));
  const bool may_sample = on && device_count_ > 0;
  if (may_sample && sampled_ == nullptr && now_ns >= next_burst_ns_) StartBurst(now_ns);
  if (sampled_ != nullptr)
    by(sampled_->burst_end_ns());
  else if (may_sample)
    by(next_burst_ns_);
  return next_ns;
}

// The devices take turns.
void CounterSession::StartBurst(int64_t now_ns) {
  burst_ns_ = now_ns;
  burst_cpu_ns_ = ThreadCpuNs();
  for (uint32_t i = 0; i < device_count_ && sampled_ == nullptr; ++i) {
    PmDevice* device = devices_[next_device_++ % device_count_];
    if (device->opened() && device->Start()) sampled_ = device;
  }
  if (sampled_ == nullptr) next_burst_ns_ = now_ns + kWaitNs;
}

void CounterSession::FinishBurst() {
  sampled_->Finish();
  missed_.fetch_add(sampled_->TakeMissed(), std::memory_order_relaxed);
  sampled_ = nullptr;
  random_ = random_ * 1664525 + 1013904223;
  const double spread = 0.75 + 0.5 * static_cast<double>(random_ >> 8) / static_cast<double>(1u << 24);
  const auto cpu_ns = static_cast<double>(ThreadCpuNs() - burst_cpu_ns_);
  next_burst_ns_ = burst_ns_ + static_cast<int64_t>(cpu_ns / most_cpu_share_ * spread);
}

}  // namespace nl::capture
