// SPDX-License-Identifier: Apache-2.0
#include "capture/peaks/gpu_bench.h"

#include <algorithm>
#include <cmath>

#include "capture/peaks/ptx_kernels.h"

namespace nl::capture {

namespace {

constexpr size_t kScratchBytes = 256;
constexpr int kMostCalls = 200, kMostRepeats = 400, kHostSamples = 101;
constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;  // CU_JIT_ERROR_LOG_BUFFER and its size
constexpr unsigned kNonBlocking = 1;
// A device at its power limit is slower by some percent from one moment to the next: three candidates, not
// one.
constexpr size_t kMeasuredTrials = 3;

}  // namespace

GpuBench::~GpuBench() {
  if (context_ == nullptr) return;
  scratch_.Release();
  if (from_ != nullptr) cuda_.EventDestroy(from_);
  if (to_ != nullptr) cuda_.EventDestroy(to_);
  if (stream_ != nullptr) cuda_.StreamDestroy(stream_);
  if (module_ != nullptr) cuda_.ModuleUnload(module_);
  cuda_.PrimaryCtxRelease(device_);
}

bool GpuBench::Ok(int result, const char* what) {
  if (result == 0) return true;
  error_ = std::string(what) + ": " + cuda_.ErrorText(result);
  return false;
}

bool GpuBench::Open(int index) {
  if (!Ok(cuda_.DeviceGet(&device_, index), "cuDeviceGet") ||
      !Ok(cuda_.PrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain") ||
      !Ok(cuda_.CtxSetCurrent(context_), "cuCtxSetCurrent") ||
      !Ok(cuda_.DeviceGetAttribute(&sms_, kCuMultiprocessors, device_), "cuDeviceGetAttribute") ||
      !Ok(cuda_.DeviceGetAttribute(&threads_per_sm_, kCuThreadsPerMultiprocessor, device_),
          "cuDeviceGetAttribute"))
    return false;
  char log[2048] = {};
  int names[] = {kJitErrorLog, kJitErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
  const int loaded = cuda_.ModuleLoadDataEx(&module_, PtxText().c_str(), 2, names, values);
  if (!Ok(loaded, "the driver cannot compile the kernels")) {
    if (log[0] != '\0') error_ += std::string(": ") + log;
    return false;
  }
  return Ok(cuda_.StreamCreate(&stream_, kNonBlocking), "cuStreamCreate") &&
         Ok(cuda_.EventCreate(&from_, 0), "cuEventCreate") &&
         Ok(cuda_.EventCreate(&to_, 0), "cuEventCreate") &&
         Ok(scratch_.Allocate(cuda_, kScratchBytes), "cuMemAlloc");
}

bool GpuBench::Stopped() const { return cancelled_ || options_.now_ns() >= deadline_ns_; }

double GpuBench::SecondsLeft() const {
  return std::max(0.0, static_cast<double>(deadline_ns_ - options_.now_ns()) / 1e9);
}

Figure* GpuBench::Begin(const char* name, const char* unit) {
  Figure& figure = out_.figures.emplace_back();
  figure.name = name;
  figure.unit = unit;
  error_.clear();
  if (!cancelled_ && options_.progress && !options_.progress(out_.name, name)) cancelled_ = true;
  if (!Stopped()) return &figure;
  figure.reason = cancelled_ ? "stopped by the user" : "the time budget was used up; raise --budget";
  return nullptr;
}

CuFunction GpuBench::Kernel(const std::string& name) {
  CuFunction function = nullptr;
  return Ok(cuda_.ModuleGetFunction(&function, module_, name.c_str()), name.c_str()) ? function : nullptr;
}

int GpuBench::Launch(CuFunction function, unsigned blocks, unsigned threads,
                     std::initializer_list<const void*> arguments) {
  void* list[8] = {};
  size_t count = 0;
  for (const void* argument : arguments) list[count++] = const_cast<void*>(argument);
  return cuda_.LaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream_, list, nullptr);
}

double GpuBench::Sample(const PeakTrial& trial, int calls, bool host_time) {
  const int64_t begun_ns = options_.now_ns();
  if (!host_time && !Ok(cuda_.EventRecord(from_, stream_), "cuEventRecord")) return -1;
  for (int i = 0; i < calls; ++i) {
    if (!Ok(trial.work(), trial.how.c_str())) return -1;
  }
  if (host_time) {
    if (!Ok(Sync(), "cuStreamSynchronize")) return -1;
    return static_cast<double>(options_.now_ns() - begun_ns) / 1e9;
  }
  float ms = 0;
  if (!Ok(cuda_.EventRecord(to_, stream_), "cuEventRecord") ||
      !Ok(cuda_.EventSynchronize(to_), trial.how.c_str()) ||
      !Ok(cuda_.EventElapsedTime(&ms, from_, to_), "cuEventElapsedTime"))
    return -1;
  return static_cast<double>(ms) / 1e3;
}

bool GpuBench::Try(const PeakTrial& trial, const TrialLimits& limits, Sampled& to) {
  double seconds = Sample(trial, 1, limits.host_time);  // the first call may load code
  if (seconds < 0) return false;
  seconds = Sample(trial, 1, limits.host_time);
  if (seconds <= 0) {
    if (seconds == 0) error_ = trial.how + ": took no time";
    return false;
  }
  const int calls = std::clamp(static_cast<int>(std::ceil(limits.sample_ms / 1e3 / seconds)), 1, kMostCalls);
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    seconds = Sample(trial, calls, limits.host_time);
    if (seconds <= 0) return false;
    best = std::max(best, trial.amount * calls / seconds);
  }
  to = {&trial, best, calls};
  return true;
}

std::vector<double> GpuBench::Repeat(const Sampled& chosen, double scale, const TrialLimits& limits) {
  std::vector<double> rates;
  const int64_t begun_ns = options_.now_ns();
  const auto enough_ns = static_cast<int64_t>(limits.measure_s * 1e9);
  while (static_cast<int>(rates.size()) < kMostRepeats) {
    const bool enough = static_cast<int>(rates.size()) >= limits.least_repeats;
    if (enough && (options_.now_ns() - begun_ns >= enough_ns || Stopped())) break;
    const double seconds = Sample(*chosen.trial, chosen.calls, limits.host_time);
    if (seconds <= 0) break;
    rates.push_back(chosen.trial->amount * chosen.calls / seconds / scale);
  }
  if (limits.under_load) {
    for (int i = 0; i < 8 * chosen.calls && chosen.trial->work() == 0; ++i) {
    }
    limits.under_load();
    Sync();
  }
  return rates;
}

void GpuBench::MeasureBest(Figure& figure, const std::vector<PeakTrial>& trials, double scale,
                           const TrialLimits& limits) {
  std::vector<Sampled> tried;
  const int64_t begun_ns = options_.now_ns();
  for (const PeakTrial& trial : trials) {
    const bool late = static_cast<double>(options_.now_ns() - begun_ns) / 1e9 >= limits.try_s || Stopped();
    if (late && !tried.empty()) break;
    Sampled sampled{};
    if (Try(trial, limits, sampled)) tried.push_back(sampled);
  }
  std::stable_sort(tried.begin(), tried.end(),
                   [](const Sampled& a, const Sampled& b) { return a.quick > b.quick; });
  for (size_t i = 0; i < std::min(kMeasuredTrials, tried.size()); ++i) {
    Figure measured = figure;
    SetRepeats(measured, Repeat(tried[i], scale, limits));
    measured.how = tried[i].trial->how;
    if (measured.value && (!figure.value || *measured.value > *figure.value)) figure = measured;
  }
  if (!figure.value) figure.reason = error_.empty() ? "nothing to measure" : error_;
}

void GpuBench::MeasureHostUs(Figure& figure, int batch, const std::function<int()>& call,
                             const std::function<int()>& after) {
  std::vector<double> us;
  for (int sample = -3; sample < kHostSamples && !(sample > 10 && Stopped()); ++sample) {
    const int64_t begun_ns = options_.now_ns();
    int result = 0;
    for (int i = 0; i < batch && result == 0; ++i) result = call();
    const int64_t taken_ns = options_.now_ns() - begun_ns;
    if (!Ok(result, figure.name.c_str()) || !Ok(after(), figure.name.c_str())) {
      figure.reason = error_;
      return;
    }
    if (sample >= 0) us.push_back(static_cast<double>(taken_ns) / 1e3 / batch);
  }
  SetRepeats(figure, std::move(us));
}

void GpuBench::WarmUp(double seconds, const std::function<int()>& work) {
  const int64_t until_ns = options_.now_ns() + static_cast<int64_t>(seconds * 1e9);
  while (options_.now_ns() < until_ns && !Stopped()) {
    if (work() != 0 || Sync() != 0) return;
  }
}

}  // namespace nl::capture
