// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `run` and `record` share: the parameters of a recording, and its result.
// Thread rule: one request, one thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/launcher/command_line.h"
#include "ledger/live.h"
#include "ops/op.h"
#include "ops/served_recording.h"

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

// A recording that `neurolens live` lists while it runs, and until this object ends: whoever imports the
// capture keeps it until then. A store that cannot be written does not stop a recording, which is not listed
// then.
class ListedRecording {
 public:
  // `make_store`: the store is made where it does not exist; otherwise nothing is listed there.
  ListedRecording(const OpContext& context, bool make_store);
  // Begins with the program, which `options` is about. After a `watch` of the options.
  void Watch(capture::LaunchOptions& options);
  // The program has ended; `directory` is where its capture is now.
  void Ended(const std::string& directory);
  // The run is in the store, or will not be.
  void Imported() { announcement_.reset(); }

 private:
  std::string store_path_;  // empty: not listed
  bool tried_ = false;
  std::unique_ptr<LiveAnnouncement> announcement_;
};

// Starts the program and waits for its end. A program that cannot be started is an error.
Result<capture::LaunchResult> RecordProgram(capture::LaunchOptions options, ListedRecording& listed);

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
  std::optional<ServedReply> served;
};
void Describe(Record<RecordReply>& r);

RecordReply RecordReplyOf(const capture::LaunchResult& result);
// One line of what was recorded, then what was not, and why.
std::string RecordText(const RecordReply& reply, const TextStyle& style);

// Their exit status, for help.
inline constexpr char kProgramsExitStatus[] =
    "that of the program, 128 + signal if a signal ended it; 125 if the recording could not start";

}  // namespace nl
