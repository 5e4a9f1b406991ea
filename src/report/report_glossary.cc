// SPDX-License-Identifier: Apache-2.0
#include "report/report_glossary.h"

#include "report/report_value.h"

namespace nl {

namespace {

struct Term {
  const char* section;  // "" : always
  const char* name;
  const char* unit;
  const char* meaning;
};

constexpr Term kTerms[] = {
    {"", "wall", "ms", "From the first start to the last end of anything recorded."},
    {"devices", "busy", "ms",
     "Time in which at least one kernel, copy or fill ran on the device. Overlapping work counts once."},
    {"devices", "utilization", "share", "busy / (wall - paused)."},
    {"devices", "overlap", "ms",
     "Time in which two kinds of work (compute, communication, memory) ran at once."},
    {"operators", "total", "ms", "Host time inside the operator, with the operators it calls."},
    {"operators", "self", "ms", "Host time inside the operator, without the operators it calls."},
    {"operators", "GPU", "ms", "Device time of the kernels the operator launched itself."},
    {"kernels", "mean", "ms", "total / calls."},
    {"kernels", "p95", "ms", "95 of 100 calls took at most this long."},
    {"kernels", "share", "share", "Part of the summed device time of all kernels."},
    {"idle", "idle: host", "ms",
     "The device had nothing to do because the host had not yet issued the next work."},
    {"idle", "idle: launch", "ms", "The work was issued and on its way to the device."},
    {"idle", "idle: sync", "ms", "The next work had to wait for other work: an event, a stream, a copy."},
    {"launch", "queue delay", "us", "From the start of the launch call to the start of the kernel."},
    {"launch", "launch-bound", "share", "Kernels that run for less time than their launch call takes."},
    {"critical_path", "critical path", "ms",
     "The chain of work that decided the wall time: shortening anything outside of it gains nothing."},
    {"roofline", "arithmetic intensity", "FLOP/byte", "Operations per byte moved. Low: limited by memory."},
    {"roofline", "efficiency", "share", "Time the hardware would need at its peak / time it took."},
    {"stages", "TTFT", "ms", "Time to the first token: the prompt's cost as a user feels it."},
    {"stages", "TPOT", "ms", "Time per output token after the first."},
    {"stages", "MFU", "share", "The model's FLOPs / (dense peak x time)."},
    {"stages", "MBU", "share", "(Weights + KV bytes read per step) / (memory bandwidth x step time)."},
    {"findings", "impact", "ms", "Time that fixing the finding could save at most."},
    {"findings", "confidence", "share", "How sure the rule is of its claim."},
    {"memory", "allocated", "bytes", "Bytes in live tensors; reserved also counts what the allocator keeps."},
};

bool Has(const Json& report, const char* section) {
  if (*section == '\0') return true;
  const Json& found = ChildAt(report, section);
  return !found.is_null() && !found.empty();
}

}  // namespace

Json GlossaryJson(const Json& report) {
  Json out = Json::array();
  for (const Term& term : kTerms) {
    if (Has(report, term.section))
      out.push_back({{"name", term.name}, {"unit", term.unit}, {"meaning", term.meaning}});
  }
  return out;
}

}  // namespace nl
