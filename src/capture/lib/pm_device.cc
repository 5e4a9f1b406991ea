// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/pm_device.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nl::capture {

namespace pm = cupti::pm;

namespace {

// A sample of 15 metrics takes some 20 kB in the device's buffer and 35 kB decoded (GH100).
constexpr size_t kHardwareBufferBytes = 128u << 20;
constexpr size_t kImageBytes = 16u << 20;
constexpr uint32_t kLeastImageSamples = 32, kMostImageSamples = 4096;
constexpr uint16_t kMostIdle = 250;
// What says that a device works, of the metrics of pm_metrics.cc.
constexpr const char* kBusy[] = {"sm__cycles_active.avg.pct", "gr__cycles_active.avg.pct",
                                 "dram__bytes_read"};

constexpr const char* kNotPermitted =
    "hardware counters are not recorded: the driver keeps them for administrators; load it with "
    "NVreg_RestrictProfilingToAdminUsers=0 or run with CAP_SYS_ADMIN (in a container: --cap-add SYS_ADMIN)";

}  // namespace

bool PmDevice::Ok(cupti::Result result, const char* function) {
  if (result == cupti::kSuccess) return true;
  if (result == cupti::kErrorInsufficientPrivileges || result == cupti::kErrorVirtualNoPrivileges) {
    notes_.Say(MessageLevel::kWarning, kNotPermitted);
    return false;
  }
  const char* why = nullptr;
  if (library_.GetResultString(result, &why) != cupti::kSuccess || why == nullptr) why = "unknown error";
  char text[256];
  std::snprintf(text, sizeof text, "hardware counters of device %u: %s gave %s (%d)", device_, function, why,
                static_cast<int>(result));
  notes_.Say(MessageLevel::kWarning, text);
  return false;
}

bool PmDevice::CheckSupport() {
  if (library_.call.ProfilerDeviceSupported == nullptr) return true;
  auto ask = pm::Make<pm::DeviceSupported>();
  ask.device = static_cast<int>(device_);
  ask.api = pm::kPmSamplingApi;
  if (!Ok(library_.call.ProfilerDeviceSupported(&ask), "cuptiProfilerDeviceSupported")) return false;
  if (ask.is_supported == pm::kSupported || ask.is_supported == pm::kSupportUnknown) return true;
  const struct {
    int level;
    const char* why;
  } causes[] = {{ask.architecture, "its architecture has no PM sampling"},
                {ask.sli, "SLI is on"},
                {ask.vgpu, "it is a virtual GPU without profiling"},
                {ask.confidential, "confidential computing is on"},
                {ask.cmp, "it is a mining processor"},
                {ask.wsl, "WSL"}};
  const char* why = "CUPTI does not say why";
  for (const auto& cause : causes) {
    if (cause.level == pm::kUnsupported || cause.level == pm::kDisabled) why = cause.why;
  }
  char text[200];
  std::snprintf(text, sizeof text, "hardware counters of device %u cannot be sampled: %s", device_, why);
  notes_.Say(MessageLevel::kWarning, text);
  return false;
}

// What of the chip's counters this device has; without it CUPTI takes those of the chip.
bool PmDevice::TakeAvailability() {
  auto ask = pm::Make<pm::GetCounterAvailability>();
  ask.device = device_;
  if (!Ok(library_.call.PmSamplingGetCounterAvailability(&ask), "cuptiPmSamplingGetCounterAvailability"))
    return false;
  availability_ = static_cast<uint8_t*>(std::calloc(1, ask.image_bytes > 0 ? ask.image_bytes : 1));
  if (availability_ == nullptr) return Ok(cupti::kErrorOutOfMemory, "calloc");
  ask.image = availability_;
  return Ok(library_.call.PmSamplingGetCounterAvailability(&ask), "cuptiPmSamplingGetCounterAvailability");
}

