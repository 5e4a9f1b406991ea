// SPDX-License-Identifier: Apache-2.0
// The writer thread of the recorder: takes what the program's threads and CUPTI left, turns
// it into records, writes chunks, keeps the numbers in the control page.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "capture/lib/recorder.h"
#include "capture/lib/torch_ops.h"
#include "capture/lib/torch_text.h"

namespace nl::capture {

namespace {

constexpr int kTurnMs = 20, kIdleTurnMs = 100;
// What CUPTI and PyTorch take of the program's time, of which they say nothing themselves; all as measured
// (docs/performance.md). It is not the same everywhere: code that has left the processor's caches takes
// longer, and a launch shows by how much. Of a launch, a share of what it takes beyond the time of one that
// nobody records; of an observed operator, a share of a launch.
constexpr double kBareLaunchNs = 2'600, kShareOfLaunch = 0.62, kOpOfLaunch = 0.19, kUsualLaunchNs = 5'500;
// Another call; work on the device that no call of its own launched (a graph's); a range by PyTorch's NVTX
// profiler; a range of the Python package.
constexpr double kCallNs = 500, kGraphWorkNs = 300, kTorchRangeNs = 1'200, kPackageRangeNs = 1'300;
constexpr int64_t kFlushFileNs = 100'000'000, kFlushCuptiNs = 1'000'000'000, kCostNs = 1'000'000'000;

size_t ReadFile(const char* path, char* to, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  size_t have = 0;
  for (ssize_t n; have < size && (n = read(fd, to + have, size - have)) > 0;) have += static_cast<size_t>(n);
  close(fd);
  return have;
}

// The command line as a JSON array, as far as it fits.
size_t ArgumentsJson(char* to, size_t size) {
  char line[16 << 10];
  const size_t bytes = ReadFile("/proc/self/cmdline", line, sizeof line);
  size_t used = 0;
  const auto put = [&](char c) {
    if (used + 4 < size) to[used++] = c;
  };
  put('[');
  for (size_t at = 0; at < bytes;) {
    if (at > 0) put(',');
    put('"');
    for (; at < bytes && line[at] != '\0'; ++at) {
      const auto c = static_cast<unsigned char>(line[at]);
      char escaped[8];
      if (c < 0x20) {
        std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
        for (const char* e = escaped; *e != '\0'; ++e) put(*e);
        continue;
      }
      if (c == '"' || c == '\\') put('\\');
      put(static_cast<char>(c));
    }
    ++at;
    put('"');
  }
  to[used++] = ']';
  return used;
}

template <class Atomic, class Value>
void Store(Atomic& to, Value value) {
  to.store(value, std::memory_order_relaxed);
}

}  // namespace

void* Recorder::WriterMain(void* self) {
  pthread_setname_np(pthread_self(), kWriterThreadName);
  static_cast<Recorder*>(self)->WriterLoop();
  return nullptr;
}

void Recorder::WriterLoop() {
  WriteFacts();
  budget_.Set(budget_share(), MonotonicNs());
  int64_t flushed_file_ns = 0, flushed_cupti_ns = MonotonicNs(), clock_ns = 0, cost_ns = 0;
  uint64_t seen_records = 0;
  for (;;) {
    const uint32_t seen = wake_.load(std::memory_order_acquire);
    const bool last = finish_.load(std::memory_order_acquire);
    if (page_) {
      epoch_seen_ = page_->epoch.load(std::memory_order_acquire);
      if (page_->closing.load(std::memory_order_acquire) != 0) Store(program_on_, false);
    }
    const int64_t now_ns = MonotonicNs();
    Apply(last ? WindowReason::kEnd : WindowReason::kControl);
    KeepBudget(now_ns);
    if (!last) KeepTorchTurns(now_ns);
    const bool asked = ask_again_.exchange(false, std::memory_order_acq_rel);
    if (asked && !last) TellSwitch();
    const bool clock_due = clock_due_.exchange(false, std::memory_order_acq_rel);
    if (now_ns - clock_ns >= int64_t{clock_interval_ms_} * 1'000'000 || last || clock_due) {
      WriteClock();
      clock_ns = now_ns;
    }
    if (gpu_.started() && !last && now_ns - flushed_cupti_ns >= kFlushCuptiNs) {
      gpu_.Flush(false);
      flushed_cupti_ns = now_ns;
    }
    Drain();
    RestWhileOff(now_ns);
    if (now_ns - cost_ns >= kCostNs || last) {
      WriteCost();
      if (reader_ != nullptr) reader_->AddMissingDevices();
      cost_ns = now_ns;
    }
    if (last) return FinishFile();
    if (now_ns - flushed_file_ns >= kFlushFileNs) {
      writer_.Flush();
      flushed_file_ns = now_ns;
    }
    // A process that closes its file is not paused.
    const bool records = on_.load(std::memory_order_acquire) || closing_.load(std::memory_order_acquire);
    UpdateSlot(records ? SlotState::kRecording : SlotState::kPaused);
    const uint64_t count = ranges_ + (reader_ != nullptr ? reader_->counts().kernels : 0);
    const bool busy = count != seen_records || asked;
    seen_records = count;
    WaitWhile(wake_, seen, busy ? kTurnMs : kIdleTurnMs);
  }
}

void Recorder::Drain() {
  notes_.TakeInto(writer_);
  rings_.Drain([this](HostRing& ring) { DrainRing(ring); });
  writer_.CountLoss(LossWhat::kThreadLimit, ChunkKind::kRange,
                    refused_.exchange(0, std::memory_order_relaxed));
  counters_.queue().TakeInto(writer_);
  writer_.CountLoss(LossWhat::kCountersMissed, ChunkKind::kCounterValues, counters_.TakeMissed());
  if (gpu_.started() && (reader_ != nullptr || MakeReader())) DrainGpu();
}

bool Recorder::MakeReader() {
  reader_ = new (std::nothrow) ActivityReader(gpu_.library(), gpu_.apis(), writer_);
  if (reader_ == nullptr) return false;
  char version[32];
  std::snprintf(version, sizeof version, "%u", gpu_.library().version);
  writer_.AddFact("cupti.version", version);
  writer_.AddFact("cupti.path", gpu_.library().path);
  using DriverVersion = int (*)(int*);
  int number = 0;
  if (const auto ask = reinterpret_cast<DriverVersion>(dlsym(RTLD_DEFAULT, "cuDriverGetVersion"));
      ask != nullptr && ask(&number) == 0) {
    std::snprintf(version, sizeof version, "%d", number);
    writer_.AddFact("cuda.driver_version", version);
  }
  return true;
}

void Recorder::DrainGpu() {
  ActivityBuffers& buffers = gpu_.buffers();
  // Asked for each: all of an attachment was read before CUPTI left, what comes now is of this one.
  const auto number_anew = [this] {
    const uint32_t attachments = gpu_.attachments();
    if (attachments == attachments_read_) return;
    if (attachments_read_ != 0) reader_->BeginAttachment();
    attachments_read_ = attachments;
  };
  const auto read = [&] {
    for (ActivityBuffers::Returned buffer; buffers.TakeReturned(buffer);) {
      number_anew();
      if (buffer.valid_bytes > 0 && !reader_->Read(buffer.data, buffer.valid_bytes))
        writer_.CountLoss(LossWhat::kCuptiUnknown, ChunkKind{}, 1);
      buffers.Recycle(buffer.data);
    }
  };
  // Asked for a record while it is away, CUPTI would come back. It gives empty buffers back when it leaves.
  if (!gpu_.Within(read) && finish_.load(std::memory_order_acquire)) read();
  buffers.Prepare();
  gpu_.calls().Take([&](const GpuCall& call) {
    number_anew();
    reader_->AddCall(call, (wanted_ & kWantApi) != 0, (wanted_ & kWantSync) != 0);
  });
  writer_.CountLoss(LossWhat::kRingFull, ChunkKind::kApi, gpu_.calls().TakeRefused());
  // What callbacks did not tell, because CUPTI was away or came late.
  if (reader_->counts().kernels > 0) gpu_.CudaReady();
  if (reader_->counts().graphs) gpu_.GraphsUsed();
  counters_.DevicesUsed(reader_->counts().devices);
  writer_.CountLoss(LossWhat::kCuptiDropped, ChunkKind{},
                    buffers.dropped.exchange(0, std::memory_order_relaxed));
  writer_.CountLoss(LossWhat::kBufferLimit, ChunkKind{},
                    buffers.not_given.exchange(0, std::memory_order_relaxed));
}

void Recorder::DrainRing(HostRing& ring) {
  ranges_ += ring.Take([&](const HostEvent& event, std::string_view text, std::string_view payload_text) {
    WriteHostEvent(ring, event, text, payload_text);
  });
  writer_.CountLoss(LossWhat::kRingFull, ChunkKind::kRange,
                    ring.refused.exchange(0, std::memory_order_relaxed));
  cost_measured_ns_ += ring.cost_ns.exchange(0, std::memory_order_relaxed);
  costs_measured_ += ring.costs.exchange(0, std::memory_order_relaxed);
  ring_puts_ += ring.TakePuts();
}

void Recorder::WriteHostEvent(const HostRing& ring, const HostEvent& event, std::string_view text,
                              std::string_view payload_text) {
  const uint32_t tid = ring.tid.load(std::memory_order_relaxed);
  if (event.name != nullptr) text = {event.name->text, event.name->bytes};
  const uint32_t domain_number = event.domain != nullptr ? event.domain->number : 0;
  if (event.what == HostWhat::kNameThread)
    return writer_.Add(ThreadRecord{pid_, static_cast<uint32_t>(event.id), writer_.String(text), 0, 0, 0});
  if (event.what == HostWhat::kNameCategory)
    return categories_.Set(domain_number, event.category, writer_.String(text));
  if (event.what == HostWhat::kObserved)
    return writer_.Add(ObservedRecord{event.time_ns, (event.payload & kObservedNames) != 0 ? 1u : 0u,
                                      (event.payload & kObservedShapes) != 0 ? 1u : 0u});
  RangeRecord r{};
  r.time_ns = event.time_ns;
  r.id = event.id;
  r.payload_type = event.payload_type;
  r.payload = event.payload_type == PayloadType::kText ? writer_.String(payload_text) : event.payload;
  r.tid = tid;
  if (event.domain != nullptr) r.domain = writer_.String({event.domain->text, event.domain->bytes});
  r.category_id = event.category;
  if (event.category != 0) r.category = categories_.Find(domain_number, event.category);
  char buffer[kMaxStringBytes + 1];
  if (event.source == HostSource::kPackage && event.what == HostWhat::kPush) ++package_ranges_;
  if (event.source == HostSource::kTorch) {
    r.flags = kRangeIsTorchs;
    if (event.what == HostWhat::kPush) {
      if (observed_ops_++ == 0) writer_.AddFact("capture.operators", "observer");
      r.id = kNoOpId;
    }
  } else if (event.what == HostWhat::kPush && event.name == nullptr &&
             event.payload_type == PayloadType::kNone) {
    if (const TorchText torch = TakeTorchText(text, buffer); torch.is_torch) {
      text = torch.text;
      ++op_ranges_;
      r.flags = kRangeIsTorchs;
      r.id = torch.op_id;
      r.payload = torch.sequence;
      r.payload_type = torch.has_sequence ? PayloadType::kInt : PayloadType::kNone;
    }
  }
  const bool named = event.what != HostWhat::kPop && event.what != HostWhat::kEnd;
  if (named) r.name = writer_.String(text);
  r.color = event.color;
  r.what = static_cast<RangeWhat>(event.what);
  r.depth = event.depth;
  writer_.Add(r);
}

void Recorder::WriteFacts() {
  char text[8 << 10];
  const size_t bytes = ArgumentsJson(text, sizeof text);
  const uint32_t arguments = writer_.String({text, bytes});
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  ProcessRecord process{};
  process.pid = pid_;
  process.ppid = static_cast<uint32_t>(getppid());
  process.start_ns = 0;
  process.executable = n > 0 ? writer_.String({path, static_cast<size_t>(n)}) : 0;
  process.arguments = arguments;
  size_t name_bytes = ReadFile("/proc/self/comm", text, 64);
  while (name_bytes > 0 && text[name_bytes - 1] == '\n') --name_bytes;
  process.name = writer_.String({text, name_bytes});
  writer_.Add(process);
  // Which part of a distributed run this is, in the words of torchrun, Open MPI and Slurm.
  for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                           "SLURM_PROCID", "SLURM_NTASKS", "CUDA_VISIBLE_DEVICES"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    std::snprintf(text, sizeof text, "env.%s", name);
    writer_.AddFact(text, value);
  }
  std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(wanted_));
  writer_.AddFact("capture.wanted", text);
  // A forked child has its parent's observer, in whatever turn that was.
  if (const int64_t observed = ObservedOfTorch(); observed >= 0)
    writer_.Add(ObservedRecord{MonotonicNs(), (observed & kObservedNames) != 0 ? 1u : 0u,
                               (observed & kObservedShapes) != 0 ? 1u : 0u});
  if (budget_share() > 0) {
    std::snprintf(text, sizeof text, "%g", 100 * budget_share());
    writer_.AddFact("capture.budget_pct", text);
  }
  writer_.Flush();
}

