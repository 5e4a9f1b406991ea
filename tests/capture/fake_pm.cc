// SPDX-License-Identifier: Apache-2.0
// PM sampling of the fake CUPTI. A sample is what the fake device did in its interval, turned
// into values by fixed rules, so that tests know them:
//   kernels called gemm:   100 % SM active, 25 % of the warps, 80 % tensor, 2 bytes/ns read, 1 written
//   others:                100 % SM active, 50 % of the warps, no tensor, 4 bytes/ns read, 4 written
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "capture/lib/cupti_pm_types.h"
#include "fake_device.h"

namespace {

using namespace nl::capture::cupti;
namespace pm = nl::capture::cupti::pm;
using fake::Is;
using fake::Option;

constexpr size_t kMostMetrics = 32;
struct ImageHead {
  uint64_t capacity, count;
};
struct Sample {
  uint64_t start_ns, end_ns;
  int64_t gemm_ns, other_ns;
};
constexpr size_t kPadding = 64;  // a sample's size in an image

struct Host {
  std::vector<std::string> metrics;
};
struct Sampling {
  bool running = false;
  uint64_t interval_ns = 0;
  int64_t next_ns = 0;
  int64_t decodes = 0, samples = 0;
};
std::mutex g_mutex;

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

#define NL_FAKE extern "C" __attribute__((visibility("default")))

NL_FAKE Result cuptiGetDeviceId(void*, uint32_t* device) {
  *device = 0;
  return kSuccess;
}
NL_FAKE Result cuptiProfilerInitialize(pm::ProfilerInitialize*) { return kSuccess; }
NL_FAKE Result cuptiProfilerDeviceSupported(pm::DeviceSupported* p) {
  p->is_supported = p->architecture = Is("pm_unsupported") ? pm::kUnsupported : pm::kSupported;
  return p->api == pm::kPmSamplingApi ? kSuccess : kErrorInvalidParameter;
}
NL_FAKE Result cuptiDeviceGetChipName(pm::GetChipName* p) {
  p->name = "GH100";
  return kSuccess;
}
NL_FAKE Result cuptiProfilerHostInitialize(pm::HostInitialize* p) {
  if (std::strcmp(p->chip, "GH100") != 0 || p->profiler_type != pm::kPmSamplingProfiler)
    return kErrorInvalidParameter;
  p->host = new Host;
  return kSuccess;
}
NL_FAKE Result cuptiProfilerHostDeinitialize(pm::HostDeinitialize* p) {
  delete static_cast<Host*>(p->host);
  return kSuccess;
}
NL_FAKE Result cuptiProfilerHostGetMetricProperties(pm::GetMetricProperties* p) {
  return Known(p->metric) ? kSuccess : kErrorInvalidMetricName;
}
NL_FAKE Result cuptiProfilerHostConfigAddMetrics(pm::ConfigAddMetrics* p) {
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
  Sample sample;
  std::memcpy(&sample, p->image + kPadding * (p->index + 1), sizeof sample);
  for (size_t i = 0; i < p->count; ++i) p->values[i] = ValueOf(p->metrics[i], sample);
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingGetCounterAvailability(pm::GetCounterAvailability* p) {
  if (Is("pm_denied")) return kErrorInsufficientPrivileges;
  p->image_bytes = 16;
  if (p->image != nullptr) std::memset(p->image, 1, 16);
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingEnable(pm::Enable* p) {
  if (Is("pm_denied_late")) return kErrorInsufficientPrivileges;
  if (Is("pm_busy")) return static_cast<Result>(7);  // CUPTI_ERROR_INVALID_OPERATION: somebody else samples
  p->sampling = new Sampling;
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingDisable(pm::OfObject* p) {
  delete static_cast<Sampling*>(p->sampling);
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingSetConfig(pm::SetConfig* p) {
  uint64_t count = 0;
  std::memcpy(&count, p->config, sizeof count);
  const int64_t fit = Option("pm_fit") > 0 ? Option("pm_fit") : 30;
  if (count > static_cast<uint64_t>(fit)) return kErrorNotSupported;
  if (Is("pm_sysclk") && p->trigger == pm::kTimeInterval) return kErrorNotSupported;
  static_cast<Sampling*>(p->sampling)->interval_ns = p->interval;
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingStart(pm::OfObject* p) {
  auto* sampling = static_cast<Sampling*>(p->sampling);
  if (sampling->running || sampling->interval_ns == 0) return static_cast<Result>(7);
  sampling->running = true;
  sampling->next_ns = fake::GpuNs();
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingStop(pm::OfObject* p) {
  auto* sampling = static_cast<Sampling*>(p->sampling);
  if (!sampling->running) return static_cast<Result>(7);
  sampling->running = false;
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingDecodeData(pm::DecodeData* p) {
  auto* sampling = static_cast<Sampling*>(p->sampling);
  const std::lock_guard lock(g_mutex);
  ++sampling->decodes;
  if (Is("pm_broken") && sampling->decodes > Option("pm_broken")) return static_cast<Result>(999);
  ImageHead head;
  std::memcpy(&head, p->image, sizeof head);
  const int64_t now_ns = fake::GpuNs();
  const auto interval_ns = static_cast<int64_t>(sampling->interval_ns);
  while (sampling->next_ns + interval_ns <= now_ns && head.count < head.capacity) {
    const int64_t start_ns = sampling->next_ns, end_ns = start_ns + interval_ns;
    sampling->next_ns = end_ns;
    ++sampling->samples;
    if (Is("pm_gap") && Option("pm_gap") > 0 && sampling->samples % Option("pm_gap") == 0) {
      sampling->next_ns += 2 * interval_ns;
      continue;
    }
    const fake::Busy busy = fake::BusyIn(start_ns, end_ns);
    const Sample sample{static_cast<uint64_t>(start_ns), static_cast<uint64_t>(end_ns), busy.gemm_ns,
                        busy.other_ns};
    std::memcpy(p->image + kPadding * (++head.count), &sample, sizeof sample);
  }
  std::memcpy(p->image, &head, sizeof head);
  p->stop_reason = head.count == head.capacity ? pm::kImageFull : pm::kEndOfRecords;
  if (sampling->decodes == Option("pm_overflow")) {
    p->overflow = 1;
    return kErrorOutOfMemory;
  }
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingGetCounterDataSize(pm::GetCounterDataSize* p) {
  p->image_bytes = kPadding * (size_t{p->max_samples} + 1);
  return p->count > 0 && p->count <= kMostMetrics ? kSuccess : kErrorInvalidParameter;
}
NL_FAKE Result cuptiPmSamplingCounterDataImageInitialize(pm::ImageInitialize* p) {
  const ImageHead head{p->image_bytes / kPadding - 1, 0};
  std::memcpy(p->image, &head, sizeof head);
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingGetCounterDataInfo(pm::GetCounterDataInfo* p) {
  ImageHead head;
  std::memcpy(&head, p->image, sizeof head);
  p->total = head.capacity;
  p->populated = p->completed = head.count;
  return kSuccess;
}
NL_FAKE Result cuptiPmSamplingCounterDataGetSampleInfo(pm::GetSampleInfo* p) {
  Sample sample;
  std::memcpy(&sample, p->image + kPadding * (p->index + 1), sizeof sample);
  p->start_ns = sample.start_ns;
  p->end_ns = sample.end_ns;
  return kSuccess;
}
