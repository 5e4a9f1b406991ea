// SPDX-License-Identifier: Apache-2.0
// What a capture says of processes, machines and itself: read before the events (names,
// devices, clocks) and after them (losses, costs, messages).

#include <charconv>

#include <fmt/format.h>

#include "base/intervals.h"
#include "base/utf8.h"
#include "import/adapters/nlcap/capture_file.h"

namespace nl::adapters::nlcap {

namespace {

using capture::LossWhat;
using capture::WindowReason;

std::optional<int64_t> NumberOf(std::string_view text) {
  int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// One time line for all files: those of the first file's machine and boot share its clock.
void AlignStreams(CaptureFile& c) {
  const Stream* first = nullptr;
  for (const Stream& stream : c.streams) {
    if (stream.has_file && first == nullptr) first = &stream;
  }
  const auto usable = [](int64_t ns) { return ns > 0 && ns < kMostNs / 4; };
  const auto offset_of = [&](const Stream& s) {
    return usable(s.file.realtime_ns) && usable(s.file.monotonic_ns)
               ? s.file.realtime_ns - s.file.monotonic_ns
               : int64_t{0};
  };
  const int64_t first_offset_ns = first != nullptr ? offset_of(*first) : 0;
  if (first != nullptr) c.file.about.base_time_ns = first_offset_ns;
  bool several = false;
  for (Stream& stream : c.streams) {
    if (stream.has_file && stream.file.boot_id_hash != first->file.boot_id_hash) {
      several = true;
      stream.shift_ns = offset_of(stream) - first_offset_ns;
    }
    // CUPTI's clock is the wall clock unless told otherwise.
    stream.clock.Fit(-offset_of(stream));
  }
  if (several) c.file.counters.Add(kSeveralMachines);
}

void AddDevice(CaptureFile& c, Stream& stream, const capture::DeviceRecord& d) {
  if (d.device > INT32_MAX) return;
  SourceFacts& about = c.file.about;
  const auto index = static_cast<int32_t>(d.device);
  for (const SourceFacts::Device& known : about.devices) {
    if (known.index == index) return;
  }
  SourceFacts::Device device;
  device.index = index;
  const StringId name = c.Text(stream, d.name);
  if (!IsNull(name)) device.name = std::string(c.writer.strings().Text(name));
  if (d.memory_bytes > 0 && d.memory_bytes < (uint64_t{1} << 50))
    device.memory_bytes = static_cast<int64_t>(d.memory_bytes);
  if (d.sm_count > 0) device.sm_count = d.sm_count;
  if (d.compute_major > 0) device.compute_capability = fmt::format("{}.{}", d.compute_major, d.compute_minor);
  about.devices.push_back(device);
  const auto put = [](uint32_t value, int32_t& to) {
    if (value > 0 && value <= INT32_MAX) to = static_cast<int32_t>(value);
  };
  DeviceRow row;
  row.device = index;
  row.name = name;
  if (device.memory_bytes) row.memory_bytes = *device.memory_bytes;
  put(d.sm_count, row.sm_count);
  put(d.compute_major, row.compute_major);
  if (d.compute_major > 0) row.compute_minor = static_cast<int32_t>(d.compute_minor & 0xffff);
  put(d.warp_threads, row.warp_threads);
  if (d.max_warps_per_sm > 0 && d.max_warps_per_sm < 4096 && d.warp_threads < 4096)
    put(d.max_warps_per_sm * d.warp_threads, row.max_threads_per_sm);
  if (d.shared_bytes_per_sm > 0) row.shared_bytes_per_sm = d.shared_bytes_per_sm;
  if (d.registers_per_sm > 0) row.registers_per_sm = d.registers_per_sm;
  const Json properties{{"l2_bytes", d.l2_bytes},
                        {"core_clock_khz", d.core_clock_khz},
                        {"memory_bandwidth_kbps", d.memory_bandwidth_kbps},
                        {"max_blocks_per_sm", d.max_blocks_per_sm},
                        {"max_threads_per_block", d.max_threads_per_block},
                        {"memcpy_engines", d.memcpy_engines},
                        {"is_mig", (d.flags & 1) != 0},
                        {"ecc", (d.flags & 2) != 0}};
  row.properties = c.writer.strings().Add(DumpJson(properties));
  c.writer.batch.device.Add(row);
}

// The machine as it was then. Which of its Python environments the program used is not known here: their
// packages are not the program's. A text that is not an object is left out: it says nothing about the events.
void TakeSystem(CaptureFile& c, const std::string& text) {
  SourceFacts& about = c.file.about;
  Result<Json> system = ParseJson(text);
  if (!system.ok() || !system->is_object() || !about.system.is_null()) return;
  about.system = *std::move(system);
}

// The facts a stream gave as text, under the process they are of.
void TakeFact(CaptureFile& c, Stream& stream, const std::string& key, const std::string& value) {
  SourceFacts& about = c.file.about;
  SourceFacts::Host& host = about.host;
  if (key == "system") return TakeSystem(c, value);
  const std::optional<int64_t> number = NumberOf(value);
  if (key == "host.cpu_model") host.cpu_model = value;
  if (key == "host.os") host.os = value;
  if (key == "host.kernel") host.kernel = value;
  if (key == "host.cores" && number && *number > 0) host.cores = number;
  if (key == "host.memory_bytes" && number && *number > 0) host.memory_bytes = number;
  if (key == "neurolens.version") about.tool_version = value;
  if (key == "capture.operators") c.operators_by = value;
  if (key == "cupti.version") about.cupti_version = value;
  if (key == "cuda.driver_version" && number && *number >= 1000)
    about.cuda_version = fmt::format("{}.{}", *number / 1000, *number % 1000 / 10);
  const bool is_rank = key == "env.RANK" || key == "env.OMPI_COMM_WORLD_RANK" || key == "env.SLURM_PROCID";
  if (is_rank && number && *number >= 0 && *number <= INT32_MAX)
    c.lanes.SetRank(stream.file.pid, static_cast<int32_t>(*number));
  const std::string owner = stream.file.writer == capture::WriterKind::kLauncher
                                ? "launcher"
                                : fmt::format("process {}", stream.file.pid);
  Json& header = about.header[owner];
  if (header.size() < 256) header[key] = value;
}

std::vector<std::string> ArgumentsOf(std::string_view json) {
  std::vector<std::string> out;
  const Result<Json> parsed = ParseJson(json);
  if (!parsed.ok() || !parsed->is_array()) return out;
  for (const Json& argument : *parsed) {
    if (argument.is_string()) out.push_back(argument.get<std::string>());
  }
  return out;
}

// As a shell would tell it.
int64_t ShellStatus(const capture::ProcessRecord& p) {
  return p.exit_signal != 0 ? 128 + int64_t{p.exit_signal} : int64_t{p.exit_status};
}

void AddProcess(CaptureFile& c, Stream& stream, const capture::ProcessRecord& p) {
  const StringId name = c.Text(stream, p.name);
  if (!IsNull(name)) c.lanes.NameProcess(p.pid, name);
  SourceFacts& about = c.file.about;
  StringPool& strings = c.writer.strings();
  // Its secrets are removed when the header is stored, so it must not be among the run's strings.
  const std::optional<std::string> arguments = c.OwnText(stream, p.arguments);
  if ((p.flags & capture::kProcessIsRoot) != 0) {
    if (arguments && about.command.empty()) about.command = ArgumentsOf(*arguments);
    if ((p.flags & capture::kProcessEnded) != 0) about.exit_code = ShellStatus(p);
  }
  Json& processes = about.header["processes"];
  const std::string key = std::to_string(p.pid);
  if (processes.size() >= 1024 && !processes.contains(key)) return;
  Json& entry = processes[key];
  entry["ppid"] = p.ppid;
  if (arguments) entry["arguments"] = *arguments;
  const StringId path = c.Text(stream, p.executable);
  if (!IsNull(path)) entry["executable"] = std::string(strings.Text(path));
  if ((p.flags & capture::kProcessEnded) != 0) {
    entry["exit_status"] = p.exit_status;
    entry["exit_signal"] = p.exit_signal;
  }
}

const char* ReasonOf(LossWhat what) {
  switch (what) {
    case LossWhat::kCuptiDropped: return "dropped by CUPTI";
    case LossWhat::kCuptiUnknown: return "of a kind or layout the recorder does not know";
    case LossWhat::kBufferLimit: return "no buffer left: the memory limit was reached";
    case LossWhat::kRingFull:
      return "a thread's ring was full: more ranges or CUDA calls than the writer could take";
    case LossWhat::kThreadLimit: return "a thread beyond the most that have rings";
    case LossWhat::kStringLimit: return "names beyond the memory for names";
    case LossWhat::kStringCut: return "texts cut at 8,192 bytes";
    case LossWhat::kDiskFull: return "could not be written: the disk was full or failed";
    case LossWhat::kSamplesMissed: return "CPU samples that came too late";
    case LossWhat::kStackUnreadable: return "CPU samples whose stack could not be read";
    case LossWhat::kThinned: return "left out to hold the budget";
    case LossWhat::kCountersMissed: return "counter samples the hardware overwrote";
    case LossWhat::kLate: return "events after the recording was closed";
  }
  return "for a reason this version does not know";
}

// Losses add up over the records; beyond any honest count is damage.
void TakeLoss(CaptureFile& c, const capture::LossRecord& loss, int64_t place) {
  if (loss.count > (uint64_t{1} << 48)) return c.file.counters.Add(kBadRecord, place);
  const auto count = static_cast<int64_t>(loss.count);
  const CounterInfo& info = loss.what == LossWhat::kStringCut         ? kTextCut
                            : loss.what == LossWhat::kThinned         ? kThinned
                            : loss.what == LossWhat::kStackUnreadable ? kNoStack
                                                                      : kLost;
  if (count == 0) return;
  c.file.counters.Add(info, place, fmt::format("{} {}", count, ReasonOf(loss.what)));
  if (count > 1) c.file.counters.Add(info, -1, {}, count - 1);
  if (info.severity == Severity::kDataLoss) c.lost_records += count;
}

// When recording was on and when it paused, over all processes.
struct Windows {
  std::vector<Interval> on, paused;
  int64_t pauses_for_budget = 0;

  void Add(Interval i, bool was_on, WindowReason why_off) {
    if (was_on) on.push_back(i);
    // A process that closed its file is not a pause.
    if (!was_on && why_off != WindowReason::kEnd) paused.push_back(i);
    if (!was_on && why_off == WindowReason::kBudget) ++pauses_for_budget;
  }
};

Status ReadWindows(CaptureFile& c, Windows& to) {
  struct Last {
    int64_t time_ns;
    bool on;
    WindowReason reason;
  };
  std::map<const Stream*, Last> last;
  NL_TRY(c.ForEach<capture::WindowRecord>([&](Stream& stream, const capture::WindowRecord& w, int64_t place) {
    if (stream.file.writer != capture::WriterKind::kLibrary) return;
    const std::optional<int64_t> time_ns = c.HostTime(stream, w.time_ns, place);
    if (!time_ns) return;
    const auto [it, added] = last.try_emplace(&stream, Last{*time_ns, w.on != 0, w.reason});
    if (!added && *time_ns > it->second.time_ns)
      to.Add({it->second.time_ns, *time_ns}, it->second.on, it->second.reason);
    it->second = {*time_ns, w.on != 0, w.reason};
  }));
  MergeIntervals(to.on);
  MergeIntervals(to.paused);
  return {};
}

void DescribeWindows(CaptureFile& c, const Windows& windows, CaptureFacts& to) {
  std::vector<Interval> pauses = Outside(windows.paused, windows.on);
  const auto on_ns = static_cast<double>(LengthNs(windows.on));
  const auto all_ns = on_ns + static_cast<double>(LengthNs(pauses));
  if (all_ns > 0) to.duty_cycle = on_ns / all_ns;
  if (!pauses.empty()) to.pauses = std::move(pauses);
  for (int64_t i = 0; i < windows.pauses_for_budget; ++i) c.file.counters.Add(kPausedForBudget);
}

void DescribeClock(CaptureFile& c) {
  ClockFacts clock{"host", 0.0, c.causality_violations, std::nullopt};
  for (const Stream& stream : c.streams) {
    if (!stream.clock.calibrated()) continue;
    clock.source = "cupti";
    clock.error_bound_ns =
        std::max(*clock.error_bound_ns, static_cast<double>(stream.clock.error_bound_ns()));
  }
  c.file.about.clock = clock;
}

// The recorder closes its file last. A capture without that file has those of processes only.
bool IsPartial(const CaptureFile& c) {
  bool recorder = false, recorder_open = false, any_open = false;
  for (const Stream& stream : c.streams) {
    const bool is_recorder = stream.has_file && stream.file.writer == capture::WriterKind::kLauncher;
    recorder = recorder || is_recorder;
    recorder_open = recorder_open || (is_recorder && !stream.closed);
    any_open = any_open || !stream.closed;
  }
  return recorder ? recorder_open : any_open;
}

}  // namespace

Status ReadFacts(CaptureFile& c) {
  c.file.about.tool = "NeuroLens";
  c.file.about.from_program_start = true;
  NL_TRY(c.ForEach<capture::FileRecord>([&](Stream& stream, const capture::FileRecord& f, int64_t) {
    stream.file = f;
    stream.has_file = true;
  }));
  NL_TRY(c.ForEach<capture::ClockRecord>([&](Stream& stream, const capture::ClockRecord& p, int64_t place) {
    if (p.gpu_ns != 0 && !stream.clock.Add(p.gpu_ns, p.monotonic_before_ns, p.monotonic_after_ns))
      c.file.counters.Add(kBadRecord, place);
  }));
  AlignStreams(c);
  c.CountUncalibrated();
  NL_TRY(c.ForEachChunk(capture::ChunkKind::kFact, [&](Stream& stream, const capture::Chunk& chunk) {
    return capture::ForEachFact(chunk, [&](std::string_view key, std::string_view value) {
      TakeFact(c, stream, ValidUtf8(key), ValidUtf8(value));
    });
  }));
  NL_TRY(c.ForEach<capture::ProcessRecord>(
      [&](Stream& stream, const capture::ProcessRecord& p, int64_t) { AddProcess(c, stream, p); }));
  NL_TRY(c.ForEach<capture::ThreadRecord>([&](Stream& stream, const capture::ThreadRecord& t, int64_t) {
    const StringId name = c.Text(stream, t.name);
    constexpr uint32_t kFromSystem = 1;
    if (!IsNull(name)) c.lanes.NameThread(t.pid, t.tid, name, (t.flags & kFromSystem) == 0);
  }));
  return c.ForEach<capture::DeviceRecord>(
      [&](Stream& stream, const capture::DeviceRecord& d, int64_t) { AddDevice(c, stream, d); });
}

Status ReadRecording(CaptureFile& c) {
  NL_TRY(c.ForEach<capture::LossRecord>(
      [&](Stream&, const capture::LossRecord& loss, int64_t place) { TakeLoss(c, loss, place); }));
  NL_TRY(
      c.ForEach<capture::MessageRecord>([&](Stream& stream, const capture::MessageRecord& m, int64_t place) {
        if (m.level == capture::MessageLevel::kInfo) return;
        const StringId text = c.Text(stream, m.text);
        if (!IsNull(text)) c.file.counters.Add(kRecorderMessage, place, c.writer.strings().Text(text));
      }));
  std::map<const Stream*, int64_t> in_program_ns;
  NL_TRY(c.ForEach<capture::CostRecord>([&](Stream& stream, const capture::CostRecord& cost, int64_t) {
    if (stream.file.writer == capture::WriterKind::kLibrary && cost.in_program_ns >= 0 &&
        cost.in_program_ns < kMostNs / 1024)
      in_program_ns[&stream] = cost.in_program_ns;
  }));
  SourceFacts& about = c.file.about;
  CaptureFacts capture;
  Windows windows;
  NL_TRY(ReadWindows(c, windows));
  DescribeWindows(c, windows, capture);
  capture.lost_records = c.lost_records;
  capture.suspect_records = c.causality_violations;
  const RunFacts& facts = c.file.facts;
  const int64_t wall_ns = facts.empty() ? 0 : facts.last_end_ns() - facts.first_start_ns();
  int64_t cost_ns = 0;
  for (const auto& [stream, ns] : in_program_ns) cost_ns += ns;
  if (wall_ns > cost_ns && !in_program_ns.empty())
    capture.overhead_pct = 100.0 * static_cast<double>(cost_ns) / static_cast<double>(wall_ns - cost_ns);
  if (!c.operators_by.empty()) capture.operators_by = c.operators_by;
  if (IsPartial(c)) {
    capture.partial = true;
    about.notes.push_back(
        "partial: the recording was not closed when it was read; it was under way, or its recorder was "
        "killed");
  }
  about.capture = capture;
  DescribeClock(c);
  about.backend = c.saw_torch_op ? "torch" : facts.gpu_rows() > 0 ? "cuda" : "other";
  about.vendor = facts.gpu_rows() > 0 || !about.devices.empty() ? "nvidia" : "cpu";
  if (about.base_time_ns) about.header["time_zero_unix_ns"] = *about.base_time_ns;
  return {};
}

}  // namespace nl::adapters::nlcap