void Recorder::WriteThreadNames() {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return;
  while (const dirent* entry = readdir(tasks)) {
    const auto tid = static_cast<uint32_t>(std::strtoul(entry->d_name, nullptr, 10));
    if (tid == 0) continue;
    char path[64], name[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    size_t bytes = ReadFile(path, name, sizeof name);
    while (bytes > 0 && name[bytes - 1] == '\n') --bytes;
    writer_.Add(ThreadRecord{pid_, tid, writer_.String({name, bytes}), 1, 0, 0});
  }
  closedir(tasks);
}

void Recorder::WriteClock() {
  ClockRecord pair{};
  if (!gpu_.ReadClock(pair)) {
    pair.monotonic_before_ns = MonotonicNs();
    pair.realtime_ns = RealtimeNs();
    pair.monotonic_after_ns = MonotonicNs();
  }
  writer_.Add(pair);
}

// One event in 64 is timed, and stands for the others; the rest by the count.
int64_t Recorder::CostNs() const {
  const ActivityCounts counts = reader_ != nullptr ? reader_->counts() : ActivityCounts();
  const auto number = [](auto value) { return static_cast<double>(value); };
  const double put_ns = costs_measured_ > 0 ? number(cost_measured_ns_) / number(costs_measured_) : 0;
  const double launch_ns =
      counts.launches > 0 ? number(counts.launch_ns) / number(counts.launches) : kUsualLaunchNs;
  // Operators and modules by their count, or as the package has measured them itself, within a budget. What
  // we can measure is the least that it is.
  const int64_t added_ns = added_cost_ns_.load(std::memory_order_relaxed);
  const double launches_ns = kShareOfLaunch * number(counts.launches) * (launch_ns - kBareLaunchNs);
  const double ops_ns = added_ns > 0 ? number(added_ns)
                                     : kOpOfLaunch * launch_ns * number(observed_ops_) +
                                           kTorchRangeNs * number(op_ranges_) +
                                           kPackageRangeNs * number(package_ranges_);
  const uint64_t work = counts.kernels + counts.copies;
  const double cost_ns = std::max(launches_ns, number(gpu_.calls().cost_ns())) +
                         kCallNs * number(counts.api_calls - counts.launches) +
                         kGraphWorkNs * number(work > counts.launches ? work - counts.launches : 0) +
                         std::max(ops_ns, 2 * put_ns * number(observed_ops_)) +
                         put_ns * number(ring_puts_ - std::min(ring_puts_, 2 * observed_ops_));
  return static_cast<int64_t>(cost_ns) + gpu_.callback_ns.load(std::memory_order_relaxed);
}

void Recorder::KeepBudget(int64_t now_ns) {
  if (!budget_.limited()) return;
  // While something else keeps it from recording, the purse still fills.
  const bool allows = budget_.Update(now_ns, CostNs());
  if (allows == budget_allows_.load(std::memory_order_relaxed)) return;
  budget_allows_.store(allows, std::memory_order_release);
  Apply(WindowReason::kBudget);
}

void Recorder::WriteCost() {
  const uint64_t buffers = gpu_.buffers().peak_bytes() + gpu_.calls().memory_bytes() + rings_.memory_bytes() +
                           counters_.queue().memory_bytes();
  if (buffers > peak_buffer_bytes_) peak_buffer_bytes_ = buffers;
  writer_.Add(CostRecord{MonotonicNs(), CostNs(), ThreadCpuNs() + counters_.cpu_ns(),
                         ring_puts_ + gpu_.callbacks.load(std::memory_order_relaxed) + gpu_.calls().calls(),
                         writer_.bytes_written(), peak_buffer_bytes_});
}

void Recorder::UpdateSlot(SlotState state) {
  if (slot_ == nullptr) return;
  if (reader_ != nullptr) {
    const ActivityCounts& counts = reader_->counts();
    Store(slot_->kernels, counts.kernels);
    Store(slot_->copies, counts.copies);
    Store(slot_->api_calls, counts.api_calls);
    Store(slot_->other_records, counts.other);
    Store(slot_->kernel_time_ns, counts.kernel_time_ns);
  }
  Store(slot_->ranges, ranges_);
  Store(slot_->lost_records, writer_.records_lost());
  Store(slot_->bytes_written, writer_.bytes_written());
  Store(slot_->buffer_bytes,
        gpu_.buffers().memory_bytes() + gpu_.calls().memory_bytes() + rings_.memory_bytes());
  Store(slot_->cost_program_ns, CostNs());
  Store(slot_->cost_writer_ns, ThreadCpuNs() + counters_.cpu_ns());
  Store(slot_->updated_ns, MonotonicNs());
  Store(slot_->epoch_seen, epoch_seen_);
  slot_->state.store(state, std::memory_order_release);
}

void Recorder::FinishFile() {
  Drain();
  WriteThreadNames();
  writer_.Close();
  UpdateSlot(SlotState::kEnded);
  closed_.store(1, std::memory_order_release);
  WakeAll(closed_);
}

}  // namespace nl::capture
