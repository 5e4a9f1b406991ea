// SPDX-License-Identifier: Apache-2.0
// The recorder as the program's threads see it: start, events, switching, end. What its
// writer thread does is in recorder_writer.cc.
#include "capture/lib/recorder.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <new>

std::atomic<int> nl_enabled{0};

namespace nl::capture {

namespace {

enum State : int { kFresh, kStarting, kRunning, kOff };
std::atomic<int> g_state{kFresh};
std::atomic<Recorder*> g_recorder{nullptr};
std::atomic<bool> g_hooks_set{false}, g_late_hook_set{false};
std::atomic<Recorder::AddPendingCall> g_add_pending{nullptr};
std::atomic<Recorder::PendingCall> g_pending_call{nullptr};
pthread_key_t g_ring_key;
thread_local HostRing* t_ring = nullptr;
thread_local bool t_refused = false;  // no ring for this thread

constexpr size_t kRingMemoryBytes = 256u << 20;
constexpr int kCloseTimeoutMs = 10'000, kCountersTimeoutMs = 3'000;

}  // namespace

Recorder* Recorder::Get() {
  return g_state.load(std::memory_order_acquire) == kRunning ? g_recorder.load(std::memory_order_acquire)
                                                             : nullptr;
}

Recorder* Recorder::Start() {
  if (Recorder* there = Get()) return there;
  int fresh = kFresh;
  if (!g_state.compare_exchange_strong(fresh, kStarting, std::memory_order_acq_rel)) {
    // Another thread is at it: it takes milliseconds.
    for (int i = 0; i < 1000 && g_state.load(std::memory_order_acquire) == kStarting; ++i) usleep(1000);
    return Get();
  }
  const char* directory = std::getenv(kDirectoryVariable);
  Recorder* recorder = nullptr;
  if (directory != nullptr && directory[0] != '\0') recorder = new (std::nothrow) Recorder;
  if (recorder == nullptr || !recorder->Open(directory)) {
    // Not freed: its slot says why. There is at most one per process.
    nl_enabled.store(0, std::memory_order_release);
    g_state.store(kOff, std::memory_order_release);
    return nullptr;
  }
  g_recorder.store(recorder, std::memory_order_release);
  g_state.store(kRunning, std::memory_order_release);
  nl_enabled.store(recorder->EnabledNow(), std::memory_order_release);
  recorder->Apply(WindowReason::kBegin);
  return recorder;
}

bool Recorder::Open(const char* directory) {
  pid_ = static_cast<uint32_t>(getpid());
  if (page_.Open(directory)) {
    wanted_ = page_->wanted;
    buffer_limit_bytes_ = page_->buffer_bytes;
    if (page_->counter_interval_us > 0) counter_interval_us_ = page_->counter_interval_us;
    if (page_->clock_interval_ms > 0) clock_interval_ms_ = static_cast<int>(page_->clock_interval_ms);
    std::memcpy(capture_range_, page_->capture_range, sizeof capture_range_);
    capture_range_[sizeof capture_range_ - 1] = '\0';
    program_on_.store(page_->start_off == 0 || capture_range_[0] != '\0', std::memory_order_relaxed);
    epoch_seen_ = page_->epoch.load(std::memory_order_acquire);
    slot_ = page_.TakeSlot(pid_);
    if (slot_ != nullptr) slot_->start_ns.store(MonotonicNs(), std::memory_order_relaxed);
  } else if (const char* wanted = std::getenv(kWantedVariable); wanted != nullptr) {
    ParseWanted(wanted, wanted_);
  }
  char path[PATH_MAX];
  std::snprintf(path, sizeof path, "%s/%u-%llx%s", directory, pid_,
                static_cast<unsigned long long>(MonotonicNs()), kFileEnding);
  bool fine = writer_.Open(path, WriterKind::kLibrary);
  if (!fine && slot_ != nullptr)
    std::snprintf(slot_->message, sizeof slot_->message, "the capture file cannot be made: %s",
                  strerror(errno));
  if (fine && !g_hooks_set.exchange(true)) {
    fine = pthread_key_create(&g_ring_key, OnThreadEnd) == 0 &&
           pthread_atfork(nullptr, nullptr, OnForkChild) == 0 && atexit(OnExit) == 0;
  }
  if (fine) {
    // The program's signals are not for this thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    fine = pthread_create(&thread, nullptr, WriterMain, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (fine) pthread_detach(thread);
  }
  if (!fine && slot_ != nullptr) slot_->state.store(SlotState::kFailed, std::memory_order_release);
  return fine;
}

void Recorder::StartGpu() {
  if ((wanted_ & (kWantKernels | kWantApi | kWantSync | kWantMemory)) == 0) return;
  if (gpu_.started() || !gpu_.Start(wanted_, buffer_limit_bytes_, OnCudaReady, wake_)) return;
  if (slot_ != nullptr) slot_->has_gpu.store(1, std::memory_order_relaxed);
  counters_.Start(gpu_.library(), (wanted_ & kWantCounters) != 0, (wanted_ & kWantClocks) != 0,
                  counter_interval_us_, budget_share(), [] { atexit(OnExit); });
  if (!on_.load(std::memory_order_acquire)) return;
  counters_.SetOn(gpu_.Enable());
}

// CUDA registers its own handlers while it starts; ours must run before them, so it is
// registered again once that is done. The first to run closes the file.
void Recorder::OnCudaReady(int device) {
  if (!g_late_hook_set.exchange(true)) atexit(OnExit);
  Recorder* recorder = Get();
  if (device >= 0 && device < static_cast<int>(CounterSession::kMostDevices) && recorder != nullptr)
    recorder->counters_.DevicesUsed(uint64_t{1} << device);
}

bool Recorder::Wanted() const {
  if (closing_.load(std::memory_order_acquire)) return false;
  if (page_ && page_->recording.load(std::memory_order_acquire) == 0) return false;
  if (capture_range_[0] != '\0' && in_range_.load(std::memory_order_acquire) <= 0) return false;
  return program_on_.load(std::memory_order_acquire) && budget_allows_.load(std::memory_order_acquire);
}

// Only one thread switches; another that comes along leaves it to the writer thread, which
// looks again on every turn.
void Recorder::Apply(WindowReason reason) {
  if (Wanted() == on_.load(std::memory_order_acquire) || switching_.exchange(true, std::memory_order_acq_rel))
    return;
  const bool on = Wanted();
  if (on != on_.load(std::memory_order_acquire)) {
    const bool with_gpu = on && gpu_.Enable();
    counters_.SetOn(with_gpu);
    on_.store(on, std::memory_order_release);
    // At once, not with the writer's next turn: the launcher samples while a process records.
    if (slot_ != nullptr && !closing_.load(std::memory_order_relaxed))
      slot_->state.store(on ? SlotState::kRecording : SlotState::kPaused, std::memory_order_release);
    if (on) {
      window_.fetch_add(1, std::memory_order_relaxed);
      clock_due_.store(true, std::memory_order_release);
      wake_.fetch_add(1, std::memory_order_release);
      WakeAll(wake_);
    }
    nl_enabled.store(EnabledNow(), std::memory_order_release);
    if (!on) {
      gpu_.Flush(false);
      gpu_.Disable();
      gpu_.Flush(closing_.load(std::memory_order_acquire));
    }
    notes_.Window(on, ever_on_ ? reason : WindowReason::kBegin);
    ever_on_ = ever_on_ || on;
    TellSwitch();
  }
  switching_.store(false, std::memory_order_release);
}

void Recorder::TellSwitch() {
  const AddPendingCall add_pending = g_add_pending.load(std::memory_order_acquire);
  const PendingCall call = g_pending_call.load(std::memory_order_acquire);
  if (add_pending != nullptr && call != nullptr) add_pending(call, nullptr);
}

// Of the writer thread. Kernels that ran when recording stopped have had time to end: what CUPTI
// still holds is taken, and it may leave.
void Recorder::RestWhileOff(int64_t now_ns) {
  const uint32_t window = window_.load(std::memory_order_acquire);
  if (on_.load(std::memory_order_acquire) || window != off_window_) {
    off_window_ = window;
    off_since_ns_ = now_ns;
    off_flushed_ = false;
  }
  const bool leaves = gpu_.MayLetGo() && counters_.HasLetGo(), must_stay = gpu_.MustStay();
  if (now_ns - off_since_ns_ < CounterSession::kRestNs || (off_flushed_ && !leaves && !must_stay) ||
      switching_.exchange(true, std::memory_order_acq_rel))
    return;
  if (!on_.load(std::memory_order_acquire) && !closing_.load(std::memory_order_acquire)) {
    gpu_.Flush(true);
    off_flushed_ = true;
    Drain();
    if (leaves) gpu_.LetGo();
    if (must_stay) gpu_.Keep();
  }
  switching_.store(false, std::memory_order_release);
}

int Recorder::EnabledNow() const {
  if ((wanted_ & kWantRanges) == 0 || closing_.load(std::memory_order_acquire)) return 0;
  if (on_.load(std::memory_order_acquire)) return 1;
  return capture_range_[0] != '\0' ? 2 : 0;
}

void Recorder::TellSwitches(AddPendingCall add_pending, PendingCall call) {
  g_add_pending.store(add_pending, std::memory_order_release);
  g_pending_call.store(call, std::memory_order_release);
}

void Recorder::SetByProgram(bool on) {
  program_on_.store(on, std::memory_order_release);
  Apply(WindowReason::kApi);
}

HostRing* Recorder::RingOfThread() {
  if (t_ring != nullptr || t_refused) return t_ring;
  t_ring = rings_.Acquire(CurrentTid(), kRingMemoryBytes);
  t_refused = t_ring == nullptr;
  if (t_ring != nullptr) pthread_setspecific(g_ring_key, t_ring);
  return t_ring;
}

void Recorder::OnThreadEnd(void* ring) {
  t_ring = nullptr;
  t_refused = true;  // destructors of other keys may still emit; they have no ring any more
  static_cast<HostRing*>(ring)->thread_ended.store(true, std::memory_order_release);
}

void Recorder::WatchRange(const HostEvent& event, std::string_view text) {
  if (event.what == HostWhat::kPush || event.what == HostWhat::kStart) {
    if (event.name != nullptr) text = {event.name->text, event.name->bytes};
    const bool is_it = text == std::string_view(capture_range_);
    // Ranges opened inside it keep it open until as many have ended.
    if (is_it || in_range_.load(std::memory_order_relaxed) > 0)
      in_range_.fetch_add(1, std::memory_order_acq_rel);
    if (is_it) Apply(WindowReason::kRange);
  }
}

int Recorder::Emit(HostEvent event, std::string_view text, std::string_view payload_text) {
  if ((wanted_ & kWantRanges) == 0) return -2;
  const bool opens = event.what == HostWhat::kPush || event.what == HostWhat::kStart;
  const bool closes = event.what == HostWhat::kPop || event.what == HostWhat::kEnd;
  if (capture_range_[0] != '\0' && opens) WatchRange(event, text);
  HostRing* ring = RingOfThread();
  if (ring == nullptr) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return -2;
  }
  // Ranges that were open while nothing was recorded may have ended unsaid.
  if (const uint32_t window = window_.load(std::memory_order_relaxed); ring->window != window) {
    ring->window = window;
    std::memset(ring->depth, 0, sizeof ring->depth);
  }
  int depth = -2;
  const uint32_t domain = event.domain != nullptr ? event.domain->number : 0;
  if (domain < HostRing::kDomains) {
    int32_t& open = ring->depth[domain];
    if (event.what == HostWhat::kPush) depth = open++;
    if (event.what == HostWhat::kPop) depth = open > 0 ? --open : -1;
    event.depth = depth >= 0 ? static_cast<uint32_t>(depth) : 0;
  }
  if (on_.load(std::memory_order_acquire)) {
    const uint64_t count = ring->CountPut();
    event.time_ns = MonotonicNs();
    bool wake = false;
    ring->Put(event, text, payload_text, wake);
    if (wake) {
      wake_.fetch_add(1, std::memory_order_release);
      WakeAll(wake_);
    }
    if (count % 64 == 0) {
      ring->cost_ns.fetch_add(MonotonicNs() - event.time_ns, std::memory_order_relaxed);
      ring->costs.fetch_add(1, std::memory_order_relaxed);
    }
  }
  if (capture_range_[0] != '\0' && closes && in_range_.load(std::memory_order_relaxed) > 0) {
    if (in_range_.fetch_sub(1, std::memory_order_acq_rel) == 1) Apply(WindowReason::kRange);
  }
  return depth;
}

