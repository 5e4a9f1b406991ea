// SPDX-License-Identifier: Apache-2.0
// PM sampling of the fake CUPTI. A sample is what the fake device did in its interval, turned
// into values by fixed rules, so that tests know them:
//   kernels called gemm:   100 % SM active, 25 % of the warps, 80 % tensor, 2 bytes/ns read, 1 written
//   others:                100 % SM active, 50 % of the warps, no tensor, 4 bytes/ns read, 4 written
// It behaves as CUPTI 13.0 was seen to on a GH100, and ends the program where the caller does
// what is not documented to work, or what broke there: a second SetConfig, an image of another
// size, two threads at once, a call after the exit handlers of the library ran.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "capture/lib/cupti_pm_types.h"
#include "fake_device.h"

namespace {

using namespace nl::capture::cupti;
namespace pm = nl::capture::cupti::pm;
using fake::Is;
using fake::Misuse;
using fake::Option;

constexpr size_t kMostMetrics = 32;
constexpr Result kInvalidOperation = static_cast<Result>(7), kUnknown = static_cast<Result>(999);
struct ImageHead {
  uint64_t capacity, count;
};
struct Sample {
  uint64_t start_ns, end_ns;
  int64_t gemm_ns, other_ns;
};
constexpr size_t kPadding = 64;              // a sample's size in an image
constexpr size_t kHardwareBytesEach = 9000;  // and in the device's buffer
// A burst has no more, however late it is stopped: a busy machine must not look like a device that overflows.
constexpr int64_t kMostSamples = 250;

struct Host {
  std::vector<std::string> metrics;
};
struct Sampling {
  bool configured = false, running = false, overflowed = false, lost = false;
  uint64_t interval_ns = 0, metrics = 0;
  size_t hardware_samples = 0, image_bytes = 0, metrics_asked = 0;
  const uint8_t* image = nullptr;  // of the last one decoded into, when it was not cleared since
  int64_t enabled_ns = 0, start_ns = 0, next_ns = 0, stop_ns = 0;
  int64_t decodes = 0, samples = 0;
};
std::atomic<int64_t> g_decodes{0};  // of all objects
std::atomic<int64_t> g_objects{0};
std::atomic<int> g_calls{0};
std::atomic<bool> g_exited{false};

// What a call leaves behind in the library, destroyed by its own exit handler.
struct Cache {
  ~Cache() { g_exited.store(true); }
};

// Around every call.
class Call {
 public:
  Call() {
    static Cache cache;
    if (g_exited.load()) Misuse("called after its exit handlers");
    if (!fake::Attached()) Misuse("counters without CUPTI");
    if (g_calls.fetch_add(1) != 0) Misuse("two calls at once");
  }
  ~Call() { g_calls.fetch_sub(1); }
  static Sampling& Of(void* object) {
    if (object == nullptr) Misuse("no object");
    return *static_cast<Sampling*>(object);
  }
};

void Burn(int64_t us) {
  timespec now{};
  const auto cpu_us = [&] {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
  };
  for (const int64_t until = cpu_us() + us; us > 0 && cpu_us() < until;) {
  }
}

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

double ValueOf(const std::string& metric, const Sample& s) {
  const auto all = static_cast<double>(s.end_ns - s.start_ns);
  const auto gemm = static_cast<double>(s.gemm_ns), other = static_cast<double>(s.other_ns);
  const double busy_pct = 100 * (gemm + other) / all;
  if (Has(metric, "dram__bytes_read")) return gemm * 2 + other * 4;
  if (Has(metric, "dram__bytes_write")) return gemm * 1 + other * 4;
  if (Has(metric, "warps_active")) return (25 * gemm + 50 * other) / all;
  if (Has(metric, "pipe_tensor")) return 80 * gemm / all;
  if (Has(metric, "hit_rate")) return s.gemm_ns > s.other_ns ? 75 : 25;
  if (Has(metric, "lts__t_sectors")) return gemm + other;
  if (Has(metric, "gpc__cycles_elapsed")) return all * 1.5;
  if (Has(metric, "thread_inst_executed")) return (gemm + other) * 16;
  if (Has(metric, "inst_executed_realtime.sum")) return gemm + other;
  if (Has(metric, "dramc__throughput")) return (30 * gemm + 80 * other) / all;
  if (Has(metric, "pcie")) return 0;
  return busy_pct;
}

bool Known(const std::string& metric) {
  if (Is("pm_unknown") && Has(metric, "hit_rate")) return false;
  if (Is("pm_nothing")) return false;
  return Has(metric, "TriageCompute.") || Has(metric, "dram__bytes") || Has(metric, "lts__t_sectors.sum") ||
         Has(metric, "gpc__cycles_elapsed.avg");
}

}  // namespace

