// SPDX-License-Identifier: Apache-2.0
#include "ops/record_program.h"

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "base/version.h"
#include "capture/launcher/command_line.h"
#include "capture/launcher/live_view.h"

namespace nl {

void RecordParams::Bind(ParamBinder& b) {
  b.Add("gpu", gpu, "Record kernels, copies, launches and device memory");
  b.Add("counters", counters, "Record hardware counters by PM sampling");
  b.Add("cpu", cpu, "Sample native stacks of all threads");
  b.Add("python", python, "Sample Python stacks");
  b.Add("ops", ops, "Record framework operators with their shapes");
  b.Add("modules", modules, "Record module calls");
  b.Add("nvtx", nvtx, "Record NVTX ranges and marks");
  b.Add("duration", duration, "Seconds to record; the program goes on after them. 0: to its end")
      .Range(0, 1e7);
  b.Add("delay", delay, "Seconds before the recording begins").Range(0, 1e7);
  b.Add("capture_range", capture_range,
        "Record only inside ranges of this name (nvtx:LABEL), or between start and stop calls (api)");
  b.Add("budget", budget,
        "Percentage of its time that recording may cost the program, as 1%; it pauses to hold that. Empty: "
        "no limit");
  b.Add("counter_interval_us", counter_interval_us,
        "Time between two samples of hardware counters, in microseconds")
      .Range(5, 1000);
  b.Add("buffer_mb", buffer_mb, "Memory for buffers in each recorded process, in MiB").Range(1, 1 << 20);
  b.Add("spill", spill, "Folder to write to while the program runs").Path().LocalOnly();
  b.Add("rate", rate, "Samples per second of each thread").Range(1, 10000);
  b.Add("tag", tags, "Tag for the run").KeyValue();
  b.Add("live", live, "Show what is recorded while the program runs");
  b.Add("command", command, "Program to record, with its arguments, behind --")
      .Positional()
      .Required()
      .LocalOnly();
}

Result<capture::LaunchOptions> RecordParams::Options() const {
  using namespace capture;
  LaunchOptions o;
  o.command = command;
  o.directory = out;
  o.spill_directory = spill;
  o.delay_s = delay;
  o.duration_s = duration;
  o.capture_range = capture_range;
  o.buffer_mb = buffer_mb;
  o.counter_interval_us = counter_interval_us;
  o.sample_rate_hz = static_cast<int>(rate);
  o.version = std::string(kVersion);
  std::string why;
  if (!budget.empty() && !ParseBudget(budget, o.budget, why)) return InvalidInput(why);
  if (!capture_range.empty() && !CheckCaptureRange(capture_range, why)) return InvalidInput(why);
  const auto drop = [&o](bool wanted, uint64_t bits) { o.wanted = wanted ? o.wanted : o.wanted & ~bits; };
  drop(gpu, kWantKernels | kWantApi | kWantSync | kWantMemory | kWantClocks);
  drop(counters, kWantCounters);
  drop(cpu, kWantCpu);
  drop(python, kWantPython);
  drop(ops, kWantOps);
  drop(modules, kWantModules);
  drop(nvtx, kWantRanges);
  for (const std::string& tag : tags) {
    const size_t equals = tag.find('=');
    if (equals == std::string::npos || equals == 0)
      return InvalidInput(fmt::format("a tag is key=value, not '{}'", tag));
    o.tags.emplace_back(tag.substr(0, equals), tag.substr(equals + 1));
  }
  if (live) o.watch = WatchOn(2);
  return o;
}

Result<capture::LaunchResult> RecordProgram(const capture::LaunchOptions& options) {
  capture::LaunchResult result;
  capture::LaunchError error;
  if (capture::Launch(options, result, error)) return result;
  switch (error.kind) {
    case capture::LaunchError::Kind::kCommandNotFound:
    case capture::LaunchError::Kind::kCannotExecute:
      return NotFound(error.message).Hint("what stands behind -- is run as it is, without a shell");
    case capture::LaunchError::Kind::kDirectory:
      return InvalidInput(error.message).Hint("--out names another folder for the capture");
    case capture::LaunchError::Kind::kSystem: break;
  }
  return InvalidInput(error.message);
}

Json CaptureJson(const capture::LaunchResult& r) {
  return Json{{"directory", r.directory},
              {"exit_status", r.exit_status},
              {"exit_signal", r.exit_signal == 0 ? Json() : Json(r.exit_signal)},
              {"wall_ms", static_cast<double>(r.wall_ns) / 1e6},
              {"launcher_cpu_ms", static_cast<double>(r.launcher_cpu_ns) / 1e6},
              {"processes", r.processes},
              {"threads", r.threads},
              {"cpu_samples", r.samples},
              {"kernels", r.kernels},
              {"ranges", r.ranges},
              {"lost_records", r.records_lost + r.samples_lost},
              {"left_running", r.left_running},
              {"duty_cycle", Json()},
              {"bytes", r.bytes},
              {"messages", r.messages}};
}

std::string CaptureSchema() {
  return R"({"type": "object", "required": ["directory", "exit_status", "exit_signal", "wall_ms", "cpu_samples", "kernels",
      "ranges", "lost_records", "messages"], "properties": {
        "directory": {"type": "string"}, "exit_status": {"type": "integer"}, "exit_signal": {"type": ["integer", "null"]},
        "wall_ms": {"type": "number"}, "launcher_cpu_ms": {"type": "number", "description": "CPU time the recorder took beside the program"},
        "processes": {"type": "integer"}, "threads": {"type": "integer"}, "cpu_samples": {"type": "integer"},
        "kernels": {"type": "integer"}, "ranges": {"type": "integer"}, "lost_records": {"type": "integer"},
        "left_running": {"type": "integer"},
        "duty_cycle": {"type": ["number", "null"], "description": "share of the time in which recording was on; null where nothing was imported"},
        "bytes": {"type": "integer"},
        "messages": {"type": "array", "items": {"type": "string"}}}})";
}

std::string CaptureText(const Json& c, const TextStyle& style) {
  std::string out = fmt::format(
      "recorded {} of {} process{}: {} kernels, {} ranges, {} CPU samples, {} lost\n", HumanMs(c["wall_ms"]),
      HumanCount(c["processes"]), c["processes"] == 1 ? "" : "es", HumanCount(c["kernels"]),
      HumanCount(c["ranges"]), HumanCount(c["cpu_samples"]), HumanCount(c["lost_records"]));
  if (!c["duty_cycle"].is_null() && c["duty_cycle"] < 0.9995) {
    out += fmt::format("recording was on for {:.1f} % of its time, paused for the rest\n",
                       100 * c["duty_cycle"].get<double>());
  }
  for (const Json& message : c["messages"])
    out += Wrap("note: " + PrintableText(message.get<std::string>()), style.width, 6) + "\n";
  const int status = c["exit_status"];
  if (!c["exit_signal"].is_null()) {
    out += fmt::format("the program was ended by signal {}\n", c["exit_signal"].get<int>());
  } else if (status != 0) {
    out += fmt::format("the program ended with status {}\n", status);
  }
  return out;
}

}  // namespace nl
