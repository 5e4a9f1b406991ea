// SPDX-License-Identifier: Apache-2.0
#pragma once
// CaptureFile: one capture while it is imported: where its chunks are, the processes that
// wrote them, where rows go. Readers of single kinds are functions of this; they run one
// after the other in the order ImportCapture gives them (what is referred to comes first).
// Thread rule: one thread. Ownership: views into the mapped file, which outlives it.

#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/format/chunk_reader.h"
#include "import/adapters/nlcap/attribution.h"
#include "import/adapters/nlcap/clock_map.h"
#include "import/adapters/nlcap/counters.h"
#include "import/adapters/nlcap/lanes.h"
#include "import/rows/launches.h"
#include "import/rows/row_writer.h"

namespace nl::adapters::nlcap {

// One file of the capture folder: a process with the library, or the launcher.
struct Stream {
  uint64_t id = 0;
  capture::FileRecord file{};
  bool has_file = false, closed = false;
  std::vector<std::string_view> texts;  // by number; null data: not there
  std::vector<StringId> in_run;         // of those asked for
  ClockMap clock;
  int64_t shift_ns = 0;  // from its monotonic clock to that of the first file
};

class CaptureFile {
 public:
  CaptureFile(ImportFile& import_file, std::string_view bytes)
      : file(import_file), writer(import_file), lanes(writer), bytes_(bytes) {}

  // Finds the chunks and the streams; damage is counted.
  void Index();
  // Streams with GPU records and no GPU clock, once the clocks are fitted.
  void CountUncalibrated();

  bool has(capture::ChunkKind kind) const { return !chunks_[static_cast<size_t>(kind)].empty(); }
  // Calls each(stream, chunk) for the chunks of a kind, in file order.
  template <class Each>
  Status ForEachChunk(capture::ChunkKind kind, Each&& each);
  // Calls each(stream, record, place) for the records of a kind.
  template <class Record, class Each>
  Status ForEach(Each&& each);

  // A text of a stream as the run's string; null when it has none of that number (counted
  // unless the number is 0).
  StringId Text(Stream& stream, uint32_t number);
  std::string_view RawText(const Stream& stream, uint32_t number) const;
  // As Text, but the text does not become one of the run's strings.
  std::optional<std::string> OwnText(const Stream& stream, uint32_t number);

  // Times on the run's clock. Null: no usable time, counted.
  std::optional<int64_t> HostTime(const Stream& stream, int64_t monotonic_ns, int64_t place);
  std::optional<int64_t> GpuTime(const Stream& stream, int64_t gpu_ns, int64_t place);
  struct Span {
    int64_t start_ns, dur_ns;  // duration may be null
  };
  std::optional<Span> GpuSpan(const Stream& stream, int64_t start_ns, int64_t end_ns, int64_t place);

  ImportFile& file;
  RowWriter writer;
  Lanes lanes;
  OpNesting ops;
  LaunchIndex launches;                // by stream id
  std::vector<int64_t> call_start_ns;  // by row of api_call, from first_call_row on
  int64_t first_call_row = 0;
  std::vector<Stream> streams;
  // Kernels by stream (its index) and device, where hardware counters were sampled.
  std::map<std::pair<int64_t, uint32_t>, std::vector<Execution>> executions;
  bool saw_torch_op = false;
  int64_t causality_violations = 0, lost_records = 0;
  std::string operators_by;  // "observer", or empty

 private:
  struct Place {
    size_t offset;
    uint32_t stream;  // index
  };
  uint32_t StreamAt(uint64_t id);
  void TakeStrings(Stream& stream, const capture::Chunk& chunk);
  capture::Chunk ChunkAt(size_t offset) const;

  std::string_view bytes_;
  std::vector<Place> chunks_[capture::kLastChunkKind + 1];
  std::unordered_map<uint64_t, uint32_t> stream_at_;
  int64_t done_bytes_ = 0;
};

template <class Each>
Status CaptureFile::ForEachChunk(capture::ChunkKind kind, Each&& each) {
  for (const Place& place : chunks_[static_cast<size_t>(kind)]) {
    if (file.options.Cancelled()) return Cancelled();
    const capture::Chunk chunk = ChunkAt(place.offset);
    if (!each(streams[place.stream], chunk))
      file.counters.Add(kBadRecord, static_cast<int64_t>(place.offset));
    done_bytes_ += static_cast<int64_t>(chunk.payload.size());
    if (file.options.progress) file.options.progress(done_bytes_, static_cast<int64_t>(bytes_.size()));
    NL_TRY(writer.Flow());
  }
  return {};
}

template <class Record, class Each>
Status CaptureFile::ForEach(Each&& each) {
  Status status;
  NL_TRY(ForEachChunk(capture::KindOf<Record>::value, [&](Stream& stream, const capture::Chunk& chunk) {
    auto place = static_cast<int64_t>(chunk.offset + sizeof(capture::ChunkHeader));
    return capture::ForEachRecord<Record>(chunk, [&](const Record& record) {
      if (!status.ok()) return;
      each(stream, record, place);
      place += chunk.header.record_bytes;
      status = writer.Flow();
    });
  }));
  return status;
}

// The readers, in the order they run.
Status ReadFacts(CaptureFile& c);       // facts.cc: processes, threads, devices, clocks
Status ReadRanges(CaptureFile& c);      // ranges.cc: labels and framework ops
Status ReadObserved(CaptureFile& c);    // observed.cc: where operators were not observed
Status ReadApiCalls(CaptureFile& c);    // device_events.cc
Status ReadDeviceWork(CaptureFile& c);  // device_events.cc: kernels, copies, fills, graphs, waits
Status ReadMemory(CaptureFile& c);      // samples.cc: device memory taken and given back
Status ReadOverheads(CaptureFile& c);   // samples.cc: CUPTI's own time
Status ReadCpuSamples(CaptureFile& c);  // samples.cc
Status ReadCounters(CaptureFile& c);    // counter_readings.cc
Status ReadRecording(CaptureFile& c);   // facts.cc: losses, costs, messages; the header

}  // namespace nl::adapters::nlcap
