// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens live`; its rows are the data of `live` events.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "ledger/live.h"

namespace nl {

struct LiveRow {
  std::string live_id, ref;
  LiveState state = LiveState::kRecording;
  std::vector<std::string> command;
  std::string started_at;
  double elapsed_ms = 0;
  std::optional<bool> recording;
  std::optional<int64_t> processes, kernels, ranges, lost_records;
  int64_t bytes = 0;
  std::optional<std::string> partial_run_id, partial_made_at, sender;
};
inline void Describe(Record<LiveRow>& r) {
  r.Name("LiveRow", "A recording that is under way");
  r.Field("live_id", &LiveRow::live_id, "Id of the recording; the run gets an id of its own at the end");
  r.Field("ref", &LiveRow::ref, "Names the partial run wherever a run is asked for");
  r.Field("state", &LiveRow::state,
          "recording: the program runs; importing: it has ended; ended: in the last event of a recording");
  r.Field("command", &LiveRow::command, "The program and its arguments");
  r.Field("started_at", &LiveRow::started_at, "When the program started, RFC 3339");
  r.Field("elapsed_ms", &LiveRow::elapsed_ms, Unit::kMs, "Time since then");
  r.Field("recording", &LiveRow::recording,
          "Recording is on; false before --delay, after --duration and after `ctl stop`. Null, as are the "
          "next four: the recorder no longer shares its numbers");
  r.Field("processes", &LiveRow::processes, "Processes with the capture library");
  r.Field("kernels", &LiveRow::kernels, "Kernels recorded so far");
  r.Field("ranges", &LiveRow::ranges, "Ranges recorded so far");
  r.Field("lost_records", &LiveRow::lost_records, "Records that could not be kept so far");
  r.Field("bytes", &LiveRow::bytes, Unit::kBytes, "Size of the capture so far");
  r.Field("partial_run_id", &LiveRow::partial_run_id,
          "The newest partial run that was made; null: nobody asked for one");
  r.Field("partial_made_at", &LiveRow::partial_made_at, "When it was made, RFC 3339");
  r.Field("sender", &LiveRow::sender, "Who sends it, where another machine records it; null: this one does");
}

struct LiveReply {
  std::vector<LiveRow> recordings;
};
inline void Describe(Record<LiveReply>& r) {
  r.Name("LiveReply", "Reply of `neurolens live`");
  r.Field("recordings", &LiveReply::recordings, "Recordings under way, the oldest first");
}

}  // namespace nl
