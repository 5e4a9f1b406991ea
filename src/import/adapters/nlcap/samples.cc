// SPDX-License-Identifier: Apache-2.0
// What was sampled or counted: CPU stacks, hardware counters, device memory, CUPTI's own time.

#include <algorithm>

#include <fmt/format.h>

#include "import/adapters/nlcap/capture_file.h"

namespace nl::adapters::nlcap {

namespace {

using capture::CpuSampleRecord;
using capture::FrameKind;
using capture::FrameRecord;

// Frames and stacks of the launcher's file as texts of the run. The last record of a frame
// counts: native ones are named when the program has ended.
class Stacks {
 public:
  explicit Stacks(CaptureFile& c) : c_(c) {}

  Status Read() {
    NL_TRY(c_.ForEach<FrameRecord>([&](Stream& stream, const FrameRecord& f, int64_t) {
      frames_[{KeyOf(stream), f.id}] = FrameText(stream, f);
    }));
    return c_.ForEachChunk(capture::ChunkKind::kStack, [&](Stream& stream, const capture::Chunk& chunk) {
      return capture::ForEachStack(chunk, [&](uint32_t id, const uint32_t* frames, uint32_t count) {
        std::string text;
        for (uint32_t i = 0; i < count; ++i) {
          const auto frame = frames_.find({KeyOf(stream), frames[i]});
          if (i > 0) text += ';';
          text += frame == frames_.end() ? "[unknown]" : frame->second;
        }
        stacks_[{KeyOf(stream), id}] = std::move(text);
      });
    });
  }

  // The stack of a sample, with what its thread waited for as innermost frame.
  StringId TextOf(const Stream& stream, const CpuSampleRecord& s) {
    const char* waits = s.gil == capture::GilState::kWaits           ? "[waits for the GIL]"
                        : s.state == capture::ThreadState::kSleeping ? "[waits]"
                        : s.state == capture::ThreadState::kDiskWait ? "[waits for the disk]"
                        : s.state == capture::ThreadState::kStopped  ? "[stopped]"
                                                                     : "";
    const auto found = stacks_.find({KeyOf(stream), s.stack});
    if (found == stacks_.end() && *waits == '\0') return StringId::kNull;
    std::string text = found == stacks_.end() ? std::string() : found->second;
    if (*waits != '\0') text += (text.empty() ? "" : ";") + std::string(waits);
    return c_.writer.strings().Add(text);
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
    const std::string module = last_part(text(f.module));
    if (name.empty())
      name = module.empty() ? fmt::format("{:#x}", f.address) : fmt::format("{}+{:#x}", module, f.address);
    if (f.kind == FrameKind::kPython) name += fmt::format(" ({})", last_part(text(f.file)));
    if (f.kind == FrameKind::kKernel) name = "[kernel] " + name;
    std::replace(name.begin(), name.end(), ';', ':');
    return name;
  }

  CaptureFile& c_;
  std::map<std::pair<int64_t, uint32_t>, std::string> frames_, stacks_;
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
  return c.ForEach<CpuSampleRecord>([&](Stream& stream, const CpuSampleRecord& s, int64_t place) {
    const auto time_ns = c.HostTime(stream, s.time_ns, place);
    if (!time_ns) return;
    CpuSampleRow r;
    r.thread_id = c.lanes.Host(s.pid, s.tid);
    r.start_ns = *time_ns;
    r.stack = stacks.TextOf(stream, s);
    if (s.weight_ns > 0 && s.weight_ns < kMostNs / 2) r.weight_ns = s.weight_ns;
    samples.Add(r);
  });
}

}  // namespace nl::adapters::nlcap
