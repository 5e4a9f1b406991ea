// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a sampled stack says that a thread does: it imports a module, loads a library, compiles, waits, or
// runs a function. The innermost of these counts: a module that an extension imports while it is loaded is
// an import.
// Thread rule: one thread. Ownership: refers to the run's strings.

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyze/facts/startup.h"
#include "model/ids.h"
#include "model/string_pool.h"

namespace nl::passes::startup {

struct Activity {
  StartupKind kind = StartupKind::kUnknown;
  std::array<std::string, 2> names;  // outer and inner; empty: none
  std::string library;               // in which native code runs; empty: not known, or the C library

  // Says more than the operator in which the sample was taken.
  bool beats_operator() const {
    return kind == StartupKind::kImport || kind == StartupKind::kLibrary || kind == StartupKind::kCompile;
  }
};

// Of one stack, outermost frame first, frames separated by ';'.
Activity ActivityOf(std::string_view stack);

// Of the stacks of a run, each read once.
class StackActivities {
 public:
  explicit StackActivities(const StringPool& strings) : strings_(strings) {}
  const Activity& Of(StringId stack) {
    const auto [it, added] = activities_.try_emplace(static_cast<uint32_t>(stack));
    if (added && !IsNull(stack)) it->second = ActivityOf(strings_.Text(stack));
    return it->second;
  }

 private:
  const StringPool& strings_;
  std::unordered_map<uint32_t, Activity> activities_;
};

}  // namespace nl::passes::startup
