// SPDX-License-Identifier: Apache-2.0
// `neurolens ctl`: recording on, off and its numbers, while the program runs.

#include <unistd.h>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/terminal.h"
#include "capture/control.h"
#include "capture/sample/proc_files.h"
#include "ops/open_store.h"
#include "report/text_table.h"

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

// The capture a process belongs to: its own, or of what it started (the launcher itself).
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
  return NotFound(fmt::format("process {} is not being recorded, or not by this user", number))
      .Hint("start it with neurolens run or neurolens record");
}

std::string_view StateName(capture::SlotState state) {
  switch (state) {
    case capture::SlotState::kFree: return "free";
    case capture::SlotState::kStarting: return "starting";
    case capture::SlotState::kRecording: return "recording";
    case capture::SlotState::kPaused: return "paused";
    case capture::SlotState::kEnded: return "ended";
    case capture::SlotState::kFailed: return "failed";
  }
  return "unknown";
}

Json SlotJson(const capture::ProcessSlot& slot) {
  return Json{{"pid", slot.pid.load()},
              {"state", StateName(slot.state.load())},
              {"kernels", slot.kernels.load()},
              {"copies", slot.copies.load()},
              {"api_calls", slot.api_calls.load()},
              {"ranges", slot.ranges.load()},
              {"lost_records", slot.lost_records.load()},
              {"bytes_written", slot.bytes_written.load()},
              {"message", std::string(slot.message, strnlen(slot.message, sizeof(slot.message)))}};
}

class CtlOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "ctl";
    info.summary = "Switch the recording of a running program on or off, or ask how it stands";
    info.choose_when =
        "Choose it for a program that was started with `run` or `record` and is still running.";
    info.example = "neurolens ctl 4711 stop";
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["directory", "recording", "processes", "answered"], "properties": {
      "directory": {"type": "string"}, "recording": {"type": "boolean"},
      "answered": {"type": "boolean", "description": "every process with the library has carried the command out"},
      "processes": {"type": "array", "items": {"type": "object", "required": ["pid", "state", "kernels", "lost_records"]}}}})");
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
    Reply reply;
    reply.json = {{"directory", directory},
                  {"recording", control->recording.load() != 0},
                  {"answered", answered},
                  {"processes", Json::array()}};
    for (const capture::ProcessSlot& slot : control->process) {
      if (slot.pid.load() == 0) break;
      reply.json["processes"].push_back(SlotJson(slot));
    }
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    std::string out =
        fmt::format("{} into {}\n", reply.json["recording"].get<bool>() ? "recording" : "paused",
                    PrintableText(reply.json["directory"].get<std::string>()));
    if (!reply.json["answered"].get<bool>()) out += "not every process has answered yet\n";
    TextTable table({{"PROCESS", Align::kRight, false, 0},
                     {"STATE", Align::kLeft, false, 0},
                     {"KERNELS", Align::kRight, false, 0},
                     {"RANGES", Align::kRight, false, 0},
                     {"LOST", Align::kRight, false, 0},
                     {"NOTE", Align::kLeft, true, 20}});
    for (const Json& p : reply.json["processes"]) {
      table.AddRow({std::to_string(p["pid"].get<int64_t>()), p["state"].get<std::string>(),
                    HumanCount(p["kernels"]), HumanCount(p["ranges"]), HumanCount(p["lost_records"]),
                    PrintableText(p["message"].get<std::string>())});
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
