// SPDX-License-Identifier: Apache-2.0
#pragma once
// CommandPair: two commands without a protocol, measured from outside by repeated runs, and their outputs
// compared. Every run must end with status 0. Outputs are compared in the warm-up and after every timed run
// (standard output). Thread rule: one thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/interleave.h"
#include "bench/outputs.h"
#include "bench/timed_process.h"

namespace nl::bench {

struct PairOptions {
  std::vector<std::string> output_files;  // globs; empty: standard output alone
  double tolerance = 0;                   // of numbers in outputs; 0: bytes must be equal
  bool check_output = true;
};

// Whether both commands gave the same result. Null: not known, and why.
struct OutputCheck {
  std::optional<bool> equal;
  std::vector<std::string> compared;  // "standard output", files
  std::optional<std::string> difference, reason;
};
void Describe(Record<OutputCheck>& r);

class CommandPair {
 public:
  static Result<CommandPair> Make(Command a, Command b, PairOptions options);

  // For Interleave. InvalidInput when a command fails; Cancelled when `keep_going` says no.
  Result<double> Run(Side side, bool timed, const std::function<bool()>& keep_going);

  const std::vector<TimedRun>& runs(Side side) const { return Of(side).runs; }  // timed ones
  // Forgets the last timed run of both: something from outside disturbed the pair.
  void DropLastPair();
  // Of the warm-up, where known: only there the start of a run may take longer.
  const std::vector<int64_t>& peak_rss_bytes(Side side) const { return Of(side).peaks; }
  OutputCheck Outputs() const;

 private:
  struct Member {
    TimedProcess process;
    std::vector<TimedRun> runs;
    std::vector<int64_t> peaks;
    std::optional<std::string> output;  // of its first run
    std::vector<OutputFile> files;      // of its last warm-up run
    bool stable = true;                 // every run gave the output of the first
    std::optional<std::string> unread;  // why the output is not known
  };
  CommandPair(Member a, Member b, PairOptions options)
      : members_{std::move(a), std::move(b)}, options_(std::move(options)) {}
  const Member& Of(Side side) const { return members_[static_cast<size_t>(side)]; }
  Member& Of(Side side) { return members_[static_cast<size_t>(side)]; }
  void TakeOutput(Member& member) const;

  Member members_[2];
  PairOptions options_;
};

}  // namespace nl::bench
