// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/pm_device.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nl::capture {

namespace pm = cupti::pm;

namespace {

// Some 9 kB a sample (15 metrics, GH100): room for three images.
constexpr size_t kHardwareBufferBytes = 32u << 20;
constexpr uint32_t kMostFailed = 3;  // bursts in a row
constexpr uint16_t kMostIdle = 250;
// What says that a device works, of the metrics of pm_metrics.cc. A sampled device's engine
// is never quite idle, and its own samples cross PCIe.
constexpr const char* kBusy[] = {"sm__cycles_active.avg.pct", "dram__bytes_read", "dram__bytes_write"};
constexpr float kIdleBytesPerNs = 1;

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
  char text[200];
  std::snprintf(text, sizeof text, "%s gave %s (%d)", function, why, static_cast<int>(result));
  Say(MessageLevel::kWarning, text);
  return false;
}

void PmDevice::Say(MessageLevel level, const char* what) {
  char text[320];
  std::snprintf(text, sizeof text, "hardware counters of device %u: %s", device_, what);
  notes_.Say(level, text);
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
  char text[100];
  std::snprintf(text, sizeof text, "they cannot be sampled: %s", why);
  Say(MessageLevel::kWarning, text);
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
  char left_out[220], text[300];
  metrics_ = ChooseMetrics(library_.call, chip_, availability_, config_, left_out, sizeof left_out);
  if (left_out[0] != '\0') {
    std::snprintf(text, sizeof text, "the chip is %s; not sampled: %s", chip_, left_out);
    Say(MessageLevel::kInfo, text);
  }
  if (metrics_.count == 0) {
    std::snprintf(text, sizeof text, "none is known for its chip, %s", chip_);
    Say(MessageLevel::kWarning, text);
    return false;
  }
  if (config_.failed != nullptr) return Ok(config_.result, config_.failed);
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

// CUPTI's object remembers the size it was last asked for: it is asked once.
bool PmDevice::MakeImage() {
  auto size = pm::Make<pm::GetCounterDataSize>();
  const char* names[kMaxCounters];
  std::memcpy(names, metrics_.names, sizeof names);
  size.sampling = sampling_;
  size.metrics = names;
  size.count = metrics_.count;
  size.max_samples = kImageSamples;
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
  library_.guard_exit();
  if (!MakeSampling()) return false;
  if (set_.entry.id == set_id) return true;  // woken
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

bool PmDevice::MakeSampling() {
  auto enable = pm::Make<pm::Enable>();
  enable.device = device_;
  if (!Ok(library_.call.PmSamplingEnable(&enable), "cuptiPmSamplingEnable")) return false;
  sampling_ = enable.sampling;
  const bool made = Configure() && MakeImage();
  if (!made) EndSampling();
  library_.guard_exit();
  return made;
}

void PmDevice::EndSampling() {
  if (sampling_ != nullptr) {
    auto end = pm::Make<pm::OfObject>();
    end.sampling = sampling_;
    Ok(library_.call.PmSamplingDisable(&end), "cuptiPmSamplingDisable");
  }
  sampling_ = nullptr;
  std::free(image_);
  image_ = nullptr;
}

bool PmDevice::Start() {
  auto start = pm::Make<pm::OfObject>();
  start.sampling = sampling_;
  last_end_ns_ = 0;
  const int64_t from_ns = MonotonicNs();
  running_ = Ok(library_.call.PmSamplingStart(&start), "cuptiPmSamplingStart");
  const int64_t now_ns = MonotonicNs();
  start_stop_ns_ += now_ns - from_ns;
  burst_end_ns_ = now_ns + int64_t{interval_us_} * 1000 * kBurstSamples;
  if (first_start_ns_ == 0) first_start_ns_ = now_ns;
  if (!running_) Close();
  return running_;
}

void PmDevice::Finish() {
  if (!running_) return;
  auto stop = pm::Make<pm::OfObject>();
  stop.sampling = sampling_;
  const int64_t from_ns = MonotonicNs();
  const bool stopped = Ok(library_.call.PmSamplingStop(&stop), "cuptiPmSamplingStop");
  last_stop_ns_ = MonotonicNs();
  start_stop_ns_ += last_stop_ns_ - from_ns;
  running_ = false;
  const bool readable = stopped && Decode();
  PutIdle();
  if (bursts_++ == 0) library_.guard_exit();
  failed_in_a_row_ = readable ? 0 : failed_in_a_row_ + 1;
  if (readable) return;
  missed_ += kBurstSamples;
  EndSampling();
  ++remade_;
  if (failed_in_a_row_ > kMostFailed) {
    Say(MessageLevel::kWarning, "given up");
    return Close();
  }
  if (!MakeSampling()) Close();
}

bool PmDevice::Decode() {
  const int64_t from_ns = MonotonicNs();
  if (!ClearImage()) return false;
  auto decode = pm::Make<pm::DecodeData>();
  decode.sampling = sampling_;
  decode.image = image_;
  decode.image_bytes = image_bytes_;
  const cupti::Result result = library_.call.PmSamplingDecodeData(&decode);
  const int64_t decoded_ns = MonotonicNs();
  decode_ns_ += decoded_ns - from_ns;
  if (decode.overflow != 0 || result == cupti::kErrorOutOfMemory) {
    Say(MessageLevel::kInfo, "the device's buffer overflowed; sampling restarted");
    return false;
  }
  if (!Ok(result, "cuptiPmSamplingDecodeData")) return false;
  TakeSamples();
  evaluate_ns_ += MonotonicNs() - decoded_ns;
  if (decode.stop_reason != pm::kImageFull) return true;
  Say(MessageLevel::kInfo, "more samples than a burst can hold; sampling restarted");
  return false;
}

void PmDevice::TakeSamples() {
  auto info = pm::Make<pm::GetCounterDataInfo>();
  info.image = image_;
  info.image_bytes = image_bytes_;
  if (!Ok(library_.call.PmSamplingGetCounterDataInfo(&info), "cuptiPmSamplingGetCounterDataInfo")) return;
  const size_t count = info.completed < kImageSamples ? info.completed : kImageSamples;
  const char* names[kMaxCounters];
  std::memcpy(names, metrics_.names, sizeof names);
  // The first of a burst reaches back to the stop before it.
  if (count > 0) ++left_out_;
  for (size_t i = 1; i < count; ++i) {
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
    if (library_.call.PmSamplingCounterDataGetSampleInfo(&sample) != cupti::kSuccess) {
      ++refused_;
    } else if (IsUsable(sample)) {
      if (library_.call.ProfilerHostEvaluateToGpuValues(&evaluate) == cupti::kSuccess)
        Put(sample, values);
      else
        ++refused_;
    }
  }
}

// The last one or two after a stop last no time.
bool PmDevice::IsUsable(const pm::GetSampleInfo& sample) {
  const bool usable = sample.start_ns < sample.end_ns && sample.end_ns < uint64_t{INT64_MAX} &&
                      sample.end_ns - sample.start_ns < uint64_t{interval_us_} * 4000;
  if (!usable) ++left_out_;
  return usable;
}

bool PmDevice::IsIdle(const CounterReading& reading) const {
  if (busy_metrics_[0] < 0 || reading.values[busy_metrics_[0]] != 0) return false;
  float bytes = 0;
  for (size_t what = 1; what < 3; ++what) {
    if (busy_metrics_[what] >= 0) bytes += reading.values[busy_metrics_[what]];
  }
  return bytes < kIdleBytesPerNs * static_cast<float>(reading.entry.end_ns - reading.entry.start_ns);
}

void PmDevice::Put(const pm::GetSampleInfo& sample, const double* values) {
  const uint64_t interval_ns = uint64_t{interval_us_} * 1000;
  if (last_end_ns_ != 0 && sample.start_ns > last_end_ns_ + interval_ns / 2)
    missed_ += (sample.start_ns - last_end_ns_ + interval_ns / 2) / interval_ns;
  last_end_ns_ = sample.end_ns;
  ++samples_;
  covered_ns_ += static_cast<int64_t>(sample.end_ns - sample.start_ns);
  CounterReading reading;
  reading.entry = {static_cast<int64_t>(sample.start_ns), static_cast<int64_t>(sample.end_ns), set_.entry.id,
                   1, static_cast<uint16_t>(metrics_.count)};
  for (size_t i = 0; i < metrics_.count; ++i) reading.values[i] = static_cast<float>(values[i]);
  if (!IsIdle(reading)) {
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

uint64_t PmDevice::TakeMissed() {
  const uint64_t missed = missed_ + refused_ - missed_told_;
  missed_told_ += missed;
  return missed;
}

void PmDevice::Tell() {
  const auto us = [](int64_t ns) { return static_cast<long long>(ns / 1000); };
  const int64_t span_ns = last_stop_ns_ - first_start_ns_;
  char text[320];
  std::snprintf(
      text, sizeof text,
      "chip %s, %zu metrics every %u us, %zu bytes each; %llu samples in %llu bursts cover %.1f %% of "
      "%.2f s; %llu missed, %llu left out, %llu not evaluated, restarted %llu times; start and stop took "
      "%lld us, decoding %lld us, evaluating %lld us",
      chip_, metrics_.count, interval_us_, image_bytes_ / kImageSamples,
      static_cast<unsigned long long>(samples_), static_cast<unsigned long long>(bursts_),
      span_ns > 0 ? 100.0 * static_cast<double>(covered_ns_) / static_cast<double>(span_ns) : 0.0,
      static_cast<double>(span_ns) / 1e9, static_cast<unsigned long long>(missed_),
      static_cast<unsigned long long>(left_out_), static_cast<unsigned long long>(refused_),
      static_cast<unsigned long long>(remade_), us(start_stop_ns_), us(decode_ns_), us(evaluate_ns_));
  Say(MessageLevel::kInfo, text);
}

void PmDevice::Rest() {
  if (running_) Finish();
  resting_ = opened();
  Free();
}

bool PmDevice::Wake() {
  if (!resting_) return false;
  resting_ = false;
  const bool woken = Open(device_, set_.entry.id, interval_us_);
  if (!woken) Close();
  return woken;
}

void PmDevice::Close() {
  if (running_) Finish();
  if (bursts_ > 0) Tell();
  bursts_ = 0;
  resting_ = false;
  Free();
}

void PmDevice::Free() {
  EndSampling();
  config_.Close();
  std::free(availability_);
  availability_ = nullptr;
}

}  // namespace nl::capture
