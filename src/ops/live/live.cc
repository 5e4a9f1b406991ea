// SPDX-License-Identifier: Apache-2.0
// `neurolens live`: the recordings that are under way.

#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "capture/control.h"
#include "import/read/byte_source.h"
#include "ops/live/reply.h"
#include "ops/open_store.h"
#include "ops/settings.h"
#include "report/text_table.h"

namespace nl::ops::live {

namespace {

constexpr size_t kLeastIdDigits = 8;

// The shortest beginning of the id that names no other recording.
std::string RefOf(const std::string& id, const std::vector<LiveRecording>& all) {
  size_t digits = kLeastIdDigits;
  const auto shared = [&](const LiveRecording& other) {
    return other.live_id != id && other.live_id.compare(0, digits, id, 0, digits) == 0;
  };
  while (digits < id.size() && std::any_of(all.begin(), all.end(), shared)) ++digits;
  return "@live:" + id.substr(0, digits);
}

// What the recorder shares with everybody while the program runs.
void AddNumbers(const std::string& directory, LiveRow& row) {
  capture::ControlPage control;
  if (!control.Open(directory.c_str())) return;
  row.recording = control->recording.load() != 0;
  row.processes = row.kernels = row.ranges = row.lost_records = 0;
  for (const capture::ProcessSlot& slot : control->process) {
    if (slot.pid.load() == 0) break;
    ++*row.processes;
    *row.kernels += static_cast<int64_t>(slot.kernels.load());
    *row.ranges += static_cast<int64_t>(slot.ranges.load());
    *row.lost_records += static_cast<int64_t>(slot.lost_records.load());
  }
}

// What another machine sends with its recording.
void AddSentNumbers(const LiveRecording& recording, LiveRow& row) {
  row.sender = recording.sender;
  row.recording = recording.numbers.recording;
  row.processes = recording.numbers.processes;
  row.kernels = recording.numbers.kernels;
  row.ranges = recording.numbers.ranges;
  row.lost_records = recording.numbers.lost_records;
}

class LiveOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "live";
    info.summary = "List the recordings that are under way, with what they have recorded so far";
    info.choose_when =
        "Choose it to look at a program while it is recorded: every operation about a run takes @live, the "
        "partial run of the newest recording, or @live:ID. `ls` lists finished runs.";
    info.example = "neurolens live";
    info.reply = ReplyOf<LiveReply>();
    info.watched.event = "live";
    info.watched.rows = "recordings";
    info.watched.id = "live_id";
    info.watched.unasked = true;  // what a killed recorder left is removed by looking
    info.watched.first_are_new = true;
    info.watched.changes = {"bytes", "state"};
    info.watched.end_member = "state";
    info.watched.end_value = NamesOf(LiveState::kEnded)[static_cast<size_t>(LiveState::kEnded)];
    return info;
  }

  void Bind(ParamBinder&) override {}

  Result<Reply> Run(OpContext& context) override {
    const std::string store_path = context.settings != nullptr ? context.settings->Get("store") : "";
    const std::vector<LiveRecording> all = ListLive(store_path);
    LiveReply reply;
    for (const LiveRecording& recording : all) {
      LiveRow row;
      row.live_id = recording.live_id;
      row.ref = RefOf(recording.live_id, all);
      row.state = recording.state;
      row.command = recording.command;
      row.started_at = Rfc3339Utc(recording.started_at_ns);
      row.elapsed_ms = static_cast<double>(UnixNowNs() - recording.started_at_ns) / 1e6;
      row.bytes = std::max<int64_t>(StoredBytes(recording.directory), 0);
      if (recording.sender.empty()) {
        AddNumbers(recording.directory, row);
      } else {
        AddSentNumbers(recording, row);
      }
      if (const std::optional<LiveSnapshot> newest = NewestSnapshot(store_path, recording.live_id)) {
        row.partial_run_id = newest->run_id;
        row.partial_made_at = Rfc3339Utc(newest->made_at_ns);
      }
      reply.recordings.push_back(std::move(row));
    }
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<LiveReply>();
    if (reply.recordings.empty()) return "no recordings under way\n";
    TextTable table({{"RUN", Align::kLeft, false},
                     {"STATE", Align::kLeft, false},
                     {"TIME", Align::kRight, false},
                     {"KERNELS", Align::kRight, false},
                     {"RANGES", Align::kRight, false},
                     {"SIZE", Align::kRight, false},
                     {"COMMAND", Align::kLeft, true}});
    const auto count = [](const std::optional<int64_t>& n) { return n ? HumanCount(*n) : "-"; };
    for (const LiveRow& row : reply.recordings) {
      const bool paused = row.state == LiveState::kRecording && row.recording == false;
      std::string command;
      for (const std::string& word : row.command) command += (command.empty() ? "" : " ") + word;
      table.AddRow({row.ref,
                    paused ? "paused" : std::string(NamesOf(row.state)[static_cast<size_t>(row.state)]),
                    HumanMs(row.elapsed_ms), count(row.kernels), count(row.ranges), HumanBytes(row.bytes),
                    PrintableText(command)});
    }
    return table.Render(style.width, style.color);
  }
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<LiveOp>(); }

}  // namespace nl::ops::live