bool PmDevice::Choose() {
  char left_out[220];
  metrics_ = ChooseMetrics(library_.call, chip_, availability_, left_out, sizeof left_out);
  char text[320];
  if (left_out[0] != '\0') {
    std::snprintf(text, sizeof text, "hardware counters of device %u (%s) that are not sampled: %s", device_,
                  chip_, left_out);
    notes_.Say(MessageLevel::kInfo, text);
  }
  if (metrics_.count == 0) {
    std::snprintf(text, sizeof text, "hardware counters of device %u: none is known for its chip, %s",
                  device_, chip_);
    notes_.Say(MessageLevel::kWarning, text);
    return false;
  }
  if (!config_.Open(library_.call, chip_, availability_, metrics_)) return Ok(config_.result, config_.failed);
  for (size_t what = 0; what < 3; ++what) {
    for (size_t i = 0; i < metrics_.count; ++i) {
      if (std::strstr(metrics_.names[i], kBusy[what]) != nullptr) busy_metrics_[what] = static_cast<int>(i);
    }
  }
  return true;
}

bool PmDevice::Configure() {
  auto set = pm::Make<pm::SetConfig>();
  set.sampling = sampling_;
  set.config = config_.image();
  set.config_bytes = config_.image_bytes();
  set.hardware_buffer_bytes = kHardwareBufferBytes;
  set.interval = uint64_t{interval_us_} * 1000;
  set.trigger = pm::kTimeInterval;
  set.append = pm::kKeepOldest;
  if (library_.call.PmSamplingSetConfig(&set) == cupti::kSuccess) return true;
  // Turing and GA100 can only count cycles, of about a nanosecond.
  set.trigger = pm::kSysclkInterval;
  return Ok(library_.call.PmSamplingSetConfig(&set), "cuptiPmSamplingSetConfig");
}

bool PmDevice::MakeImage() {
  auto size = pm::Make<pm::GetCounterDataSize>();
  const char* names[kMaxCounters];
  std::memcpy(names, metrics_.names, sizeof names);
  size.sampling = sampling_;
  size.metrics = names;
  size.count = metrics_.count;
  size.max_samples = kLeastImageSamples;
  if (!Ok(library_.call.PmSamplingGetCounterDataSize(&size), "cuptiPmSamplingGetCounterDataSize"))
    return false;
  const size_t each = size.image_bytes / kLeastImageSamples + 1;
  const size_t fit = kImageBytes / each;
  image_samples_ = fit < kLeastImageSamples  ? kLeastImageSamples
                   : fit > kMostImageSamples ? kMostImageSamples
                                             : static_cast<uint32_t>(fit);
  size.max_samples = image_samples_;
  if (!Ok(library_.call.PmSamplingGetCounterDataSize(&size), "cuptiPmSamplingGetCounterDataSize"))
    return false;
  image_bytes_ = size.image_bytes;
  image_ = static_cast<uint8_t*>(std::calloc(1, image_bytes_));
  if (image_ == nullptr) return Ok(cupti::kErrorOutOfMemory, "calloc");
  return ClearImage();
}

bool PmDevice::ClearImage() {
  auto clear = pm::Make<pm::ImageInitialize>();
  clear.sampling = sampling_;
  clear.image = image_;
  clear.image_bytes = image_bytes_;
  return Ok(library_.call.PmSamplingCounterDataImageInitialize(&clear),
            "cuptiPmSamplingCounterDataImageInitialize");
}

bool PmDevice::Open(uint32_t device, uint32_t set_id, uint32_t interval_us) {
  device_ = device;
  interval_us_ = interval_us;
  auto init = pm::Make<pm::ProfilerInitialize>();
  if (!Ok(library_.call.ProfilerInitialize(&init), "cuptiProfilerInitialize") || !CheckSupport())
    return false;
  auto chip = pm::Make<pm::GetChipName>();
  chip.device = device;
  if (!Ok(library_.call.DeviceGetChipName(&chip), "cuptiDeviceGetChipName") || chip.name == nullptr)
    return false;
  std::snprintf(chip_, sizeof chip_, "%s", chip.name);
  if (!TakeAvailability() || !Choose()) return false;
  auto enable = pm::Make<pm::Enable>();
  enable.device = device;
  if (!Ok(library_.call.PmSamplingEnable(&enable), "cuptiPmSamplingEnable")) return false;
  sampling_ = enable.sampling;
  if (!Configure() || !MakeImage()) {
    Close();
    return false;
  }
  set_.entry = {set_id,
                device,
                CounterClock::kGpu,
                CounterSource::kPmSampling,
                interval_us_ * 1000,
                static_cast<uint32_t>(metrics_.count)};
  std::memcpy(set_.names, metrics_.names, sizeof set_.names);
  queue_.AddSet(set_);
  return true;
}

