// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparing two runs: what changed, how much of the difference in wall time each change
// explains, and whether it is real. The deltas of all contributions sum to wall B - wall A;
// the residual holds the remainder, if any.
// Steps: sequence/ (a run as a sequence of calls with costs), align/ (which call of A is which
// call of B), attribute/ (what differs, why, and at what cost), verdict/ (is it real).
// The result holds facts only; report/compare/ turns them into sentences and documents.
// Thread rule: one thread per comparison. Ownership: plain values; refers to nothing.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/compare/across.h"
#include "analyze/compare/align/similarity.h"
#include "analyze/compare/attribute/counters.h"
#include "analyze/features/features.h"
#include "analyze/statistics/stats.h"

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
  kRecording,  // idle time around the device work, with nothing recorded
  kNoise,
};
std::string_view CauseName(Cause cause);  // "kernel_slower"
std::span<const std::string_view> NamesOf(Cause);

// Work of another program on the same device, which only one of the runs has.
struct BackgroundWork {
  bool in_b = false;   // else in A
  std::string kernel;  // the one with the most device time
  double ms = 0;       // device time of all of it
};

struct Contribution {
  Cause cause = Cause::kNoise;
  std::string detail;             // refines the cause: "HtoD pageable", "allocation"; may be empty
  std::string stage, module, op;  // place; "" where it is nowhere in particular
  std::string kernel_a, kernel_b, shapes_a, shapes_b;
  int64_t count_a = 0, count_b = 0;  // calls
  double a_ms = 0, b_ms = 0;
  double count_effect_ms = 0, speed_effect_ms = 0, idle_effect_ms = 0;  // sum to the delta
  double busy_a_ms = 0, busy_b_ms = 0;                                  // device time in a_ms and b_ms
  double hidden_ms = 0;       // part of the delta that is device time which the wall does not show
  bool structural = false;    // the program does something else; not a matter of chance
  bool significant = false;   // structural, or larger than the variation between repeats
  bool in_every_run = false;  // unchanged work that differs in all runs of B (CompareRunSets)
  double confidence = 0;
  std::optional<double> p_value;  // null: no samples to compute it from
  std::string host_work;  // host_slower, host_faster: additional (or missing) host work, where recorded
  std::optional<BackgroundWork> background;  // contention
  std::vector<EvidenceRow> evidence_a, evidence_b;
  struct Part {  // one kind of call in it
    std::string op, kernel_a, kernel_b, shapes_a, shapes_b, change;
    int64_t count_a = 0, count_b = 0;
    double a_ms = 0, b_ms = 0;
    double busy_a_ms = 0, busy_b_ms = 0;  // device time in them
  };
  std::vector<Part> parts;  // largest |delta| first

  double delta_ms() const { return b_ms - a_ms; }
};

// A difference between the two setups.
struct Comparability {
  std::string what, a, b, consequence;
};

// A cost that moved between siblings while their sum stayed the same.
struct CostShift {
  std::string stage, module, from, to;
  double ms = 0;
};

struct CompareVerdict {
  VerdictClass verdict = VerdictClass::kUndecided;
  double confidence = 0;
  std::optional<double> p_value;
  std::optional<int64_t> more_runs_needed;  // null: decided, or more runs would not decide it
  // What the verdict rests on.
  enum class Basis : uint8_t {
    kNotComparable,   // no_verdict_reason
    kOnlyWork,        // the input changed, the program did not
    kNothingChanged,  // no significant contribution
    kSmallChange,     // significant contributions, but too small for a verdict
    kChange,          // the program changed
    kRunSets,         // several runs on a side: `over_runs`
  };
  Basis basis = Basis::kNothingChanged;
  double change_ms = 0;       // effect of the changes of the program on the wall
  double work_ms = 0;         // effect of the changed input on the wall
  double hidden_work_ms = 0;  // device time of the changed input that the wall does not show
  double unchanged_ms = 0;    // difference in unchanged work
  double recording_ms = 0;    // difference in idle time around the work
  double base_ms = 0;         // wall of A, without the time around the work where that differs
  Significance over_runs;     // of the walls, with kRunSets
};

// One line of a table by kernel, op, module or stage; the lines sum to the walls.
struct CompareRow {
  std::string name;
  int64_t count_a = 0, count_b = 0;
  double a_ms = 0, b_ms = 0, busy_a_ms = 0, busy_b_ms = 0;
};

// The calls of both runs in time, to be drawn side by side. Times from the start of each run.
struct CompareTrack {
  struct Item {
    double start_ms, dur_ms;
    uint32_t name;    // in names
    int32_t change;   // position in contributions; -1: unchanged
    int32_t partner;  // position in the other list; -1: none
  };
  std::vector<Item> a, b;
  std::vector<std::string> names;
  bool cut = false;  // there are more than kMost
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
  bool other_device = false;                       // so that unchanged kernels have different durations
  bool other_program = false;                      // hardly anything is common to both
  std::string no_verdict_reason;                   // "the device differs"; "": the runs are comparable
  std::optional<AcrossSetups> across;              // with different devices, software or tools
  bool work_changed = false;                       // batch size, lengths, steps
  std::string work_text;                           // "prompt 512 -> 1024 tokens"; "": the work is the same
  std::string normalised_by;                       // "step", "token"; "": not normalised
  std::optional<double> normal_a_ms, normal_b_ms;  // wall per that unit
  std::vector<Contribution> contributions;         // ranked
  std::vector<CostShift> shifts;
  std::vector<CompareRow> by_kernel, by_op, by_module, by_stage;
  std::vector<CounterComparison> counters;  // where hardware counters were captured
  CompareTrack timeline;
  std::vector<double> walls_a_ms, walls_b_ms;  // of every run, where a side has several
  // Host time of B relative to A in unchanged work: above 1 is slower; NAN: not recorded on both sides.
  double drift = 1;
  bool on_host = false;

  double delta_ms() const { return wall_b_ms - wall_a_ms; }
};

struct CompareOptions {
  std::string stage;            // only this stage; "": the whole run
  std::optional<int64_t> step;  // only the n-th instance (from 0) of the stage or step
  bool device_time = false;     // device busy time instead of wall time
  bool plain_similarity = false;
};
Result<Comparison> CompareRuns(Analysis& a, Analysis& b, const CompareOptions& options);
// Repeated runs on both sides: compares the two runs nearest to the medians; the others show how much of
// the difference is chance. Each contribution then has a p-value over runs, with the false discovery
// rate kept at 1 %.
Result<Comparison> CompareRunSets(const std::vector<Analysis*>& a, const std::vector<Analysis*>& b,
                                  const CompareOptions& options);

}  // namespace nl
