// SPDX-License-Identifier: Apache-2.0
// The facts of the samples as reports and `neurolens summary` give them.
#include "analyze/facts/samples.h"

#include <algorithm>

#include <fmt/format.h>

namespace nl {

std::string SampledFunction::Place() const {
  if (!file) return "";
  return line ? fmt::format("{}:{}", *file, *line) : *file;
}

double SampledTime::waiting_ms() const {
  double sum = 0;
  for (const SampledWait& wait : waits) sum += wait.ms;
  return sum;
}

std::vector<const SampledFunction*> TopFunctions(const SamplesFacts& facts, bool python, size_t rows) {
  std::vector<const SampledFunction*> out;
  for (const SampledFunction& f : facts.functions) {
    if (out.size() == rows) break;
    if ((f.language == FrameLanguage::kPython) == python && f.self_share > 0) out.push_back(&f);
  }
  return out;
}

void Describe(Record<SampledFunction>& r) {
  using T = SampledFunction;
  r.Name("SampledFunction", "One function in CPU samples of running threads");
  r.Field("name", &T::name, "Name of the function");
  r.Field("file", &T::file, "Source file; the program or library where the file is not known");
  r.Field("line", &T::line, "The line with the most time; null when lines were not recorded");
  r.Field("language", &T::language, "Language of the function");
  r.Field("samples", &T::samples, "Samples with the function on the stack");
  r.Field("self_ms", &T::self_ms, Unit::kMs,
          "CPU time in the function itself; of a Python function including the native code it calls; null "
          "without times");
  r.Field("total_ms", &T::total_ms, Unit::kMs, "CPU time including callees; null without times");
  r.Field("self_share", &T::self_share, Unit::kShare, "Part of the CPU time sampled, self");
  r.Field("total_share", &T::total_share, Unit::kShare, "Part of the CPU time sampled, including callees");
}

void Describe(Record<SampledThread>& r) {
  using T = SampledThread;
  r.Name("SampledThread", "One sampled thread");
  r.Field("name", &T::name, "Name of the thread");
  r.Field("process", &T::process, "Name of its process");
  r.Field("tid", &T::tid, "Thread number");
  r.Field("main", &T::main, "Main thread of the program");
  r.Field("samples", &T::samples, "Samples");
  r.Field("running_ms", &T::running_ms, Unit::kMs, "Time on a core; null without times");
  r.Field("waiting_ms", &T::waiting_ms, Unit::kMs, "Time waiting; null without times");
  r.Field("gil_held_ms", &T::gil_held_ms, Unit::kMs,
          "Time it held Python's global interpreter lock; null: not a Python thread, or not recorded");
  r.Field("gil_wait_ms", &T::gil_wait_ms, Unit::kMs, "Time it waited for that lock");
  r.Field("gil_holder", &T::gil_holder, "Python function in which it held the lock longest");
}

void Describe(Record<SampledWait>& r) {
  using T = SampledWait;
  r.Name("SampledWait", "Waiting of one kind in one place");
  r.Field("what", &T::what, "System call or lock");
  r.Field("where", &T::where, "Function that waits; null when only the system call is known");
  r.Field("threads", &T::threads, "Threads that waited there");
  r.Field("samples", &T::samples, "Samples");
  r.Field("ms", &T::ms, Unit::kMs, "Time");
}

void Describe(Record<SampledTime>& r) {
  using T = SampledTime;
  r.Name("SampledTime", "Parts of the wall time of a run without device work; they sum to it");
  r.Field("python_ms", &T::python_ms, Unit::kMs, "Some thread runs, in Python code");
  r.Field("native_ms", &T::native_ms, Unit::kMs, "Some thread runs, in native code");
  r.Field("system_ms", &T::system_ms, Unit::kMs, "Some thread runs, in the kernel");
  r.Field("waits", &T::waits, "No thread runs, by what the main thread waits for");
  r.Field("unsampled_ms", &T::unsampled_ms, Unit::kMs, "Without a sample of a running or waiting thread");
}

void Describe(Record<SamplesFacts>& r) {
  using T = SamplesFacts;
  r.Name("SamplesFacts", "What the CPU samples show");
  r.Field("samples", &T::samples, "Samples");
  r.Field("running_ms", &T::running_ms, Unit::kMs, "CPU time of all threads; null without times");
  r.Field("waiting_ms", &T::waiting_ms, Unit::kMs, "Waiting time of all threads; null without times");
  r.Field("gil_held_ms", &T::gil_held_ms, Unit::kMs,
          "Time in which a sampled thread held Python's global interpreter lock; null when not recorded");
  r.Field("gil_wait_ms", &T::gil_wait_ms, Unit::kMs, "Time that threads waited for that lock, summed");
  r.Field("gil_holder", &T::gil_holder, "Function that held the lock longest in one thread");
  r.Field("functions", &T::functions, "Functions, most self time first, at most 200");
  r.Field("functions_total", &T::functions_total, "Functions before that limit");
  r.Field("threads", &T::threads, "Threads, most CPU time first, at most 100");
  r.Field("threads_total", &T::threads_total, "Threads before that limit");
  r.Field("waits", &T::waits, "What threads waited for, longest first, at most 50");
  r.Field("time", &T::time, "Where the wall time went; null with device work or without times");
}

}  // namespace nl