void PmDevice::Start() {
  if (!opened() || running_) return;
  auto start = pm::Make<pm::OfObject>();
  start.sampling = sampling_;
  last_end_ns_ = 0;
  if (!Ok(library_.call.PmSamplingStart(&start), "cuptiPmSamplingStart")) return Close();
  running_ = true;
}

bool PmDevice::DecodeOnce(bool& more, bool& overflowed) {
  more = false;
  const int64_t from_ns = MonotonicNs();
  if (!ClearImage()) return false;
  auto decode = pm::Make<pm::DecodeData>();
  decode.sampling = sampling_;
  decode.image = image_;
  decode.image_bytes = image_bytes_;
  const cupti::Result result = library_.call.PmSamplingDecodeData(&decode);
  const int64_t decoded_ns = MonotonicNs();
  decode_ns_ += decoded_ns - from_ns;
  overflowed = overflowed || decode.overflow != 0 || result == cupti::kErrorOutOfMemory;
  if (!overflowed && !Ok(result, "cuptiPmSamplingDecodeData")) return false;
  more = result == cupti::kSuccess && decode.stop_reason == pm::kImageFull;
  TakeSamples();
  evaluate_ns_ += MonotonicNs() - decoded_ns;
  ++rounds_;
  return true;
}

void PmDevice::Read() {
  if (!running_) return;
  bool more = true, overflowed = false;
  while (more) {
    if (!DecodeOnce(more, overflowed)) return Close();
  }
  if (overflowed) Slow("its buffer overflowed");
}

void PmDevice::TakeSamples() {
  auto info = pm::Make<pm::GetCounterDataInfo>();
  info.image = image_;
  info.image_bytes = image_bytes_;
  if (library_.call.PmSamplingGetCounterDataInfo(&info) != cupti::kSuccess) return;
  const size_t count = info.completed < image_samples_ ? info.completed : image_samples_;
  if (info.populated > info.completed) incomplete_ += info.populated - info.completed;
  const char* names[kMaxCounters];
  std::memcpy(names, metrics_.names, sizeof names);
  for (size_t i = 0; i < count; ++i) {
    auto sample = pm::Make<pm::GetSampleInfo>();
    sample.sampling = sampling_;
    sample.image = image_;
    sample.image_bytes = image_bytes_;
    sample.index = i;
    double values[kMaxCounters] = {};
    auto evaluate = pm::Make<pm::EvaluateToGpuValues>();
    evaluate.host = config_.host();
    evaluate.image = image_;
    evaluate.image_bytes = image_bytes_;
    evaluate.index = i;
    evaluate.metrics = names;
    evaluate.count = metrics_.count;
    evaluate.values = values;
    if (library_.call.PmSamplingCounterDataGetSampleInfo(&sample) != cupti::kSuccess ||
        library_.call.ProfilerHostEvaluateToGpuValues(&evaluate) != cupti::kSuccess) {
      ++refused_;
      continue;
    }
    Put(sample, values);
  }
}

bool PmDevice::IsIdle(const double* values) const {
  if (busy_metrics_[0] < 0) return false;
  for (size_t what = 0; what < 2; ++what) {
    if (busy_metrics_[what] >= 0 && values[busy_metrics_[what]] != 0) return false;
  }
  return true;
}

