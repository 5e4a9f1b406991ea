// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch: starts a program under recording, follows it and everything it starts, and ends with it.
// The program keeps its terminal, its process group and its exit status; signals reach it; what it or
// the recording cannot do never keeps it from running. `neurolens run`, `record` and neurolens-capture
// are faces of this one function.
// Thread rule: one call at a time in a process (signal masks, children). Blocks until the program ends.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capture/control.h"

namespace nl::capture {

struct LaunchOptions {
  std::vector<std::string> command;
  std::string directory;        // of the capture; must not exist, or be empty
  std::string spill_directory;  // where it is written while the program runs; empty: in place
  uint64_t wanted = kWantDefault;
  int sample_rate_hz = 200;
  double delay_s = 0;         // before recording begins
  double duration_s = 0;      // of recording; 0: to the end
  std::string capture_range;  // "nvtx:LABEL" or "api"; empty: always
  int64_t buffer_mb = 256;    // at most, in each recorded process
  int64_t counter_interval_us = kCounterIntervalUs;
  double budget = 0;   // share of the program's time that recording may take; 0: no limit
  std::string detail;  // light, standard or full, for the record; ApplyDetail (command_line.h) gave it effect
  std::vector<std::pair<std::string, std::string>> tags;
  std::string library;           // capture library; empty: looked for beside the program
  std::string python_directory;  // of the Python package; empty: looked for
  std::string version;           // of this program, for the record
  // Called twice a second while it runs, with the control page; may be empty.
  std::function<void(const ControlBlock& control, const std::string& directory)> watch;
};

struct LaunchResult {
  // Of the program, as a shell gives it: 128 + signal when one ended it.
  int exit_status = 0;
  int exit_signal = 0;
  std::string directory;  // the capture
  std::string detail;     // as asked for
  // What was not recorded and why, one sentence each.
  std::vector<std::string> messages;
  uint64_t processes = 0;  // of the program that were sampled or recorded; not the helpers of a wrapper
  uint64_t threads = 0, samples = 0, samples_lost = 0;
  uint64_t kernels = 0, ranges = 0, records_lost = 0, bytes = 0;
  uint64_t left_running = 0;    // processes that outlived the program
  int64_t wall_ns = 0;          // of the program
  int64_t recorded_ns = 0;      // of it, while recording was on
  int64_t launcher_cpu_ns = 0;  // what the launcher itself took
  int64_t cost_ns = 0;          // what recording took of the program's own threads, estimated
};

// Why a program could not be started, or be recorded at all.
struct LaunchError {
  enum class Kind { kCommandNotFound, kCannotExecute, kDirectory, kSystem };
  Kind kind = Kind::kSystem;
  std::string message;
};
// Exit status for it, as env(1) and timeout(1) use them: 127, 126, 125.
int ExitStatusOf(LaunchError::Kind kind);

bool Launch(const LaunchOptions& options, LaunchResult& result, LaunchError& error);

// "PROGRAM-20260131-142501.nlcap" in the current folder, not taken yet.
std::string DefaultDirectory(const std::vector<std::string>& command);

}  // namespace nl::capture
