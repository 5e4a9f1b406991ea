// SPDX-License-Identifier: Apache-2.0
#include "ops/record_program.h"

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "base/version.h"
#include "capture/launcher/live_view.h"
#include "ledger/store.h"
#include "ops/settings.h"

namespace nl {

void RecordParams::Bind(ParamBinder& b) {
  b.Add("detail", detail,
        "How much to record: light leaves out operators, module calls, stacks and hardware counters; full "
        "also records every CUDA call, and operators in every step instead of some")
      .Choices({std::begin(capture::kDetails), std::end(capture::kDetails)});
  b.Add("gpu", gpu, "Record kernels, copies, launches and device memory");
  b.Add("counters", counters, "Record hardware counters by PM sampling");
  b.Add("cpu", cpu, "Sample native stacks of all threads");
  b.Add("python", python, "Sample Python stacks");
  b.Add("ops", ops, "Record framework operators with their shapes");
  b.Add("modules", modules, "Record module calls");
  b.Add("nvtx", nvtx, "Record NVTX ranges and marks");
  b.Add("duration", duration, "Seconds to record; the program continues afterwards. 0: until it ends")
      .Range(0, 1e7);
  b.Add("delay", delay, "Seconds to wait before recording starts").Range(0, 1e7);
  b.Add("capture_range", capture_range,
        "Record only inside NVTX ranges of this name (nvtx:LABEL), or between start and stop calls (api)");
  b.Add("budget", budget,
        "Limit for the overhead of recording, in percent of the program's time, such as 1%; recording pauses "
        "to "
        "stay below it. Empty: no limit");
  b.Add("counter_interval_us", counter_interval_us,
        "Interval between samples of hardware counters, in microseconds")
      .Range(5, 1000);
  b.Add("buffer_mb", buffer_mb, "Memory for buffers in each recorded process, in MiB").Range(1, 1 << 20);
  b.Add("spill", spill, "Folder to write to while the program runs").Path();
  b.Add("rate", rate, "Stack samples per second and thread").Range(1, 10000);
  b.Add("tag", tags, "Tag for the run").KeyValue();
  b.Add("live", live, "Show what is recorded while the program runs");
  b.Add("command", command, "Program to record, with its arguments, after --")
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
  if (!ApplyDetail(detail, o, why)) return InvalidInput(why);
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
      return InvalidInput(fmt::format("'{}' is not a tag; write KEY=VALUE", tag));
    o.tags.emplace_back(tag.substr(0, equals), tag.substr(equals + 1));
  }
  if (live) o.watch = WatchOn(2);
  return o;
}

ListedRecording::ListedRecording(const OpContext& context, bool make_store) {
  const std::string path = context.settings != nullptr ? context.settings->Get("store") : "";
  if (make_store || PathExists(CatalogPath(path))) store_path_ = path;
}

// The launcher calls the watch when the program runs, with the folder that it writes to.
void ListedRecording::Watch(capture::LaunchOptions& options) {
  if (store_path_.empty()) return;
  options.watch = [this, command = options.command, next = std::move(options.watch)](
                      const capture::ControlBlock& control, const std::string& directory) {
    if (!std::exchange(tried_, true)) {
      LiveRecording recording;
      recording.directory = directory;
      recording.command = command;
      recording.recorder_pid = getpid();
      recording.started_at_ns = UnixNowNs();
      if (auto made = LiveAnnouncement::Make(store_path_, std::move(recording)); made.ok())
        announcement_ = *std::move(made);
    }
    if (next) next(control, directory);
  };
}

void ListedRecording::Ended(const std::string& directory) {
  if (announcement_ != nullptr) static_cast<void>(announcement_->Importing(directory));
}

Result<capture::LaunchResult> RecordProgram(capture::LaunchOptions options, ListedRecording& listed) {
  capture::LaunchResult result;
  capture::LaunchError error;
  listed.Watch(options);
  if (capture::Launch(options, result, error)) {
    listed.Ended(result.directory);
    return result;
  }
  switch (error.kind) {
    case capture::LaunchError::Kind::kCommandNotFound:
    case capture::LaunchError::Kind::kCannotExecute:
      return NotFound(error.message).Hint("the words after -- are run directly, without a shell");
    case capture::LaunchError::Kind::kDirectory:
      return InvalidInput(error.message).Hint("choose another folder for the capture with --out");
    case capture::LaunchError::Kind::kSystem: break;
  }
  return InvalidInput(error.message);
}

