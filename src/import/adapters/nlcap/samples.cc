// SPDX-License-Identifier: Apache-2.0
// What was sampled or counted: CPU stacks, hardware counters, device memory, CUPTI's own time.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/intervals.h"
#include "import/adapters/nlcap/capture_file.h"
#include "model/python_path.h"
#include "model/sampled_frame.h"

namespace nl::adapters::nlcap {

namespace {

using capture::CpuSampleRecord;
using capture::FrameKind;
using capture::FrameRecord;

// Frames and stacks of the launcher's file as texts of the run: "name (file:line)", the file of Python code
// with its package, or "name [module]" of native code without a known line. The last record of a frame
// counts: native ones are named when the program has ended.
class Stacks {
 public:
  explicit Stacks(CaptureFile& c) : c_(c) {}

  Status Read() {
    NL_TRY(c_.ForEach<FrameRecord>([&](Stream& stream, const FrameRecord& f, int64_t) {
      frames_[{KeyOf(stream), f.id}] = FrameText(stream, f);
      if (f.kind == FrameKind::kPython) python_.insert({KeyOf(stream), f.id});
    }));
    return c_.ForEachChunk(capture::ChunkKind::kStack, [&](Stream& stream, const capture::Chunk& chunk) {
      return capture::ForEachStack(chunk, [&](uint32_t id, const uint32_t* frames, uint32_t count) {
        std::string text;
        for (uint32_t i = 0; i < count; ++i) {
          const auto frame = frames_.find({KeyOf(stream), frames[i]});
          if (i > 0) text += ';';
          text += frame == frames_.end() ? "[unknown]" : frame->second;
          if (python_.count({KeyOf(stream), frames[i]}) != 0)
            innermost_python_[{KeyOf(stream), id}] = frame->second;
        }
        stacks_[{KeyOf(stream), id}] = std::move(text);
      });
    });
  }

  // The stack of a sample, with what its thread waited for as innermost frame.
  StringId TextOf(const Stream& stream, const CpuSampleRecord& s) {
    const std::string_view mark = s.gil == capture::GilState::kWaits           ? kWaitsForGil.mark
                                  : s.state == capture::ThreadState::kSleeping ? kWaits.mark
                                  : s.state == capture::ThreadState::kDiskWait ? kWaitsForDisk.mark
                                  : s.state == capture::ThreadState::kQueued   ? kWaitsForCore.mark
                                  : s.state == capture::ThreadState::kStopped  ? kStopped.mark
                                                                               : "";
    const auto found = stacks_.find({KeyOf(stream), s.stack});
    if (found == stacks_.end() && mark.empty()) return StringId::kNull;
    std::string text = found == stacks_.end() ? std::string() : found->second;
    if (!mark.empty()) text.append(text.empty() ? "" : ";").append(mark);
    return c_.writer.strings().Add(text);
  }

  // The innermost Python frame of a sample; null when it has none.
  StringId PythonFrame(const Stream& stream, const CpuSampleRecord& s) {
    const auto found = innermost_python_.find({KeyOf(stream), s.stack});
    return found == innermost_python_.end() ? StringId::kNull : c_.writer.strings().Add(found->second);
  }

 private:
  int64_t KeyOf(const Stream& stream) const { return &stream - c_.streams.data(); }

  std::string FrameText(Stream& stream, const FrameRecord& f) {
    const auto text = [&](uint32_t number) {
      const StringId id = c_.Text(stream, number);
      return IsNull(id) ? std::string() : std::string(c_.writer.strings().Text(id));
    };
    const auto last_part = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
    std::string name = text(f.name);
    const std::string module = last_part(text(f.module)), path = text(f.file);
    const std::string file = f.kind == FrameKind::kPython ? std::string(PackagePath(path)) : last_part(path);
    if (name.empty()) {
      name = module.empty() ? fmt::format("{:#x}", f.address) : fmt::format("{}+{:#x}", module, f.address);
    } else if (f.kind == FrameKind::kPython || !file.empty()) {
      name += f.line > 0 ? fmt::format(" ({}:{})", file, f.line) : fmt::format(" ({})", file);
    } else if (f.kind == FrameKind::kNative && !module.empty() && name.front() != '[') {
      name += fmt::format(" [{}]", module);
    }
    if (f.kind == FrameKind::kKernel) name = "[kernel] " + name;
    std::replace(name.begin(), name.end(), ';', ':');
    return name;
  }

