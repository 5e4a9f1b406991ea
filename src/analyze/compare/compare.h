// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparing two runs: what changed, how much of the difference of their walls each change
// explains, and whether it is real. The deltas of all contributions sum to wall B - wall A;
// what does not is the residual, which is printed.
// Steps: sequence.h (a run as calls with costs), align.h (which call is which), changes.h
// (what differs, what is drift), cause.h (why), this (the whole, ranked).
// Thread rule: one thread per comparison. Ownership: plain values; refers to nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/compare/align/similarity.h"
#include "analyze/features/features.h"
#include "base/json.h"

namespace nl {

enum class Cause : uint8_t {
  kKernelSlower,
  kKernelFaster,
  kKernelReplaced,
  kKernelsAdded,
  kKernelsRemoved,
  kShapeChanged,
  kDtypeChanged,
  kPrecisionUpcast,
  kHostSlower,
  kHostFaster,
  kSyncAdded,
  kSyncRemoved,
  kCopyAdded,
  kCopyRemoved,
  kFusionLost,
  kFusionGained,
  kLayoutCopyAdded,
  kLayoutCopyRemoved,
  kAttentionImplChanged,
  kGraphAdded,
  kGraphRemoved,
  kContention,
  kClockChanged,
  kWorkChanged,
  kNoise,
};
std::string_view CauseName(Cause cause);  // "kernel_slower"

struct Contribution {
  Cause cause = Cause::kNoise;
  std::string detail;             // what the class leaves open: "HtoD pageable", "allocation"; may be empty
  std::string stage, module, op;  // where; "" where it is nowhere in particular
  std::string kernel_a, kernel_b, shapes_a, shapes_b;
  int64_t count_a = 0, count_b = 0;  // calls
  double a_ms = 0, b_ms = 0;
  double count_effect_ms = 0, speed_effect_ms = 0, idle_effect_ms = 0;  // sum to the delta
  double busy_a_ms = 0, busy_b_ms = 0;                                  // device time in a_ms and b_ms
  bool structural = false;   // the program does something else; not a matter of chance
  bool significant = false;  // structural, or beyond what repeats of the same thing show
  double confidence = 0;
  std::optional<double> p_value;  // null: nothing to compute it from
  std::string host_work;          // of a slower host: what it does more there, where recorded
  std::vector<EvidenceRow> evidence_a, evidence_b;
  std::string text;  // one sentence
  struct Part {      // one kind of call in it
    std::string op, kernel_a, kernel_b, shapes_a, shapes_b, change;
    int64_t count_a = 0, count_b = 0;
    double a_ms = 0, b_ms = 0;
  };
  std::vector<Part> parts;  // largest |delta| first

  double delta_ms() const { return b_ms - a_ms; }
};

struct Comparability {
  std::string what, a, b, consequence;
};

// A cost that moved between siblings while their sum stayed.
struct CostShift {
  std::string stage, module, from, to;
  double ms = 0;
};

struct CompareVerdict {
  std::string verdict = "undecided";  // regressed, improved, same, undecided
  double confidence = 0;
  std::optional<double> p_value;
  std::optional<int64_t> more_runs_needed;  // null: decided, or no number of runs would
  std::string text;
};

// One line of a table by kernel, op, module or stage; the lines sum to the walls.
struct CompareRow {
  std::string name;
  int64_t count_a = 0, count_b = 0;
  double a_ms = 0, b_ms = 0, busy_a_ms = 0, busy_b_ms = 0;
};

// What ran when, for drawing both runs side by side. Times from the start of each run.
struct CompareTrack {
  struct Item {
    double start_ms, dur_ms;
    uint32_t name;    // in names
    int32_t change;   // place in contributions; -1: unchanged
    int32_t partner;  // place in the other list; -1: none
  };
  std::vector<Item> a, b;
  std::vector<std::string> names;
  bool cut = false;  // there was more than kMost
  static constexpr size_t kMost = 20'000;
};

struct Comparison {
  std::string run_a, run_b;  // ids
  double similarity = 0, matched_share_a = 0, matched_share_b = 0;
  Similarity fingerprint;
  double wall_a_ms = 0, wall_b_ms = 0, residual_ms = 0;
  double busy_a_ms = 0, busy_b_ms = 0;  // device time, overlap counted once
  CompareVerdict verdict;
  std::vector<Comparability> comparability;
  std::string normalised_by;                       // "decode step", "token"; "": not normalised
  std::optional<double> normal_a_ms, normal_b_ms;  // wall per that unit
  std::vector<Contribution> contributions;         // ranked
  std::vector<CostShift> shifts;
  std::vector<CompareRow> by_kernel, by_op, by_module, by_stage;
  Json counters = Json::array();  // counter metrics of both sides, where captured
  CompareTrack timeline;
  std::vector<double> walls_a_ms, walls_b_ms;  // of every run, where a side has several
  double drift = 1;  // host speed of B against A in work that did not change: > 1 is slower
  bool on_host = false;

  double delta_ms() const { return wall_b_ms - wall_a_ms; }
};

struct CompareOptions {
  std::string stage;            // only this stage; "": the whole run
  std::optional<int64_t> step;  // only the n-th instance (from 0) of the stage or step
  bool device_time = false;     // device-busy time instead of wall
  bool plain_similarity = false;
};
Result<Comparison> CompareRuns(Analysis& a, Analysis& b, const CompareOptions& options);
// Repeated runs of both: the pair nearest to the medians is told, the others say how much of it is chance.
// Each contribution then has its p-value over runs, with false discoveries kept at 1 %.
Result<Comparison> CompareRunSets(const std::vector<Analysis*>& a, const std::vector<Analysis*>& b,
                                  const CompareOptions& options);

// Names as documented in docs/compare.md, stable. At most `top` contributions; the rest is
// one more, "smaller changes", so that the list still sums.
Json ToJson(const Comparison& comparison, size_t top = SIZE_MAX);

}  // namespace nl