void Recorder::PutObserved(uint64_t observed) {
  HostRing* ring = RingOfThread();
  if (ring == nullptr) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  HostEvent event;
  event.time_ns = MonotonicNs();
  event.what = HostWhat::kObserved;
  event.source = HostSource::kTorch;
  event.payload = observed;
  bool wake = false;
  ring->Put(event, {}, {}, wake);
}

void Recorder::OnExit() {
  Recorder* recorder = Get();
  if (recorder != nullptr && recorder->pid_ == static_cast<uint32_t>(getpid())) recorder->Close();
}

void Recorder::Close() {
  const bool on_at_end = on_.load(std::memory_order_acquire);
  if (closing_.exchange(true, std::memory_order_acq_rel)) return;
  const int64_t give_up_ns = MonotonicNs() + int64_t{kCloseTimeoutMs} * 1'000'000;
  // First of all: while they are read, nothing else goes on in CUPTI.
  counters_.End(MonotonicNs() + int64_t{kCountersTimeoutMs} * 1'000'000);
  // Flushes and disables; whoever is switching at this moment must be through with it, or the
  // file would be closed before CUPTI's last buffers are in it.
  Apply(WindowReason::kEnd);
  while (switching_.load(std::memory_order_acquire) && MonotonicNs() < give_up_ns) usleep(200);
  // A pause lasts to the end, and that is when it was.
  if (!on_at_end) notes_.Window(false, WindowReason::kEnd);
  Apply(WindowReason::kEnd);
  gpu_.Keep();  // it is not to leave while the program ends
  gpu_.Flush(true);
  finish_.store(true, std::memory_order_release);
  wake_.fetch_add(1, std::memory_order_release);
  WakeAll(wake_);
  while (closed_.load(std::memory_order_acquire) == 0 && MonotonicNs() < give_up_ns)
    WaitWhile(closed_, 0, 100);
}

// Only the thread that forked lives on, and the parent's writer may have been anywhere: its
// memory is left as it is, its file is released, and the child begins with nothing.
void Recorder::OnForkChild() {
  Recorder* parents = g_recorder.load(std::memory_order_relaxed);
  if (parents != nullptr) parents->writer_.Abandon();
  g_recorder.store(nullptr, std::memory_order_relaxed);
  t_ring = nullptr;
  t_refused = false;
  if (g_hooks_set.load(std::memory_order_relaxed)) pthread_setspecific(g_ring_key, nullptr);
  g_state.store(kFresh, std::memory_order_release);
}

}  // namespace nl::capture
