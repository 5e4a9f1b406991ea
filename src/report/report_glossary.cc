// SPDX-License-Identifier: Apache-2.0
#include "report/report_glossary.h"

#include "report/report_model.h"

namespace nl {

namespace {

bool Always(const Report&) { return true; }
bool HasDevices(const Report& r) { return !r.devices.empty(); }
bool HasOperators(const Report& r) { return !r.operators.empty(); }
bool HasKernels(const Report& r) { return !r.kernels.empty(); }
bool HasIdle(const Report& r) { return r.idle.has_value(); }
bool HasLaunch(const Report& r) { return r.launch.has_value(); }
bool HasPath(const Report& r) { return r.critical_path.has_value(); }
bool HasMemory(const Report& r) { return r.memory.has_value(); }

bool HasSamples(const Report& r) { return r.samples.has_value(); }

struct Term {
  bool (*used)(const Report&);
  const char* name;
  const char* unit;
  const char* meaning;
};

constexpr Term kTerms[] = {
    {Always, "wall", "ms", "From the first start to the last end of anything recorded."},
    {HasDevices, "busy", "ms",
     "Time in which at least one kernel, copy or fill ran on the device. Overlapping work counts once."},
    {HasDevices, "utilization", "share", "busy / (wall - paused)."},
    {HasDevices, "overlap", "ms",
     "Time in which two kinds of work (compute, communication, memory) ran at once."},
    {HasSamples, "CPU self", "ms",
     "CPU time in the function itself; of a Python function including the native code it calls."},
    {HasSamples, "GIL", "ms", "Python's global interpreter lock: the thread that holds it runs Python code."},
    {HasOperators, "total", "ms", "Host time inside the operator, with the operators it calls."},
    {HasOperators, "self", "ms", "Host time inside the operator, without the operators it calls."},
    {HasOperators, "GPU", "ms", "Device time of the kernels the operator launched itself."},
    {HasKernels, "mean", "ms", "total / calls."},
    {HasKernels, "p95", "ms", "95 of 100 calls took at most this long."},
    {HasKernels, "share", "share", "Part of the summed device time of all kernels."},
    {HasIdle, "idle: host", "ms",
     "The device had nothing to do because the host had not yet issued the next work."},
    {HasIdle, "idle: launch", "ms", "The work was issued and on its way to the device."},
    {HasIdle, "idle: sync", "ms", "The next work had to wait for other work: an event, a stream, a copy."},
    {HasLaunch, "queue delay", "us", "From the start of the launch call to the start of the kernel."},
    {HasLaunch, "launch-bound", "share", "Kernels that run for less time than their launch call takes."},
    {HasPath, "critical path", "ms",
     "The chain of work that decided the wall time: shortening anything outside of it gains nothing."},
    {Always, "arithmetic intensity", "FLOP/byte", "Operations per byte moved. Low: limited by memory."},
    {Always, "efficiency", "share", "Time the hardware would need at its peak / time it took."},
    {Always, "TTFT", "ms", "Time to the first token: the prompt's cost as a user feels it."},
    {Always, "TPOT", "ms", "Time per output token after the first."},
    {Always, "MFU", "share", "The model's FLOPs / (dense peak x time)."},
    {Always, "MBU", "share", "(Weights + KV bytes read per step) / (memory bandwidth x step time)."},
    {Always, "impact", "ms", "Time that fixing the finding could save at most."},
    {Always, "confidence", "share", "How sure the rule is of its claim."},
    {HasMemory, "allocated", "bytes",
     "Bytes in live tensors; reserved also counts what the allocator keeps."},
};

}  // namespace

void Describe(Record<GlossaryTerm>& r) {
  r.Name("GlossaryTerm", "A word of the report");
  r.Field("name", &GlossaryTerm::name, "The word");
  r.Field("unit", &GlossaryTerm::unit, "Unit of its values");
  r.Field("meaning", &GlossaryTerm::meaning, "What it means");
}

std::vector<GlossaryTerm> GlossaryOf(const Report& report) {
  std::vector<GlossaryTerm> out;
  for (const Term& term : kTerms) {
    if (term.used(report)) out.push_back({term.name, term.unit, term.meaning});
  }
  return out;
}

}  // namespace nl