void PmDevice::Put(const pm::GetSampleInfo& sample, const double* values) {
  if (sample.end_ns < sample.start_ns || sample.start_ns > uint64_t{INT64_MAX}) {
    ++refused_;
    return;
  }
  ++samples_;
  const uint64_t interval_ns = uint64_t{interval_us_} * 1000;
  if (last_end_ns_ != 0 && sample.start_ns > last_end_ns_ + interval_ns * 3 / 2)
    missed_ += (sample.start_ns - last_end_ns_ + interval_ns / 2) / interval_ns;
  if (sample.end_ns > last_end_ns_) last_end_ns_ = sample.end_ns;
  CounterReading reading;
  reading.entry = {static_cast<int64_t>(sample.start_ns), static_cast<int64_t>(sample.end_ns), set_.entry.id,
                   1, static_cast<uint16_t>(metrics_.count)};
  for (size_t i = 0; i < metrics_.count; ++i) reading.values[i] = static_cast<float>(values[i]);
  if (!IsIdle(values)) {
    PutIdle();
    return queue_.Put(reading);
  }
  // Idle samples in a row are one reading: the mean of them.
  CounterValuesEntry& idle = idle_.entry;
  if (idle.samples > 0 && (idle.end_ns != reading.entry.start_ns || idle.samples >= kMostIdle)) PutIdle();
  if (idle.samples == 0) {
    idle_ = reading;
    return;
  }
  const float share = 1.0f / static_cast<float>(idle.samples + 1);
  for (size_t i = 0; i < metrics_.count; ++i)
    idle_.values[i] += (reading.values[i] - idle_.values[i]) * share;
  idle.end_ns = reading.entry.end_ns;
  ++idle.samples;
}

void PmDevice::PutIdle() {
  if (idle_.entry.samples > 0) queue_.Put(idle_);
  idle_.entry.samples = 0;
}

void PmDevice::Stop() {
  if (!running_) return;
  auto stop = pm::Make<pm::OfObject>();
  stop.sampling = sampling_;
  Ok(library_.call.PmSamplingStop(&stop), "cuptiPmSamplingStop");
  running_ = false;
  bool more = true, overflowed = false;
  while (more && DecodeOnce(more, overflowed)) {
  }
  PutIdle();
}

void PmDevice::Slow(const char* why) {
  const bool was_running = running_;
  const uint64_t last_end_ns = last_end_ns_;
  Stop();
  const uint32_t slower_us = interval_us_ * 2 < kMostIntervalUs ? interval_us_ * 2 : kMostIntervalUs;
  if (slower_us != interval_us_) {
    interval_us_ = slower_us;
    char text[200];
    std::snprintf(text, sizeof text, "hardware counters of device %u: %s; sampled every %u us from now on",
                  device_, why, interval_us_);
    notes_.Say(MessageLevel::kInfo, text);
    if (!Configure()) return Close();
    set_.entry.interval_ns = interval_us_ * 1000;
    queue_.AddSet(set_);
  }
  if (was_running) Start();
  last_end_ns_ = last_end_ns;
}

uint64_t PmDevice::TakeMissed() {
  const uint64_t missed = missed_ + refused_ - missed_told_;
  missed_told_ += missed;
  return missed;
}

void PmDevice::Tell() {
  char text[320];
  std::snprintf(
      text, sizeof text,
      "hardware counters of device %u: chip %s, %zu metrics every %u us, %zu bytes a sample; %llu "
      "samples in %llu rounds, %llu missed, %llu incomplete, %llu not evaluated; decoding took %lld us, "
      "evaluating %lld us",
      device_, chip_, metrics_.count, interval_us_, image_samples_ > 0 ? image_bytes_ / image_samples_ : 0,
      static_cast<unsigned long long>(samples_), static_cast<unsigned long long>(rounds_),
      static_cast<unsigned long long>(missed_), static_cast<unsigned long long>(incomplete_),
      static_cast<unsigned long long>(refused_), static_cast<long long>(decode_ns_ / 1000),
      static_cast<long long>(evaluate_ns_ / 1000));
  notes_.Say(MessageLevel::kInfo, text);
}

void PmDevice::Close() {
  if (running_) Stop();
  if (sampling_ != nullptr) {
    Tell();
    auto end = pm::Make<pm::OfObject>();
    end.sampling = sampling_;
    Ok(library_.call.PmSamplingDisable(&end), "cuptiPmSamplingDisable");
  }
  sampling_ = nullptr;
  config_.Close();
  std::free(image_);
  std::free(availability_);
  image_ = availability_ = nullptr;
}

}  // namespace nl::capture
