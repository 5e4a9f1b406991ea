// SPDX-License-Identifier: Apache-2.0
// `neurolens ctl`: starts, stops or shows the recording of a program while it runs.

#include <unistd.h>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/terminal.h"
#include "capture/control.h"
#include "capture/sample/proc_files.h"
#include "ops/open_store.h"
#include "report/text_table.h"

namespace nl::capture {

// Here, not beside the enum: the capture library has no descriptions.
static std::span<const std::string_view> NamesOf(SlotState) {
  static constexpr std::string_view kNames[] = {"free", "starting", "recording", "paused", "ended", "failed"};
  return kNames;
}

}  // namespace nl::capture

namespace nl::ops::ctl {

namespace {

constexpr int kAnswerMs = 2000;

std::string DirectoryIn(pid_t pid) {
  const std::string text = capture::ReadSmallFile(fmt::format("/proc/{}/environ", pid), 4 << 20);
  const std::string key = std::string(capture::kDirectoryVariable) + "=";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    if (text.compare(at, key.size(), key) == 0) return text.substr(at + key.size(), end - at - key.size());
    at = end + 1;
  }
  return "";
}

// The capture of a process: its own, or that of its children when it is the launcher.
Result<std::string> FindDirectory(const std::string& target) {
  if (IsDirectory(target)) return target;
  char* end = nullptr;
  const long number = std::strtol(target.c_str(), &end, 10);
  if (target.empty() || *end != '\0' || number <= 0)
    return InvalidInput(fmt::format("'{}' is neither a process id nor a capture folder", target));
  const std::vector<pid_t> tree = capture::ProcessTree(static_cast<pid_t>(number));
  if (tree.empty()) return NotFound(fmt::format("there is no process {}", number));
  for (const pid_t pid : tree) {
    const std::string directory = DirectoryIn(pid);
    if (!directory.empty()) return directory;
  }
  return NotFound(fmt::format("process {} is not being recorded, or belongs to another user", number))
      .Hint("start it with `neurolens run` or `neurolens record`");
}

struct CtlProcess {
  uint32_t pid = 0;
  capture::SlotState state = capture::SlotState::kFree;
  uint64_t kernels = 0, copies = 0, api_calls = 0, ranges = 0, lost_records = 0, bytes_written = 0;
  std::string message;
};
void Describe(Record<CtlProcess>& r) {
  r.Name("CtlProcess", "A process that is recorded");
  r.Field("pid", &CtlProcess::pid, "Process id");
  r.Field("state", &CtlProcess::state, "State of its recording");
  r.Field("kernels", &CtlProcess::kernels, "Kernels recorded so far");
  r.Field("copies", &CtlProcess::copies, "Memory copies and sets recorded so far");
  r.Field("api_calls", &CtlProcess::api_calls, "API calls recorded so far");
  r.Field("ranges", &CtlProcess::ranges, "Ranges recorded so far");
  r.Field("lost_records", &CtlProcess::lost_records, "Records that could not be kept");
  r.Field("bytes_written", &CtlProcess::bytes_written, Unit::kBytes, "Written so far");
  r.Field("message", &CtlProcess::message, "Note of the recorder, for people");
}

struct CtlReply {
  std::string directory;
  bool recording = false, answered = false;
  std::vector<CtlProcess> processes;
};
void Describe(Record<CtlReply>& r) {
  r.Name("CtlReply", "Reply of `neurolens ctl`");
  r.Field("directory", &CtlReply::directory, "Folder of the capture");
  r.Field("recording", &CtlReply::recording, "Recording is on");
  r.Field("answered", &CtlReply::answered, "Every recorded process has carried out the command");
  r.Field("processes", &CtlReply::processes, "Each recorded process");
}

// The page is shared memory that another process writes: its values may be anything.
std::string_view StateName(capture::SlotState state) {
  const auto names = NamesOf(state);
  const auto index = static_cast<size_t>(state);
  return index < names.size() ? names[index] : "unknown";
}

CtlProcess ProcessOf(const capture::ProcessSlot& slot) {
  return {slot.pid.load(),
          slot.state.load(),
          slot.kernels.load(),
          slot.copies.load(),
          slot.api_calls.load(),
          slot.ranges.load(),
          slot.lost_records.load(),
          slot.bytes_written.load(),
          std::string(slot.message, strnlen(slot.message, sizeof(slot.message)))};
}

class CtlOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "ctl";
    info.local = true;
    info.summary = "Start, stop or show the recording of a running program";
    info.choose_when =
        "Choose it for a program that was started with `run` or `record` and is still running.";
    info.example = "neurolens ctl 4711 stop";
    info.reply = ReplyOf<CtlReply>();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder
        .Add("process", process_,
             "Process id of the program, one of its children or the recorder; or the capture folder")
        .Positional()
        .Required()
        .LocalOnly();
    binder.Add("action", action_, "What to do").Positional().Choices({"start", "stop", "status"});
  }

  Result<Reply> Run(OpContext&) override {
    NL_ASSIGN(const std::string directory, FindDirectory(process_));
    capture::ControlPage control;
    if (!control.Open(directory.c_str()))
      return IoError("cannot open the control page of the recording").At(directory);
    bool answered = true;
    if (action_ != "status") answered = WaitFor(control, control.Request(action_ == "start"));
    CtlReply reply;
    reply.directory = directory;
    reply.recording = control->recording.load() != 0;
    reply.answered = answered;
    for (const capture::ProcessSlot& slot : control->process) {
      if (slot.pid.load() == 0) break;
      reply.processes.push_back(ProcessOf(slot));
    }
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<CtlReply>();
    std::string out =
        fmt::format("{} into {}\n", reply.recording ? "recording" : "paused", PrintableText(reply.directory));
    if (!reply.answered) out += "not every process has answered yet\n";
    TextTable table({{"PROCESS", Align::kRight, false, 0},
                     {"STATE", Align::kLeft, false, 0},
                     {"KERNELS", Align::kRight, false, 0},
                     {"RANGES", Align::kRight, false, 0},
                     {"LOST", Align::kRight, false, 0},
                     {"NOTE", Align::kLeft, true, 20}});
    const auto count = [](uint64_t value) { return HumanCount(static_cast<int64_t>(value)); };
    for (const CtlProcess& p : reply.processes) {
      table.AddRow({std::to_string(p.pid), std::string(StateName(p.state)), count(p.kernels), count(p.ranges),
                    count(p.lost_records), PrintableText(p.message)});
    }
    if (table.rows() > 0) out += table.Render(style.width, style.color);
    return out;
  }

 private:
  // Every live process with the library has seen this command; those that have ended need not.
  static bool WaitFor(const capture::ControlPage& control, uint32_t epoch) {
    for (int waited_ms = 0; waited_ms < kAnswerMs; waited_ms += 10) {
      bool all = true;
      for (const capture::ProcessSlot& slot : control->process) {
        if (slot.pid.load() == 0) break;
        const capture::SlotState state = slot.state.load();
        const bool live = state == capture::SlotState::kRecording || state == capture::SlotState::kPaused;
        if (live && slot.epoch_seen.load() < epoch) all = false;
      }
      if (all) return true;
      usleep(10'000);
    }
    return false;
  }

  std::string process_, action_ = "status";
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<CtlOp>(); }

}  // namespace nl::ops::ctl
