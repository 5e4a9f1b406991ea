// SPDX-License-Identifier: Apache-2.0
#pragma once
// Program: where in the program each host span sits, the operators that ran device work in
// program order, and steps. Features and the comparison of runs build on it.
// Thread rule: built once by one thread, then read. Ownership: refers to the run.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/cost_model/kernel_counters.h"
#include "analyze/cost_model/op_shapes.h"
#include "analyze/facts/timeline.h"
#include "analyze/program/labelled_steps.h"
#include "analyze/run_data.h"
#include "base/intervals.h"
#include "base/units.h"
#include "model/api_kind.h"
#include "model/kernel_name.h"

namespace nl::program {

enum class ElementType : uint8_t { kUnknown, kOther, kFp32, kHalf, kByte, kWide };
// Size of one element; where the type is not known, that of most.
int64_t BytesOf(ElementType type);

// Shapes and types of an operator's inputs; only what patterns ask for.
struct OpInputs {
  Shapes dims;
  std::vector<ElementType> types;
  int64_t list_elements = 0;  // of all tensors in lists of tensors, as aten::cat takes
  int64_t Elements(size_t input) const { return input < dims.size() ? ElementCount(dims[input]) : 0; }
  int64_t LastDim(size_t input) const {
    return input < dims.size() && !dims[input].empty() ? dims[input].back() : 0;
  }
};

// An operator call with device work of its own, in program order.
struct LeafOp {
  uint32_t node;  // in the host tree
  uint32_t work;  // its longest kernel or copy
  uint32_t kernels = 0;
  int64_t device_ns = 0;
  KernelFamily family = KernelFamily::kOther;  // of the longest
  uint32_t block = kNone;                      // module names: inferred MLP or attention
};

using Step = Interval;

// Keeps local numbers for names made here (module classes, stages).
class NameTable {
 public:
  uint32_t Add(const std::string& name);
  const std::string& Text(uint32_t index) const;  // "" for kNone

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> index_;
};

inline constexpr Reads kProgramReads = kKernelCounterReads | NL_READS(Op, input_dims, input_types) |
                                       NL_READS(Kernel, grid_x, grid_y, grid_z) | kLabelledStepReads;

// Outermost op of the unbroken chain of ops around a node; the node itself without one.
uint32_t CallerOf(const HostTree& host, uint32_t node);

struct Program {
  Program(const RunData& d, const TimelineFacts& t)
      : data(d), timeline(t), counters(d), api_kinds_(d.strings) {}
  const RunData& data;
  const TimelineFacts& timeline;
  const KernelCounters counters;
  NameTable modules, stages;
  std::vector<uint32_t> module_of, stage_of;  // by host node
  std::vector<LeafOp> leaves;
  std::vector<Step> steps;  // by time, one label, not overlapping; else empty
  std::string step_label;
  bool steps_repeat = false;  // found by what repeats: they may begin in the middle of anything
  int64_t device_ns = 0;      // sum over all work
  IntervalCover busy;         // any device working
  bool has_shapes = false, has_types = false;

  void Build();
  void BuildOrder();  // without when the devices were busy
  // Device-idle time in [from, to).
  int64_t IdleNs(int64_t from_ns, int64_t to_ns) const;
  uint32_t StepAt(int64_t time_ns) const;  // kNone outside
  ApiKind KindOf(StringId api) const { return api_kinds_.Of(api); }
  // Recorded, or of the same operator with the same kernel and grid where shapes were recorded of some calls.
  const OpInputs& InputsOf(uint32_t op_row) const;
  uint64_t InputsKeyOf(uint32_t op_row) const;  // equal for the same shapes and types
  uint32_t CallerOf(uint32_t node) const { return program::CallerOf(timeline.host, node); }
  // Nearest Python function of the user around a node, "" when not sampled.
  std::string PythonAround(uint32_t node) const;
  // Module of a leaf: recorded, else inferred.
  uint32_t ModuleOf(const LeafOp& leaf) const {
    return module_of[leaf.node] != kNone ? module_of[leaf.node] : leaf.block;
  }
  std::string_view OpName(const LeafOp& leaf) const { return data.Text(timeline.host.name[leaf.node]); }
  std::string Place(std::string_view op, uint32_t module, uint32_t stage) const;

 private:
  void BuildPlaces();
  void BuildLeaves();
  void BuildSteps();
  void BuildBusy();
  void LendInputs();

  mutable ApiKinds api_kinds_;
  mutable std::unordered_map<uint64_t, OpInputs> inputs_;
  std::unordered_map<uint32_t, uint64_t> lent_;  // rows of operators without inputs: the key of their like
};

inline double Ratio(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace nl::program
