// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `run` and `record` share: the parameters of a recording, and the recording itself as JSON.
// Thread rule: one request, one thread.

#include <string>
#include <vector>

#include "capture/launcher/launch.h"
#include "ops/op.h"

namespace nl {

struct RecordParams {
  std::vector<std::string> command, tags;
  bool gpu = true, counters = true, cpu = true, python = true, ops = true, modules = true, nvtx = true;
  bool live = false;
  std::string capture_range, budget, spill, out;
  double duration = 0, delay = 0;
  int64_t buffer_mb = 256, rate = 200, counter_interval_us = 100;

  void Bind(ParamBinder& binder);
  Result<capture::LaunchOptions> Options() const;
};

// Starts the program and waits for its end. A program that cannot be started is an error.
Result<capture::LaunchResult> RecordProgram(const capture::LaunchOptions& options);

// {directory, exit_status, exit_signal, wall_ms, processes, ..., messages}, and the schema of it.
Json CaptureJson(const capture::LaunchResult& result);
std::string CaptureSchema();
// One line of what was recorded, then what was not, and why.
std::string CaptureText(const Json& capture, const TextStyle& style);

// What their exit status says, for help.
inline constexpr char kProgramsExitStatus[] =
    "the program's own, 128 + signal when one ended it; 125: the recording could not begin";

}  // namespace nl
