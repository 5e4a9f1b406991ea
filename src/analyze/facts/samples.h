// SPDX-License-Identifier: Apache-2.0
#pragma once
// SamplesFacts: what the CPU samples of a run say: which functions the time is in, what threads wait
// for, who holds Python's lock, and for a run without device work where its wall time went.
// Made by passes/samples; empty for a run without CPU samples.
//
// Shares are of the samples' weights, which are times, or counts where the source has no times (then times
// are null). A function counts once per stack. The self time of a Python function includes the native code it
// calls, because the interpreter's own functions are how its lines run; native functions have the plain self
// time.
//
// Where the wall time went: in bins of at least 100 ms, the CPU time of all threads, at most the bin, is
// time in which some thread runs; the rest is time in which every thread waits, divided by what the main
// thread waits for. Samples of single threads never overlap, so one running thread is counted exactly.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "model/ids.h"
#include "model/sampled_frame.h"

namespace nl {

struct SampledFunction {
  std::string name;
  std::optional<std::string> file;  // or the module of native code
  std::optional<int64_t> line;      // with the most time, where lines are recorded
  FrameLanguage language = FrameLanguage::kNative;
  int64_t samples = 0;                      // with the function on the stack, while the thread ran
  std::optional<double> self_ms, total_ms;  // null where the source has no times
  double self_share = 0, total_share = 0;   // of the CPU time sampled

  std::string Place() const;  // "file:line", or what is known of it
};
void Describe(Record<SampledFunction>& r);

struct SampledThread {
  std::string name, process;
  std::optional<int64_t> tid;
  int64_t samples = 0;
  std::optional<double> running_ms, waiting_ms;
  std::optional<double> gil_held_ms, gil_wait_ms;
  std::optional<std::string> gil_holder;
  bool main = false;  // of the program that was started
};
void Describe(Record<SampledThread>& r);

struct SampledWait {
  std::string what;                  // "futex", "the GIL", "poll", ...
  std::optional<std::string> where;  // innermost function of the program
  int64_t threads = 0, samples = 0;
  double ms = 0;
};
void Describe(Record<SampledWait>& r);

// Parts of the wall time of a run without device work; they sum to it.
struct SampledTime {
  double python_ms = 0, native_ms = 0, system_ms = 0;  // some thread runs
  std::vector<SampledWait> waits;                      // every thread waits, by what the main thread does
  double unsampled_ms = 0;
  double running_ms() const { return python_ms + native_ms + system_ms; }
  double waiting_ms() const;  // every thread waits
};
void Describe(Record<SampledTime>& r);

struct SamplesFacts {
  static constexpr const char* kName = "samples";
  int64_t samples = 0;
  std::optional<double> running_ms, waiting_ms;  // of all threads; null where the source has no times
  std::optional<double> gil_held_ms, gil_wait_ms;
  std::optional<std::string> gil_holder;   // function that held the GIL longest in one thread
  std::vector<SampledFunction> functions;  // by self time
  int64_t functions_total = 0;             // before the limit
  std::vector<SampledThread> threads;      // by running time
  int64_t threads_total = 0;
  std::vector<SampledWait> waits;  // of all threads, longest first
  std::optional<SampledTime> time;

  static constexpr size_t kMaxFunctions = 200, kMaxThreads = 100, kMaxWaits = 50;
};
void Describe(Record<SamplesFacts>& r);

// Functions of one language, at most `rows`, most self time first; those without self time are left out.
std::vector<const SampledFunction*> TopFunctions(const SamplesFacts& facts, bool python, size_t rows);

struct Features;
// Adds what rules may say of a run without device work.
void AddSampleFeatures(const SamplesFacts& facts, double wall_ms, Features& out);

}  // namespace nl
