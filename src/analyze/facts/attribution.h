// SPDX-License-Identifier: Apache-2.0
#pragma once
// AttributionFacts: who caused each piece of device work. A work item hangs on the API
// call that launched it (else on the op its external id names), and through the host
// spans around that call it belongs to an op, a module, a user range and a step. A graph
// launch carries every kernel of its graph.
// Sums are exact: for ops, modules and ranges alike, the device_self_ns of all rows, plus
// `outside`, plus `unlinked`, is the sum of all work durations.
// Made by passes/attribution in one sweep, O(n log n) in the work items.

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"
#include "base/record.h"

namespace nl {

struct AttributionFacts {
  static constexpr const char* kName = "attribution";

  struct Amount {
    int64_t count = 0, device_ns = 0;
  };
  // Totals count a name inside of itself once; self is without what is inside of nested rows
  // of the same table. Host time is wall time of the spans.
  struct Totals {
    int64_t calls = 0, work = 0;  // spans; work items directly inside
    int64_t host_total_ns = 0, host_self_ns = 0;
    int64_t device_total_ns = 0, device_self_ns = 0;
  };
  struct NameTotals : Totals {
    StringId name = StringId::kNull;
  };
  struct ModuleTotals : Totals {
    StringId name = StringId::kNull;  // as recorded: "nn.Module: Linear_3"
    uint32_t parent = kNone;          // position in modules; parents come first
    std::string path;                 // "Model_0.Layer_2.Linear_3"
  };

  // By position in TimelineFacts::work.
  std::vector<uint32_t> node;    // HostTree node it hangs on; kNone: unlinked
  std::vector<uint32_t> op;      // node of the innermost op around it
  std::vector<uint32_t> top_op;  // node of the outermost op around it
  std::vector<uint32_t> range;   // node of the innermost user range
  std::vector<uint32_t> module;  // position in modules
  std::vector<uint32_t> step;    // row of `step`: the innermost that was open at the launch

  std::vector<NameTotals> ops, ranges;                  // most device_total_ns first
  std::vector<ModuleTotals> modules;                    // in order of first call
  Amount outside_ops, outside_ranges, outside_modules;  // launched, but inside of none
  Amount unlinked;                                      // no recorded launch and no op: cannot be attributed
  Amount graph;                                         // of CUDA graphs; also counted above
  Amount all;
};

// "Linear_3" of "nn.Module: Linear_3"; empty when the text does not name a module.
std::string_view ModuleNameOf(std::string_view text);

// The facts as reports give them.
struct CallTotals {
  std::string name;
  int64_t calls = 0, kernels = 0;
  double host_total_ms = 0, host_self_ms = 0, gpu_total_ms = 0, gpu_self_ms = 0;
};
struct WorkAmount {
  int64_t kernels = 0;
  double gpu_ms = 0;
};
struct AttributionSection {
  std::vector<CallTotals> ops, modules, ranges;
  WorkAmount outside_ops, outside_modules, outside_ranges, unlinked, graph, all;
};
void Describe(Record<CallTotals>& r);
void Describe(Record<WorkAmount>& r);
void Describe(Record<AttributionSection>& r);

AttributionSection SectionOf(const AttributionFacts& facts, const RunData& data);

}  // namespace nl