void Describe(Record<RecordReply>& r) {
  r.Name("RecordReply", "A program that was recorded; reply of `neurolens record`");
  r.Field("directory", &RecordReply::directory, "Folder of the capture");
  r.Field("exit_status", &RecordReply::exit_status, "Exit status of the program");
  r.Field("exit_signal", &RecordReply::exit_signal, "Signal that ended the program");
  r.Field("wall_ms", &RecordReply::wall_ms, Unit::kMs, "Time from the start to the end of the program");
  r.Field("recorded_ms", &RecordReply::recorded_ms, Unit::kMs, "Time in which recording was on");
  r.Field("detail", &RecordReply::detail, "Detail of the recording: light, standard or full");
  r.Field("cost_ms", &RecordReply::cost_ms, Unit::kMs,
          "Time that recording took of the program's own threads; an estimate");
  r.Field("launcher_cpu_ms", &RecordReply::launcher_cpu_ms, Unit::kMs,
          "CPU time of the recorder's own process");
  r.Field("processes", &RecordReply::processes,
          "Processes of the program that were recorded, without the helpers of a wrapper such as pyenv");
  r.Field("threads", &RecordReply::threads, "Threads recorded");
  r.Field("cpu_samples", &RecordReply::cpu_samples, "Stack samples recorded");
  r.Field("kernels", &RecordReply::kernels, "Kernels recorded");
  r.Field("ranges", &RecordReply::ranges, "Ranges recorded");
  r.Field("lost_records", &RecordReply::lost_records, "Records and samples that could not be kept");
  r.Field("left_running", &RecordReply::left_running, "Processes that still ran when recording ended");
  r.Field("duty_cycle", &RecordReply::duty_cycle, Unit::kShare,
          "Part of the time in which recording was on; null: not imported");
  r.Field("bytes", &RecordReply::bytes, Unit::kBytes, "Size of the capture");
  r.Field("messages", &RecordReply::messages, "Notes of the recorder, for people");
  r.Field("served", &RecordReply::served, "With --serve: what became of the recording on the server");
}

RecordReply RecordReplyOf(const capture::LaunchResult& r) {
  RecordReply out;
  out.directory = r.directory;
  out.exit_status = r.exit_status;
  if (r.exit_signal != 0) out.exit_signal = r.exit_signal;
  out.wall_ms = static_cast<double>(r.wall_ns) / 1e6;
  out.recorded_ms = static_cast<double>(r.recorded_ns) / 1e6;
  out.detail = r.detail;
  out.cost_ms = static_cast<double>(r.cost_ns) / 1e6;
  out.launcher_cpu_ms = static_cast<double>(r.launcher_cpu_ns) / 1e6;
  out.processes = r.processes;
  out.threads = r.threads;
  out.cpu_samples = r.samples;
  out.kernels = r.kernels;
  out.ranges = r.ranges;
  out.lost_records = r.records_lost;
  out.left_running = r.left_running;
  out.bytes = r.bytes;
  out.messages = r.messages;
  return out;
}

std::string RecordText(const RecordReply& r, const TextStyle& style) {
  const bool part = r.recorded_ms < 0.9995 * r.wall_ms;
  std::string out = fmt::format(
      "recorded {} of {}{}: {}, {}, {}, {} lost\n", HumanMs(r.recorded_ms), Counted(r.processes, "process"),
      part ? fmt::format(" (the program ran {})", HumanMs(r.wall_ms)) : "", Counted(r.kernels, "kernel"),
      Counted(r.ranges, "range"), Counted(r.cpu_samples, "CPU sample"), HumanCount(r.lost_records));
  if (r.cost_ms > 0.005 * r.wall_ms && r.cost_ms < r.wall_ms)
    out += Wrap(fmt::format("recording took about {} of the program's time: it ran {:.0f} % longer{}",
                            HumanMs(r.cost_ms), 100 * r.cost_ms / (r.wall_ms - r.cost_ms),
                            r.detail == "light" ? "" : " (--detail light takes less)"),
                style.width, 2) +
           "\n";
  if (r.duty_cycle && *r.duty_cycle < 0.9995)
    out += fmt::format("recording was on for {:.1f} % of the time and paused for the rest\n",
                       100 * *r.duty_cycle);
  for (const std::string& message : r.messages)
    out += Wrap("note: " + PrintableText(message), style.width, 6) + "\n";
  if (r.exit_signal) {
    out += fmt::format("the program was ended by signal {}\n", *r.exit_signal);
  } else if (r.exit_status != 0) {
    out += fmt::format("the program ended with status {}\n", r.exit_status);
  }
  return out;
}

}  // namespace nl
