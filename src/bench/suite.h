// SPDX-License-Identifier: Apache-2.0
#pragma once
// Suite: the pairs of a folder tree, found by file names (baseline_X.*, optimized_X.*, optimized_X_VARIANT.*)
// or declared in a bench.yaml, and what is wrong with them. A group is the folder, from the root of the
// suite. Thread rule: reads files; plain values.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/result.h"

namespace nl::bench {

struct Program {
  std::string file;     // source, .py or .cc; empty: a command
  std::string command;  // of bench.yaml
};

// What the optimized program is for: less time, less memory, or more work per time.
enum class Goal : uint8_t { kSpeed, kMemory, kThroughput };
std::span<const std::string_view> NamesOf(Goal);

struct Target {
  std::string group, name;             // name: of the baseline
  std::optional<std::string> variant;  // optimized_X_VARIANT
  Program baseline, optimized;
  std::map<std::string, std::string> allow;  // check -> why it may be left out
  std::vector<std::string> inputs;           // files that bench.yaml declares
  std::vector<std::string> environment;      // NAME=value, of bench.yaml
  double tolerance = 0;                      // between numbers of the outputs of commands
  std::optional<Goal> goal;                  // of bench.yaml; none: speed, which need not be reached
  std::optional<double> goal_ratio;          // to reach; none: --goal, or --memory-goal
  double items_ratio = 1;     // items that the optimized program works on / those of the baseline
  std::string Label() const;  // group:name or group:name@variant
};

enum class SuiteProblemKind : uint8_t {
  kOrphan,
  kDuplicate,
  kNoBenchmark,
  kBadFile,
  kDeterminism,
  kExpectation
};
std::span<const std::string_view> NamesOf(SuiteProblemKind);
struct SuiteProblem {
  SuiteProblemKind kind = SuiteProblemKind::kOrphan;
  std::string file, text;
};
void Describe(Record<SuiteProblem>& r);

struct Suite {
  std::string root;
  std::vector<Target> targets;  // by group, name, variant
  std::vector<SuiteProblem> problems;
};
// NotFound without the folder.
Result<Suite> FindSuite(const std::string& root);

// `words`: "all", "group", "group:name,name", each part a glob. InvalidInput for a word that matches nothing.
Result<std::vector<Target>> ChooseTargets(const Suite& suite, const std::vector<std::string>& words);

}  // namespace nl::bench
