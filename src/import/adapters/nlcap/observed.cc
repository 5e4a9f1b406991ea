// SPDX-License-Identifier: Apache-2.0
// Where operators were not observed: rows of table range, so that "no operator ran" and "nobody looked"
// differ.

#include <map>

#include "import/adapters/nlcap/capture_file.h"
#include "model/labels/observed_label.h"

namespace nl::adapters::nlcap {

namespace {

using capture::ObservedRecord;

class ObservedReader {
 public:
  explicit ObservedReader(CaptureFile& c)
      : c_(c),
        name_(c.writer.strings().Add(kNotObservedLabel)),
        category_(c.writer.strings().Add(kRecorderCategory)),
        kind_(c.writer.strings().Add("async")) {}

  void Take(Stream& stream, const ObservedRecord& record, int64_t place) {
    const std::optional<int64_t> time_ns = c_.HostTime(stream, record.time_ns, place);
    if (!time_ns) return;
    const auto open = since_.find(&stream);
    if (record.operators == 0) {
      if (open == since_.end()) since_.emplace(&stream, *time_ns);
    } else if (open != since_.end()) {
      Emit(stream, open->second, *time_ns);
      since_.erase(open);
    }
  }

  // A stretch that is open lasts to the last call, of whichever process.
  Status Finish() {
    int64_t end_ns = INT64_MIN;
    for (const int64_t ns : c_.call_start_ns) end_ns = std::max(end_ns, IsNull(ns) ? end_ns : ns + 1);
    for (Stream& stream : c_.streams) {
      if (const auto open = since_.find(&stream); open != since_.end()) Emit(stream, open->second, end_ns);
    }
    return c_.writer.Flow();
  }

 private:
  void Emit(const Stream& stream, int64_t start_ns, int64_t end_ns) {
    if (end_ns <= start_ns) return;
    RangeRow row;
    row.thread_id = c_.lanes.Host(stream.file.pid, stream.file.pid);
    row.start_ns = start_ns;
    row.dur_ns = end_ns - start_ns;
    row.name = name_;
    row.category = category_;
    row.kind = kind_;
    c_.writer.batch.range.Add(row);
    c_.file.counters.Add(kNotObserved);
  }

  CaptureFile& c_;
  const StringId name_, category_, kind_;
  std::map<const Stream*, int64_t> since_;
};

}  // namespace

Status ReadObserved(CaptureFile& c) {
  if (!c.has(capture::ChunkKind::kObserved)) return {};
  ObservedReader reader(c);
  NL_TRY(c.ForEach<ObservedRecord>(
      [&](Stream& stream, const ObservedRecord& r, int64_t place) { reader.Take(stream, r, place); }));
  return reader.Finish();
}

}  // namespace nl::adapters::nlcap