  CaptureFile& c_;
  std::map<std::pair<int64_t, uint32_t>, std::string> frames_, stacks_, innermost_python_;
  std::set<std::pair<int64_t, uint32_t>> python_;
};

// Rows of thread_life: how long threads held and awaited Python's lock, and the life of the program's main
// thread, as far as recording was on.
class ThreadLives {
 public:
  explicit ThreadLives(CaptureFile& c) : c_(c) {}

  void Take(ThreadId thread, capture::GilState gil, int64_t ns, StringId function) {
    using capture::GilState;
    if (gil != GilState::kHolds && gil != GilState::kWaits && gil != GilState::kReleased) return;
    Life& life = lives_[thread];
    life.python = true;
    if (gil == GilState::kWaits) AddNs(life.gil_wait_ns, ns);
    if (gil != GilState::kHolds) return;
    AddNs(life.gil_held_ns, ns);
    if (!IsNull(function)) AddNs(life.held_in[function], ns);
  }

  // The program that was started, from its start to its end.
  Status ReadProgram() {
    std::optional<Interval> on;
    NL_TRY(
        c_.ForEach<capture::WindowRecord>([&](Stream& stream, const capture::WindowRecord& w, int64_t place) {
          if (stream.file.writer != capture::WriterKind::kLauncher) return;
          const auto time_ns = c_.HostTime(stream, w.time_ns, place);
          if (!time_ns || (w.on == 0 && !on)) return;
          if (!on) on = Interval{*time_ns, INT64_MAX};
          on->end_ns = w.on != 0 ? INT64_MAX : *time_ns;
        }));
    return c_.ForEach<capture::ProcessRecord>(
        [&](Stream& stream, const capture::ProcessRecord& p, int64_t place) {
          if ((p.flags & capture::kProcessIsRoot) == 0 || p.end_ns == 0) return;
          const auto start_ns = c_.HostTime(stream, p.start_ns, place),
                     end_ns = c_.HostTime(stream, p.end_ns, place);
          if (!start_ns || !end_ns) return;
          Life& life = lives_[c_.lanes.Host(p.pid, p.pid)];
          life.start_ns = std::max(*start_ns, on ? on->start_ns : *start_ns);
          life.end_ns = std::min(*end_ns, on ? on->end_ns : *end_ns);
        });
  }

  void Put() {
    for (const auto& [thread, life] : lives_) {
      ThreadLifeRow row;
      row.thread_id = thread;
      if (life.start_ns < life.end_ns) {
        row.start_ns = life.start_ns;
        row.dur_ns = life.end_ns - life.start_ns;
      }
      if (life.python) {
        row.gil_held_ns = life.gil_held_ns;
        row.gil_wait_ns = life.gil_wait_ns;
      }
      int64_t most_ns = 0;
      for (const auto& [function, ns] : life.held_in) {
        if (ns <= most_ns) continue;
        most_ns = ns;
        row.gil_holder = function;
      }
      if (!IsNull(row.dur_ns) || life.python) c_.writer.batch.thread_life.Add(row);
    }
  }