int64_t fake::PmObjects() { return g_objects.load(); }

#define NL_FAKE extern "C" __attribute__((visibility("default")))

NL_FAKE Result cuptiGetDeviceId(void*, uint32_t* device) {
  *device = 0;
  return kSuccess;
}
NL_FAKE Result cuptiProfilerInitialize(pm::ProfilerInitialize*) { return kSuccess; }
NL_FAKE Result cuptiProfilerDeInitialize(pm::ProfilerInitialize*) { return kSuccess; }
NL_FAKE Result cuptiProfilerDeviceSupported(pm::DeviceSupported* p) {
  p->is_supported = p->architecture = Is("pm_unsupported") ? pm::kUnsupported : pm::kSupported;
  return p->api == pm::kPmSamplingApi ? kSuccess : kErrorInvalidParameter;
}
NL_FAKE Result cuptiDeviceGetChipName(pm::GetChipName* p) {
  p->name = "GH100";
  return kSuccess;
}
NL_FAKE Result cuptiProfilerHostInitialize(pm::HostInitialize* p) {
  const Call call;
  if (std::strcmp(p->chip, "GH100") != 0 || p->profiler_type != pm::kPmSamplingProfiler)
    return kErrorInvalidParameter;
  p->host = new Host;
  ++g_objects;
  return kSuccess;
}
NL_FAKE Result cuptiProfilerHostDeinitialize(pm::HostDeinitialize* p) {
  const Call call;
  delete static_cast<Host*>(p->host);
  --g_objects;
  return kSuccess;
}
NL_FAKE Result cuptiProfilerHostGetMetricProperties(pm::GetMetricProperties* p) {
  return Known(p->metric) ? kSuccess : kErrorInvalidMetricName;
}
NL_FAKE Result cuptiProfilerHostConfigAddMetrics(pm::ConfigAddMetrics* p) {
  const Call call;
  auto* host = static_cast<Host*>(p->host);
  for (size_t i = 0; i < p->count; ++i) {
    if (!Known(p->metrics[i])) return kErrorInvalidParameter;
    host->metrics.emplace_back(p->metrics[i]);
  }
  return kSuccess;
}
NL_FAKE Result cuptiProfilerHostGetConfigImageSize(pm::GetConfigImageSize* p) {
  p->image_bytes = sizeof(uint64_t);
  return kSuccess;
}
NL_FAKE Result cuptiProfilerHostGetConfigImage(pm::GetConfigImage* p) {
  if (p->image_bytes != sizeof(uint64_t)) Misuse("configuration image of another size");
  const uint64_t count = static_cast<Host*>(p->host)->metrics.size();
  std::memcpy(p->image, &count, sizeof count);
  return kSuccess;
}
NL_FAKE Result cuptiProfilerHostGetNumOfPasses(pm::GetNumOfPasses* p) {
  uint64_t count = 0;
  std::memcpy(&count, p->image, sizeof count);
  const int64_t fit = Option("pm_fit") > 0 ? Option("pm_fit") : 30;
  p->passes = (count + static_cast<uint64_t>(fit) - 1) / static_cast<uint64_t>(fit);
  return kSuccess;
}
NL_FAKE Result cuptiProfilerHostEvaluateToGpuValues(pm::EvaluateToGpuValues* p) {
  const Call call;
  const auto* host = static_cast<const Host*>(p->host);
  ImageHead head;
  std::memcpy(&head, p->image, sizeof head);
  if (p->image_bytes != kPadding * (head.capacity + 1)) Misuse("image of another size evaluated");
  if (p->index >= head.count) Misuse("sample evaluated that is not there");
  if (host == nullptr || p->count != host->metrics.size())
    Misuse("metrics evaluated that were not configured");
  Sample sample;
  std::memcpy(&sample, p->image + kPadding * (p->index + 1), sizeof sample);
  for (size_t i = 0; i < p->count; ++i) p->values[i] = ValueOf(p->metrics[i], sample);
  Burn(Option("pm_cost"));
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingGetCounterAvailability(pm::GetCounterAvailability* p) {
  const Call call;
  if (Is("pm_denied")) return kErrorInsufficientPrivileges;
  p->image_bytes = 16;
  if (p->image != nullptr) std::memset(p->image, 1, 16);
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingEnable(pm::Enable* p) {
  const Call call;
  if (Is("pm_denied_late")) return kErrorInsufficientPrivileges;
  if (Is("pm_busy")) return kInvalidOperation;  // somebody else samples
  auto* sampling = new Sampling;
  ++g_objects;
  sampling->enabled_ns = sampling->stop_ns = fake::GpuNs();
  p->sampling = sampling;
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingDisable(pm::OfObject* p) {
  const Call call;
  if (Call::Of(p->sampling).running) Misuse("disabled while it samples");
  delete static_cast<Sampling*>(p->sampling);
  --g_objects;
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingSetConfig(pm::SetConfig* p) {
  const Call call;
  Sampling& sampling = Call::Of(p->sampling);
  if (sampling.configured) Misuse("configured twice");
  const int64_t fit = Option("pm_fit") > 0 ? Option("pm_fit") : 30;
  std::memcpy(&sampling.metrics, p->config, sizeof sampling.metrics);
  if (sampling.metrics > static_cast<uint64_t>(fit)) return kErrorNotSupported;
  if (Is("pm_sysclk") && p->trigger == pm::kTimeInterval) return kErrorNotSupported;
  sampling.interval_ns = p->interval;
  sampling.hardware_samples = p->hardware_buffer_bytes / kHardwareBytesEach;
  sampling.configured = true;
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingStart(pm::OfObject* p) {
  const Call call;
  Sampling& sampling = Call::Of(p->sampling);
  if (sampling.running || !sampling.configured) Misuse("started out of turn");
  sampling.running = true;
  sampling.start_ns = sampling.next_ns = fake::GpuNs();
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingStop(pm::OfObject* p) {
  const Call call;
  Sampling& sampling = Call::Of(p->sampling);
  if (!sampling.running) Misuse("stopped out of turn");
  sampling.running = false;
  sampling.stop_ns = fake::GpuNs();
  return kSuccess;
}
NL_FAKE int64_t fake_bursts_read() { return g_decodes.load(); }
NL_FAKE int64_t fake_pm_objects() { return g_objects.load(); }
NL_FAKE Result cuptiPmSamplingDecodeData(pm::DecodeData* p) {
  const Call call;
  Sampling& sampling = Call::Of(p->sampling);
  if (p->image_bytes != sampling.image_bytes) Misuse("decoded into an image of another size");
  if (p->image == sampling.image) Misuse("decoded twice into an image that was not cleared");
  sampling.image = p->image;
  ++g_decodes;
  ++sampling.decodes;
  if (Is("pm_broken") && g_decodes > Option("pm_broken")) return kUnknown;
  ImageHead head;
  std::memcpy(&head, p->image, sizeof head);
  const auto put = [&](int64_t start_ns, int64_t end_ns) {
    const fake::Busy busy = fake::BusyIn(start_ns, end_ns);
    const Sample sample{static_cast<uint64_t>(start_ns), static_cast<uint64_t>(end_ns), busy.gemm_ns,
                        busy.other_ns};
    std::memcpy(p->image + kPadding * (++head.count), &sample, sizeof sample);
  };
  const auto interval_ns = static_cast<int64_t>(sampling.interval_ns);
  const int64_t until_ns = std::min(sampling.running ? fake::GpuNs() : sampling.stop_ns,
                                    sampling.start_ns + kMostSamples * interval_ns);
  const bool full_wanted = g_decodes == Option("pm_full");
  const auto there = static_cast<size_t>((until_ns - sampling.next_ns) / interval_ns);
  sampling.overflowed =
      sampling.overflowed || there > sampling.hardware_samples || g_decodes == Option("pm_overflow");
  if (sampling.overflowed) {
    p->overflow = 1;
    return kErrorOutOfMemory;
  }
  // The first reaches back to where it stood before.
  if (sampling.next_ns == sampling.start_ns && sampling.next_ns + interval_ns <= until_ns) {
    put(sampling.decodes == 1 ? sampling.enabled_ns : sampling.start_ns - 5 * interval_ns,
        sampling.next_ns + interval_ns);
    sampling.next_ns += interval_ns;
  }
  while (sampling.next_ns + interval_ns <= until_ns && head.count < head.capacity) {
    const int64_t start_ns = sampling.next_ns;
    sampling.next_ns += interval_ns;
    ++sampling.samples;
    if (Is("pm_gap") && Option("pm_gap") > 0 && sampling.samples % Option("pm_gap") == 0) {
      sampling.next_ns += 2 * interval_ns;
      continue;
    }
    // What is decoded after an image was full has no times.
    put(sampling.lost ? 0 : start_ns, sampling.lost ? 0 : start_ns + interval_ns);
  }
  if (!sampling.running && head.count < head.capacity) put(sampling.start_ns, sampling.start_ns);
  std::memcpy(p->image, &head, sizeof head);
  sampling.lost = sampling.lost || head.count == head.capacity || full_wanted;
  p->stop_reason = head.count == head.capacity || full_wanted ? pm::kImageFull : pm::kEndOfRecords;
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingGetCounterDataSize(pm::GetCounterDataSize* p) {
  const Call call;
  Sampling& sampling = Call::Of(p->sampling);
  if (sampling.image_bytes != 0) Misuse("asked for the size of an image again");
  if (p->count == 0 || p->count > kMostMetrics || p->count != sampling.metrics)
    Misuse("image for other metrics");
  p->image_bytes = sampling.image_bytes = kPadding * (size_t{p->max_samples} + 1);
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingCounterDataImageInitialize(pm::ImageInitialize* p) {
  const Call call;
  Sampling& sampling = Call::Of(p->sampling);
  if (p->image_bytes != sampling.image_bytes) Misuse("image of another size than was asked for");
  if (sampling.image == p->image) sampling.image = nullptr;
  std::memset(p->image, 0, p->image_bytes);
  const ImageHead head{p->image_bytes / kPadding - 1, 0};
  std::memcpy(p->image, &head, sizeof head);
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingGetCounterDataInfo(pm::GetCounterDataInfo* p) {
  const Call call;
  ImageHead head;
  std::memcpy(&head, p->image, sizeof head);
  p->total = head.capacity;
  p->populated = p->completed = head.count;
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingCounterDataGetSampleInfo(pm::GetSampleInfo* p) {
  const Call call;
  ImageHead head;
  std::memcpy(&head, p->image, sizeof head);
  if (p->index >= head.count) Misuse("sample asked for that is not there");
  Sample sample;
  std::memcpy(&sample, p->image + kPadding * (p->index + 1), sizeof sample);
  p->start_ns = sample.start_ns;
  p->end_ns = sample.end_ns;
  return kSuccess;
}
