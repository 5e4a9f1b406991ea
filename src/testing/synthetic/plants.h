// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: changes of known cause. A plant turns a scenario into one with exactly one cause
// more; what the comparison must say about it is part of the plant.
// Thread rule: pure functions.

#include "analyze/compare/compare.h"
#include "testing/synthetic/scenario.h"

namespace nl::synthetic {

struct Plant {
  std::string name;
  Cause cause = Cause::kNoise;    // of A without, B with the plant
  Cause undone = Cause::kNoise;   // of A with, B without it
  std::vector<Cause> also;        // right as well, where the recording leaves it open
  std::string stage, module, op;  // where; "" where it is nowhere in particular
  std::function<void(Scenario&)> apply;
};

namespace plants {

Edit Change(const Where& where, const std::function<void(Call&)>& change);
Edit After(const Where& where, const std::function<void(Writer&)>& after);
Edit Before(const Where& where, const std::function<void(Writer&)>& before);
Edit Drop(const Where& where);
std::function<void(Scenario&)> Adds(const std::vector<Edit>& edits);

Plant KernelSlower(const Where& where, double factor, const std::string& module, const std::string& op);

Plant KernelReplaced(const Where& where, const std::string& kernel, double factor, const std::string& module,
                     const std::string& op);

// `count` pointwise kernels of `us` after the site.
Plant KernelsAdded(const Where& where, int count, double us, const std::string& module);

Plant CallsDropped(const Where& where, const std::string& module, const std::string& op);

Plant ShapeChanged(const Where& where, const std::string& dims, double factor, const std::string& module,
                   const std::string& op);

// One operator computes in another 16-bit or 8-bit type.
Plant DtypeChanged(const Where& where, const std::string& type, double factor, const std::string& module,
                   const std::string& op);

// The MLP in fp32: activations and weights are cast on every call.
Plant MlpUpcast(const Where& where, const LlmOptions& o);

Plant HostOpSlower(const Where& where, double us, const std::string& module, const std::string& op);

Plant PythonSlower(const Where& where, double us, const std::string& module, const std::string& op);

// A buffer from the driver, used once and given back.
Plant Allocation(const Where& where, double us, const std::string& module);

Plant SyncAdded(const Where& where, const std::string& module);

Plant ItemAdded(const Where& where, int count, const std::string& module);

Plant CopyAdded(const Where& where, const std::string& kind, bool pageable, double megabytes,
                const std::string& module);

// RMSNorm as one kernel instead of eight.
Plant NormFused(const std::string& site, const LlmOptions& o, const std::string& stage);

// silu and mul in one generated kernel.
Plant ActivationFused(const std::string& stage);

Plant LayoutCopy(const Where& where, const Shape& shape, double us, const std::string& module);

}  // namespace plants
}  // namespace nl::synthetic