 private:
  struct Life {
    int64_t start_ns = 0, end_ns = 0;
    int64_t gil_held_ns = 0, gil_wait_ns = 0;
    bool python = false;
    std::map<StringId, int64_t> held_in;
  };
  static void AddNs(int64_t& sum, int64_t ns) { sum = ns > kMostTime_ns - sum ? kMostTime_ns : sum + ns; }
  CaptureFile& c_;
  std::map<ThreadId, Life> lives_;
};

constexpr const char* OverheadName(uint32_t kind) {
  switch (kind) {
    case 1: return "driver compiler";
    case 1u << 16: return "CUPTI buffer flush";
    case 2u << 16: return "CUPTI instrumentation";
    case 3u << 16: return "CUPTI resource";
    case 4u << 16: return "module loading";
    case 5u << 16: return "lazy function loading";
    case 6u << 16: return "command buffer full";
    case 7u << 16: return "CUPTI buffer request";
    default: return "other";
  }
}

}  // namespace

Status ReadMemory(CaptureFile& c) {
  MemoryEventColumns& events = c.writer.batch.memory_event;
  StringPool& strings = c.writer.strings();
  const StringId taken = strings.Add("Allocation"), released = strings.Add("Deallocation");
  constexpr uint32_t kPageable = 1, kPinned = 2, kRelease = 2;
  return c.ForEach<capture::MemoryRecord>([&](Stream& stream, const capture::MemoryRecord& m, int64_t place) {
    const auto time_ns = c.GpuTime(stream, m.time_ns, place);
    if (!time_ns) return;
    if (m.bytes > static_cast<uint64_t>(INT64_MAX)) return c.file.counters.Add(kBadRecord, place);
    const bool given_back = m.operation == kRelease, on_host = m.memory == kPageable || m.memory == kPinned;
    const RowId row = c.writer.NextRow(Table::kMemoryEvent, events);
    MemoryEventRow r;
    r.thread_id = c.lanes.Device(stream.file.pid, m.device, "device memory");
    r.start_ns = *time_ns;
    r.name = given_back ? released : taken;
    r.address = static_cast<int64_t>(m.address);
    r.bytes = given_back ? -static_cast<int64_t>(m.bytes) : static_cast<int64_t>(m.bytes);
    r.device_type = on_host ? 0 : 1;
    r.device = on_host || m.device > INT32_MAX ? -1 : static_cast<int32_t>(m.device);
    events.Add(r);
    if (m.correlation != 0) c.writer.KeepArg(Table::kMemoryEvent, row, "correlation", int64_t{m.correlation});
  });
}

Status ReadOverheads(CaptureFile& c) {
  RangeColumns& ranges = c.writer.batch.range;
  StringPool& strings = c.writer.strings();
  const StringId category = strings.Add("overhead"), span_kind = strings.Add("span");
  // Outside of the program's own events it would count as time of the run.
  NL_TRY(c.writer.Flush());
  const int64_t first_ns = c.file.facts.first_start_ns(), last_ns = c.file.facts.last_end_ns();
  return c.ForEach<capture::OverheadRecord>([&](Stream& stream, const capture::OverheadRecord& o,
                                                int64_t place) {
    const auto span = c.GpuSpan(stream, o.start_ns, o.end_ns, place);
    if (!span || IsNull(span->dur_ns) || span->start_ns < first_ns || span->start_ns + span->dur_ns > last_ns)
      return;
    RangeRow r;
    r.thread_id = c.lanes.Device(stream.file.pid, capture::kNoDevice, "profiler overhead");
    r.start_ns = span->start_ns;
    r.dur_ns = span->dur_ns;
    r.name = strings.Add(OverheadName(o.kind));
    r.category = category;
    r.kind = span_kind;
    ranges.Add(r);
  });
}

Status ReadCpuSamples(CaptureFile& c) {
  Stacks stacks(c);
  NL_TRY(stacks.Read());
  CpuSampleColumns& samples = c.writer.batch.cpu_sample;
  ThreadLives lives(c);
  NL_TRY(c.ForEach<CpuSampleRecord>([&](Stream& stream, const CpuSampleRecord& s, int64_t place) {
    if (c.lanes.IsRecorder(s.pid, s.tid)) return c.file.counters.Add(kRecorderSamples, place);
    const auto time_ns = c.HostTime(stream, s.time_ns, place);
    if (!time_ns) return;
    CpuSampleRow r;
    r.thread_id = c.lanes.Host(s.pid, s.tid);
    r.start_ns = *time_ns;
    r.stack = stacks.TextOf(stream, s);
    if (s.weight_ns > 0 && s.weight_ns < kMostNs / 2) r.weight_ns = s.weight_ns;
    samples.Add(r);
    if (!IsNull(r.weight_ns)) lives.Take(r.thread_id, s.gil, r.weight_ns, stacks.PythonFrame(stream, s));
  }));
  NL_TRY(lives.ReadProgram());
  lives.Put();
  return {};
}

}  // namespace nl::adapters::nlcap
