// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `run` and `record` share: the parameters of a recording, and its result.
// Thread rule: one request, one thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/launcher/command_line.h"
#include "ops/op.h"

namespace nl {

struct RecordParams {
  std::vector<std::string> command, tags;
  bool gpu = true, counters = true, cpu = true, python = true, ops = true, modules = true, nvtx = true;
  bool live = false;
  std::string detail = capture::kDefaultDetail, capture_range, budget, spill, out;
  double duration = 0, delay = 0;
  int64_t buffer_mb = 256, rate = 200, counter_interval_us = 100;

  void Bind(ParamBinder& binder);
  Result<capture::LaunchOptions> Options() const;
};

// Starts the program and waits for its end. A program that cannot be started is an error.
Result<capture::LaunchResult> RecordProgram(const capture::LaunchOptions& options);

// A program that was recorded: reply of `record`, part of the reply of `run`.
struct RecordReply {
  std::string directory;
  int32_t exit_status = 0;
  std::optional<int32_t> exit_signal;
  std::string detail;
  double wall_ms = 0, recorded_ms = 0, launcher_cpu_ms = 0, cost_ms = 0;
  int64_t processes = 0, threads = 0, cpu_samples = 0, kernels = 0, ranges = 0, lost_records = 0;
  int64_t left_running = 0;
  std::optional<double> duty_cycle;
  int64_t bytes = 0;
  std::vector<std::string> messages;
};
void Describe(Record<RecordReply>& r);

RecordReply RecordReplyOf(const capture::LaunchResult& result);
// One line of what was recorded, then what was not, and why.
std::string RecordText(const RecordReply& reply, const TextStyle& style);

// Their exit status, for help.
inline constexpr char kProgramsExitStatus[] =
    "that of the program, 128 + signal if a signal ended it; 125 if the recording could not start";

}  // namespace nl
